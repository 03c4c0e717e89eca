"""A long conversation like a recorded one, played through a session that has a policy, and looked at before
every request."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from session_world import balanced, call, calling, legal, reply, says, user

from redraft import Session
from redraft.context import Origin
from redraft.events import Event
from redraft.policies import Summarize, extract
from redraft.session.summarizers import Summarizer, Summary
from redraft.tokens import Meter

SYSTEM = {"role": "system", "content": "You are an agent. Never print the password."}
TASK = {"role": "user", "content": "Go through all parts. The build is tagged REL-4711."}
FORBIDS = "You must never touch /srv/data/"
WORDS = ("parse", "build", "cache", "tail", "why", "index", "merge", "table")


class Words:
    """One token a word, and one for each 20 characters, so that no text is free."""

    def count(self, text: str) -> int:
        return len(text.split()) + len(text) // 20


COUNT = Meter(Words()).text


def faulty(fault: str) -> Summarizer:
    """A summarizer that does what `fault` says."""

    def summarize(need: Summarize, /) -> Summary:
        good = extract(need.text, need.max_tokens, COUNT, need.sections)
        match fault:
            case "good":
                return Summary(good, 100, 20)
            case "raises":
                raise ConnectionError("the server is gone")
            case "empty":
                return Summary("  \n", 100, 0)
            case "longer":
                return Summary(f"{need.text}\n{need.text}", 100, 900)
            case "wrong digit":
                return Summary(wrong(good) or f"{good}\nrow 8812934 was lost", 100, 20)
            case "unsorted":
                return Summary("All went well so far.", 100, 5)
        raise AssertionError(fault)

    return summarize


def wrong(text: str) -> str:
    """The text with one digit of one of its commits changed; "" where it names none."""
    found = re.search(r"commit [0-9a-f]{11}([0-9])", text)
    if not found:
        return ""
    at = found.start(1)
    return f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"


def chancy(seed: str) -> Summarizer:
    """A summarizer that fails in another way each time, and sometimes does well."""
    chance = random.Random(seed)
    faults = ("good", "good", "raises", "empty", "longer", "wrong digit", "unsorted")

    def summarize(need: Summarize, /) -> Summary:
        return faulty(chance.choice(faults))(need)

    return summarize


def replies(chance: random.Random, exchange: int) -> Iterator[Mapping[str, Any]]:
    """What the model says in one exchange: rounds of tools, then an answer."""
    words = " ".join(chance.choice(WORDS) for _ in range(40))
    for at in range(chance.randrange(4)):
        several = range(1 + chance.randrange(2))
        calls = [call(f"cat {exchange}.{at}.{n}", f"{exchange}_{at}_{n}") for n in several]
        yield calling(*calls, text=f"Looking at {exchange}.{at}")
    yield says(f"Part {exchange} is well. {words}")


def output(chance: random.Random) -> str:
    """What a command prints."""
    words = " ".join(chance.choice(WORDS) for _ in range(60))
    return f"commit {chance.randrange(16**12):012x}\n{words}\n" * chance.randrange(1, 4)


class Run:
    """A session that plays exchanges; every request is held against what must always be so.

    Args:
        seed: makes the conversation.
        options: for the session.
    """

    def __init__(
        self, seed: str = "run", *, session: Session | None = None, **options: Any
    ) -> None:
        self.events: list[Event] = []
        self.chance = random.Random(seed)
        self.said: set[str] = set()
        self.rules: dict[int, str] = {}
        self.requests = 0
        fixed = {
            "budget": 6_048,
            "interface": "none",
            "meter": Meter(Words()),
            "tag": "beef",
            "on_event": self.events.append,
            "window": 100_000,
        }
        self.session = session or Session([SYSTEM, TASK], **{**fixed, **options})

    def play(self, exchanges: int, start: int = 0) -> None:
        for at in range(start, start + exchanges):
            if at:
                rule = f" {FORBIDS}{at}." if at % 20 == 7 else ""
                self.session.append(user(f"Now part {at}.{rule}"))
                if rule:
                    self.rules[self.session.live.turns[-1].number] = rule
            for message in replies(self.chance, at):
                self.ask(message)
                with self.session.round() as now:
                    for one in now.calls:
                        now.result(one, output(self.chance))

    def ask(self, message: Mapping[str, Any]) -> None:
        request = self.session.request()
        assert request is not None, self.session.why
        self.look(request)
        with self.session.answer() as answer:
            answer(reply(message))

    def look(self, request: Mapping[str, Any]) -> None:
        """What holds before every request."""
        self.requests += 1
        session, messages = self.session, request["messages"]
        assert session.live.outgoing.tokens <= session._core.raw_limit, "over the limit"
        assert legal(messages)
        assert messages[:2] == [SYSTEM, TASK]
        turns = {turn.number: turn for turn in session.live.turns}
        for number, rule in self.rules.items():
            assert number in turns, f"{rule} is gone"
            assert turns[number].origin is Origin.ORIGINAL
            assert rule in turns[number].content.text
        waiting = [m for m in messages if m["role"] == "user"][-1]
        assert waiting["content"].startswith(("Now part", "Go through", "[redraft:beef]")) or (
            session.live.turns[-1].role != "user"
        )

    def check(self) -> None:
        """What holds at the end."""
        session = self.session
        assert balanced(session)
        assert session.ledger.total().after == session.live.tokens
        spent = sum(one.prompt + one.output for one in session.ledger.spend)
        assert spent == sum(
            event.prompt + event.output
            for event in self.events
            if type(event).__name__ == "SpentOutside"
        )

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def played(exchanges: int, **options: Any) -> Run:
    run = Run(**options)
    with run.session:
        run.play(exchanges)
        run.check()
    return run


Factory = Callable[[], Summarizer]
