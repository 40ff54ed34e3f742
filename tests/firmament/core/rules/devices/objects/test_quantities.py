"""Quantities are exact: read in all forms that Kubernetes allows, and written as it writes them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from firmament.core.rules.devices.objects.quantities import LONGEST, format_quantity, parse_quantity, simplify


@pytest.mark.parametrize(
    ("stated", "amount"),
    [
        ("0", 0),
        ("7", 7),
        (7, 7),
        ("+7", 7),
        ("-7", -7),
        ("1.5", Fraction(3, 2)),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        (0.5, Fraction(1, 2)),
        ("2.50k", 2500),
        ("3m", Fraction(3, 1000)),
        ("3u", Fraction(3, 10**6)),
        ("3n", Fraction(3, 10**9)),
        ("2000m", 2),
        ("1k", 10**3),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Mi", 2**20),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("0.5Ki", 512),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("1e+2", 100),
    ],
)
def test_what_is_a_quantity(stated: object, amount: int | Fraction):
    found = parse_quantity(stated)
    assert found == amount
    assert type(found) is type(amount)


@pytest.mark.parametrize(
    "stated",
    [
        "",
        " 1",
        "1 ",
        "one",
        "1ki",
        "1K",
        "1mi",
        "1e",
        "1e1234",
        "1e3k",
        "--1",
        ".",
        "1,5",
        True,
        False,
        None,
        [1],
    ],
)
def test_what_is_none(stated: object):
    assert parse_quantity(stated) is None


def test_long_texts_are_no_quantities():
    assert parse_quantity("1" * LONGEST) == int("1" * LONGEST)
    assert parse_quantity("1" * (LONGEST + 1)) is None
    assert LONGEST == 100


def test_whole_amounts_are_integers():
    assert type(simplify(Fraction(4, 2))) is int
    assert simplify(Fraction(4, 2)) == 2
    assert simplify(Fraction(1, 2)) == Fraction(1, 2)
    assert simplify(3) == 3


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1025, "1025"),
        (-2048, "-2Ki"),
        (3 * 2**20, "3Mi"),
        (2**20 + 2**10, "1025Ki"),
        (2**30, "1Gi"),
        (2**40, "1Ti"),
        (2**50, "1Pi"),
        (2**60, "1Ei"),
        (2**70, "1024Ei"),
        (1000, "1000"),
        (Fraction(1, 2), "500m"),
        (Fraction(3, 2), "1500m"),
        (Fraction(1, 2000), "500u"),
        (Fraction(1, 2 * 10**6), "500n"),
        (Fraction(1, 3), "333333334n"),
        (Fraction(-1, 3), "-333333333n"),
    ],
)
def test_amounts_as_kubernetes_writes_them(amount: int | Fraction, text: str):
    assert format_quantity(amount) == text
