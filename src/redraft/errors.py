"""Every error that redraft raises.

    RedraftError
    ├── SettingsError             (ValueError)        a setting has a value that cannot be used
    ├── BudgetError               (ValueError)        the limit leaves no room for what must be sent
    ├── DialectError              (ValueError)        a body is not what its wire format says
    ├── RecordingError            (ValueError)        a recording cannot be read
    ├── TokenizerError            (RuntimeError)      the shipped vocabulary is damaged
    ├── LedgerError               (RuntimeError)      tokens are not accounted for
    ├── RewriteBudgetViolation    (RuntimeError)      a rewrite cannot prove that it frees tokens
    ├── SessionStateError         (RuntimeError)      a session's methods were called out of order
    ├── UndoError                 (RuntimeError)      a revision cannot be undone as things stand
    ├── ApprovalError             (LookupError)       no approval of this id waits for that
    ├── ContextFileError          (OSError)           the context file's place cannot be used
    ├── JournalError              (OSError)           a run's record cannot be read or written
    │   └── JournalLockedError    (BlockingIOError)   another process writes to it
    ├── OverflowStoreError        (OSError)           originals cannot be kept or read back
    │   ├── OverflowMissingError  (LookupError)       no body of this id is kept
    │   └── OverflowDamagedError  (ValueError)        a body is not the one that its id names
    ├── MemoryFormatError         (ValueError)        a memory is given what it cannot keep or read
    ├── MemoryStoreError          (OSError)           a memory cannot be read or written
    │   ├── MemoryMissingError    (LookupError)       it keeps no item or state of this number
    │   └── MemoryConflictError   (RuntimeError)      another version of a state was saved meanwhile
    ├── SandboxError              (OSError)           a command cannot be started
    └── ModelError                (RuntimeError)      a model call failed
        ├── ModelAuthError        (PermissionError)   the key is missing or refused
        ├── ModelConnectionError  (ConnectionError)   the server cannot be reached
        ├── ModelTimeoutError     (TimeoutError)      the server did not answer in time
        ├── ModelRequestError     (ValueError)        the server refuses the request
        ├── ModelReplyError       (ValueError)        the reply is not a chat completion
        └── ContextOverflowError  (ValueError)        the request is larger than the model's window

Each message ends with what to do next. A refused revision is not an error: the door
answers it with a receipt (`redraft.context.Refusal`).
"""

from __future__ import annotations

__all__ = [
    "ApprovalError",
    "BudgetError",
    "ContextFileError",
    "ContextOverflowError",
    "DialectError",
    "JournalError",
    "JournalLockedError",
    "LedgerError",
    "MemoryConflictError",
    "MemoryFormatError",
    "MemoryMissingError",
    "MemoryStoreError",
    "ModelAuthError",
    "ModelConnectionError",
    "ModelError",
    "ModelReplyError",
    "ModelRequestError",
    "ModelTimeoutError",
    "OverflowDamagedError",
    "OverflowMissingError",
    "OverflowStoreError",
    "RecordingError",
    "RedraftError",
    "RewriteBudgetViolation",
    "SandboxError",
    "SessionStateError",
    "SettingsError",
    "TokenizerError",
    "UndoError",
]


class RedraftError(Exception):
    """The root: catch it to catch everything that redraft raises on purpose."""


class SettingsError(RedraftError, ValueError):
    """A setting has a value that cannot be used."""


class BudgetError(RedraftError, ValueError):
    """The limit leaves no room for what must be sent: pinned turns, unanswered turns, tools."""


class DialectError(RedraftError, ValueError):
    """A request or a reply is not what its wire format says it is."""


class RecordingError(RedraftError, ValueError):
    """A recording cannot be read; the message names the file, the line and what is wrong there."""


class TokenizerError(RedraftError, RuntimeError):
    """The vocabulary that ships with redraft is missing or damaged."""


class LedgerError(RedraftError, RuntimeError):
    """Tokens are not accounted for: a fault in redraft itself, never in its user."""


class RewriteBudgetViolation(RedraftError, RuntimeError):
    """A rewrite cannot prove, before it commits, that it frees more tokens than it costs."""


class SessionStateError(RedraftError, RuntimeError):
    """A session's methods were called in an order that has no meaning."""


class UndoError(RedraftError, RuntimeError):
    """A revision cannot be undone as things stand; the message names the sizes or what goes first."""


class ApprovalError(RedraftError, LookupError):
    """No approval of this id waits, or it was decided already; the message says which ones wait."""


class ContextFileError(RedraftError, OSError):
    """The directory or file for the context file cannot be used safely."""


class JournalError(RedraftError, OSError):
    """A run's record cannot be read or written."""


class JournalLockedError(JournalError, BlockingIOError):
    """Another process writes to the run; only one may."""


class OverflowStoreError(RedraftError, OSError):
    """The store of originals that left the context cannot be read or written."""


class OverflowMissingError(OverflowStoreError, LookupError):
    """The overflow store keeps no body of this id, or more than one that begins so."""


class OverflowDamagedError(OverflowStoreError, ValueError):
    """What the overflow store holds under an id is not the body that the id names."""


class MemoryFormatError(RedraftError, ValueError):
    """A memory is given a field, a state or a line of an export that it cannot keep or read."""


class MemoryStoreError(RedraftError, OSError):
    """A memory cannot be read or written."""


class MemoryMissingError(MemoryStoreError, LookupError):
    """A memory keeps no item, or no version of a state, of this number."""


class MemoryConflictError(MemoryStoreError, RuntimeError):
    """Another version of a session's state was saved since the one that this was made from."""


class SandboxError(RedraftError, OSError):
    """A command cannot be started where it was meant to run."""


class ModelError(RedraftError, RuntimeError):
    """A model call failed in a way that another try will not mend by itself."""


class ModelAuthError(ModelError, PermissionError):
    """The server wants a key that is missing, wrong or not allowed to do this."""


class ModelConnectionError(ModelError, ConnectionError):
    """The server cannot be reached."""


class ModelTimeoutError(ModelError, TimeoutError):
    """The server took longer to answer than the time allowed."""


class ModelRequestError(ModelError, ValueError):
    """The server understood the request and refuses it."""


class ModelReplyError(ModelError, ValueError):
    """The server's reply is not a chat completion."""


class ContextOverflowError(ModelError, ValueError):
    """The request is larger than the model's window.

    Args:
        message: what the server said.
        requested: prompt tokens the server counted, if it said so.
        window: the window in tokens, if the server said so.
    """

    def __init__(
        self, message: str, *, requested: int | None = None, window: int | None = None
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.window = window
