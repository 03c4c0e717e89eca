"""Who decides when and how the context changes: one strategy a file, one protocol for all."""

from __future__ import annotations

from redraft.policies.append_only import AppendOnly
from redraft.policies.audit import Item, Preservation, audit, critical, preserved
from redraft.policies.base import Need, Policy, Retrieve, Summarize, View
from redraft.policies.extractive import extract
from redraft.policies.hierarchical_summary import HierarchicalSummary
from redraft.policies.hybrid import Hybrid
from redraft.policies.manager import Manager, Rule, Situation
from redraft.policies.observation_mask import ObservationMask
from redraft.policies.offers import ContextFile, ContextTools, Fold, OffloadAndRetrieve, SelfCompact
from redraft.policies.offload import Offload
from redraft.policies.options import Option
from redraft.policies.pressure import Pressure
from redraft.policies.registry import POLICIES, SPECTRUM, Described, described, made, offered
from redraft.policies.report import ContextReport
from redraft.policies.sliding_window import SlidingWindow
from redraft.policies.state_rewrite import StateRewrite
from redraft.policies.threshold_summary import ThresholdSummary
from redraft.policies.tuning import Rotation, Tuning

__all__ = [
    "POLICIES",
    "SPECTRUM",
    "AppendOnly",
    "ContextFile",
    "ContextReport",
    "ContextTools",
    "Described",
    "Fold",
    "HierarchicalSummary",
    "Hybrid",
    "Item",
    "Manager",
    "Need",
    "ObservationMask",
    "Offload",
    "OffloadAndRetrieve",
    "Option",
    "Policy",
    "Preservation",
    "Pressure",
    "Retrieve",
    "Rotation",
    "Rule",
    "SelfCompact",
    "Situation",
    "SlidingWindow",
    "StateRewrite",
    "Summarize",
    "ThresholdSummary",
    "Tuning",
    "View",
    "audit",
    "critical",
    "described",
    "extract",
    "made",
    "offered",
    "preserved",
]
