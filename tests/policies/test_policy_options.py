"""The control spectrum by name, and policies made from what somebody typed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import SettingsError
from redraft.policies import (
    POLICIES,
    SPECTRUM,
    Hybrid,
    Manager,
    ObservationMask,
    Pressure,
    SelfCompact,
    SlidingWindow,
    StateRewrite,
    ThresholdSummary,
    Tuning,
    described,
    made,
    offered,
)
from redraft.policies.options import options_of

SCHEDULED = sorted(POLICIES)
OFFERED = sorted(SPECTRUM.keys() - POLICIES.keys())


def test_the_spectrum_is_what_the_issue_names_and_each_says_who_decides() -> None:
    assert {name: one.decides for name, one in SPECTRUM.items()} == {
        "append-only": "nobody",
        "sliding-window": "harness",
        "observation-mask": "harness",
        "threshold-summary": "harness",
        "hierarchical-summary": "harness",
        "state-rewrite": "harness",
        "offload": "harness",
        "pressure": "harness",
        "manager": "harness",
        "offload-and-retrieve": "model by action",
        "self-compact": "model by action",
        "fold": "model by action",
        "context-tools": "model by action",
        "context-file": "model by file",
        "hybrid": "both",
    }


@pytest.mark.parametrize("name", sorted(SPECTRUM))
def test_each_is_told_in_one_short_line_and_each_option_has_a_meaning(name: str) -> None:
    one = described(name)
    assert 10 < len(one.line) <= 80
    assert "\n" not in one.line
    for option in one.options:
        assert option.meaning, option.name
        assert option.allowed
    assert len({option.name for option in one.options}) == len(one.options)


@pytest.mark.parametrize("name", SCHEDULED)
def test_what_is_listed_as_a_default_can_be_typed_and_changes_nothing(name: str) -> None:
    typed = {option.name: option.default for option in SPECTRUM[name].options}
    assert made(name, typed) == made(name) == POLICIES[name]()


@pytest.mark.parametrize("name", OFFERED)
def test_what_is_offered_to_the_model_is_no_policy_of_the_harness(name: str) -> None:
    typed = {option.name: option.default for option in SPECTRUM[name].options}
    assert offered(name, typed) == offered(name)
    assert offered(name).name == name
    with pytest.raises(SettingsError, match="Use one of append-only"):
        made(name)


def test_a_policy_of_the_harness_is_not_offered() -> None:
    with pytest.raises(SettingsError, match="policy of the harness"):
        offered("offload")


@pytest.mark.parametrize(
    ("name", "typed", "policy"),
    [
        ("sliding-window", {"trigger": "0.8", "keep": "6"}, SlidingWindow(0.8, keep=6)),
        ("observation-mask", {"least": "1_000"}, ObservationMask(least=1_000)),
        ("pressure", {"ceiling": " .9 "}, Pressure(0.9)),
        ("state-rewrite", {"fallback.keep": "4"}, StateRewrite(fallback=SlidingWindow(keep=4))),
        ("manager", {"trigger": "0.65", "on": "no"}, Manager(Tuning(0.65, on=False))),
        ("hybrid", {"strong": "TRUE", "on": "auto"}, Hybrid(strong=True)),
        ("hybrid", {"beneath": "threshold-summary"}, Hybrid(ThresholdSummary())),
        (
            "hybrid",
            {"beneath.trigger": "0.6", "beneath": "threshold-summary", "late": "0.7"},
            Hybrid(ThresholdSummary(0.6), late=0.7),
        ),
        ("hybrid", {"beneath.keep": "3"}, Hybrid(SlidingWindow(0.56, 0.5, keep=3))),
    ],
)
def test_options_are_read_by_the_types_of_the_fields(
    name: str, typed: dict[str, str], policy: Any
) -> None:
    assert made(name, typed) == policy


def test_what_a_model_is_offered_has_options_too() -> None:
    assert offered("self-compact", {"offer": "0.5"}) == SelfCompact(0.5, every=2)


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("sliding-window", {"trigger": "much"}, "trigger=much cannot be used; it must be a share"),
        ("sliding-window", {"trigger": "0"}, "a share over 0, up to 1"),
        ("sliding-window", {"trigger": "1.01"}, "a share over 0, up to 1"),
        ("sliding-window", {"trigger": "nan"}, "a share over 0, up to 1"),
        ("sliding-window", {"keep": "1.5"}, "a whole number from 0"),
        ("sliding-window", {"keep": "-1"}, "a whole number from 0"),
        ("sliding-window", {"tigger": "0.5"}, "has no option 'tigger'"),
        ("sliding-window", {"name": "x"}, "has no option 'name'"),
        ("sliding-window", {"target": "0.7"}, "set target to 0.675 or less"),
        ("observation-mask", {"trigger": "0.5"}, "does not lie well below"),
        ("threshold-summary", {"summary": "0"}, "a whole number from 1"),
        ("threshold-summary", {"fallback.trigger": "0.5"}, "has no option 'fallback.trigger'"),
        ("manager", {"trigger": "0.5"}, "move the bounds with it"),
        ("manager", {"lowest": "0.45"}, "does not lie well below lowest=0.45"),
        ("manager", {"on": "perhaps"}, "true or false"),
        ("hybrid", {"last": "0.5"}, "is given more time"),
        ("hybrid", {"strong": "auto"}, "true or false"),
        ("hybrid", {"beneath.trigger": "0.9"}, "must not lie above late=0.85"),
        ("hybrid", {"beneath": "pressure", "late": "0.7"}, "must not lie above late=0.7"),
        ("append-only", {"trigger": "0.5"}, "append-only has no options"),
    ],
)
def test_what_cannot_be_used_is_said_with_all_that_can(
    name: str, typed: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        made(name, typed)
    assert said in str(raised.value)
    for option in SPECTRUM[name].options:
        listed = f"{option.name}={option.default}  ({option.allowed})"
        assert listed in str(raised.value) or "beneath" in typed


@pytest.mark.parametrize("beneath", ["hybrid", "append-only", "context-file", "nothing"])
def test_beneath_a_hybrid_stands_a_scheduled_policy(beneath: str) -> None:
    with pytest.raises(SettingsError, match=r"must be one of hierarchical-summary, manager"):
        made("hybrid", {"beneath": beneath})


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'sliding-window'"):
        made("slidingwindow")
    with pytest.raises(SettingsError, match="Use one of append-only"):
        described("zzz")


@given(st.sampled_from(SCHEDULED), st.data())
def test_whatever_is_typed_makes_a_policy_or_says_what_is_wrong(name: str, data: Any) -> None:
    names = st.sampled_from([option.name for option in SPECTRUM[name].options] or ["x"])
    values = st.one_of(
        st.floats(0, 1).map(str), st.integers(-2, 9).map(str), st.text(max_size=4), st.just("true")
    )
    typed = data.draw(st.dictionaries(names, values, max_size=3))
    try:
        policy = made(name, typed)
    except SettingsError:
        return
    assert policy.name == name


@given(st.sampled_from([*SCHEDULED, "hybrid"]), st.data())
def test_whatever_policy_is_made_its_options_make_it_again(name: str, data: Any) -> None:
    """What a record keeps of a policy brings it back."""
    beneath = st.sampled_from(["offload", "manager", "hierarchical-summary", "pressure"])
    typed = {"beneath": data.draw(beneath)} if name == "hybrid" else {}
    names = [option.name for option in options_of(made(name, typed)) if option.name != "beneath"]
    shares = st.floats(0.01, 1).map(str)
    wholes = st.integers(0, 99).map(str)
    for one in data.draw(st.sets(st.sampled_from(names), max_size=3)) if names else ():
        typed[one] = data.draw(shares | wholes | st.sampled_from(("true", "false")))
    try:
        policy = made(name, typed)
    except SettingsError:
        return
    again = {option.name: option.default for option in options_of(policy)}
    assert made(name, again) == policy


@pytest.mark.parametrize("name", SCHEDULED)
def test_a_range_holds_however_the_policy_is_made(name: str) -> None:
    policy = POLICIES[name]()
    for field in fields(policy):  # type: ignore[arg-type]
        if field.name in {"trigger", "target", "ceiling", "late", "last", "keep", "least"}:
            with pytest.raises(SettingsError, match=f"{field.name}=-1 cannot be used"):
                type(policy)(**{field.name: -1})
