"""The `config.json` of some open models, only the fields that their compute depends on.

Each is the published file of the model's repository on Hugging Face (looked up in November 2026; the
27B is the one that DESIGN.md section 7 gives). For any other model read its own file and pass it to
`redraft.cost.geometry_of`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["CONFIGS"]


def _dense(*sizes: int, **more: Any) -> dict[str, Any]:
    names = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "head_dim",
    )
    return {**dict(zip(names, sizes, strict=True)), **more}


def _gpt_oss(layers: int, experts: int) -> dict[str, Any]:
    kinds = ["sliding_attention", "full_attention"] * (layers // 2)
    return _dense(
        *(2_880, layers, 64, 8, 2_880, 64),
        num_local_experts=experts,
        num_experts_per_tok=4,
        sliding_window=128,
        layer_types=kinds,
    )


CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "Llama-3.1-70B": _dense(8_192, 80, 64, 8, 28_672, 128),
        "Llama-3.1-8B": _dense(4_096, 32, 32, 8, 14_336, 128),
        "Mistral-7B-v0.3": _dense(4_096, 32, 32, 8, 14_336, 128, sliding_window=None),
        "Mistral-Nemo-2407": _dense(5_120, 40, 32, 8, 14_336, 128, sliding_window=None),
        "Qwen3-30B-A3B": _dense(
            *(2_048, 48, 32, 4, 6_144, 128),
            num_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=768,
            use_sliding_window=False,
        ),
        "Qwen3-8B": _dense(4_096, 36, 32, 8, 12_288, 128, use_sliding_window=False),
        "Qwen3.6-27B": _dense(
            *(5_120, 64, 24, 4, 17_408, 256),
            attn_output_gate=True,
            full_attention_interval=4,
            linear_num_key_heads=16,
            linear_num_value_heads=48,
            linear_key_head_dim=128,
            linear_value_head_dim=128,
        ),
        "gpt-oss-120b": _gpt_oss(36, 128),
        "gpt-oss-20b": _gpt_oss(24, 32),
    }
)
"""Model name without vendor -> the fields of its config."""
