"""What each provider refuses, as plainly written checks of a whole request: a second opinion.

They share nothing with `redraft.dialects.rules`. The fake servers answer with them, and the fuzzer over
the door looks for one list that they refuse.
"""

from redraft.testing.refusals.base import Complaint
from redraft.testing.refusals.providers import complaints

__all__ = ["Complaint", "complaints"]
