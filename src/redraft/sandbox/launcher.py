"""The few lines of shell that stand between bubblewrap and a contained command. Pure.

They run before anything of the model's does, with an empty environment, because a variable that a
command exported (`LD_PRELOAD`, a function) must act on the next command only, and neither on
bubblewrap, which runs outside, nor on the limits.
"""

from __future__ import annotations

from redraft.sandbox.limits import Limits, ulimits

__all__ = ["EXCHANGE", "launcher", "read_notes"]

EXCHANGE = "/run/redraft"
"""Where a contained command finds its text and its variables, and leaves its state."""

# Arguments: (1) the descriptor for notes, (2) the directory, (3) the one to go to if that is gone, (4)
# the shell text to run, (5) `env` and (6) `bash` by their paths.
#
# - TERM is caught, so that the command's own EXIT trap can still run after a time-out; a handler does
#   not pass on to programs as being ignored would.
# - The first to go when the machine runs out of memory is what runs here.
# - bash reports a child's death on its own standard error, which is set aside for that.
# - When the shell is over, what it has left running gets a fifth of a second: a process substitution
#   may still have to print. The wait is a read from a pipe that stays empty, since `sleep` is no
#   builtin. What is there after that is counted, and ends with the namespace.
_LAUNCHER = """\
notes=$1
builtin trap : TERM
{limits}
builtin printf 1000 2>/dev/null >|/proc/self/oom_score_adj
builtin cd -- "$2" 2>/dev/null || {{
  builtin cd -- "$3" 2>/dev/null && builtin printf \
'redraft: %s cannot be entered any more; this command ran in %s\\n' "$2" "$3"
}}
builtin mapfile -d '' -t environment <{exchange}/environment
builtin printf . >&"$notes"
exec {{errors}}>&2 2>/dev/null
"$5" -i -- "${{environment[@]}}" "$6" --noprofile --norc -c "$4" bash 2>&"$errors" \
{{errors}}>&- {{notes}}>&-
code=$?
count() {{ builtin set -- /proc/[1-9]*; left=$(($# - 2)); }}
count
if ((left > 0)); then
  exec {{clock}}<> <(:)
  for ((i = 0; left > 0 && i < 10; i++)); do builtin read -t 0.02 -u "$clock"; count; done
fi
builtin printf %s "$left" >&"$notes"
exit "$code"
"""


def launcher(limits: Limits, memory: int, *, count: bool) -> str:
    """The shell text.

    Args:
        limits: what the command may use.
        memory: the bytes of memory that it may use.
        count: whether the kernel counts processes for the sandbox alone.
    """
    return _LAUNCHER.format(limits=ulimits(limits, memory, count=count), exchange=EXCHANGE)


def read_notes(notes: bytes) -> tuple[bool, int]:
    """Whether the command was started, and how many processes it left running."""
    left = notes[1:].decode("ascii", "replace")
    return notes.startswith(b"."), int(left) if left.isdecimal() else 0
