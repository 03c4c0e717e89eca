"""Every text that a model reads from redraft, grouped by what it is. Plain functions, no state."""

from redraft.prompts.notices import (
    escalation_notice,
    final_notice,
    handover_notice,
    nudge_notice,
    rollback_notice,
)
from redraft.prompts.receipts import HEADER_SHAPE, readout_line, receipt_line
from redraft.prompts.results import (
    cut_marker,
    cut_off_result,
    interrupted_result,
    missing_result,
    not_run_result,
    unreadable_result,
)
from redraft.prompts.section import (
    EXAMPLE,
    SECTION_MARK,
    TOOL_EXAMPLE,
    has_section,
    system_section,
)
from redraft.prompts.tags import defuse, new_tag, one_line, opening

__all__ = [
    "EXAMPLE",
    "HEADER_SHAPE",
    "SECTION_MARK",
    "TOOL_EXAMPLE",
    "cut_marker",
    "cut_off_result",
    "defuse",
    "escalation_notice",
    "final_notice",
    "handover_notice",
    "has_section",
    "interrupted_result",
    "missing_result",
    "new_tag",
    "not_run_result",
    "nudge_notice",
    "one_line",
    "opening",
    "readout_line",
    "receipt_line",
    "rollback_notice",
    "system_section",
    "unreadable_result",
]
