"""What the agent's model reads beside the section on its context: its task's rules and results."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.prompts.tags import one_line, opening

__all__ = [
    "bad_arguments_result",
    "broken_off_notice",
    "command_result",
    "empty_reply_notice",
    "no_such_tool_result",
    "resumed_notice",
    "system_prompt",
    "taken_up_notice",
]

_NAME = 60


def system_prompt(timeout: float, longest: float, *, background: bool = True) -> str:
    """The system prompt of an agent that works with a shell.

    Args:
        timeout: seconds that a command may take if the model asks for nothing else.
        longest: seconds that it may ask for at most.
        background: whether what a command leaves running goes on after it
            (`redraft.sandbox.Sandbox.background`).
    """
    return _SYSTEM.format(
        timeout=f"{timeout:g}", longest=f"{longest:g}", servers=_LAST if background else _END
    )


_LAST = "Start what runs for ever in the background, with its output in a file."
_END = "What it starts in the background ends with it: start a server in the command that uses it."


_SYSTEM = """\
You carry out a task on a computer by means of shell commands. The first user message is the task. \
Nobody watches while you work and nobody answers questions: where the task leaves something open, \
choose the most sensible reading and say in your answer which one you chose.

How to work:
- The tool `bash` runs a command and shows you what it printed; an exit code is shown where it is not \
0. The working directory and exported variables last from one command to the next; nothing else of \
the shell does. Standard input is empty, so nothing interactive works.
- A command may take {timeout} seconds, or what you set as `timeout`, up to {longest}. {servers}
- Look before you change something, and check afterwards that the change does what it should.
- Ask for as much output as you need and no more: a filter, a range of lines, a count. Send long \
output to a file and look at parts of it.
- Do what the task asks and leave everything else as it is.

A reply without a tool call is your answer, and ends the run. Give it once the task is done and \
checked, or once you are sure that it cannot be done. It stands by itself, because the person who \
reads it saw none of your work: what they asked for, what you checked, and what you could not check."""


def command_result(
    output: str, exit_code: int, *, timed_out: bool, seconds: float, background: bool = True
) -> str:
    """What a command printed, with a line on how it ended where that is not plain success.

    Args:
        output: what it printed.
        exit_code: how it ended; 0 says nothing.
        timed_out: whether it was stopped for taking too long.
        seconds: the time it was allowed.
        background: whether what a command leaves running goes on after it.

    Returns:
        the output itself, unchanged, where the command ended well.
    """
    if timed_out:
        larger = f"[stopped: not done after {seconds:g} seconds. Set a larger `timeout`"
        rest = ", do less at a time, or run it in the background with its output in a file]"
        end = larger + (rest if background else " or do less at a time]")
    elif exit_code:
        end = f"[exit code {exit_code}]"
    else:
        return output
    gap = "" if not output or output.endswith("\n") else "\n"
    return f"{output}{gap}{end}"


def no_such_tool_result(name: str, known: Sequence[str]) -> str:
    """For a call of a tool that does not exist.

    Args:
        name: the name that was called.
        known: the tools that exist.
    """
    tools = ", ".join(f"`{tool}`" for tool in known)
    return f"Not run: there is no tool `{one_line(name, _NAME)}`. Tools: {tools}."


def bad_arguments_result(complaint: str) -> str:
    """For a call of `bash` whose arguments cannot be used.

    Args:
        complaint: what is wrong, as a clause without a full stop.
    """
    return (
        f"Not run: {complaint}. Send the call again with arguments that follow the tool's schema."
    )


def resumed_notice(tag: str, *, background: bool = True) -> str:
    """For a run that goes on in another process: what the model knows of its shell is not so any more.

    Args:
        tag: what marks redraft's own words.
        background: whether what a command leaves running goes on after it; the sandbox may be another
            one than the system prompt speaks of.
    """
    told = (
        f"{opening(tag)} The run was interrupted and goes on in a new shell, which began in the first "
        "working directory: exported variables and background processes from before are gone."
    )
    return told if background else f"{told} What a command starts in the background ends with it."


def taken_up_notice(tag: str) -> str:
    """For a run that had ended with its last turn and was given more room or more steps."""
    return (
        f"{opening(tag)} That was not your last turn after all: you may go on where you stopped. Give "
        "your answer once the task is done."
    )


def broken_off_notice(tag: str) -> str:
    """The reply ended at its length limit, with no call in it: it is not taken for the answer."""
    return (
        f"{opening(tag)} Your reply broke off before its end, so it does not count as your answer. Go "
        "on with a shorter reply: think less at once, and write long text into a file in steps."
    )


def empty_reply_notice(tag: str) -> str:
    """The reply held neither text nor a call."""
    return (
        f"{opening(tag)} Your reply was empty. Call a tool to go on, or write your answer if the task "
        "is done."
    )
