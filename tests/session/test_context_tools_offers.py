"""When the context tools are offered in a session: by usage, by round, on request; how; and once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from context_tools_world import FencedTools, Tools, ToolsChat, body, drop, quiet, status
from format_world import FORMATS, Client, Format, Json, Story
from session_world import balanced, legal, user

from redraft import Session, Settings
from redraft.context import Origin
from redraft.dialects.fenced import Fenced
from redraft.errors import SettingsError
from redraft.policies import Pressure
from redraft.store import Rehomed, SQLiteJournal
from redraft.tools.catalogue import TOOL_ARGUMENTS

ALL = list(TOOL_ARGUMENTS)
NEVER = quiet(agent_context_tools_offer_round=0)


def form_of(name: str) -> Format:
    return ToolsChat() if name == "openai-chat" else FORMATS[name]()


@pytest.fixture(params=list(FORMATS))
def form(request: pytest.FixtureRequest) -> Format:
    return form_of(request.param)


@pytest.fixture
def chat() -> Iterator[Tools]:
    with (made := Tools(ToolsChat())).session:
        yield made
    assert balanced(made.session)


def fill_to(tools: Any, tokens: int) -> None:
    while tools.session.tokens < tokens:
        tools.work(body("fill", 400))


def work(tools: Tools, rounds: int) -> None:
    for _ in range(rounds):
        tools.work("short")


# -- when --------------------------------------------------------------------------------------------


def test_they_are_in_no_request_until_they_are_due_and_then_in_every_one(form: Format) -> None:
    tools = Tools(form, settings=NEVER, budget=24_000)
    with tools.session as session:
        assert tools.offered() == []
        fill_to(tools, 9_000)
        assert session.tokens < 0.45 * 24_000
        assert tools.offered() == []
        fill_to(tools, 11_000)
        assert tools.offered() == ALL
        tools.use(*(drop(handle) for handle in tools.handles()))
        assert session.tokens < 0.45 * 24_000
        assert tools.offered() == ALL  # for the rest of the turn
        changes = [one for one in session.journal.entries if isinstance(one, Rehomed)]
        assert len(changes) == 1  # type: ignore[attr-defined]
        assert balanced(session)


def test_what_stands_before_them_among_the_tools_stays(form: Format) -> None:
    tools = Tools(form, budget=24_000)
    with tools.session:
        before = tools.story.request()
        fill_to(tools, 11_000)
        after = tools.story.request()
        assert before is not None
        assert after is not None
        names = form.tool_names(after)
        assert names == [*form.tool_names(before), *ALL]


@pytest.mark.parametrize(("offer_round", "due"), [(3, 3), (12, 12), (1, 1), (0, None)])
def test_from_a_round_of_the_exchange_on(offer_round: int, due: int | None) -> None:
    made = Tools(ToolsChat(), settings=quiet(agent_context_tools_offer_round=offer_round))
    with made.session:
        first = None
        for number in range(1, 14):
            if made.offered():
                first = number
                break
            made.work("short")
        assert first == due


def test_the_round_is_counted_within_the_exchange(chat: Tools) -> None:
    work(chat, 10)
    chat.story.play(chat.form.reply("That is all."))
    chat.session.append(user("More."))
    work(chat, 10)
    assert chat.offered() == []
    chat.work("short")
    assert chat.offered() == ALL


def test_a_prod_of_the_harness_begins_no_exchange(chat: Tools) -> None:
    work(chat, 6)
    chat.story.play(chat.form.reply(""))
    chat.session.append(user("[redraft:beef] Your reply was empty. Your context window is fine."))
    work(chat, 4)
    assert chat.offered() == ALL


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("Please free up your context first.", True),
        ("libera el contexto", True),
        ("How large is your context window?", True),
        ("usa context_drop si hace falta", True),
        ("Free the context manager in test_pool.py.", False),
        ("Explain the context menu of this window.", False),
    ],
)
def test_when_the_user_asks_for_them(words: str, asks: bool) -> None:
    made = Tools(ToolsChat(), messages=[user(words)])
    with made.session:
        assert bool(made.offered()) is asks
    later = Tools(ToolsChat())
    with later.session:
        later.work("short")
        later.session.append(user(words))
        assert bool(later.offered()) is asks


def test_words_of_an_earlier_exchange_do_not_ask(chat: Tools) -> None:
    made = Tools(ToolsChat(), settings=quiet(agent_context_tools_enabled=False))
    with made.session:
        made.session.append(user("What is your context window?"))
        assert made.offered() == []  # and never, where they are switched off
    chat.story.play(chat.form.reply("done"))
    chat.session.append(user("And now?"))
    assert chat.offered() == []


@pytest.mark.parametrize("interface", ["file", "tool", "both", "none"])
def test_other_interfaces_have_none_of_them(interface: str) -> None:
    made = Tools(ToolsChat(), interface=interface, messages=[user("free up your context")])
    with made.session:
        assert made.offered() == []


def test_with_all_the_file_edit_context_and_the_tools_are_there(form: Format) -> None:
    made = Tools(form, interface="all", messages=form.task("free up your context window"))
    with made.session as session:
        request = made.story.request()
        assert request is not None
        assert form.tool_names(request) == ["bash", "edit_context", *ALL]
        assert session.context_file is not None
        assert session.own_tools == ["edit_context", *sorted(ALL)]
        section = form.section(request) if form.fields and "temperature" not in form.fields else ""
        if section:
            assert "context_drop" in section
            assert str(session.context_file) in section


def test_without_a_file_the_section_is_short_and_names_none(form: Format) -> None:
    made = Tools(form)
    with made.session as session:
        assert session.context_file is None
        assert session.env == {}
        shown = str(made.story.request())
        assert "LIVE_CTX" not in shown
        assert shown.count("## Redrafting your own context") == 1
        assert "read_overflow" in shown


def test_a_small_window_is_offered_them_at_the_soft_ceiling_at_the_latest() -> None:
    """Where most of the window is kept for the answer, 45 % of it is never reached."""
    settings = quiet(
        agent_context_tools_offer_round=0,
        agent_midturn_compact_pct=0.7,
        output_reserve=20_000,
        margin=300,
    )
    made = Tools(ToolsChat(), window=30_000, budget=None, settings=settings, policy="append-only")
    with made.session as session:
        assert session.limit == 9_700
        fill_to(made, 6_000)
        assert made.offered() == []
        fill_to(made, 7_000)
        assert session.tokens < 0.45 * 30_000
        assert made.offered() == ALL


def test_they_wait_where_their_schemas_would_not_fit() -> None:
    made = Tools(ToolsChat(), budget=2_600, settings=quiet(margin=200), messages=[user("x" * 900)])
    with made.session as session:
        session.append(user("free up your context " + "word " * 900))
        request = made.story.request()
        assert request is not None
        assert session.tokens <= session.limit


# -- how often they change ---------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5", "unheard-of"])
def test_the_tools_change_once_a_session_also_where_reasoning_is_bound(model: str) -> None:
    form = FORMATS["anthropic"]()
    form.model = model  # type: ignore[misc]
    tools = Tools(form, budget=60_000)
    with tools.session as session:
        lists: list[Any] = []
        for exchange in range(4):
            for _ in range(9):
                response = form.reply("hm", ("bash", {"command": "ls"}), thinks="thinking hard")
                tools.story.play(response, body("fill", 700))
                request = tools.story.request()
                if request is not None:
                    lists.append([tool["name"] for tool in request.get("tools", [])])
            tools.story.play(form.reply(f"answer {exchange}", thinks="so"))
            session.append(user("go on"))
        changes = [a != b for a, b in itertools.pairwise(lists)]
        assert sum(changes) == 1
        assert lists[-1] == ["bash", *ALL]
        assert balanced(session)


def test_an_offer_holds_in_the_next_exchange_too(chat: Tools) -> None:
    """Every server that we know of caches by prefix, so they are not taken back."""
    chat.session.append(user("free up your context"))
    assert chat.offered() == ALL
    chat.story.play(chat.form.reply("done"))
    chat.session.append(user("something else"))
    assert chat.offered() == ALL


# -- the reminder ------------------------------------------------------------------------------------


def reminders(session: Session) -> int:
    texts = [turn.content.text for turn in session.live.turns]
    return sum("context_status shows what is large" in text for text in texts)


def test_one_line_reminds_of_them_at_the_soft_ceiling_once_a_turn() -> None:
    settings = quiet(agent_midturn_compact_pct=0.5, agent_midturn_keep_tool_rounds=99)
    tools = Tools(ToolsChat(), budget=16_000, settings=settings, policy="append-only")
    with tools.session as session:
        fill_to(tools, 6_000)
        tools.work("short")
        assert reminders(session) == 0
        fill_to(tools, 8_000)
        tools.work("short")
        tools.work("short")
        assert reminders(session) == 1
        line = next(
            line
            for turn in session.live.turns
            for line in turn.content.text.split("\n")
            if "context_status shows" in line
        )
        assert line.startswith("[redraft:beef] Your context is 5")
        tools.story.play(tools.form.reply("done"))
        session.append(user("next"))
        tools.work("short")
        tools.work("short")
        assert reminders(session) == 2


def test_the_ceiling_is_that_of_the_pass_that_the_session_has() -> None:
    tools = Tools(ToolsChat(), budget=16_000, policy=Pressure(ceiling=0.5, keep=99))
    with tools.session as session:
        fill_to(tools, 6_000)
        tools.work("short")
        assert reminders(session) == 0
        fill_to(tools, 8_000)
        tools.work("short")
        tools.work("short")
        assert reminders(session) == 1


def test_where_tools_are_words_a_framework_s_requests_get_none_in_the_field() -> None:
    settings = quiet(agent_context_tools_offer_round=1)
    with Session(
        [], dialect=Fenced(), interface="context-tools", settings=settings, tag="beef"
    ) as session:
        messages = [user("Look at a.py.")]
        for _ in range(2):
            body = session.view_body({"messages": messages})
            assert "tools" not in body
            messages = [*messages, {"role": "assistant", "content": "done"}, user("More.")]


def test_the_ceiling_was_reached_though_the_pass_made_room_again() -> None:
    settings = quiet(agent_midturn_compact_pct=0.5, agent_midturn_keep_tool_rounds=1)
    tools = Tools(ToolsChat(), budget=16_000, settings=settings)
    with tools.session as session:
        fill_to(tools, 6_000)
        assert reminders(session) == 0
        before = session.report().rotations
        while session.report().rotations == before:
            tools.work(body("x"))
        assert session.tokens < 0.5 * session.limit
        tools.work("short")
        tools.work("short")
        assert reminders(session) == 1


# -- another process ---------------------------------------------------------------------------------


def resumed(directory: Path, **options: Any) -> Session:
    return Session.resume(SQLiteJournal(directory), **options)


def test_another_process_knows_what_was_offered_and_when_the_exchange_began(
    tmp_path: Path,
) -> None:
    with SQLiteJournal(tmp_path) as journal:
        tools = Tools(ToolsChat(), journal=journal)
        with tools.session:
            for _ in range(8):
                tools.work("short")
    for rounds, names in ((2, []), (2, ALL), (1, ALL)):
        with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as session:
            tools.story.session = tools.session = session
            for _ in range(rounds):
                tools.work("short")
            assert tools.offered() == names
            changes = [entry for entry in journal.entries() if isinstance(entry, Rehomed)]
            assert len(changes) == (1 if names else 0)
            assert balanced(session)


# -- the fenced route --------------------------------------------------------------------------------


def notes(messages: list[Json]) -> list[Json]:
    start = "[redraft:beef] From now on you can manage your own context"
    return [one for one in messages if str(one["content"]).startswith(start)]


def test_a_fenced_route_gets_the_call_syntax_once() -> None:
    fenced = FencedTools(settings=quiet(agent_context_tools_offer_round=3))
    with fenced.session as session:
        fenced.work("short")
        assert notes(session.messages) == []
        fenced.work("short")
        request = fenced.session.request()
        assert request is not None
        assert "tools" not in request
        (note,) = notes(request["messages"])
        assert note["role"] == "user"
        assert note["content"].startswith("[redraft:beef] From now on you can manage")
        assert all(name in note["content"] for name in ALL)
        (turn,) = [one for one in session.live.turns if "From now on" in one.content.text]
        assert turn.origin is Origin.HARNESS
        assert turn.number in session.live.pins  # without it they could not be called
        assert [pin.owner for pin in session._core.board.pins] == ["harness"]
        for _ in range(4):
            fenced.work(body("alpha"))
        assert "dropped" in fenced.use(drop("r3"))[0]
        assert len(notes(session.messages)) == 1
        assert balanced(session)
        assert legal(session.messages)


def test_a_user_who_asks_on_a_fenced_route_is_answered_in_the_same_request() -> None:
    fenced = FencedTools()
    with fenced.session as session:
        session.append(user("free up your context, please"))
        request = session.request()
        assert request is not None
        assert notes(request["messages"]) == request["messages"][-1:]
        assert "context: " in fenced.use(status())[0]
        assert len(notes(session.messages)) == 1


def test_the_note_is_not_given_again_by_another_process(tmp_path: Path) -> None:
    from redraft.dialects.fenced import Fenced

    with SQLiteJournal(tmp_path, dialect=Fenced()) as journal:
        fenced = FencedTools(journal=journal, settings=quiet(agent_context_tools_offer_round=2))
        with fenced.session as session:
            fenced.work(body("alpha"))
            fenced.work(body("beta"))
            assert len(notes(session.messages)) == 1
    with SQLiteJournal(tmp_path) as journal, Session.resume(journal) as session:
        fenced.session = session
        fenced.work(body("gamma"))
        assert "dropped" in fenced.use(drop("r1"))[0]
        assert len(notes(session.messages)) == 1


# -- frameworks that own the loop --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
def test_a_frameworks_own_request_gets_them_once_they_are_due(name: str) -> None:
    form = form_of(name)
    with Story(form, interface="context-tools", settings=quiet(), budget=20_000).session as session:
        client = Client(form, session)
        sent = client.send()
        lists = [form.tool_names(sent)]
        for _ in range(12):
            sent = client.work("ls", output=body("fill", 300))
            lists.append(form.tool_names(sent))
        assert lists[0] == ["bash"]
        assert lists[-1] == ["bash", *ALL]
        assert sum(a != b for a, b in itertools.pairwise(lists)) == 1
        assert balanced(session)


def test_where_only_messages_are_given_out_the_tools_are_the_clients_to_declare() -> None:
    with Session([], interface="context-tools", budget=9_000) as session:
        before = session.live.frame_tokens
        session.view([user("free up your context")])
        assert session.live.frame_tokens == before


# -- what cannot be ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: Settings(agent_context_tools_max_pins=1_001),
        lambda: Settings(agent_context_tools_max_pins=-1),
        lambda: Session([user("task")], interface="contexttools"),  # type: ignore[arg-type]
    ],
)
def test_values_that_cannot_be_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(SettingsError):
        make()
