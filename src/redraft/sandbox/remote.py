"""What is sent to a shell elsewhere, and what comes back from it. Pure.

The shell shares nothing with us but its three streams. The script comes in on standard input, which
then stays open: when it closes, because the time is up or because we are gone, what runs is ended. The
command prints on standard output, which ends with a mark, for a background process may hold the stream
open. What became of it comes back on standard error, in a frame. Mark and frame carry a tag that nobody
can guess, since containers, connections and the command itself print there too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.sandbox.capture import Capture
from redraft.sandbox.shell import State, command_bytes, script

__all__ = ["NO_BASH", "NO_DIRECTORY", "Frame", "UpToMark", "ending", "payload", "read_frame"]

NO_BASH = 69
"""The exit code of a shell that is not bash."""

NO_DIRECTORY = 71
"""The exit code if the directory of the first command cannot be entered."""

# bash reads a script from a pipe byte by byte, and so leaves the rest of the input to `head`. The rest
# goes through a file, because bash 5.2 breaks down if its own input is copied (`exec 3<&0`).
_FIRST_LINE = (
    '[ "$BASH_VERSION" ] || exit {no_bash}; place=$(mktemp -d) && head -c {size} >"$place/script" && '
    '[ "$(wc -c <"$place/script")" -eq {size} ] && exec bash --noprofile --norc "$place/script" "$place"; '
    'rm -rf -- "$place"; exit 1\n'
)

# - Job control puts the command into a process group of its own, which can be ended as a whole.
# - The watcher waits for the end of the input; the pause is a read from a pipe that stays empty.
# - What is left of the group when the shell is over gets a fifth of a second before the mark: a process
#   substitution may still have to print.
# - The frame is: a line with the tag, the exit code, and the group if something of it is still there;
#   the state; the tag and a full stop, which comes when nothing of ours is left there.
_HEAD = """\
place=$1
cat >"$place/command" <<'{tag}'
"""
_TAIL = """
{tag}
{enter}
exec 3<&0 4>&2
set -m
{environment} "$BASH" --noprofile --norc -c {script} bash </dev/null 2>&1 3<&- 4>&- &
group=$!
set +m
(
  read -r -N 1 <&3
  : >"$place/late"
  kill -TERM -- "-$group"
  read -r -t 0.5 <> <(:)
  kill -KILL -- "-$group"
) >/dev/null 2>&1 4>&- &
watcher=$!
wait "$group"
code=$?
for ((i = 0; i < 10; i++)); do
  kill -0 -- "-$group" 2>/dev/null || break
  read -r -t 0.02 <> <(:)
done
if [ -e "$place/late" ]; then wait "$watcher"; else kill "$watcher" 2>/dev/null; fi
kill -0 -- "-$group" 2>/dev/null || group=
printf %s {tag}
{{
  printf '\\n%s %s %s\\n' {tag} "$code" "$group"
  cat "$place/state"
  rm -rf -- "$place"
  printf '\\n%s.' {tag}
}} >&4 2>/dev/null
exit "$code"
"""
_FIRST_ENTER = """\
cd -- {here} || {{ rm -rf -- "$place"; exit {no_directory}; }}"""
_ENTER = """\
cd -- {here} 2>/dev/null || {{
  cd -- {home} 2>/dev/null && printf \
'redraft: %s cannot be entered any more; this command ran in %s\\n' {here} {home}
}}"""
_ENDING = """\
rm -rf -- "$1"
for signal in TERM KILL; do kill -$signal -- {groups} 2>/dev/null || break; read -r -t 0.5 <> <(:); done
printf '\\n%s 0 \\n\\n%s.' {tag} {tag} >&2
"""


@dataclass(frozen=True)
class Frame:
    """What a shell elsewhere said of a command's end.

    Attributes:
        code: the exit code.
        group: the process group that is still running, or None.
        report: what `redraft.sandbox.shell.read_state` reads.
    """

    code: int
    group: int | None
    report: bytes


def payload(tag: str, command: str, state: State, home: bytes | None) -> bytes:
    """What goes to the shell's standard input.

    Args:
        tag: random letters and digits.
        command: any bash text without NUL bytes.
        state: what the command starts with.
        home: where to go if the state's directory is gone. None before the first command; then the
            variables are additions to those that are there, and the directory may be empty, which
            means where the shell starts.
    """
    variables = [os.fsdecode(b"%s=%s" % item) for item in state.environment.items()]
    clean = [] if home is None else ["-i"]
    # The place is known only there: the script is one quoted word with a hole in it.
    hole = "\0"
    inner = shlex.quote(script(f"{hole}/state", f"{hole}/command")).replace(hole, "'\"$place\"'")
    tail = _TAIL.format(
        tag=tag,
        enter=_enter(os.fsdecode(state.directory), None if home is None else os.fsdecode(home)),
        environment=shlex.join(["env", *clean, "--", *variables]),
        script=inner,
    )
    body = os.fsencode(_HEAD.format(tag=tag)) + command_bytes(command) + os.fsencode(tail)
    return _with_first_line(body)


def ending(tag: str, groups: Sequence[int]) -> bytes:
    """What goes to the shell's standard input to end process groups that were left running."""
    body = _ENDING.format(groups=" ".join(f"-{group}" for group in groups), tag=tag).encode()
    return _with_first_line(body)


def read_frame(said: bytes, tag: str) -> Frame | None:
    """The frame in what came on standard error, whatever stands around it; None if it is not whole."""
    mark = tag.encode()
    _noise, found, rest = said.partition(b"\n%s " % mark)
    head, newline, rest = rest.partition(b"\n")
    report, end, _noise = rest.rpartition(b"\n%s." % mark)
    words = head.split()
    if not (found and newline and end) or not words or not all(word.isdigit() for word in words):
        return None
    return Frame(int(words[0]), int(words[1]) if len(words) > 1 else None, report)


class UpToMark:
    """Passes a stream on to a capture, up to a mark that ends it.

    Args:
        capture: where the bytes before the mark go.
        mark: the mark.
    """

    def __init__(self, capture: Capture, mark: bytes) -> None:
        self._capture = capture
        self._mark = mark
        self._held = b""
        self.found = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream. What may be the mark's beginning is held back."""
        if self.found:
            return
        before, mark, _after = (self._held + chunk).partition(self._mark)
        self.found = bool(mark)
        keep = 0 if mark else self._overlap(before)
        self._held = before[len(before) - keep :]
        self._capture.feed(before[: len(before) - keep])

    def flush(self) -> None:
        """The stream ended without the mark; pass on what was held back."""
        if not self.found:
            self._capture.feed(self._held)
            self._held = b""

    def _overlap(self, data: bytes) -> int:
        lengths = range(min(len(data), len(self._mark) - 1), 0, -1)
        return next((n for n in lengths if self._mark.startswith(data[-n:])), 0)


def _with_first_line(body: bytes) -> bytes:
    return _FIRST_LINE.format(no_bash=NO_BASH, size=len(body)).encode() + body


def _enter(here: str, home: str | None) -> str:
    if not here:
        return ":"
    if home is None:
        return _FIRST_ENTER.format(here=shlex.quote(here), no_directory=NO_DIRECTORY)
    return _ENTER.format(here=shlex.quote(here), home=shlex.quote(home))
