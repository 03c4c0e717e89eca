"""What a sequence of requests costs under prefix caching: tokens, FLOPs, money, and why. Pure.

`docs/costs.md` explains the models; `docs/design/costs.md` says why they are as they are.
"""

from redraft.cost.anthropic_cache import AnthropicCache, minimum_of
from redraft.cost.automatic import AutomaticCache
from redraft.cost.breakpoints import BreakpointCache, agent_marks, end_mark
from redraft.cost.caches import Break, Cache, Found, Reader, Step, Totals, Use, account
from redraft.cost.configs import CONFIGS
from redraft.cost.edit_price import (
    STUB,
    EditPrice,
    max_payback,
    price_commit,
    price_edit,
    price_turn,
)
from redraft.cost.flops import call_flops, use_flops
from redraft.cost.gemini_cache import GeminiCache, gemini_minimum
from redraft.cost.genai_prices import GenaiPrices
from redraft.cost.geometry import REFERENCE, Geometry, find_geometry, geometry_of
from redraft.cost.litellm_prices import LiteLLMPrices
from redraft.cost.longest_prefix import LongestPrefix
from redraft.cost.openai_cache import OpenAICache, openai_cache
from redraft.cost.prices import (
    RELATIVE,
    Money,
    NoPrice,
    PriceBook,
    PriceCard,
    Rates,
    first_of,
    model_names,
)
from redraft.cost.radix import BLOCK, Radix
from redraft.cost.requests import HOUR, MINUTES, Cause, Change, Mark, Request, Segment, compare
from redraft.cost.slices import Slicer, name_of
from redraft.cost.suffix import SPANS, SuffixReuse

__all__ = [
    "BLOCK",
    "CONFIGS",
    "HOUR",
    "MINUTES",
    "REFERENCE",
    "RELATIVE",
    "SPANS",
    "STUB",
    "AnthropicCache",
    "AutomaticCache",
    "Break",
    "BreakpointCache",
    "Cache",
    "Cause",
    "Change",
    "EditPrice",
    "Found",
    "GeminiCache",
    "GenaiPrices",
    "Geometry",
    "LiteLLMPrices",
    "LongestPrefix",
    "Mark",
    "Money",
    "NoPrice",
    "OpenAICache",
    "PriceBook",
    "PriceCard",
    "Radix",
    "Rates",
    "Reader",
    "Request",
    "Segment",
    "Slicer",
    "Step",
    "SuffixReuse",
    "Totals",
    "Use",
    "account",
    "agent_marks",
    "call_flops",
    "compare",
    "end_mark",
    "find_geometry",
    "first_of",
    "gemini_minimum",
    "geometry_of",
    "max_payback",
    "minimum_of",
    "model_names",
    "name_of",
    "openai_cache",
    "price_commit",
    "price_edit",
    "price_turn",
    "use_flops",
]
