"""The policies by name, so that a command or a comparison can choose among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from redraft.policies.append_only import AppendOnly
from redraft.policies.base import Policy
from redraft.policies.hierarchical_summary import HierarchicalSummary
from redraft.policies.hybrid import Hybrid
from redraft.policies.manager import Manager
from redraft.policies.observation_mask import ObservationMask
from redraft.policies.offload import Offload
from redraft.policies.pressure import Pressure
from redraft.policies.sliding_window import SlidingWindow
from redraft.policies.state_rewrite import StateRewrite
from redraft.policies.threshold_summary import ThresholdSummary

__all__ = ["POLICIES"]

POLICIES: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {
        "append-only": AppendOnly,
        "hierarchical-summary": HierarchicalSummary,
        "hybrid": Hybrid,
        "manager": Manager,
        "observation-mask": ObservationMask,
        "offload": Offload,
        "pressure": Pressure,
        "sliding-window": SlidingWindow,
        "state-rewrite": StateRewrite,
        "threshold-summary": ThresholdSummary,
    }
)
"""Every policy that can be made without arguments, by name."""
