"""The shape of a model, as far as its compute depends on it, read from its Hugging Face config.

Counted are the matrix multiplications of every layer for one token, two FLOPs a weight, and for
attention what the formula of `redraft.cost.flops` needs. Not counted: embeddings and the output head,
norms, rotary positions, short convolutions and the recurrence of linear attention (under 1 %).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.cost.configs import CONFIGS

__all__ = ["REFERENCE", "Geometry", "find_geometry", "geometry_of"]

REFERENCE = "Qwen3.6-27B"
"""The model whose geometry stands in where a model's own is not public (DESIGN.md section 7)."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a model's compute depends on.

    Attributes:
        name: the model.
        token: FLOPs for one token apart from attention over earlier tokens: `C_tok`.
        attention: FLOPs for one token to attend to one other, over all full-attention layers:
            `C_attn`, four times layers, query heads and head size.
        full, linear, sliding: how many layers have full, linear and sliding-window attention.
    """

    name: str
    token: float
    attention: float
    full: int
    linear: int = 0
    sliding: int = 0


def geometry_of(config: Mapping[str, Any], name: str = "") -> Geometry:
    """The geometry of a model from its `config.json`.

    Args:
        config: the parsed file; of a multimodal model the part `text_config` is read.
        name: what to call it; by default what the file says.

    Returns:
        FLOPs by the formulas of DESIGN.md section 7. A sliding layer's attention is bounded, so it
        counts with each token, as if every window were full.

    Raises:
        ValueError: a needed field is missing or is no positive number, or the model has a kind of
            attention whose cost is not known here.
    """
    text = config.get("text_config")
    fields = _Fields({**config, **text} if isinstance(text, Mapping) else config)
    label = name or str(config.get("_name_or_path") or config.get("model_type") or "model")
    if "kv_lora_rank" in fields.config:
        raise ValueError(
            f"{label} has multi-head latent attention, whose cost is not known here; "
            f"name a model with grouped queries, or use {REFERENCE}"
        )
    layers = fields.number("num_hidden_layers")
    kinds = _kinds(fields, layers)
    full, linear = kinds.count("full_attention"), kinds.count("linear_attention")
    sliding = layers - full - linear
    pair = 4.0 * fields.number("num_attention_heads") * fields.head()
    window = fields.number("sliding_window") if sliding else 0
    weights = (full + sliding) * _attention(fields) + _feed_forward(fields, layers)
    if linear:
        weights += linear * _linear_attention(fields)
    return Geometry(
        label, 2.0 * weights + sliding * pair * window, full * pair, full, linear, sliding
    )


def find_geometry(model: str) -> Geometry | None:
    """The geometry of a model that is known here, by its name without vendor and case.

    Args:
        model: e.g. `Qwen/Qwen3-8B` or `openai/gpt-oss-120b`.

    Returns:
        None where it is not known; then read its config with `geometry_of`.
    """
    bare = model.strip().rsplit("/", 1)[-1].lower()
    for name, config in CONFIGS.items():
        if bare.removesuffix("-instruct") == name.lower():
            return geometry_of(config, name)
    return None


@dataclass(frozen=True, slots=True)
class _Fields:
    """A config with checked access."""

    config: Mapping[str, Any]

    def number(self, *names: str) -> int:
        """The first of `names` that is there."""
        for name in names:
            value = self.config.get(name)
            if value is not None:
                if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                    raise ValueError(
                        f"`{name}` is {value!r} in this config; it must be a positive whole number"
                    )
                return value
        raise ValueError(
            f"this config has no `{names[0]}`; pass the parsed `config.json` of a language model"
        )

    def head(self) -> int:
        """The size of an attention head."""
        if self.config.get("head_dim") is not None:
            return self.number("head_dim")
        return self.number("hidden_size") // self.number("num_attention_heads")


def _kinds(fields: _Fields, layers: int) -> Sequence[str]:
    """The kind of attention of each layer."""
    kinds = fields.config.get("layer_types")
    if isinstance(kinds, Sequence) and kinds:
        if len(kinds) != layers:
            raise ValueError(
                f"`layer_types` names {len(kinds)} layers of {layers}; use its own file"
            )
        known = {"full_attention", "linear_attention", "sliding_attention"}
        strange = sorted(set(map(str, kinds)) - known)
        if strange:
            raise ValueError(f"layers of the kind {', '.join(strange)} are not known here")
        return [str(kind) for kind in kinds]
    if fields.config.get("full_attention_interval"):
        every = fields.number("full_attention_interval")
        return [
            "full_attention" if (at + 1) % every == 0 else "linear_attention"
            for at in range(layers)
        ]
    slides = fields.config.get("sliding_window") and fields.config.get("use_sliding_window", True)
    return ["sliding_attention" if slides else "full_attention"] * layers


def _attention(fields: _Fields) -> float:
    """Weights of one layer's projections; a gated output has a second query projection."""
    width, head = fields.number("hidden_size"), fields.head()
    heads = fields.number("num_attention_heads")
    pairs = fields.number("num_key_value_heads", "num_attention_heads")
    # Qwen3-Next's file does not name the gate, its code always has it.
    gated = fields.config.get("attn_output_gate", "linear_num_value_heads" in fields.config)
    return width * head * ((3 if gated else 2) * heads + 2 * pairs)


def _linear_attention(fields: _Fields) -> float:
    """Weights of one gated delta-net layer: queries, keys, values, gate, two scalars a head, output."""
    width = fields.number("hidden_size")
    keys = fields.number("linear_num_key_heads") * fields.number("linear_key_head_dim")
    heads = fields.number("linear_num_value_heads")
    values = heads * fields.number("linear_value_head_dim")
    return width * (2 * keys + 3 * values + 2 * heads)


def _feed_forward(fields: _Fields, layers: int) -> float:
    """Active weights of all layers' MLPs: three matrices each, of the experts only those in use."""
    width = fields.number("hidden_size")
    if not any(fields.config.get(name) for name in _EXPERTS):
        return layers * 3.0 * width * fields.number("intermediate_size")
    experts = fields.number(*_EXPERTS)
    active = fields.number("num_experts_per_tok", "experts_per_token")
    inner = fields.number("moe_intermediate_size", "intermediate_size")
    shared = int(fields.config.get("shared_expert_intermediate_size") or 0)
    shared += int(fields.config.get("n_shared_experts") or 0) * inner
    dense = int(fields.config.get("first_k_dense_replace") or 0)
    sparse = width * experts + 3.0 * width * (active * inner + shared)
    if not dense:
        return layers * sparse
    return (layers - dense) * sparse + dense * 3.0 * width * fields.number("intermediate_size")


_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
