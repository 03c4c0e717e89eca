from __future__ import annotations

import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from token_texts import recordings, texts

from redraft.tokens import Counter, QuicktokCounter, TiktokenCounter, default_counter, o200k_base
from redraft.tokens import counter as room
from redraft.tokens.counter import PROBE_IDS, PROBE_TEXT
from redraft.tokens.pieces import as_sent

TIKTOKEN = TiktokenCounter()
QUICKTOK = QuicktokCounter.find()
needs_quicktok = pytest.mark.skipif(QUICKTOK is None, reason="quicktok-v1 is not installed")
COUNTERS = [
    pytest.param(TIKTOKEN, id="tiktoken"),
    pytest.param(QUICKTOK, id="quicktok", marks=needs_quicktok),
]
every_counter = pytest.mark.parametrize("counter", COUNTERS)


@needs_quicktok
@given(texts)
def test_both_counters_find_the_same_ids(text: str) -> None:
    import quicktok

    sent = as_sent(text)
    expected = o200k_base().encode_ordinary(sent)
    assert quicktok.get_encoding("o200k_base").encode_ordinary(sent) == expected
    assert QUICKTOK is not None
    assert QUICKTOK.count(text) == TIKTOKEN.count(text) == len(expected)


def test_recordings_cost_in_pieces_what_they_cost_whole() -> None:
    for path in recordings():
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        whole = len(o200k_base().encode_ordinary(as_sent(text)))
        assert TIKTOKEN.count(text) == whole, path.name
        assert QUICKTOK is None or QUICKTOK.count(text) == whole, path.name


@every_counter
def test_a_lone_surrogate_costs_what_the_replacement_character_costs(counter: Counter) -> None:
    assert counter.count("a\ud800b") == counter.count("a\ufffdb")
    assert counter.count("\udfff" * 5_000) == counter.count("\ufffd" * 5_000)


@every_counter
@pytest.mark.parametrize("special", ["<|endoftext|>", "<|endofprompt|>"])
def test_the_text_of_a_special_token_counts_as_ordinary_text(
    counter: Counter, special: str
) -> None:
    assert counter.count(special) == len(o200k_base().encode(special, disallowed_special=())) > 1


@every_counter
def test_nothing_costs_nothing(counter: Counter) -> None:
    assert counter.count("") == 0


# tiktoken alone panics on the white space here; the counts are those of the longest token of each.
@every_counter
@pytest.mark.parametrize(
    ("unit", "tokens"),
    [(" ", 8_594), ("\t", 68_750), ("\n", 68_750), ("=", 17_188), ("a", 137_500), ("0", 366_667)],
)
def test_a_run_of_one_character_past_a_megabyte_is_counted_exactly(
    counter: Counter, unit: str, tokens: int
) -> None:
    assert counter.count(unit * 1_100_000) == pytest.approx(tokens, abs=1)


@needs_quicktok
@pytest.mark.parametrize("unit", ["ab", "日", "\u0301", "-=*", " \n", "\u3000"])
def test_both_counters_agree_on_long_runs_without_a_clean_cut(unit: str) -> None:
    assert QUICKTOK is not None
    assert QUICKTOK.count(unit * 20_000) == TIKTOKEN.count(unit * 20_000)


def test_the_probe_ids_are_o200ks() -> None:
    assert tuple(o200k_base().encode_ordinary(PROBE_TEXT)) == PROBE_IDS


def stranger(**members: Any) -> ModuleType:
    module = ModuleType("quicktok")
    vars(module).update(members)
    return module


def wrong_ids(name: str) -> Any:
    return SimpleNamespace(encode_ordinary=lambda text: [1, 2, 3], count=lambda text: 3)


def wrong_count(name: str) -> Any:
    return SimpleNamespace(encode_ordinary=lambda text: list(PROBE_IDS), count=lambda text: 0)


def broken(name: str) -> Any:
    raise OSError("no such data file")


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(stranger(), id="another interface"),
        pytest.param(stranger(get_encoding=wrong_ids), id="other ids"),
        pytest.param(stranger(get_encoding=wrong_count), id="another count"),
        pytest.param(stranger(get_encoding=broken), id="cannot load"),
    ],
)
def test_a_module_named_quicktok_that_does_not_prove_itself_is_not_used(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "0.4.0")
    monkeypatch.setitem(sys.modules, "quicktok", module)
    assert QuicktokCounter.find() is None


def test_a_strangers_module_is_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    def imported(name: str) -> ModuleType:
        pytest.fail(f"{name} was imported")

    monkeypatch.setattr(metadata, "version", not_installed)
    monkeypatch.setattr("importlib.import_module", imported)
    assert QuicktokCounter.find() is None


@pytest.mark.parametrize("found", [None, QuicktokCounter(len)])
def test_the_default_is_the_fast_counter_where_it_is_usable_and_is_chosen_once(
    found: QuicktokCounter | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_default", [])
    monkeypatch.setattr(QuicktokCounter, "find", lambda: found)
    chosen = default_counter()
    assert chosen is found if found else isinstance(chosen, TiktokenCounter)
    assert default_counter() is chosen
