"""What a model must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["Model"]


class Model(Protocol):
    """Something that answers one request at a time.

    Attributes:
        name: the model's name as the server knows it; also what logs and prices go by.
    """

    name: str

    def complete(self, request: Mapping[str, Any]) -> object:
        """Answer a request.

        Args:
            request: the fields of a Chat Completions body without `model`: `messages`, and where
                they are wanted `tools`, `temperature` and so on. It is sent as it is.

        Returns:
            The provider's reply: an SDK object or a mapping. A dialect's `read` understands it.

        Raises:
            ContextOverflowError: the request is larger than the model's window.
            ModelError: the call failed in any other way.
        """
