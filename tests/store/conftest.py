"""Requests of every wire format are recorded here as well, so their worlds are at hand."""

from __future__ import annotations

import sys
from pathlib import Path

DIALECTS = str(Path(__file__).parents[1] / "dialects")
if DIALECTS not in sys.path:
    sys.path.append(DIALECTS)
