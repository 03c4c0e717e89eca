"""An agent on top of a session: one model, one shell, one task."""

from redraft.agent.agent import Agent
from redraft.agent.bash import BASH
from redraft.agent.costs import ModelCall, OutsideCall, RunCost, run_cost
from redraft.agent.metrics import Collector, Metrics, collected, metrics_of
from redraft.agent.result import RunResult, RunStatus
from redraft.events import CommandEnded, CommandStarted, Prodded, RequestRefused

__all__ = [
    "BASH",
    "Agent",
    "Collector",
    "CommandEnded",
    "CommandStarted",
    "Metrics",
    "ModelCall",
    "OutsideCall",
    "Prodded",
    "RequestRefused",
    "RunCost",
    "RunResult",
    "RunStatus",
    "collected",
    "metrics_of",
    "run_cost",
]
