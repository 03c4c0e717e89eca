"""The rules on the final list, provider by provider: what a server refuses, and the smallest mend.

`check` explains what is wrong with a list as it will be sent; `repair` gives the nearest legal one.
Both run on what is sent, after every path, and never on the live context. A repair works on a copy: a
legal list comes back as the same object, and a message that keeps the rules stays the same object in
any list. It never drops a user's words, never raises a role, and says in brackets what it put in.

**To add a provider**, write a `Profile` here: a name, the rules in the order in which they are mended,
the name of the dialect that its lists are in, and that dialect's boundary. Take what exists; most
servers of Chat Completions are `OPENAI_CHAT` and a rule or two. List it in `PROFILES`, and in
`_BY_MODEL` where a model's name tells. What single models take or refuse stands in `models.toml`.

**To add a rule**, write a `Rule` next to its like (`rules_chat.py` has the shortest). `find` yields a
violation for each message that breaks it, from an index on, and looks no further back than it must;
`mend` returns a new list; `source` says where the provider writes it down, or who was refused and how
it was said. Mend what `find` finds and nothing else, and stand behind the rules that it relies on.
`tests/dialects/test_rules_property.py` runs over all of `PROFILES`: what a repair returns is legal,
and a second repair changes nothing.

`docs/design/rules.md` says why the rules are what they are, and which were left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from redraft.dialects import pairs_anthropic, pairs_gemini, pairs_responses
from redraft.dialects import rules_anthropic as anthropic
from redraft.dialects import rules_chat as chat
from redraft.dialects import rules_gemini as gemini
from redraft.dialects import rules_responses as responses
from redraft.dialects.base import Dialect, Frame
from redraft.dialects.boundaries import anthropic_boundary, gemini_boundary, responses_boundary
from redraft.dialects.boundaries import chat_boundary as boundary
from redraft.dialects.capabilities import Capabilities, capabilities_of
from redraft.dialects.frames import INTERRUPTED, framed
from redraft.dialects.pairs import DISTINCT_IDS, PAIRS, UNIQUE_IDS
from redraft.dialects.pairs_servers import SERVER_TOOLS
from redraft.dialects.profile import Profile, Rule, Violation, check, repair
from redraft.dialects.values import ARGUMENTS, NOT_EMPTY, NOT_EMPTY_BUT_CALLS, UTF8

__all__ = [
    "ANTHROPIC",
    "BEDROCK",
    "FENCED_CHAT",
    "GEMINI",
    "GPT_CHAT",
    "INTERRUPTED",
    "LLAMA",
    "MISTRAL",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "PROFILES",
    "QWEN",
    "STRICT_CHAT",
    "Profile",
    "Rule",
    "Violation",
    "boundary",
    "check",
    "framed",
    "profile_of",
    "repair",
]

# -- Chat Completions ------------------------------------------------------------------------------

OPENAI_CHAT = Profile("openai-chat", (UTF8, ARGUMENTS, NOT_EMPTY, PAIRS, DISTINCT_IDS))
"""Chat Completions as OpenAI and OpenAI-compatible servers take it."""

GPT_CHAT = Profile("gpt-chat", (*OPENAI_CHAT.rules, chat.TOOL_IMAGES))
"""The same where OpenAI's own models answer, which take no images in results."""

STRICT_CHAT = Profile("strict-chat", (*OPENAI_CHAT.rules, UNIQUE_IDS))
"""The same for servers that pass the list on to a provider where no call id may occur twice, while
the model behind them repeats ids from turn to turn."""

MISTRAL = OPENAI_CHAT.with_rules(
    "mistral",
    NOT_EMPTY_BUT_CALLS,
    chat.TOOL_IMAGES,
    chat.SYSTEM_FIRST,
    chat.USER_FIRST,
    chat.LAST_IS_HEARD,
    chat.ALTERNATION,
    chat.USER_BEHIND_MODEL,
    chat.NINE_LETTERS,
)
"""Mistral's API, and its chat templates on other servers, which ask for more."""

QWEN = Profile("qwen", (*OPENAI_CHAT.rules, chat.SYSTEM_FIRST, chat.USER_ANYWHERE))
"""Qwen's chat templates from 3.5 on."""

LLAMA = Profile(
    "llama",
    (
        *OPENAI_CHAT.rules,
        chat.TOOL_IMAGES,
        chat.SYSTEM_FIRST,
        chat.USER_FIRST,
        chat.ALTERNATION,
        chat.ONE_CALL_EACH,
    ),
)
"""Llama's chat templates: 2 wants turns that alternate, 3.1 to 3.3 one call a message."""

FENCED_CHAT = replace(OPENAI_CHAT, name="fenced-chat", dialect="fenced-chat")
"""Chat Completions with calls that are text: on the list that is sent there is no call and no result."""

# -- Responses -------------------------------------------------------------------------------------

OPENAI_RESPONSES = Profile(
    "openai-responses",
    (
        UTF8,
        responses.ITEM_ARGUMENTS,
        responses.MESSAGE_MEMBERS,
        responses.MESSAGES,
        responses.ITEM_IDS,
        responses.HOSTED,
        pairs_responses.OUTPUTS,
        pairs_responses.CALL_IDS,
        responses.REASONING,
    ),
    "openai-responses",
    responses_boundary,
)
"""OpenAI's Responses API, every item in the list."""

# -- Messages --------------------------------------------------------------------------------------

