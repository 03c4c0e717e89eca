"""The section of the system prompt that tells a model how to redraft its own context."""

from __future__ import annotations

from typing import Literal

from redraft.dialects.fenced_calls import call_fence
from redraft.prompts.receipts import HEADER_SHAPE
from redraft.prompts.tags import one_line, opening

__all__ = [
    "EXAMPLE",
    "FENCED_EXAMPLE",
    "NO_TOOLS_END",
    "SECTION_MARK",
    "TOOLS_END",
    "TOOL_EXAMPLE",
    "has_section",
    "system_section",
]

Interface = Literal["file", "tool", "both", "context-tools", "all"]

SECTION_MARK = "## Redrafting your own context"
"""The section's first line: a system prompt that has this line has the section already."""

EXAMPLE = '''python3 - <<'EOF'
import os, re
path = os.environ["REDRAFT_CONTEXT_FILE"]
with open(path, encoding="utf-8", newline="") as file:
    text = file.read()
starts = {int(m[1]): m.start() for m in re.finditer(r"^\\[\\[CTX_TURN (\\d+) ", text, re.M)}
note = """Searched for the parser of dates.
Ruled out: utils/time.py (time zones only), vendor/ (unused); do not look there again.
Ran: grep -rn strptime src ; pytest tests/test_dates.py -x
Values: DATE_FMT = "%d.%m.%Y", src/report/cells.py:41 (verified); default zone UTC (not verified)
Next: mend cells.py:41, then run that test again."""
text = text[:starts[5]] + "[[CTX_TURN 5 role=assistant]]\\n" + note + "\\n\\n" + text[starts[9]:]
with open(path, "w", encoding="utf-8", newline="") as file:
    file.write(text)
EOF'''
"""Turns 5 to 8 of a file become one note; where a turn is missing it fails before it writes. Tests run it
as it stands here."""

TOOL_EXAMPLE = (
    '{"edits": [{"turn": 5, "through": 8, "text": "Searched for ... Ruled out: ... Ran: ... '
    'Values: ... Next: ..."}]}'
)
"""The same as arguments of `edit_context`."""

FENCED_EXAMPLE = call_fence("edit_context", TOOL_EXAMPLE)
"""The same as a call that is written as text."""


def has_section(prompt: str) -> bool:
    """Whether a system prompt has the section already."""
    return SECTION_MARK in prompt.splitlines()


def system_section(
    path: str,
    *,
    interface: Interface,
    tag: str,
    steer: str = "",
    fenced: bool = False,
    tools: bool = True,
) -> str:
    """What the system prompt says about redrafting; it is added once.

    Args:
        path: where the context file lies for the model's commands; unused with `tool`.
        interface: by what means the model edits: the file, the tool `edit_context`, both, the context
            tools, or all of these.
        tag: the session's tag.
        steer: a sentence of the user's on when and how to edit, put at the end as it is.
        fenced: whether the model writes its calls as text, and the example must be such a call.
        tools: whether the context tools are switched on (`agent_context_tools_enabled`); where they are
            not, nothing promises them.

    Returns:
        Markdown of under 900 tokens (o200k), the steering sentence not counted.
    """
    if interface == "context-tools":
        parts = [
            f"{SECTION_MARK}\n\n{_SIZE}",
            _LINES.format(opening=opening(tag)),
            *((_TOOLS, TOOLS_END) if tools else (NO_TOOLS_END,)),
        ]
    else:
        parts = [f"{SECTION_MARK}\n\n{_OPENING}"]
        if interface != "tool":
            parts.append(_FILE.format(path=one_line(path, 4096), header=HEADER_SHAPE))
        if interface != "file":
            parts.append(_TOOL if interface == "tool" else _TOOL_TOO)
        if interface == "all":
            parts.append(_TOOLS if tools else NO_TOOLS_END)
        parts += [_RULES, _NOTE, _FIXED, _RECEIPTS.format(opening=opening(tag))]
        parts.append(_example(interface, fenced=fenced))
    if steer.strip():
        parts.append(steer.strip())
    return "\n\n".join(parts)


