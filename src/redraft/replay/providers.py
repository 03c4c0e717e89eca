"""Which cache a model is served from, by its name."""

from __future__ import annotations

from redraft.cost import (
    BLOCK,
    AnthropicCache,
    Cache,
    GeminiCache,
    Radix,
    Request,
    Use,
    openai_cache,
)

__all__ = ["ProviderCache", "cache_of", "provider_of"]

_DEEPSEEK = 64  # tokens of a unit of its cache on disk (api-docs.deepseek.com)
_OPENAI = ("gpt-", "chatgpt", "o1", "o3", "o4", "codex")


def provider_of(model: str) -> str:
    """`anthropic`, `openai`, `gemini`, or `radix` for every other model.

    Args:
        model: the name in any spelling.
    """
    name = model.lower().rsplit("/", 1)[-1]
    if "claude" in name:
        return "anthropic"
    if "gemini" in name:
        return "gemini"
    return "openai" if name.startswith(_OPENAI) and "oss" not in name else "radix"


def cache_of(model: str, *, automatic: bool = True, messages: int = 1) -> Cache:
    """The cache model for a provider's model.

    Args:
        model: its name.
        automatic: whether breakpoints are set where the client set none.
        messages: how many of the last messages such a breakpoint is set at, for Anthropic.
    """
    match provider_of(model):
        case "anthropic":
            return AnthropicCache(model, automatic=automatic, messages=messages)
        case "openai":
            return openai_cache(model, automatic=automatic)
        case "gemini":
            return GeminiCache(model)
        case _:
            return Radix(_DEEPSEEK if "deepseek" in model.lower() else BLOCK)


class ProviderCache:
    """Each model's own cache, made when it is first asked.

    Args:
        name: the cache's name.
        automatic, messages: as for `cache_of`.
    """

    def __init__(self, name: str, *, automatic: bool = True, messages: int = 1) -> None:
        self.name = name
        self._automatic = automatic
        self._messages = messages
        self._caches: dict[str, Cache] = {}

    def serve(self, request: Request) -> Use:
        """Account for one request at its model's cache."""
        cache = self._caches.get(request.model)
        if cache is None:
            cache = self._caches[request.model] = cache_of(
                request.model, automatic=self._automatic, messages=self._messages
            )
        return cache.serve(request)
