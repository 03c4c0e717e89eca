"""Telling a request that is too large for the model's window from every other failure. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from redraft.errors import ContextOverflowError
from redraft.models.evidence import Evidence, evidence_of
from redraft.models.wordings import CODES, KINDS, WORDINGS

__all__ = ["overflow_of"]

_CAUSES = 5
_SHOWN = 500
_TOO_LARGE = 413
_ADVICE = "Free some context, or set the window (or budget) to what the server allows."


# Groq answers a request over its tokens per minute with 413 and "Request too large"
# (ITSpecialist111/ai_automation_suggester#61); Bedrock throttles with "Too many tokens".
_RATE = re.compile(
    r"tokens? per (?:minute|min|hour|day|second)|\b[TR]P[MD]\b|rate.?limit|too many requests|quota"
    r"|throttl|please wait|retry (?:in|after)",
    re.IGNORECASE,
)
# Unauthorized, payment, forbidden, not found, time-out, conflict, rate limit, overloaded.
_OTHER_STATUS = frozenset({401, 402, 403, 404, 408, 409, 429, 503, 529})


def overflow_of(error: BaseException) -> ContextOverflowError | None:
    """Read an error of any client as a context overflow, if that is what it is.

    Works by attributes (`status_code`, `code`, `body`, `response`, `message`) on errors of openai,
    anthropic, httpx, litellm, botocore and others, and on plain errors by their text. Also looks at
    what the error was raised from.

    Returns:
        An error with the sizes that the server told, or None. `requested` counts the prompt alone
        where the server told it apart, so it can be below `window`: then the output reserve is what
        does not fit. A request whose output reserve alone fills the window is no overflow, since no
        prompt would fit: that is a wrong setting.
    """
    for cause in _causes(error):
        if isinstance(cause, ContextOverflowError):
            return cause
        found = _overflow(evidence_of(cause))
        if found is not None:
            return found
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _overflow(evidence: Evidence) -> ContextOverflowError | None:
    if evidence.status in _OTHER_STATUS or "rate_limit_exceeded" in evidence.codes:
        return None
    if any(_RATE.search(text) for text in evidence.texts):
        return None
    for text in evidence.texts:
        for wording in WORDINGS:
            match = wording.pattern.search(text.replace("’", "'"))
            if match:
                return _told(text, match, evidence)
    if (
        evidence.status == _TOO_LARGE
        or not CODES.isdisjoint(evidence.codes)
        or not KINDS.isdisjoint(evidence.kinds)
    ):
        return _error(next(iter(evidence.texts), "The request is too large."), evidence)
    return None


def _told(text: str, match: re.Match[str], evidence: Evidence) -> ContextOverflowError | None:
    sizes = {
        name: int(digits.replace(",", ""))
        for name, digits in match.groupdict().items()
        if digits is not None
    }
    window, output = sizes.get("window"), sizes.get("output", 0)
    if window is not None and output >= window:
        return None
    prompt = sizes.get("prompt")
    if "total" in sizes:
        prompt = sizes["total"] - output
    elif "excess" in sizes and window is not None:
        prompt = window + sizes["excess"]
    return _error(text, evidence, prompt, window)


def _error(
    text: str, evidence: Evidence, prompt: int | None = None, window: int | None = None
) -> ContextOverflowError:
    # llama.cpp tells the sizes in fields of their own.
    prompt = evidence.numbers.get("n_prompt_tokens", prompt)
    window = evidence.numbers.get("n_ctx", window)
    said = " ".join(text.split())[:_SHOWN].rstrip(".")
    return ContextOverflowError(f"{said}. {_ADVICE}", requested=prompt, window=window)
