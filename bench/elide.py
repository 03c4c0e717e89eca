"""What it saves to put one line in the place of an applied edit's own command.

Scripted players read an alert log (redraft.testing.alerts) and tidy their context on the way, once with
`elide_edits` off and once on, with nothing else changed. The very requests of both are then given to a
model of each provider's prefix cache. FLOPs are those of the reference geometry (Qwen3.6-27B), money is
relative to a fresh token (redraft.cost.RELATIVE).

    python bench/elide.py [--json] [--parts 62] [--budget 10000] [--exchanges 1] [--only fenced]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from redraft import Session
from redraft.agent import collected
from redraft.cost import (
    REFERENCE,
    RELATIVE,
    AnthropicCache,
    Cache,
    GeminiCache,
    Radix,
    Slicer,
    find_geometry,
    openai_cache,
    use_flops,
)
from redraft.dialects.fenced import Fenced
from redraft.events import Event
from redraft.session import ToolCall
from redraft.settings import Settings
from redraft.store import VolatileJournal
from redraft.store.replay import inputs
from redraft.testing.alerts import AlertTask, make_alert_task
from redraft.testing.fenced import in_fences
from redraft.testing.players import Player, ScriptedModel, alert_player, bash_call
from redraft.tokens import Meter

__all__ = ["PLAYERS", "Row", "main", "measure"]

Interface = Literal["file", "tool"]
Elide = Literal["off", "on"]

_SETTINGS: tuple[Elide, Elide] = ("off", "on")

_DIALECTS: Mapping[str, tuple[str, Callable[[], Cache]]] = {
    "openai-chat": ("qwen3.6-27b", Radix),
    "fenced-chat": ("gemma-3-27b", Radix),
    "openai-responses": ("gpt-5", openai_cache),
    "openai-responses, dropped": ("gpt-6-2", lambda: openai_cache("gpt-6-2")),
    "anthropic": ("claude-opus-5", AnthropicCache),
    "anthropic, bound": ("claude-opus-5-5", AnthropicCache),
    "gemini, signed": ("gemini-3.1-pro", GeminiCache),
}
"""Wire format, and what its reasoning does when something changes -> a model of that kind, and the cache.
The turns themselves are played in Chat Completions, with calls as text for `fenced-chat`: what may be
elided when depends on the model alone."""


# -- players ---------------------------------------------------------------------------------------

_ALERT = re.compile(r"ALERT \w+ ref=[0-9a-f]+ owner=[0-9a-f]+")
_WITHDRAWN = re.compile(r"WITHDRAWN (ref=[0-9a-f]+)")
_LISTED = re.compile(r"^turn (\d+) ", re.M)

_HEREDOC = """python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
with open(path, encoding="utf-8") as file:
    text = file.read()
first = re.search(r"^\\[\\[CTX_TURN (\\d+) ", text, re.M)[1]
note = '''{note}'''
with open(path, "w", encoding="utf-8") as file:
    file.write(f"[[CTX_TURN {{first}} role=assistant]]\\n{{note}}\\n\\n[[CTX_END]]\\n")
EOF"""


def heredoc_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """As `alert_player`, but it writes its notes out in the command, as models do."""
    said = alert_player(request)
    if "re.findall" not in _command(said):
        return said
    return bash_call(_HEREDOC.format(note=_note(request["messages"])), len(request["messages"]))


def tool_player(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same by `edit_context`: it lists the turns, then replaces all of them by its note."""
    messages = request["messages"]
    texts = [str(message.get("content") or "") for message in messages]
    # The player edits where it is offered the file; here the tool stands in for it.
    offered = {**messages[0], "content": texts[0] + "\nREDRAFT_CONTEXT_FILE"}
    said = alert_player({**request, "messages": [offered, *messages[1:]]})
    numbers = [int(number) for number in _LISTED.findall(texts[-1])]
    if numbers:
        edit = {"turn": numbers[0], "through": numbers[-1], "text": _note(messages)}
        return _tool_call({"edits": [edit]}, len(messages))
    if "REDRAFT_CONTEXT_FILE" in _command(said):
        return _tool_call({}, len(messages))
    return said


