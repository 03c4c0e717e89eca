"""What a user of the library holds."""

from redraft.session.answers import Answer
from redraft.session.rounds import Round, ToolCall
from redraft.session.session import Interface, Session

__all__ = ["Answer", "Interface", "Round", "Session", "ToolCall"]
