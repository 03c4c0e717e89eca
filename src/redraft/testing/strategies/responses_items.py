"""Items of the Responses API, one of each kind."""

from __future__ import annotations

from typing import Any

from redraft.testing.strategies.texts import png

__all__ = [
    "client_calls",
    "compaction",
    "function_call",
    "said",
    "search",
    "server_work",
    "thought",
]

Json = dict[str, Any]

_SEALED = "gAAAAAB" + "x" * 93
_PNG = png(640, 480)
_CLICK = {"type": "click", "button": "left", "x": 1, "y": 2}


def said(text: str = "hello", name: str = "msg_1", **fields: Any) -> Json:
    """A message of the model's."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    message = {"type": "message", "id": name, "role": "assistant", "content": content}
    return {**message, "status": "completed", **fields}


def thought(name: str = "rs_1", **fields: Any) -> Json:
    """Sealed reasoning."""
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": _SEALED, **fields}


def function_call(
    name: str = "call_1", arguments: Any = '{"command": "ls"}', **fields: Any
) -> Json:
    """A call of a function."""
    native = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "bash"}
    return {**native, "arguments": arguments, "status": "completed", **fields}


def search(name: str = "ws_1", **fields: Any) -> Json:
    """A search that the server did."""
    action = {"type": "search", "query": "weather"}
    native = {"type": "web_search_call", "id": name, "status": "completed", "action": action}
    return {**native, **fields}


def compaction(name: str = "cmp_1") -> Json:
    """A sealed summary of what stood before."""
    return {"type": "compaction", "id": name, "encrypted_content": _SEALED}


def client_calls(at: int) -> list[tuple[Json, Json]]:
    """A call of each kind that the client runs, and its result; "" or [] stands where its text goes.

    Args:
        at: makes ids that no other call has.
    """
    name = f"call_{at}"
    shot = {"type": "computer_screenshot", "image_url": _PNG}
    chunk = {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
    shell = {"command": ["ls"], "env": {}, "type": "exec"}
    patch = {"type": "create_file", "path": "a", "diff": "+é"}
    asked = {"server_label": "s", "name": "remove", "arguments": '{"path": "/"}'}

    def call(kind: str, prefix: str, **fields: Any) -> Json:
        return {"type": kind, "id": f"{prefix}_{at}", "call_id": name, **fields}

    def result(kind: str, **fields: Any) -> Json:
        return {"type": kind, "call_id": name, **fields}

    return [
        (function_call(name), result("function_call_output", output="")),
        (
            function_call(name, '{"a": "é\\n"}', namespace="n"),
            result("function_call_output", output=[]),
        ),
        (
            call("custom_tool_call", "ctc", name="sql", input="x"),
            result("custom_tool_call_output", output=""),
        ),
        (
            call(
                "computer_call", "cu", action=_CLICK, pending_safety_checks=[], status="completed"
            ),
            result("computer_call_output", output=shot),
        ),
        (
            call("local_shell_call", "lsh", action=shell, status="completed"),
            result("local_shell_call_output", output=""),
        ),
        (
            call("shell_call", "sh", action={"commands": ["ls"]}),
            result("shell_call_output", output=[chunk], max_output_length=9),
        ),
        (
            call("apply_patch_call", "apc", operation=patch, status="completed"),
            result("apply_patch_call_output", status="failed"),
        ),
        (
            call("tool_search_call", "tsc", execution="client", arguments={"query": "x"}),
            result("tool_search_output", execution="client", tools=[{}]),
        ),
        (
            {"type": "mcp_approval_request", "id": f"mcpr_{at}", **asked},
            {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{at}", "approve": True},
        ),
    ]


def server_work(at: int) -> list[list[Json]]:
    """What the server does by itself, and items of a type that nobody knows.

    Args:
        at: makes ids that nothing else has.
    """
    box = {"type": "container_reference", "container_id": "cntr_1"}
    name = f"host_{at}"

    def item(kind: str, prefix: str, **fields: Any) -> Json:
        return {"type": kind, "id": f"{prefix}_{at}", **fields}

    code = {"code": None, "outputs": None, "container_id": "cntr_1", "status": "completed"}
    picture = {"status": "completed", "result": _PNG.partition(",")[2]}
    remote = {"server_label": "s", "name": "t", "arguments": "{}"}
    return [
        [search(f"ws_{at}")],
        [item("file_search_call", "fs", queries=["x"], status="completed")],
        [item("code_interpreter_call", "ci", **code)],
        [item("image_generation_call", "ig", **picture)],
        [item("mcp_call", "mcp", **remote)],
        [
            item("shell_call", "hs", call_id=name, environment=box, action={}),
            item("shell_call_output", "ho", call_id=name, output=[]),
        ],
        [
            item("tool_search_call", "ts", execution="server", arguments={}),
            item("tool_search_output", "to", execution="server", tools=[{"a": 1}]),
        ],
        [
            item("program", "prog", call_id=name, code="1", fingerprint="f"),
            item("program_output", "po", call_id=name, result="1"),
        ],
        [item("from_the_future", "ff", payload={"n": [at, None]})],
        [{"type": "item_reference", "id": f"msg_ref{at}"}],
    ]