ANTHROPIC = Profile(
    "anthropic",
    (
        anthropic.INPUTS,  # first: what stands escaped in a text is none once that is parsed
        UTF8,
        anthropic.PLACES,
        anthropic.WHOLE_THOUGHTS,
        anthropic.TEXTS,
        pairs_anthropic.RESULTS,
        pairs_anthropic.CALL_IDS,
        anthropic.NO_SYSTEM,
        SERVER_TOOLS,
        anthropic.THOUGHT_LAST,
        anthropic.USER_FIRST,
        anthropic.USER_LAST,
        anthropic.cache_marks(4),
    ),
    "anthropic",
    anthropic_boundary,
)
"""Anthropic's Messages API, for a model that nothing is known of."""

BEDROCK = ANTHROPIC.with_rules(
    "bedrock",
    anthropic.FILLED_RESULTS,
    pairs_anthropic.CALL_IDS_64,
    anthropic.ALTERNATION,
)
"""Claude on Amazon Bedrock: lists in the form of the Messages API, as InvokeModel takes them, under the
rules of Converse as well, so that a client may turn them into its form."""

# -- generateContent -------------------------------------------------------------------------------

GEMINI = Profile(
    "gemini",
    (
        gemini.PART_OBJECTS,
        UTF8,
        gemini.ROLES,
        gemini.PARTS,
        gemini.PART_PLACES,
        pairs_gemini.RESPONSES,
        pairs_gemini.RESPONSE_NAMES,
        gemini.ONE_CALL_TURN,
        gemini.USER_OPENS,
        gemini.USER_ENDS,
        gemini.SIGNATURES,
    ),
    "gemini",
    gemini_boundary,
)
"""Google's generateContent, for a model that nothing is known of."""

# -- which one -------------------------------------------------------------------------------------

PROFILES = (
    *(OPENAI_CHAT, GPT_CHAT, STRICT_CHAT, MISTRAL, QWEN, LLAMA),
    *(OPENAI_RESPONSES, ANTHROPIC, BEDROCK, GEMINI),
)
"""All sets of rules, each as careful as it can be. `FENCED_CHAT` has those of `OPENAI_CHAT`."""

_CAREFUL = {
    one.dialect: one for one in (OPENAI_CHAT, FENCED_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI)
}
_SAME_LISTS = {FENCED_CHAT.dialect: OPENAI_CHAT.dialect}
"""Wire formats whose lists are those of another, so that what its models ask for holds as well."""

_BY_MODEL: Sequence[tuple[str, re.Pattern[str], Profile]] = (
    ("openai-chat", re.compile(r"(\w*str|mixtr|pixtr|ministr)al", re.IGNORECASE), MISTRAL),
    ("openai-chat", re.compile(r"\b(qwen|qwq)", re.IGNORECASE), QWEN),
    ("openai-chat", re.compile(r"llama-?\d|\bllama\b", re.IGNORECASE), LLAMA),
    ("openai-chat", re.compile(r"^(openai/)?(gpt-(?!oss)|chatgpt|o[134]\b)", re.I), GPT_CHAT),
    ("openai-chat", re.compile(r"\bclaude", re.IGNORECASE), STRICT_CHAT),
    ("anthropic", re.compile(r"\banthropic\.claude|^arn:aws", re.IGNORECASE), BEDROCK),
)


def profile_of(dialect: Dialect, model: str = "", frame: Frame | None = None) -> Profile:
    """The profile for a wire format and, as far as its name says more, a model.

    Args:
        dialect: the wire format. One that is unknown here is held for Chat Completions.
        model: the model's name as it stands in a request; "" if unknown.
        frame: the rest of the request, whose cache marks and `previous_response_id` count.

    Returns:
        a careful profile, less the rules that the model is known not to have.
    """
    careful = _CAREFUL.get(dialect.name, OPENAI_CHAT)
    lists = _SAME_LISTS.get(careful.dialect, careful.dialect)
    named = (one for of, known, one in _BY_MODEL if of == lists and known.search(model))
    profile = replace(next(named, careful), dialect=careful.dialect)
    profile = _loosened(profile, capabilities_of(model, profile.dialect))
    return profile if frame is None else _in_frame(profile, frame.fields)


def _loosened(profile: Profile, can: Capabilities) -> Profile:
    """The profile less what this model takes all the same."""
    if profile.dialect == "anthropic":
        if can.prefill:
            profile = profile.with_rules(
                profile.name, anthropic.TRAILING, instead=anthropic.USER_LAST
            )
        if can.system_midway and profile.name != BEDROCK.name:
            profile = profile.with_rules(profile.name, anthropic.SYSTEM_BEHIND_USER)
    if profile.dialect == "gemini":
        signed = () if can.reasoning == "signed" else (gemini.SIGNATURES,)
        profile = profile.without(*signed, *((gemini.USER_ENDS,) if can.prefill else ()))
    return profile


def _in_frame(profile: Profile, fields: Mapping[str, object]) -> Profile:
    """The profile for a list that stands in this request."""
    if profile.dialect == "anthropic":
        marks = anthropic.marks_in_frame(fields)
        return profile.with_rules(profile.name, anthropic.cache_marks(max(4 - marks, 0)))
    if profile.dialect == "openai-responses" and fields.get("previous_response_id") is not None:
        return profile.with_rules(profile.name, pairs_responses.OUTPUTS_ON_SERVER)
    return profile
