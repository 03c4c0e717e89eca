"""No deadlines: the first example of a property may build the vocabulary, which takes its time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
