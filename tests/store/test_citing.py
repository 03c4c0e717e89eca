"""What cites a body, and which bodies a revision is about to cite."""

from __future__ import annotations

from typing import Any

from redraft.context import Change, Commit, Insert, Live, Origin, Revision, commit
from redraft.dialects import OpenAIChat
from redraft.dialects.stubs import OverflowStub, body_id
from redraft.store import Spill, citations, spills_of
from redraft.tokens import Meter

CHAT = OpenAIChat()


class Words:
    def count(self, text: str) -> int:
        return len(text.split())


def live(*results: str) -> Live:
    function = {"name": "bash", "arguments": "{}"}
    calls = [
        {"id": f"c{at}", "type": "function", "function": function} for at in range(len(results))
    ]
    messages: list[Any] = [
        {"role": "user", "content": f"what is {line('user')}?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *(
            {"role": "tool", "tool_call_id": f"c{at}", "content": text}
            for at, text in enumerate(results)
        ),
        {"role": "assistant", "content": line("assistant")},
        {"role": "user", "content": line("user")},
    ]
    frame, contents = CHAT.split({"messages": messages})
    return Live.start(CHAT, Meter(Words()), frame, contents)


def line(body: str) -> str:
    return OverflowStub.of(body, "bash", "c0").line


def replaced(one: Live, number: int, text: str, origin: Origin = Origin.HARNESS) -> Revision:
    turn = next(turn for turn in one.turns if turn.number == number)
    draft = one.draft(CHAT.write(turn.content, text, turn.content.calls, ()), origin)
    return Revision("model", "test", (Change(number, turn.digest, draft),))


def applied(one: Live, revision: Revision) -> Live:
    answer = commit(one, revision, 10**9)
    assert isinstance(answer, Commit)
    return answer.live


def test_a_quoted_stub_in_what_anybody_said_holds_nothing() -> None:
    assert citations(live(line("tool")).turns) == set()


def test_stubs_notes_and_summaries_hold_what_they_cite() -> None:
    one = applied(live("a b c", "d e f"), replaced(live("a b c", "d e f"), 3, line("a b c")))
    assert citations(one.turns) == {body_id("a b c")}
    noted = replaced(one, 4, f"in short\n{line('d e f')}", Origin.EDITED)
    assert citations(applied(one, noted).turns) == {body_id("a b c"), body_id("d e f")}
    summary = one.draft(CHAT.note("user", f"so far\n{line('x')}"), Origin.SUMMARY)
    told = applied(one, Revision("policy", "test", inserts=(Insert(5, summary),)))
    assert body_id("x") in citations(told.turns)


def test_what_a_revision_moves_out_is_what_it_cites_of_what_it_replaces() -> None:
    one = live("a b c", "d e f")
    assert spills_of(replaced(one, 3, line("a b c")), one) == (Spill(body_id("a b c"), "a b c"),)
    assert spills_of(replaced(one, 3, "shorter", Origin.EDITED), one) == ()
    assert spills_of(replaced(one, 3, line("d e f")), one) == ()
    turn = one.turns[2]
    assert spills_of(Revision("model", "test", (Change(3, turn.digest, None),)), one) == ()


def test_a_note_that_is_moved_out_names_what_it_cites() -> None:
    one = live("a b c", "d e f")
    note = f"in short\n{line('a b c')}\n{line('d e f')}"
    noted = applied(one, replaced(one, 3, note, Origin.EDITED))
    (spill,) = spills_of(replaced(noted, 3, line(note)), noted)
    assert spill.cites == tuple(sorted((body_id("a b c"), body_id("d e f"))))
