"""redraft lets a language model redraft its own context, safely.

    from redraft import Session

One door checks every proposed change of the context, prices it, records it and answers with a
receipt; every original stays in a journal. `Session` is the place to start; `docs/` has the ideas.
"""

from redraft import errors
from redraft.budget import Phase
from redraft.context import Gate, Receipt, Revision, RewritePlan, Status, commit_rewrite
from redraft.errors import RedraftError, RewriteBudgetViolation
from redraft.session import Session
from redraft.settings import Settings

__all__ = [
    "Gate",
    "Phase",
    "Receipt",
    "RedraftError",
    "Revision",
    "RewriteBudgetViolation",
    "RewritePlan",
    "Session",
    "Settings",
    "Status",
    "__version__",
    "commit_rewrite",
    "errors",
]

__version__ = "0.1.0"
