"""The price in a receipt: figures of any size fit into the line, or the price is left out whole."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.context import RECEIPT_CAP, Receipt, Status
from redraft.cost import RELATIVE, EditPrice
from redraft.prompts import receipt_line
from redraft.tokens import default_counter

count = default_counter().count
sizes = st.integers(0, 10**8)
edits = st.builds(
    EditPrice,
    before=sizes,
    after=sizes,
    reread=sizes,
    tail=sizes,
    reasoning=st.just(0) | sizes,
    rates=st.just(RELATIVE),
)


@settings(max_examples=60)
@given(
    price=edits,
    status=st.sampled_from([Status.APPLIED, Status.GREW, Status.OVER]),
    notes=st.lists(st.text(max_size=60), max_size=2),
    number=st.integers(1, 10**6),
    frequent=st.booleans(),
)
def test_a_receipt_with_its_price_is_at_most_64_tokens(
    price: EditPrice, status: Status, notes: list[str], number: int, frequent: bool
) -> None:
    receipt = Receipt(status, price.before, price.after, "", 10**8, tuple(notes))
    told = receipt_line(receipt, "7f3a", int, number=number, frequent=frequent, price=price.line())
    assert count(told) <= RECEIPT_CAP
    assert told.isprintable()
    # The price stands there whole, or not at all.
    assert told.endswith(f"{price.line()})") or "re-read" not in told


@settings(max_examples=60)
@given(price=edits, number=st.integers(1, 10_000))
def test_a_plain_receipt_always_has_room_for_its_price(price: EditPrice, number: int) -> None:
    receipt = Receipt(Status.APPLIED, price.before, price.after)
    told = receipt_line(receipt, "7f3a", int, number=number, price=price.line())
    assert told.endswith(f"({price.line()})")


def test_notes_stand_in_front_of_the_price_and_win_over_it() -> None:
    receipt = Receipt(Status.APPLIED, 9_000, 8_000, notes=("protected turns kept",))
    told = receipt_line(receipt, "7f3a", int, number=1, price="70 unchanged tokens re-read")
    assert told.endswith("(protected turns kept; 70 unchanged tokens re-read)")
    long = Receipt(Status.APPLIED, 9_000, 8_000, notes=("kept " * 60,))
    told = receipt_line(long, "7f3a", int, number=1, price="70 unchanged tokens re-read")
    assert "kept kept" in told
    assert "re-read" not in told


def test_what_the_model_is_shown_scales_with_its_own_tokens() -> None:
    price = EditPrice(10_000, 9_000, 5_000, 4_000, 300)
    assert price.line().startswith("4,000 unchanged tokens re-read, 300 of reasoning lost, ")
    assert price.line(lambda raw: raw * 2).startswith("8,000 unchanged tokens re-read, 600 of ")
