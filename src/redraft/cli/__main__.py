"""`python -m redraft.cli` is `redraft`."""

from __future__ import annotations

from redraft.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