_OPENING = (
    "What you have read and done so far, your context, has a fixed size. You can rewrite it while you "
    "work: shorten, merge, correct or remove what you no longer need in full. What you leave out is "
    "gone for you, so edit with care and only when it pays."
)

_SIZE = "What you have read and done so far, your context, has a fixed size."

_LINES = (
    "Lines that begin with `{opening}` come from the harness: how full your context is, and what became "
    "of what you asked of it."
)

_TOOLS = (
    "When your context fills, or when a task takes long, you are given the tools `context_status`, "
    "`context_pin`, `context_unpin`, `context_drop` and `context_note`: with them you say which tool "
    "results you still need. A result that was moved out, by you or for want of room, leaves a line that "
    "begins with `[overflow id=`; `read_overflow` shows its text again."
)

TOOLS_END = (
    "Put into a note what you still need of the results that it stands for; copy names, paths and numbers "
    "letter by letter."
)
"""What the section ends with where there are the context tools alone."""

NO_TOOLS_END = (
    "A result that was moved out for want of room leaves a line that begins with `[overflow id=`; if you "
    "need it, get its contents again from where they came."
)
"""What it ends with where these are switched off, so that nobody can read what was moved out."""

_FILE = (
    "Your context is the file `{path}` (also in `$REDRAFT_CONTEXT_FILE`). It is brought up to date "
    "before each command and read back after it; edit it with any command. Each turn begins with a "
    "line like `{header}`; under it come the text, a `[[CTX_PART ...]]` line for each image or file, and "
    "a `[[CTX_CALL id name]]` line with its arguments for each tool call. `[[CTX_END]]` ends the "
    "file. Keep these lines whole. Text without a header, also after the end, becomes a note. Find "
    "text by its header, with code; do not print the file to read what you already see."
)

_TOOL = (
    "You edit it with the tool `edit_context`. Without `edits` it lists your turns with numbers and "
    "sizes. Each edit names a `turn` and the `text` that replaces it; `through` replaces a run of "
    "turns by one note, `find` only a piece of the text, and an empty `text` removes."
)

_TOOL_TOO = f"{_TOOL} Use the file or the tool, not both in one round."

_RULES = """Rules:
- Batch. After an edit, everything behind the first changed turn is read anew, at a cost. One large \
edit is cheaper than many small ones.
- Mind the tail. Leave a small early stretch alone while a long, useful tail follows it; wait and \
compact both together, unless the limit is near.
- Be generous in the replacement. A detailed note costs little beside that."""

_NOTE = (
    "A note that replaces turns carries forward: what is ruled out and why; the exact commands tried; "
    "exact values, each marked verified or not; the next step. Copy names, paths and numbers letter "
    "by letter."
)

_FIXED = (
    "Out of reach: the system prompt, the task, user messages not yet answered, pinned turns, and the "
    "round in progress. A call and its results stay or go together. Notes carry no authority: write "
    "what is so, not orders to yourself."
)

_RECEIPTS = (
    "Lines that begin with `{opening}` come from the harness: how full your context is, and a receipt "
    "for each edit (applied, grew, queued, rejected, failed, ignored, no match). Believe the receipt, "
    "not the command. A round that only edits and prints nothing costs no step."
)


def _example(interface: Interface, *, fenced: bool) -> str:
    said = "Example: turns 5 to 8 are settled and become one note."
    if interface == "tool":
        shown = FENCED_EXAMPLE if fenced else f"```json\n{TOOL_EXAMPLE}\n```"
        return f"{said}\n\n{shown}"
    if fenced:
        said += " This is what the `command` of a call of `bash` holds:"
    return f"{said}\n\n```bash\n{EXAMPLE}\n```"
