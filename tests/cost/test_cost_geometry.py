"""The shape of a model from its config: golden values, and configs that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from redraft.cost import CONFIGS, REFERENCE, find_geometry, geometry_of

DENSE: dict[str, Any] = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 16,
}


def test_the_reference_has_the_golden_values_of_the_design() -> None:
    found = find_geometry(REFERENCE)
    assert found is not None
    assert f"{found.token:.4g}" == "4.87e+10"
    assert round(found.token / 1e9, 2) == 48.70
    assert found.attention == 393_216
    assert (found.full, found.linear, found.sliding) == (16, 48, 0)


def test_a_dense_model_by_hand() -> None:
    # head 2; attention 8*2*(2*4 + 2*2) = 192; MLP 3*8*16 = 384; two layers, two FLOPs a weight
    found = geometry_of(DENSE, "dense")
    assert found.token == 2 * 2 * (192 + 384)
    assert found.attention == 4 * 2 * 4 * 2


def test_without_key_value_heads_each_query_head_has_its_own() -> None:
    config = {key: value for key, value in DENSE.items() if key != "num_key_value_heads"}
    assert geometry_of(config).token == 2 * 2 * (8 * 2 * 16 + 384)


def test_an_explicit_head_size_wins_over_the_width() -> None:
    assert geometry_of({**DENSE, "head_dim": 5}).attention == 4 * 2 * 4 * 5


def test_of_experts_only_those_in_use_count_and_the_router() -> None:
    sparse = {**DENSE, "num_experts": 10, "num_experts_per_tok": 2, "moe_intermediate_size": 3}
    assert geometry_of(sparse).token == 2 * 2 * (192 + 8 * 10 + 2 * 3 * 8 * 3)


def test_shared_experts_and_leading_dense_layers_count() -> None:
    sparse = {
        **DENSE,
        "n_routed_experts": 10,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 3,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
    }
    assert geometry_of(sparse).token == 2 * (2 * 192 + (80 + 3 * 8 * (2 * 3 + 3)) + 384)


def test_a_sliding_layer_costs_its_window_for_each_token_and_nothing_beyond() -> None:
    kinds = ["sliding_attention", "full_attention"]
    found = geometry_of({**DENSE, "layer_types": kinds, "sliding_window": 7})
    assert (found.full, found.sliding) == (1, 1)
    assert found.attention == 4 * 4 * 2
    assert found.token == 2 * 2 * (192 + 384) + 4 * 4 * 2 * 7


def test_a_window_that_is_not_used_does_not_count() -> None:
    found = geometry_of({**DENSE, "sliding_window": 4_096, "use_sliding_window": False})
    assert found.full == 2


def test_layers_between_full_ones_are_linear_and_a_gate_doubles_the_queries() -> None:
    hybrid = {
        **DENSE,
        "full_attention_interval": 2,
        "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 3,
        "linear_value_head_dim": 5,
    }
    # one full layer with a gate 8*2*(3*4 + 2*2); one linear 8*(2*3 + 3*10 + 2*2)
    assert geometry_of(hybrid).token == 2 * (256 + 8 * 40 + 2 * 384)


def test_a_multimodal_model_is_read_by_its_text_part() -> None:
    assert geometry_of({"model_type": "vl", "text_config": DENSE}, "x") == geometry_of(DENSE, "x")


@pytest.mark.parametrize(
    ("name", "active"),
    [
        # Published sizes less embeddings and head, in billions of active weights.
        ("Llama-3.1-8B", 8.03 - 2 * 128_256 * 4_096 / 1e9),
        ("Llama-3.1-70B", 70.6 - 2 * 128_256 * 8_192 / 1e9),
        ("Qwen3-8B", 8.19 - 2 * 151_936 * 4_096 / 1e9),
        ("Qwen3-30B-A3B", 3.35 - 2 * 151_936 * 2_048 / 1e9),
        ("gpt-oss-20b", 3.6 - 201_088 * 2_880 / 1e9),
        ("gpt-oss-120b", 5.13 - 201_088 * 2_880 / 1e9),
        ("Mistral-Nemo-2407", 12.25 - 2 * 131_072 * 5_120 / 1e9),
        ("Mistral-7B-v0.3", 7.25 - 2 * 32_768 * 4_096 / 1e9),
    ],
)
def test_the_weights_of_a_known_model_are_those_that_its_maker_publishes(
    name: str, active: float
) -> None:
    found = find_geometry(name)
    assert found is not None
    windows = found.sliding * 4 * 64 * 64 * 128  # the windows of gpt-oss are no weights
    assert (found.token - windows) / 2e9 == pytest.approx(active, rel=0.02)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "qwen3-8b", "meta-llama/Llama-3.1-8B-Instruct"])
def test_a_known_model_is_found_without_its_vendor_and_case(name: str) -> None:
    assert find_geometry(name) is not None


def test_an_unknown_model_has_no_geometry() -> None:
    assert find_geometry("gpt-5") is None


@pytest.mark.parametrize("name", CONFIGS)
def test_every_shipped_config_can_be_read(name: str) -> None:
    assert find_geometry(name) == geometry_of(CONFIGS[name], name)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hidden_size": None}, "no `hidden_size`"),
        ({"hidden_size": "8"}, "must be a positive whole number"),
        ({"num_hidden_layers": 0}, "must be a positive whole number"),
        ({"layer_types": ["full_attention"]}, "names 1 layers of 2"),
        ({"layer_types": ["mamba", "full_attention"]}, "mamba are not known"),
        ({"kv_lora_rank": 512}, "multi-head latent attention"),
    ],
)
def test_a_config_that_cannot_be_read_says_which_field(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        geometry_of({**DENSE, **change})
