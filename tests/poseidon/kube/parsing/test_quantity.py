"""Quantities against the grammar and against the official client's parser."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from poseidon.kube.parsing.quantities import (
    MAX_AMOUNT,
    QuantityError,
    amount,
    milli_units,
    whole_units,
)


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("0.5", 1, 500),
        (".5", 1, 500),
        ("5.", 5, 5000),
        ("+2", 2, 2000),
        ("1n", 1, 1),
        ("1500u", 1, 2),
        ("2k", 2000, 2_000_000),
        ("1Ki", 1024, 1_024_000),
        ("1.5Ki", 1536, 1_536_000),
        ("1Gi", 2**30, 2**30 * 1000),
        ("1e3", 1000, 1_000_000),
        ("1E3", 1000, 1_000_000),
        ("12e-1", 2, 1200),
        ("-0", 0, 0),
        ("-100m", -1, -100),
    ],
)
def test_rounds_away_from_zero_like_kubernetes(text, whole, milli):
    assert whole_units(text) == whole
    assert milli_units(text) == milli


def test_capital_e_is_exa_and_ei_is_two_to_the_sixty():
    assert whole_units("0.001E") == 10**15
    with pytest.raises(QuantityError, match="absurdly large"):
        whole_units("1Ei")


@pytest.mark.parametrize(("value", "milli"), [(2, 2000), (0.25, 250), (1e-7, 1), (1.5, 1500), (-1, -1000)])
def test_numbers_from_yaml(value, milli):
    assert milli_units(value) == milli


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "abc", "1ki", "1Mb", "1KiB", "--1", "1e", "1.2.3", "0x10", "1_000", "١", "m", "."],
)
def test_garbage_is_refused_with_a_hint(text):
    with pytest.raises(QuantityError, match="is not a quantity; write a number"):
        whole_units(text)


@pytest.mark.parametrize("value", [True, False, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(QuantityError, match="is not a quantity"):
        whole_units(value)


@pytest.mark.parametrize(
    "value", ["9007199254740993", 2**53 + 1, 10**4000, "1e999999999999", "999999999999P", 1e300]
)
def test_absurd_amounts_are_refused_quickly(value):
    with pytest.raises(QuantityError, match="absurdly large"):
        whole_units(value)


def test_the_largest_amount_is_accepted():
    assert whole_units(str(MAX_AMOUNT)) == MAX_AMOUNT


def test_a_vanishing_amount_counts_as_one():
    assert whole_units("1e-999999999999") == 1
    assert whole_units("0e-999999999999") == 0


def test_long_text_is_refused_without_repeating_all_of_it():
    with pytest.raises(QuantityError) as caught:
        whole_units("9" * 10_000)
    assert len(str(caught.value)) < 200


def test_cpu_is_counted_in_milli_cores_and_nothing_else_is():
    assert amount("cpu", "1") == 1000
    assert amount("memory", "1") == 1
    assert amount("example.com/gpu", 2) == 2


def test_a_negative_amount_is_refused():
    with pytest.raises(QuantityError, match="negative; give an amount of 0 or more"):
        amount("cpu", "-1m")


_SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.integers(0, 999),
    fraction=st.one_of(st.none(), st.text("0123456789", min_size=1, max_size=9)),
    suffix=st.one_of(st.sampled_from(_SUFFIXES), st.integers(-9, 9).map(lambda power: f"e{power}")),
)
def test_agrees_with_the_official_parser(sign, whole, fraction, suffix):
    text = f"{sign}{whole}{'' if fraction is None else '.' + fraction}{suffix}"
    exact = parse_quantity(text)

    for parse, factor in ((whole_units, 1), (milli_units, 1000)):
        scaled: Decimal = exact * factor
        expected = math.ceil(scaled) if scaled >= 0 else math.floor(scaled)
        if abs(expected) > MAX_AMOUNT:
            with pytest.raises(QuantityError, match="absurdly large"):
                parse(text)
        else:
            assert parse(text) == expected


@given(whole=st.integers(0, 999), fraction=st.integers(0, 999_999), suffix=st.sampled_from(_SUFFIXES))
def test_what_is_offered_rounds_down_and_what_is_requested_up(whole, fraction, suffix):
    text = f"{whole}.{fraction:06d}{suffix}"
    exact = parse_quantity(text)
    for resource, factor in (("cpu", 1000), ("memory", 1)):
        assert amount(resource, text, down=True) == min(math.floor(exact * factor), MAX_AMOUNT)
        assert amount(resource, text) == min(math.ceil(exact * factor), MAX_AMOUNT)
