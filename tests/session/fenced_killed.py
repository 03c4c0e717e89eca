"""`killed_world` with a model that writes its calls as text; run as a process of its own."""

from __future__ import annotations

from functools import partial

from killed_world import main, work

if __name__ == "__main__":
    main(partial(work, fenced=True))
