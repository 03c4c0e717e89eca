"""What a user of the library holds."""

from redraft.dialects.preserve import Approval
from redraft.session.answers import Answer
from redraft.session.approvals import Approver, Pending, Rejection
from redraft.session.approving import Replay
from redraft.session.rounds import Round, ToolCall
from redraft.session.session import Interface, Session
from redraft.session.summarizers import (
    ExtractiveSummarizer,
    ModelSummarizer,
    Summarizer,
    Summary,
)

__all__ = [
    "Answer",
    "Approval",
    "Approver",
    "ExtractiveSummarizer",
    "Interface",
    "ModelSummarizer",
    "Pending",
    "Rejection",
    "Replay",
    "Round",
    "Session",
    "Summarizer",
    "Summary",
    "ToolCall",
]