PLAYERS: Mapping[str, tuple[Player, Interface]] = {
    "script": (alert_player, "file"),
    "heredoc": (heredoc_player, "file"),
    "edit_context": (tool_player, "tool"),
}
"""What the command of an edit is: a program that makes the note, the note itself, the tool's arguments."""


def _note(messages: Sequence[Mapping[str, Any]]) -> str:
    said = "\n".join(str(message.get("content") or "") for message in messages[2:])
    gone = set(_WITHDRAWN.findall(said))
    alerts = [one for one in dict.fromkeys(_ALERT.findall(said)) if one.split()[2] not in gone]
    own = "\n".join(map(_words, messages))
    read = max(re.findall(r"(?:cat |up to )part-(\d+)\.log", own), key=int)
    return "\n".join(
        [
            f"Read so far: everything up to part-{read}.log, in order; next is the part after it.",
            "Open alerts, letter by letter (verified against the log):",
            *alerts,
            "Withdrawn ones are left out. All other lines were routine and need no second look.",
        ]
    )


def _words(message: Mapping[str, Any]) -> str:
    text = str(message.get("content") or "") if message["role"] == "assistant" else ""
    return "\n".join([text, *(c["function"]["arguments"] for c in message.get("tool_calls") or ())])


def _command(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    return str(json.loads(calls[0]["function"]["arguments"]).get("command", "")) if calls else ""


def _tool_call(arguments: Mapping[str, Any], place: int) -> dict[str, Any]:
    function = {"name": "edit_context", "arguments": json.dumps(arguments)}
    call = {"id": f"call_{place}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


# -- one session -----------------------------------------------------------------------------------

_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """One player on one wire format, with the option on or off.

    Attributes:
        dialect: the wire format, by its cache.
        player: a key of `PLAYERS`.
        elide: `on` or `off`.
        score: the share of open alerts that it reports.
        calls: model calls.
        edits: edits that were applied.
        elided: tokens of commands that left the context.
        sent: tokens of all requests together.
        computed: those that the cache did not serve.
        flops: prefix-reuse compute under that cache.
        money: in fresh tokens.
    """

    dialect: str
    player: str
    elide: str
    score: float
    calls: int
    edits: int
    elided: int
    sent: int
    computed: int
    flops: float
    money: float


def measure(
    dialect: str,
    player: str,
    elide: Elide,
    *,
    task: AlertTask,
    budget: int,
    exchanges: int,
    meter: Meter,
    place: Path,
) -> Row:
    """Play one session and price its requests.

    Args:
        dialect: a key of `_DIALECTS`.
        player: a key of `PLAYERS`.
        elide: the setting.
        task: what is played.
        budget: tokens that a prompt may take.
        exchanges: how often the user asks; after each answer but the last come the words to go on.
        meter: counts.
        place: the directory of the context file. Its name stands in every request, so it is the same
            for all that is compared.
    """
    model, cache_of = _DIALECTS[dialect]
    plays, interface = PLAYERS[player]
    fenced = dialect == "fenced-chat"
    events: list[Event] = []
    settings = Settings(elide_edits=elide, output_reserve=1_000)
    with Session(
        [{"role": "system", "content": "You are an agent."}, _user(task.prompt)],
        tools=[_TOOL],
        model=model,
        budget=budget,
        window=budget + 10_000,
        interface=interface,
        dialect=Fenced() if fenced else None,
        settings=settings,
        meter=meter,
        path=place,
        tag="4f2a",
        on_event=events.append,
    ) as session:
        paced = _paced(plays, task, exchanges)
        answer = _play(session, ScriptedModel(in_fences(paced) if fenced else paced, meter), task)
    totals = collected(events)
    flops, money, computed, sent = _priced(session, cache_of(), meter, events)
    return Row(
        dialect,
        player,
        elide,
        task.grade(answer).score,
        totals.metrics.rounds,
        totals.metrics.applied,
        totals.metrics.elided_tokens,
        sent,
        computed,
        flops,
        money,
    )


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _paced(player: Player, task: AlertTask, exchanges: int) -> Player:
    """The player, which stops for a word of the user's after each share of the parts."""
    if exchanges == 1:
        return player
    share = -(-len(task.parts) // exchanges)

    def paced(request: Mapping[str, Any]) -> Mapping[str, Any]:
        said = player(request)
        found = re.search(r"cat part-(\d+)\.log", _command(said))
        last = request["messages"][-1]
        if found and int(found[1]) % share == 1 and int(found[1]) > 1 and last["role"] != "user":
            return {
                "role": "assistant",
                "content": f"Up to part-{int(found[1]) - 1:02}.log it is read.",
            }
        return said

    return paced


def _play(session: Session, model: ScriptedModel, task: AlertTask) -> str:
    while True:
        while (request := session.request()) is not None:
            with session.answer() as answer:
                answer(model.complete(request))
            with session.round() as now:
                for call in now.calls:
                    output, code = _run(call, task, session.env)
                    now.result(call, output, exit_code=code)
        said = str(session.messages[-1]["content"])
        if not said.startswith("Up to part-"):
            return said
        session.append(_user("Good. Go on."))


def _run(call: ToolCall, task: AlertTask, env: Mapping[str, str]) -> tuple[str, int]:
    command = str(call["command"])
    found = re.fullmatch(r"cat part-(\d+)\.log", command)
    if found:
        return task.parts[int(found[1]) - 1], 0
    done = subprocess.run(
        ["bash", "-c", command], env={**os.environ, **env}, capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace"), done.returncode


def _priced(
    session: Session, cache: Cache, meter: Meter, events: Sequence[Event]
) -> tuple[float, float, int, int]:
    """(FLOPs, money in fresh tokens, tokens computed, tokens sent) of all requests."""
    geometry = find_geometry(REFERENCE)
    assert geometry is not None
    assert isinstance(session.journal, VolatileJournal)
    slicer = Slicer(meter)
    flops = money = 0.0
    computed = sent = 0
    outputs = [call.output for call in collected(events).calls]
    for given, output in zip(inputs(session.journal.entries), outputs, strict=True):
        live = replace(session.live, turns=given.turns, frame=given.frame)
        use = cache.serve(slicer.request(live))
        flops += use_flops(geometry, use, output)
        money += RELATIVE.of_use(use, output) * 1e6
        computed += use.prompt - use.read
        sent += use.prompt
    return flops, money, computed, sent


# -- the report ------------------------------------------------------------------------------------


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    by_name = {(row.dialect, row.player, row.elide): row for row in rows}
    for dialect, player, elide in by_name:
        if elide == "off":
            yield by_name[dialect, player, "off"], by_name[dialect, player, "on"]


def _change(off: float, on: float) -> str:
    return f"{(on - off) / off:+.1%}" if off else "-"


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table: off against on."""
    lines = [
        "| wire format | edits by | score | calls | edits | elided | sent | computed | FLOPs | money |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for off, on in _pairs(rows):
        cells = (
            on.dialect,
            on.player,
            f"{off.score:.0%}, {on.score:.0%}",
            f"{off.calls}, {on.calls}",
            f"{off.edits}, {on.edits}",
            f"{on.elided:,}",
            f"{off.sent:,} {_change(off.sent, on.sent)}",
            f"{off.computed:,} {_change(off.computed, on.computed)}",
            f"{off.flops:.3g} {_change(off.flops, on.flops)}",
            _change(off.money, on.money),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    parser.add_argument("--parts", type=int, default=62, help="parts of the log, 1,300 tokens each")
    parser.add_argument("--budget", type=int, default=10_000, help="tokens that a prompt may take")
    parser.add_argument("--only", default="", help="wire formats whose name begins so")
    parser.add_argument("--exchanges", type=int, default=1, help="how often the user asks")
    asked = parser.parse_args(arguments)
    task, meter = make_alert_task(asked.parts), Meter()
    rows = []
    with TemporaryDirectory(prefix="redraft-elide-") as place:
        named = [name for name in _DIALECTS if name.startswith(asked.only)]
        for dialect, player, elide in product(named, PLAYERS, _SETTINGS):
            print(f"{dialect}, {player}, {elide} ...", file=sys.stderr)
            row = measure(
                dialect,
                player,
                elide,
                task=task,
                budget=asked.budget,
                exchanges=asked.exchanges,
                meter=meter,
                place=Path(place),
            )
            rows.append(row)
    if asked.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
