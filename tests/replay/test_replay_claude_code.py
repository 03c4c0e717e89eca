"""Claude Code's sessions as they get long: lifetimes, sub-agents side by side, cleared contexts, rows
between messages, and output that it takes out of its messages by itself."""

from __future__ import annotations

from typing import Any

from replay_world import claude_row, lines, read, roles

from redraft.cost import Cause
from redraft.replay import Audit, Recording, Reported, Timeline, audit, fit
from redraft.tokens import Meter

METER = Meter()
FRAME = 15_000
SIDE = 12_000
CLOCK = "2026-11-30T10:{:02d}:{:02d}.000Z"


def clock(second: float) -> str:
    return CLOCK.format(int(second) // 60, int(second) % 60)


class Log:
    """Writes rows as Claude Code does, each naming the one before it in its thread.

    Args:
        long: whether cache entries are paid for to live an hour.
    """

    def __init__(self, *, long: bool = False) -> None:
        self.rows: list[dict[str, Any]] = []
        self._long = long
        self._last: dict[str, str | None] = {"": None}

    def user(self, content: Any, at: float, side: str = "", **more: Any) -> str:
        return self._row("user", content, at, side, **more)

    def answer(
        self, text: str, at: float, read_: int, written: int, side: str = "", **more: Any
    ) -> str:
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": read_,
            "cache_creation_input_tokens": written,
            "output_tokens": 9,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 0 if self._long and not side else written,
                "ephemeral_1h_input_tokens": written if self._long and not side else 0,
            },
        }
        inner = {
            "message_id": f"msg_{len(self.rows)}",
            "message_model": "claude-opus-4-6",
            "message_usage": usage,
        }
        block = {"type": "text", "text": text}
        return self._row("assistant", [block], at, side, **{**inner, **more})

    def between(self, kind: str, side: str = "") -> None:
        """A row that is no message and that the next one names as its parent."""
        name = f"r{len(self.rows)}"
        row = {"type": kind, "uuid": name, "parentUuid": self._last[side], "sessionId": "s"}
        self.rows.append({**row, "isSidechain": bool(side)})
        self._last[side] = name

    def _row(self, kind: str, content: Any, at: float, side: str, **more: Any) -> str:
        name = f"r{len(self.rows)}"
        parent = more.pop("parent", self._last.get(side))
        beside = {"timestamp": clock(at), "isSidechain": bool(side), **more}
        self.rows.append(claude_row(kind, name, parent, content, **beside))
        self._last[side] = name
        return name

    def read(self) -> Recording:
        return read(lines(*self.rows))

    def judged(self) -> Audit:
        return audit(fit(Timeline(self.read()), METER))


def test_entries_for_an_hour_outlive_a_pause_and_those_of_sub_agents_do_not() -> None:
    log = Log(long=True)
    log.user("Begin.", 0)
    log.answer("one", 2, 0, FRAME)
    log.user("Look into it.", 10, "a")
    log.answer("side one", 12, 0, SIDE, "a")
    log.user("And now?", 500, "a")
    log.answer("side two", 502, 0, SIDE + 20, "a")
    log.user("Go on.", 900)
    log.answer("two", 902, FRAME, 20)
    found = log.judged()
    assert (found.calls, found.close, found.misses) == (4, 4, [])
    assert found.explained == {Cause.LIFETIME: (1, found.explained[Cause.LIFETIME][1])}


def test_five_minutes_are_meant_where_nobody_pays_for_more() -> None:
    log = Log()
    log.user("Begin.", 0)
    log.answer("one", 2, 0, FRAME)
    log.user("Go on.", 400)
    log.answer("two", 402, 0, FRAME + 20)
    found = log.judged()
    assert (found.close, found.misses) == (2, [])
    assert found.explained[Cause.LIFETIME][0] == 1


def test_a_frame_for_an_hour_with_messages_for_five_minutes_keeps_the_frame() -> None:
    log = Log()
    log.user("Begin. " * 2_000, 0)
    log.answer("one", 2, 0, FRAME + 2_000)
    usage = log.rows[-1]["message"]["usage"]
    usage["cache_creation"] = {
        "ephemeral_5m_input_tokens": 2_000,
        "ephemeral_1h_input_tokens": FRAME,
    }
    log.user("Go on.", 400)
    log.answer("two", 402, FRAME, 2_020)
    found = log.judged()
    assert found.misses == []
    assert abs(found.predicted - FRAME) < 600, "the size of the unseen frame is an estimate"


