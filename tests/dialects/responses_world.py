"""Requests of the Responses API as agents send them, with items of every type, and what a server checks.

Every item of the model's that follows reasoning has an id, as the server gives it: the pairs that a
server would look for are those of the list as it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from block_world import NAMES, texts, words
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from redraft.dialects.openai_responses import OpenAIResponses
from redraft.dialects.responses_items import Kind, kind_of
from redraft.testing.strategies import png

Json = dict[str, Any]

RESPONSES = OpenAIResponses()
SEALED = "gAAAAAB" + "x" * 93
PNG = png(640, 480)


def user(content: Any = "task", **fields: Any) -> Json:
    return {"role": "user", "content": content, **fields}


def said(text: str = "hello", name: str = "msg_1", **fields: Any) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    message = {"type": "message", "id": name, "role": "assistant", "content": content}
    return {**message, "status": "completed", **fields}


def thought(name: str = "rs_1", **fields: Any) -> Json:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": SEALED, **fields}


def call(name: str = "call_1", arguments: Any = '{"command": "ls"}', **fields: Any) -> Json:
    native = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "bash"}
    return {**native, "arguments": arguments, "status": "completed", **fields}


def output(name: str = "call_1", text: Any = "out", **fields: Any) -> Json:
    return {"type": "function_call_output", "call_id": name, "output": text, **fields}


def search(name: str = "ws_1", **fields: Any) -> Json:
    action = {"type": "search", "query": "weather"}
    return {
        "type": "web_search_call",
        "id": name,
        "status": "completed",
        "action": action,
        **fields,
    }


def compaction(name: str = "cmp_1") -> Json:
    return {"type": "compaction", "id": name, "encrypted_content": SEALED}


def contents(*items: Any, **fields: Any) -> tuple[Any, ...]:
    return RESPONSES.split({"input": list(items), **fields})[1]


def sent(turns: Sequence[Any]) -> list[Any]:
    frame, _ = RESPONSES.split({"input": []})
    items: list[Any] = RESPONSES.join(frame, turns)["input"]
    return items


# -- what a request may hold ---------------------------------------------------------------------

COMPUTER = {"type": "click", "button": "left", "x": 1, "y": 2}


def _client_calls(at: int) -> list[tuple[Json, Json]]:
    """A call of each kind that the client runs, with what it answers but its text."""
    name = f"call_{at}"
    shot = {"type": "computer_screenshot", "image_url": PNG}
    chunk = {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
    shell = {"command": ["ls"], "env": {}, "type": "exec"}
    patch = {"type": "create_file", "path": "a", "diff": "+é"}
    asked = {"server_label": "s", "name": "remove", "arguments": '{"path": "/"}'}
    return [
        (call(name), output(name, "")),
        (call(name, '{"a": "é\\n"}', namespace="n"), output(name, [])),
        (
            {
                "type": "custom_tool_call",
                "id": f"ctc_{at}",
                "call_id": name,
                "name": "sql",
                "input": "x",
            },
            {"type": "custom_tool_call_output", "call_id": name, "output": ""},
        ),
        (
            {"type": "computer_call", "id": f"cu_{at}", "call_id": name, "action": COMPUTER}
            | {"pending_safety_checks": [], "status": "completed"},
            {"type": "computer_call_output", "call_id": name, "output": shot},
        ),
        (
            {"type": "local_shell_call", "id": f"lsh_{at}", "call_id": name, "action": shell}
            | {"status": "completed"},
            {"type": "local_shell_call_output", "call_id": name, "output": ""},
        ),
        (
            {
                "type": "shell_call",
                "id": f"sh_{at}",
                "call_id": name,
                "action": {"commands": ["ls"]},
            },
            {
                "type": "shell_call_output",
                "call_id": name,
                "output": [chunk],
                "max_output_length": 9,
            },
        ),
        (
            {"type": "apply_patch_call", "id": f"apc_{at}", "call_id": name, "operation": patch}
            | {"status": "completed"},
            {"type": "apply_patch_call_output", "call_id": name, "status": "failed"},
        ),
        (
            {"type": "tool_search_call", "id": f"tsc_{at}", "call_id": name, "execution": "client"}
            | {"arguments": {"query": "x"}},
            {"type": "tool_search_output", "call_id": name, "execution": "client", "tools": [{}]},
        ),
        (
            {"type": "mcp_approval_request", "id": f"mcpr_{at}", **asked},
            {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{at}", "approve": True},
        ),
    ]


def _server_work(at: int) -> list[list[Json]]:
    """What the server does by itself, and items of a type that nobody knows."""
    box = {"type": "container_reference", "container_id": "cntr_1"}
    name = f"host_{at}"
    return [
        [search(f"ws_{at}")],
        [{"type": "file_search_call", "id": f"fs_{at}", "queries": ["x"], "status": "completed"}],
        [
            {"type": "code_interpreter_call", "id": f"ci_{at}", "code": None, "outputs": None}
            | {"container_id": "cntr_1", "status": "completed"}
        ],
        [
            {"type": "image_generation_call", "id": f"ig_{at}", "status": "completed"}
            | {"result": PNG.partition(",")[2]}
        ],
        [
            {
                "type": "mcp_call",
                "id": f"mcp_{at}",
                "server_label": "s",
                "name": "t",
                "arguments": "{}",
            }
        ],
        [
            {
                "type": "shell_call",
                "id": f"hs_{at}",
                "call_id": name,
                "environment": box,
                "action": {},
            },
            {"type": "shell_call_output", "id": f"ho_{at}", "call_id": name, "output": []},
        ],
        [
            {"type": "tool_search_call", "id": f"ts_{at}", "execution": "server", "arguments": {}},
            {
                "type": "tool_search_output",
                "id": f"to_{at}",
                "execution": "server",
                "tools": [{"a": 1}],
            },
        ],
        [
            {
                "type": "program",
                "id": f"prog_{at}",
                "call_id": name,
                "code": "1",
                "fingerprint": "f",
            },
            {"type": "program_output", "id": f"po_{at}", "call_id": name, "result": "1"},
        ],
        [{"type": "from_the_future", "id": f"ff_{at}", "payload": {"n": [at, None]}}],
        [{"type": "item_reference", "id": f"msg_ref{at}"}],
    ]


_PLACES = [st.integers(0, most) for most in range(12)]


def pick(draw: DrawFn, options: Sequence[Any]) -> Any:
    """One of them. Far cheaper than a new strategy for each list."""
    return options[draw(_PLACES[len(options) - 1])]


@st.composite
def runs(draw: DrawFn, at: int, *, calls: bool) -> tuple[list[Json], list[Json]]:
    """What the model did in one answer, and the results of its calls."""
    items: list[Json] = []
    if draw(st.integers(0, 5)) == 0:
        items.append(
            {"type": "mcp_list_tools", "id": f"mcpl_{at}", "server_label": "s", "tools": []}
        )
    for place in range(draw(st.integers(0, 2))):
        number = at * 10 + place
        if draw(st.booleans()):
            items.append(thought(f"rs_{number}", summary=[{"type": "summary_text", "text": "hm"}]))
        if draw(st.booleans()):
            items += pick(draw, _server_work(number))
        else:
            items.append(said(draw(texts), f"msg_{number}", phase="commentary"))
    if not calls:
        items.append(draw(_answers(at)))
        return items, []
    if draw(st.booleans()):
        items.append(thought(f"rs_{at}9"))
    results: list[Json] = []
    for place in range(draw(st.integers(1, 3))):
        asked, answer = pick(draw, _client_calls(at * 10 + place))
        items.append(asked)
        results.append(_answer(draw, answer))
    return items, draw(st.permutations(results))


@st.composite
def _answers(draw: DrawFn, at: int) -> Json:
    text = draw(words)
    whole = said(text, f"msg_{at}8", phase="final_answer")
    refusal, strange = {"type": "refusal", "refusal": "no"}, {"type": "from_the_future"}
    options = (
        whole,
        {"role": "assistant", "content": text},
        {**whole, "content": [*whole["content"], refusal]},
        {**whole, "content": [strange, *whole["content"]]},
    )
    return dict(pick(draw, options))


def _answer(draw: DrawFn, answer: Json) -> Json:
    text = draw(texts)
    if answer.get("output") == "":
        return {**answer, "output": text}
    if answer.get("output") == []:
        image = {"type": "input_image", "image_url": PNG, "detail": "auto"}
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        return {**answer, "output": [{"type": "input_text", "text": text, **mark}, image]}
    return answer


@st.composite
def inputs(draw: DrawFn, *, legal: bool = False) -> list[Json]:
    """Lists of items; `legal` ones end in no open call."""
    items: list[Json] = []
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}
    lead = (
        user("Be brief.", role="developer"),
        user("Be kind.", role="system"),
        tools,
        compaction(),
    )
    items += draw(st.lists(st.sampled_from(lead), max_size=2))
    for number in range(draw(st.integers(1, 2))):
        items.append(draw(_questions()))
        for at in range(draw(st.integers(0, 2))):
            run, results = draw(runs(number * 3 + at + 1, calls=True))
            items += [*run, *results]
            if draw(st.integers(0, 3)) == 0:
                items.append(user("also this"))
        items += draw(runs(number * 3 + 3, calls=False))[0]
        if draw(st.integers(0, 4)) == 0:
            items.append(compaction(f"cmp_{number}"))
    if not legal and draw(st.booleans()):
        run, results = draw(runs(9, calls=True))
        items += [user("and?"), *run, *results[draw(st.integers(0, len(results))) :]]
    return items


@st.composite
def _questions(draw: DrawFn) -> Json:
    text = draw(words)
    image = {"type": "input_image", "image_url": PNG, "detail": "high"}
    file = {"type": "input_file", "file_id": "file_1"}
    part = {"type": "input_text", "text": text, "prompt_cache_breakpoint": {"mode": "explicit"}}
    options = (
        user(text),
        user(text, type="message"),
        user([part, image], type="message", id="msg_u", status="completed"),
        user([file, part, {"type": "input_text", "text": "more"}]),
    )
    return dict(pick(draw, options))


def bodies(*, legal: bool = False) -> st.SearchStrategy[Json]:
    """Whole requests."""
    tools = [{"type": "function", "name": name, "parameters": {}} for name in NAMES]
    return inputs(legal=legal).map(
        lambda items: {
            "model": "gpt",
            "input": items,
            "instructions": "Help.",
            "tools": tools,
            "x": [1],
        }
    )


# -- what a server checks ------------------------------------------------------------------------


def pairs_of(items: Sequence[Json]) -> dict[str, str]:
    """Which reasoning the item behind it was made with: id of the item -> id of the reasoning."""
    return {
        item["id"]: before["id"]
        for before, item in pairwise(items)
        if before.get("type") == "reasoning" and "id" in item
    }


def faults(items: Sequence[Json], pairs: dict[str, str]) -> list[str]:
    """Where the server would refuse a list: a reasoning item without the item that it was made with or
    the other way round, a call without its result right behind the run, a result without its call."""
    found: list[str] = []
    waiting: dict[str, str] = {}
    asked: set[str] = set()
    for at, item in enumerate(items):
        before = items[at - 1] if at else {}
        after = items[at + 1] if at + 1 < len(items) else {}
        if item.get("type") == "reasoning" and pairs.get(after.get("id", "")) != item["id"]:
            found.append(f"{item['id']} without its following item")
        if item.get("id") in pairs and before.get("id") != pairs[item["id"]]:
            found.append(f"{item['id']} without its reasoning")
        kind, name = (
            kind_of(item),
            str(item.get("call_id") or item.get("approval_request_id") or ""),
        )
        if kind is Kind.CALL:
            waiting[name or item["id"]] = item["type"]
            asked.add(name or item["id"])
        elif kind is Kind.RESULT:
            if name not in asked and not name.startswith("host_"):
                found.append(f"{name} answers nothing")
            waiting.pop(name, None)
        elif waiting and (item.get("role") in ("user", "developer", "system")):
            found.append(f"{list(waiting)} have no result")
        if item.get("role") == "assistant" and item.get("content") in ("", []):
            found.append("an empty message")
    return found + ([f"{list(waiting)} have no result"] if waiting else [])
