"""Short readable names for runs."""

from __future__ import annotations

from random import Random

__all__ = ["word_pair"]

_FIRST = (
    *("amber", "bold", "brisk", "calm", "clear", "crisp", "deft", "dry", "eager", "early", "even"),
    *(
        "fair",
        "fleet",
        "fresh",
        "gentle",
        "glad",
        "golden",
        "grand",
        "green",
        "hardy",
        "keen",
        "kind",
    ),
    *(
        "late",
        "light",
        "lively",
        "lucid",
        "merry",
        "mild",
        "neat",
        "noble",
        "pale",
        "plain",
        "proud",
    ),
    *("quick", "quiet", "rapid", "ready", "rustic", "sharp", "silent", "silver", "sleek", "slow"),
    *("snug", "solid", "spry", "stout", "sunny", "swift", "tidy", "vivid", "warm", "wise", "young"),
)
_SECOND = (
    *("alder", "badger", "beech", "birch", "bison", "brook", "cedar", "comet", "crane", "dune"),
    *(
        "eagle",
        "elm",
        "falcon",
        "fern",
        "finch",
        "fox",
        "glade",
        "grove",
        "hare",
        "harbor",
        "hazel",
    ),
    *("heron", "hill", "ibis", "iris", "jay", "juniper", "kite", "lake", "lark", "linden", "lynx"),
    *(
        "maple",
        "marsh",
        "meadow",
        "moth",
        "newt",
        "oak",
        "orchid",
        "otter",
        "owl",
        "pine",
        "plover",
    ),
    *("raven", "reed", "ridge", "river", "robin", "sparrow", "spruce", "stone", "swan", "thorn"),
    *("tide", "trout", "vale", "wren", "yew"),
)


def word_pair(chance: Random) -> str:
    """Two words that are easy to say and type, e.g. `brisk-otter`; about 3,000 pairs.

    Args:
        chance: picks them.
    """
    return f"{chance.choice(_FIRST)}-{chance.choice(_SECOND)}"
