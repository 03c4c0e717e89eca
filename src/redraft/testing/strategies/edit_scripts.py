"""Edit scripts for hypothesis, so that a failing one shrinks."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from redraft.testing.edits import KINDS, TEXTS, Step

__all__ = ["edit_scripts"]

_SMALL = st.integers(0, 99)
_STEPS = st.builds(
    Step,
    st.sampled_from((*KINDS, "file", "file", "undo", "append", "append")),
    _SMALL,
    _SMALL,
    st.integers(0, 9_999),
    st.sampled_from(TEXTS),
)


def edit_scripts(*, min_size: int = 2, max_size: int = 7) -> SearchStrategy[list[Step]]:
    """What happens to a context in a few rounds: edits by file, tool, policy and rollback, undos, pins,
    and the conversation going on. Play them with `redraft.testing.edits.Play`.

    Args:
        min_size, max_size: steps.
    """
    return st.lists(_STEPS, min_size=min_size, max_size=max_size)
