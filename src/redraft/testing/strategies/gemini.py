"""Plans as requests of Google's `generateContent`."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from typing import Any

from redraft.testing.strategies.plans import Plan, Round
from redraft.testing.strategies.texts import png

__all__ = ["gemini_body", "gemini_image"]

Json = dict[str, Any]


def gemini_image() -> Json:
    """A part that is an image of 640 x 480."""
    return {"inlineData": {"mimeType": "image/png", "data": png(640, 480).partition(",")[2]}}


def gemini_body(plan: Plan) -> Json:
    """The plan as a request: text, thoughts, signatures on calls, code that the server ran, images,
    parts of a type that nobody knows. Every other round has no ids, and the other spelling."""
    contents: list[Json] = []
    seals = count()
    for exchange in plan.exchanges:
        picture = [gemini_image()] if exchange.picture else []
        contents.append({"role": "user", "parts": [*picture, {"text": exchange.question}]})
        for at, turn in enumerate(exchange.rounds):
            contents.append({"role": "model", "parts": _said(at, turn, f"sig{next(seals)}==")})
            results = _results(at, turn)
            also = [{"text": turn.also}] if turn.also else []
            if plan.open_calls and turn is plan.exchanges[-1].rounds[-1]:
                results, also = results[: -plan.open_calls], []
            contents += _spread(results + also, apart=plan.split_results)
        if exchange.answer is not None:
            parts = [{"text": exchange.answer, "thoughtSignature": f"sig{next(seals)}=="}]
            contents.append({"role": "model", "parts": parts})
    if plan.question:
        contents.append({"role": "user", "parts": [{"text": plan.question}]})
    system = {"parts": [{"text": "Be brief."}]}
    tools = [{"functionDeclarations": [{"name": "bash"}]}]
    fields = {"systemInstruction": system, "contents": contents, "tools": tools, "xNew": [1]}
    # A test may spoil what it is given.
    return deepcopy({**fields, **plan.fields})


def _said(at: int, turn: Round, seal: str) -> list[Json]:
    parts: list[Json] = []
    if turn.thought:
        parts.append({"text": turn.thought, "thought": True})
    if turn.server:
        parts.append({"executableCode": {"language": "PYTHON", "code": "1+1"}})
        parts.append({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}})
    if turn.text:
        parts.append({"text": turn.text})
    if turn.strange:
        parts.append({"from_the_future": {"n": at}})
    for place, call in enumerate(turn.calls):
        if at % 2:
            function = {"name": call["name"], "args": call["input"]}
            part: Json = {"function_call": function}
        else:
            function = {"id": call["id"], "name": call["name"], "args": call["input"]}
            part = {"functionCall": function}
        if place == 0:
            part["thought_signature" if at % 2 else "thoughtSignature"] = seal
        parts.append(part)
    return parts


def _results(at: int, turn: Round) -> list[Json]:
    parts: list[Json] = []
    for place, (call, text) in enumerate(zip(turn.calls, turn.results, strict=True)):
        response: Json = {"error" if turn.failed else "output": text}
        if turn.strange:
            response = {"output": text, "code": place}
        result: Json = {"name": call["name"], "response": response}
        if turn.pictures and place == 0:
            result["parts"] = [gemini_image()]
        if at % 2:
            parts.append({"function_response": result})
        else:
            parts.append({"functionResponse": {"id": call["id"], **result}})
    return parts


def _spread(parts: list[Json], *, apart: bool) -> list[Json]:
    if not parts:
        return []
    bodies = [[part] for part in parts] if apart else [parts]
    return [{"role": "user", "parts": body} for body in bodies]
