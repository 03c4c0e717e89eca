"""What one provider demands of the final list: rules that explain, and mends that keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from redraft.dialects.base import Native
from redraft.dialects.boundaries import Boundary, chat_boundary

__all__ = ["Profile", "Rule", "Violation", "check", "repair"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    Attributes:
        rule: the rule's name.
        at: the index of the message that breaks it.
        says: what is wrong, for a person.
    """

    rule: str
    at: int
    says: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `find` explains, `mend` returns a list that keeps it.

    Attributes:
        name: short and stable.
        source: where the rule is written down or was observed.
        find: yields violations of a list from an index on.
        mend: returns a mended copy of a list; messages that keep the rule stay the same objects.
        pairs: whether it is the rule that gives each call its result.
    """

    name: str
    source: str
    find: Callable[[Sequence[Native], int], Iterator[Violation]]
    mend: Callable[[Sequence[Native]], list[Native]]
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider demands of a list.

    Attributes:
        name: the provider or the wire format.
        rules: mended in this order; no mend may break the rule of an earlier one.
        dialect: the name of the wire format that its lists are in.
        boundary: finds the nearest index at or before a given one where no call waits for a result.
    """

    name: str
    rules: tuple[Rule, ...]
    dialect: str = "openai-chat"
    boundary: Boundary = chat_boundary

    @property
    def pairing(self) -> Rule | None:
        """The rule that gives each call its result; None where calls are none on the list."""
        return next((rule for rule in self.rules if rule.pairs), None)

    def with_rules(self, name: str, *rules: Rule, instead: Rule | None = None) -> Profile:
        """A profile like this one with other rules.

        Args:
            name: its name.
            rules: each takes the place of the rule of the same name; the others stand at the end.
            instead: a rule whose place the first of `rules` takes.
        """
        new = {rule.name: rule for rule in rules}
        if instead is not None:
            new[instead.name] = new.pop(rules[0].name)
        kept = tuple(new.pop(rule.name, rule) for rule in self.rules)
        return Profile(name, (*kept, *new.values()), self.dialect, self.boundary)

    def without(self, *rules: Rule) -> Profile:
        """The same profile less some rules."""
        return Profile(
            self.name,
            tuple(rule for rule in self.rules if rule not in rules),
            self.dialect,
            self.boundary,
        )


def check(messages: Sequence[Native], profile: Profile, start: int = 0) -> list[Violation]:
    """Every broken rule of `profile` in `messages`.

    Args:
        messages: the list as it will be sent.
        profile: the provider's rules.
        start: an index known to be a `boundary`, before which the list was checked already.
    """
    return [violation for rule in profile.rules for violation in rule.find(messages, start)]


def repair(messages: Sequence[Native], profile: Profile) -> Sequence[Native]:
    """The nearest legal list; `messages` itself where it is legal. Deterministic and idempotent."""
    for rule in profile.rules:
        if next(rule.find(messages, 0), None) is not None:
            messages = rule.mend(messages)
    return messages
