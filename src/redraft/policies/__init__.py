"""Who decides when and how the context changes: one strategy a file, one protocol for all."""

from redraft.policies.append_only import AppendOnly
from redraft.policies.base import Need, Policy, Retrieve, Summarize, View
from redraft.policies.observation_mask import ObservationMask
from redraft.policies.pressure import Pressure

__all__ = [
    "AppendOnly",
    "Need",
    "ObservationMask",
    "Policy",
    "Pressure",
    "Retrieve",
    "Summarize",
    "View",
]
