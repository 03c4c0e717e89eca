"""The catalogue of events as a file: `python -m redraft.cli.catalogue > docs/api/events.json`."""

from __future__ import annotations

import json

from redraft.events.schema import event_catalogue

__all__ = ["catalogue"]


def catalogue() -> str:
    """The catalogue as indented JSON, with a newline at its end."""
    return json.dumps(event_catalogue(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(catalogue(), end="")
