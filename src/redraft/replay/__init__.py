"""Recordings of real agents, replayed through policies and cache models: what would it have cost?

It prices a fixed transcript; `docs/replay.md` says what it cannot claim.
"""

from redraft.replay.cache_reads import Audit, Miss, audit
from redraft.replay.choices import known_policies, policies_named
from redraft.replay.fitted import Fitted, fit
from redraft.replay.loaders import FORMATS, Format, load, read_source
from redraft.replay.providers import ProviderCache, cache_of, provider_of
from redraft.replay.recording import RecordedCall, Recording, Reported, Thread
from redraft.replay.results import CAVEAT, CacheResult, PolicyResult, Replay
from redraft.replay.rollback import RollBack
from redraft.replay.runner import Progress, replay
from redraft.replay.source import Source
from redraft.replay.summary import summary
from redraft.replay.timeline import Timeline

__all__ = [
    "CAVEAT",
    "FORMATS",
    "Audit",
    "CacheResult",
    "Fitted",
    "Format",
    "Miss",
    "PolicyResult",
    "Progress",
    "ProviderCache",
    "RecordedCall",
    "Recording",
    "Replay",
    "Reported",
    "RollBack",
    "Source",
    "Thread",
    "Timeline",
    "audit",
    "cache_of",
    "fit",
    "known_policies",
    "load",
    "policies_named",
    "provider_of",
    "read_source",
    "replay",
    "summary",
]
