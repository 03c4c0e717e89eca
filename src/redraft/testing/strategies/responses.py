"""Requests of the Responses API, with items of every type.

Every item of the model's that follows reasoning has an id, as the server gives it: the pairs that a
server would look for are those of the list as it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from redraft.testing.strategies.plans import NAMES
from redraft.testing.strategies.responses_items import (
    client_calls,
    compaction,
    said,
    server_work,
    thought,
)
from redraft.testing.strategies.texts import png, stock, words

__all__ = ["responses_bodies", "responses_inputs"]

Json = dict[str, Any]

_PNG = png(640, 480)
_TEXTS = {broken: stock(surrogates=broken) for broken in (False, True)}
_WORDS = words()
_PLACES = [st.integers(0, most) for most in range(12)]
_LEADS = (
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": "Be kind."},
    {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
    compaction("cmp_0"),
)


def _pick(draw: DrawFn, options: Sequence[Any]) -> Any:
    """One of them. Far cheaper than a new strategy for each list."""
    return options[draw(_PLACES[len(options) - 1])]


class _Talk:
    """A list of items while it is drawn."""

    def __init__(self, draw: DrawFn, *, surrogates: bool, repeated_ids: bool) -> None:
        self.draw = draw
        self.texts = _TEXTS[surrogates]
        self.repeated_ids = repeated_ids
        self.items: list[Json] = []

    def run(self, at: int, *, calls: bool) -> list[Json]:
        """What the model did in one answer; gives the results of its calls."""
        draw, items = self.draw, self.items
        if draw(_PLACES[5]) == 0:
            listed = {"server_label": "s", "tools": list[Any]()}
            items.append({"type": "mcp_list_tools", "id": f"mcpl_{at}", **listed})
        for place in range(draw(_PLACES[2])):
            number = at * 10 + place
            if draw(st.booleans()):
                summary = [{"type": "summary_text", "text": "hm"}]
                items.append(thought(f"rs_{number}", summary=summary))
            if draw(st.booleans()):
                items += _pick(draw, server_work(number))
            else:
                items.append(said(draw(self.texts), f"msg_{number}", phase="commentary"))
        if not calls:
            items.append(self._answer(at))
            return []
        if draw(st.booleans()):
            items.append(thought(f"rs_{at}9"))
        results: list[Json] = []
        for place in range(1 + draw(_PLACES[2])):
            number = place if self.repeated_ids else at * 10 + place
            asked, answer = _pick(draw, client_calls(number))
            if "id" in asked:
                asked = {**asked, "id": f"{asked['id'].partition('_')[0]}_{at}{place}"}
                if "approval_request_id" in answer:
                    answer = {**answer, "approval_request_id": asked["id"]}
            items.append(asked)
            results.append(self._result(answer))
        return draw(st.permutations(results))

    def _answer(self, at: int) -> Json:
        text = self.draw(_WORDS)
        whole = said(text, f"msg_{at}8", phase="final_answer")
        refusal, strange = {"type": "refusal", "refusal": "no"}, {"type": "from_the_future"}
        options = (
            whole,
            {"role": "assistant", "content": text},
            {**whole, "content": [*whole["content"], refusal]},
            {**whole, "content": [strange, *whole["content"]]},
        )
        return dict(_pick(self.draw, options))

    def _result(self, answer: Json) -> Json:
        text = self.draw(self.texts)
        if answer.get("output") == "":
            return {**answer, "output": text}
        if answer.get("output") == []:
            image = {"type": "input_image", "image_url": _PNG, "detail": "auto"}
            mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
            return {**answer, "output": [{"type": "input_text", "text": text, **mark}, image]}
        return answer

    def question(self) -> None:
        """The user's words, with or without images and files."""
        text = self.draw(_WORDS)
        image = {"type": "input_image", "image_url": _PNG, "detail": "high"}
        file = {"type": "input_file", "file_id": "file_1"}
        mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
        part = {"type": "input_text", "text": text, **mark}
        more = [file, part, {"type": "input_text", "text": "more"}]
        options = (
            {"role": "user", "content": text},
            {"type": "message", "role": "user", "content": text},
            {"type": "message", "role": "user", "content": [part, image], "status": "completed"},
            {"role": "user", "content": more},
        )
        self.items.append(dict(_pick(self.draw, options)))


@st.composite
def responses_inputs(
    draw: DrawFn,
    *,
    legal: bool = False,
    max_exchanges: int = 2,
    surrogates: bool = False,
    interrupted: bool = True,
    repeated_ids: bool = False,
) -> list[Json]:
    """Lists of items.

    Args:
        legal: only such as the server takes: no call is open, and no id repeats.
        max_exchanges: questions at most.
        surrogates: whether texts may hold lone surrogates; never where they are `legal`.
        interrupted: whether the last calls may lack their results.
        repeated_ids: whether call ids may repeat from answer to answer.
    """
    repeated = repeated_ids and not legal and draw(st.booleans())
    talk = _Talk(draw, surrogates=surrogates and not legal, repeated_ids=repeated)
    items = talk.items
    items += draw(st.lists(st.sampled_from(_LEADS), max_size=2, unique_by=id))
    for number in range(draw(st.integers(1, max_exchanges))):
        talk.question()
        for at in range(draw(_PLACES[2])):
            items += talk.run(number * 3 + at + 1, calls=True)
            if draw(_PLACES[3]) == 0:
                items.append({"role": "user", "content": "also this"})
        talk.run(number * 3 + 3, calls=False)
        if draw(_PLACES[4]) == 0:
            items.append(compaction(f"cmp_{number + 1}"))
    if draw(st.booleans()):
        items.append({"role": "user", "content": "and?"})
        if interrupted and not legal:
            results = talk.run(max_exchanges * 3 + 3, calls=True)
            items += results[draw(st.integers(0, len(results))) :]
    return deepcopy(items)  # a test may spoil what it is given


def responses_bodies(*, legal: bool = False, **options: Any) -> SearchStrategy[Json]:
    """Whole requests; for the options see `responses_inputs`."""
    tools = [{"type": "function", "name": name, "parameters": {}} for name in NAMES]
    frame = {"instructions": "Help.", "tools": tools, "x": [1]}
    return responses_inputs(legal=legal, **options).map(
        lambda items: {"model": "gpt", "input": items, **deepcopy(frame)}
    )
