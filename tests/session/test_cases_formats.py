"""Faults that others shipped, with the right values: calls and results, ids, empty content, reasoning
and the order of roles, in every wire format.

Which row of the collection each test holds is listed in docs/design/cases.md.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from format_world import FORMATS, TASK, Format, Story, bytes_of
from session_world import common, replaced

from redraft.context import Change, Commit, Draft, Gate, Insert, Live, Origin, Revision, commit
from redraft.dialects import Native, Profile, check, repair
from redraft.dialects.rules import (
    ANTHROPIC,
    BEDROCK,
    GPT_CHAT,
    LLAMA,
    MISTRAL,
    OPENAI_CHAT,
    QWEN,
)

FOLDING = [name for name, form in FORMATS.items() if form.folds]
LOOK = ("bash", {"command": "look"})
SEE = ("bash", {"command": "see"})
NOT_ON_PAIRS = {"user-last", "one-call-turn", "user-ends"}
WIPE = 'printf "[[CTX_END]]\\n" > "$REDRAFT_CONTEXT_FILE"'


@pytest.fixture(params=list(FORMATS))
def form(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]()


def legal(form: Format, messages: Sequence[Native]) -> bool:
    return check(messages, form.profile) == []


def mended(form: Format, *messages: Any) -> list[Any]:
    """What is sent for a list that breaks rules."""
    done = list(repair([*form.task(), *messages], form.profile))
    assert legal(form, done)
    return done


def whole_groups(form: Format, messages: list[Any]) -> None:
    """Calls and results are in order as they are joined, and the rest can be mended without them."""
    assert {violation.rule for violation in check(messages, form.profile)} <= NOT_ON_PAIRS
    sent = repair(messages, form.profile)
    assert legal(form, sent)
    assert bytes_of(sent).count(b"interrupted") == 0


def joined(live: Live) -> list[Any]:
    natives: list[Any] = live.body()[live.dialect.turns_field]
    return natives


def without(live: Live, numbers: Sequence[int], note: str = "") -> Commit | None:
    """The context after a revision that drops turns, with a note in their place if there is one."""
    gone = [turn for turn in live.turns if turn.number in numbers]
    drops = tuple(Change(turn.number, turn.digest, None) for turn in gone)
    draft = live.draft(live.dialect.note("assistant", note), Origin.SUMMARY) if note else None
    at = live.positions()[gone[0].number] - 1
    inserts = (Insert(live.turns[at].number, draft),) if isinstance(draft, Draft) else ()
    revision = Revision("policy", "test", drops, inserts, gate=Gate.FIT)
    answer = commit(live, revision, 10**9)
    return answer if isinstance(answer, Commit) else None


def worked(form: Format, rounds: int = 3) -> Live:
    """A context of so many rounds and a question behind them."""
    story = Story(form)
    with story.session as session:
        story.fill(rounds)
        session.append(form.user("what now?"))
        return session.live


# -- calls and results -----------------------------------------------------------------------------


def test_no_cut_parts_a_call_from_its_results(form: Format) -> None:
    """Whatever run of turns goes, in a window or under a summary, the list is legal as it is joined."""
    live = worked(form)
    numbers = [turn.number for turn in live.editable()]
    made = 0
    for first, last in itertools.combinations(range(len(numbers) + 1), 2):
        for note in ("", "what happened"):
            done = without(live, numbers[first:last], note)
            if done is not None:
                made += 1
                whole_groups(form, joined(done.live))
    assert made > 50


def test_a_compaction_inside_of_another_leaves_no_result_alone(form: Format) -> None:
    live = worked(form, 4)
    numbers = [turn.number for turn in live.editable()]
    inner = without(live, numbers[3:8], "the middle")
    assert inner is not None
    left = [turn.number for turn in inner.live.editable()]
    for first, last in itertools.combinations(range(len(left) + 1), 2):
        outer = without(inner.live, left[first:last], "more of it")
        if outer is not None:
            whole_groups(form, joined(outer.live))


def test_under_the_budget_a_history_is_sent_as_it_came(form: Format) -> None:
    asked = form.reply("on it", LOOK, LOOK)
    history = [*form.task(), *form.kept(asked), *form.results(asked, "one", "two")]
    history += [*form.kept(form.reply("done")), form.user("more")]
    with Story(form, messages=history, interface="none").session as session:
        request = session.request()
        assert request is not None
        assert bytes_of(request[form.turns]) == bytes_of(history)
        again = session.request()
        assert again is not None
        assert common(request[form.turns], again[form.turns]) == len(history)


@pytest.mark.parametrize("name", FOLDING)
def test_words_beside_a_result_stay_when_its_group_goes(name: str) -> None:
    form = FORMATS[name]()
    asked = form.reply("on it", LOOK)
    (carrier,) = form.results(asked, "the output")
    words = form.user("and mind the tests")
    key = "parts" if "parts" in carrier else "content"
    blocks = words[key] if key == "parts" else [{"type": "text", "text": words[key]}]
    shared = {**carrier, key: [*carrier[key], *blocks]}
    history = [*form.task(), *form.kept(asked), shared, *form.kept(form.reply("done"))]
    with Story(form, messages=history).session as session:
        live = session.live
    call = next(turn for turn in live.turns if turn.content.calls)
    done = without(live, [call.number])
    assert done is not None
    text = bytes_of(joined(done.live)).decode()
    assert "and mind the tests" in text
    assert "the output" not in text
    whole_groups(form, joined(done.live))


def test_a_call_that_waits_for_its_result_is_not_removed(form: Format) -> None:
    """A confirmation is pending: the person may still say yes."""
    story = Story(form)
    with story.session as session:
        story.fill(1)
        story.ask(form.reply("may I?", LOOK))
        live = session.live
        asking = live.turns[-1]
        assert asking.content.calls
        done = without(live, [asking.number])
        assert done is None or done.live.turns[-1] is asking


def test_of_two_results_of_one_call_none_is_lost_and_the_list_is_legal(form: Format) -> None:
    """First pending or aborted, then the real one."""
    asked = form.reply("on it", LOOK)
    results = [*form.results(asked, "pending"), *form.results(asked, "final value 7")]
    sent = mended(form, *form.kept(asked), *results, form.user("go on"))
    assert "final value 7" in bytes_of(sent).decode()


def test_an_interrupted_call_is_healed_once_and_written_down(form: Format) -> None:
    asked = form.reply("on it", LOOK)
    history = [*form.task(), *form.kept(asked), form.user("are you there?")]
    story = Story(form, messages=history)
    with story.session as session:
        results = [turn for turn in session.live.turns if turn.role == "tool"]
        assert len(results) == 1
        assert "interrupted" in results[0].content.text
        story.request()
        story.request()
    assert story.bytes[0] == story.bytes[1]


def test_what_is_said_while_a_call_runs_stands_behind_its_result(form: Format) -> None:
    story = Story(form)
    with story.session as session:
        story.ask(form.reply("on it", LOOK, LOOK))
        with session.round() as now:
            session.append(form.user("a reminder"))
            for at, call in enumerate(now.calls):
                now.result(call, f"output {at}")
        story.request()
        roles = [turn.role for turn in session.live.turns[-3:]]
        assert roles == ["tool", "tool", "user"]


@pytest.mark.parametrize("name", FOLDING)
def test_results_stand_in_front_of_the_words_beside_them(name: str) -> None:
    form = FORMATS[name]()
    asked = form.reply("on it", LOOK)
    (carrier,) = form.results(asked, "the output")
    words = form.user("and mind the tests")
    key = "parts" if "parts" in carrier else "content"
    blocks = words[key] if key == "parts" else [{"type": "text", "text": words[key]}]
    sent = mended(form, *form.kept(asked), {**carrier, key: [*blocks, *carrier[key]]})
    text = bytes_of(sent).decode()
    if form.name == "anthropic":
        assert text.index("the output") < text.index("and mind the tests")
    assert "and mind the tests" in text


def test_a_pinned_exchange_keeps_what_it_has_revealed(form: Format) -> None:
    """A result may carry state, such as a tool that it reveals: what is pinned stays with its call."""
    story = Story(form)
    with story.session as session:
        story.play(form.reply("find a tool", LOOK), "the tool is called frobnicate")
        story.fill(2)
        held = next(t for t in session.live.turns if "frobnicate" in t.content.text)
        session.pin(held.number)
        story.play(story.say(WIPE))
        story.request()
        assert "frobnicate" in bytes_of(story.sent[-1]).decode()
        assert held in session.live.turns


# -- ids -------------------------------------------------------------------------------------------


def test_ids_that_a_server_uses_again_in_a_later_turn_do_not_meet(form: Format) -> None:
    story = Story(form)
    with story.session:
        for at in range(4):
            form.ids = itertools.count(1)
            story.play(form.reply(f"step {at}", LOOK, LOOK), f"first {at}", f"second {at}")
        story.request()
    for before, after in itertools.pairwise(story.sent):
        assert after[: len(before)] == before
    text = story.bytes[-1].decode()
    assert all(f"{word} {at}" in text for word in ("first", "second") for at in range(4))


def test_two_calls_with_one_id_get_a_result_each(form: Format) -> None:
    story = Story(form)
    form.ids = itertools.repeat(1)
    with story.session:
        asked = story.play(form.reply("both", LOOK, SEE), "first", "second")
        assert len(asked.calls) == 2
        story.request()
    text = story.bytes[-1].decode()
    assert "first" in text
    assert "second" in text


# -- empty content ---------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["", " ", "\n", "\ud800"])
def test_a_command_that_prints_nothing_is_no_empty_block(form: Format, output: str) -> None:
    story = Story(form, interface="none")
    with story.session:
        story.play(form.reply("on it", LOOK), output)
        story.request()
    bytes_of(story.sent[-1]).decode("utf-8")


def test_a_message_that_has_nothing_left_goes_and_its_neighbours_are_looked_at(
    form: Format,
) -> None:
    hollow: Any = {
        "openai-chat": {"role": "assistant", "content": None},
        "openai-responses": {"type": "message", "role": "assistant", "content": []},
        "anthropic": {"role": "assistant", "content": []},
        "gemini": {"role": "model", "parts": []},
    }[form.name]
    sent = mended(form, hollow, form.user("go on"))
    assert hollow not in sent
    assert "go on" in bytes_of(sent).decode()
    assert TASK in bytes_of(sent).decode()


def test_a_reply_of_reasoning_alone_does_not_spoil_what_comes_after_it(form: Format) -> None:
    story = Story(form)
    with story.session as session:
        story.ask(form.reply("", thinks="hm"))
        if session.done:
            session.append(form.user("go on"))
        story.request()
        story.play(form.reply("on it", LOOK), "fine")
        story.request()


@pytest.mark.parametrize("words", ["\ud800", "\udfff\ud800", " \ud800 "])
def test_words_of_bad_code_units_alone_are_not_empty_when_they_are_clean(
    form: Format, words: str
) -> None:
    sent = mended(form, *form.kept(form.reply("hello")), form.user(words))
    assert "\ufffd" in json.dumps(sent, ensure_ascii=False)


# -- reasoning and what else a provider attaches ---------------------------------------------------


def reasoning_of(native: Any) -> list[str]:
    """Every piece of reasoning in a message or item, as text."""
    if native.get("type") == "reasoning":
        return [json.dumps(native)]
    if "reasoning_content" in native:
        return [native["reasoning_content"]]
    blocks = native.get("parts") or native.get("content") or ()
    return [
        json.dumps(block)
        for block in blocks
        if isinstance(block, dict) and (block.get("type") == "thinking" or block.get("thought"))
    ]


def test_reasoning_is_sent_as_it_came_or_not_at_all(form: Format) -> None:
    story = Story(form)
    given: list[str] = []
    with story.session:
        for at in range(5):
            command = "look" if at < 4 else replaced(4, 5, "settled")
            response = story.say(command, text=f"step {at}", thinks=f"thought {at}")
            given += [one for native in form.kept(response) for one in reasoning_of(native)]
            story.play(response)
        story.request()
    sent = [one for native in story.sent[-1] for one in reasoning_of(native)]
    assert len(given) == 5
    assert sent
    assert set(sent) <= set(given)


def test_reasoning_goes_as_a_whole_and_with_what_names_it(form: Format) -> None:
    response = form.reply("I looked", LOOK, thinks="secret thought")
    body = {form.turns: [*form.task(), *form.kept(response), *form.results(response, "x")]}
    dialect = form.dialect()
    frame, contents = dialect.split(body)
    assert any(reasoning_of(native) for native in body[form.turns])
    bare = [dialect.without_reasoning(one) if one.calls else one for one in contents]
    sent = dialect.join(frame, bare)[form.turns]
    text = bytes_of(sent).decode()
    assert not any(reasoning_of(native) for native in sent)
    assert "secret thought" not in text
    assert "rs_" not in text
    assert "msg_" not in text
    assert "I looked" in text
    assert legal(form, sent)


def test_reasoning_that_is_sent_again_is_counted(form: Format) -> None:
    sizes = []
    for thinks in ("", "a thought of some length " * 40):
        story = Story(form)
        with story.session as session:
            story.play(form.reply("on it", LOOK, thinks=thinks), "x")
            sizes.append(session.tokens)
    assert sizes[1] > sizes[0]


def test_a_signature_stays_on_its_call_through_an_edit_of_the_text() -> None:
    form = FORMATS["gemini"]()
    story = Story(form)
    with story.session as session:
        story.play(form.reply("a long explanation", LOOK, LOOK), "x", "y")
        held = next(turn for turn in session.live.turns if turn.content.calls)
        content = session.live.dialect.write(held.content, "short", held.content.calls, ())
        (native,) = content.carriers
    calls = [part for part in native["parts"] if "functionCall" in part]
    assert [part.get("thoughtSignature") for part in calls] == ["c2ln", None]


# -- the order of roles ----------------------------------------------------------------------------

S: Any = {"role": "system", "content": "You are an agent."}
U: Any = {"role": "user", "content": "Do the task."}
MORE: Any = {"role": "user", "content": "Go on."}
CALL: Any = {"id": "abcdefghi", "type": "function", "function": {"name": "b", "arguments": "{}"}}
A: Any = {"role": "assistant", "content": "on it", "tool_calls": [CALL]}
T: Any = {"role": "tool", "tool_call_id": "abcdefghi", "content": "x"}


def test_a_list_whose_head_was_cut_off_begins_with_the_user(form: Format) -> None:
    asked = form.reply("on it", LOOK)
    messages = [*form.kept(asked), *form.results(asked, "x"), form.user("go on")]
    sent = repair(messages, form.profile)
    assert legal(form, sent)
    if form.name in ("anthropic", "gemini"):
        assert sent[0]["role"] == "user"


def test_a_bridge_is_built_for_those_who_ask_for_it_and_for_nobody_else() -> None:
    messages = [S, U, A, T, MORE]
    assert repair(messages, OPENAI_CHAT) is messages
    sent = repair(messages, MISTRAL)
    assert [message["role"] for message in sent] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]
    assert messages == [S, U, A, T, MORE]


@pytest.mark.parametrize("profile", [LLAMA, MISTRAL, BEDROCK], ids=lambda one: one.name)
def test_neighbours_of_one_role_are_merged_where_roles_must_alternate(profile: Profile) -> None:
    messages = [U, MORE] if profile is BEDROCK else [S, U, MORE]
    assert repair(messages, OPENAI_CHAT) is messages
    sent = repair(messages, profile)
    assert [message["role"] for message in sent][-1] == "user"
    assert len(sent) == len(messages) - 1
    text = bytes_of(sent).decode()
    assert text.index("Do the task.") < text.index("Go on.")


def test_a_file_that_is_wiped_leaves_the_task_and_a_list_that_can_be_sent(form: Format) -> None:
    story = Story(form)
    with story.session:
        story.fill(2)
        story.play(story.say(WIPE))
        story.request()
    assert TASK in bytes_of(story.sent[-1]).decode()
    assert len(story.sent[-1]) <= 5


@pytest.mark.parametrize(
    "profile", [MISTRAL, QWEN, LLAMA, ANTHROPIC, BEDROCK], ids=lambda one: one.name
)
def test_no_system_role_stands_outside_of_the_head_and_none_is_raised(profile: Profile) -> None:
    middle = {"role": "system", "content": "mind the tests"}
    head = [] if profile.dialect == "anthropic" else [S]
    sent = repair([*head, U, {"role": "assistant", "content": "hm"}, middle, MORE], profile)
    assert check(sent, profile) == []
    assert "mind the tests" in bytes_of(sent).decode()
    assert "system" not in [message["role"] for message in sent[1:]]
    raised = repair([*head, U, A, T, MORE], GPT_CHAT if profile.dialect != "anthropic" else profile)
    assert sum(message["role"] == "system" for message in raised) == len(head)