def test_rows_that_are_no_messages_do_not_part_a_thread() -> None:
    log = Log()
    log.user("Begin.", 0)
    log.between("attachment")
    log.answer("one", 2, 0, FRAME)
    log.between("system")
    log.between("progress")
    log.user("Go on.", 9)
    log.answer("two", 10, FRAME, 20)
    found = log.read()
    assert roles(found) == ["user", "assistant", "user", "assistant"]


def test_sub_agents_side_by_side_keep_their_own_rows() -> None:
    log = Log()
    log.user("Begin.", 0)
    log.answer("one", 2, 0, FRAME)
    for side in ("a", "b"):
        log.user(f"{side}: look", 10, side)
    for side in ("b", "a"):
        log.answer(f"{side}: seen", 12, 0, SIDE, side)
        log.between("progress", side)
    for side in ("a", "b"):
        log.user(f"{side}: and?", 14, side)
        log.answer(f"{side}: more", 16, SIDE, 20, side)
    found = log.read()
    assert [thread.kind for thread in found.threads] == ["main", "side", "side"]
    for thread in found.threads[1:]:
        words = " ".join(str(message["content"]) for message in thread.messages)
        assert ("a:" in words) != ("b:" in words)
        assert len(thread.calls) == 2
    assert audit(fit(Timeline(found), METER)).calls == 5


def test_a_sub_agent_of_another_kind_has_a_frame_of_its_own() -> None:
    log = Log()
    log.user("a: look", 0, "a")
    log.answer("a: seen", 2, 0, SIDE, "a")
    log.user("b: look", 10, "b")
    log.answer("b: seen", 12, 0, SIDE + 5_000, "b")
    log.user("c: look", 20, "c")
    log.answer("c: seen", 22, SIDE, 15, "c")
    found = log.judged()
    assert (found.calls, found.misses) == (3, [])
    assert found.predicted > SIDE - 500


def test_a_prompt_without_a_parent_behind_an_answer_begins_anew_with_the_same_frame() -> None:
    log = Log()
    log.user("Begin. " * 3_000, 0)
    log.answer("one", 2, 0, FRAME + 3_000)
    log.user("Something else.", 9, parent=None)
    log.answer("two", 11, FRAME, 20)
    found = log.read()
    assert [len(thread.messages) for thread in found.threads] == [2, 2]
    assert (found.threads[1].follows, found.threads[1].changed) == ("main", Cause.EDIT)
    judged = audit(fit(Timeline(found), METER))
    assert judged.misses == []
    assert judged.explained[Cause.EDIT] == (1, 0)


def test_output_that_left_unseen_leaves_the_frame_in_the_cache() -> None:
    """It clears old results by itself once the context is large, and records nothing of it."""
    log = Log()
    log.user("Begin.", 0)
    log.answer("one", 2, 0, FRAME)
    log.user("word " * 9_000, 5)
    log.answer("two", 6, FRAME, 9_000)
    log.user("Go on.", 9)
    log.answer("three", 10, FRAME, 1_000)
    found = log.judged()
    assert found.misses == []
    assert abs(found.predicted - 2 * FRAME) < 600
    assert found.explained[Cause.UNEXPLAINED][0] == 1


def test_a_prompt_that_the_server_read_twice_says_nothing_of_its_size() -> None:
    log = Log()
    log.user("Search the web.", 0)
    log.answer("one", 2, 0, FRAME)
    log.user("Again.", 5)
    log.answer("two", 6, 2 * FRAME, 20)
    one = {"input_tokens": 4, "cache_read_input_tokens": FRAME, "output_tokens": 4}
    usage = log.rows[-1]["message"]["usage"]
    usage["iterations"] = [
        {**one, "cache_creation_input_tokens": 20},
        {**one, "cache_creation_input_tokens": 0},
    ]
    log.user("And?", 9)
    log.answer("three", 10, FRAME + 20, 20)
    recording = log.read()
    said = [call.reported for _, call in recording.calls()]
    assert said[1] == Reported(2 * FRAME + 28, 2 * FRAME, 20, 0, 8, passes=2)
    assert said[1].size is None
    fitted = fit(Timeline(recording), METER)
    assert fitted.renewed == frozenset()
    assert abs(fitted.requests[1][1].tokens - FRAME) < 600
    assert {miss.number for miss in audit(fitted).misses} <= {2}, (
        "half of what was read is predicted"
    )
