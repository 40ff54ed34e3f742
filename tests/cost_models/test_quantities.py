"""Amounts and durations in the units in which Kubernetes and Go write them."""

from __future__ import annotations

import pytest

from cost_models.api.quantities import LARGEST, seconds_of, whole_amount


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", 2, 2000),
        ("cpu", "250m", 250),
        ("cpu", "1u", 1),
        ("cpu", 0.5, 500),
        ("memory", "1Ki", 1024),
        ("memory", "2Mi", 2 * 2**20),
        ("memory", "1Gi", 2**30),
        ("memory", "1Ti", 2**40),
        ("memory", "1Pi", 2**50),
        ("memory", "1k", 1000),
        ("memory", "1M", 10**6),
        ("memory", "1G", 10**9),
        ("memory", "1T", 10**12),
        ("memory", "1P", 10**15),
        ("memory", "1e3", 1000),
        ("memory", "1E-3", 1),
        ("memory", "+1.5k", 1500),
        ("memory", ".5k", 500),
        ("memory", "5.", 5),
        ("memory", "1n", 1),
        ("memory", "0", 0),
        ("memory", "-0", 0),
        ("memory", str(LARGEST), LARGEST),
        ("memory", str(LARGEST + 1), None),
        ("memory", "1E", None),
        ("memory", "-1", None),
        ("memory", "", None),
        ("memory", "1 k", None),
        ("memory", "1ki", None),
        ("memory", "1e3k", None),
        ("memory", "1e1000", None),
        ("memory", True, None),
        ("memory", None, None),
        ("memory", [1], None),
    ],
)
def test_amounts(resource: str, value: object, expected: int | None):
    assert whole_amount(resource, value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0),
        ("5m0s", 300.0),
        ("1h30m", 5400.0),
        ("1.5s", 1.5),
        ("+2s", 2.0),
        ("20ms", 0.02),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("7ns", 7e-9),
        ("1.s", 1.0),
        ("-1s", None),
        ("1", None),
        ("", None),
        ("1d", None),
        ("s", None),
        (5, None),
        (None, None),
    ],
)
def test_durations(text: object, expected: float | None):
    assert seconds_of(text) == (None if expected is None else pytest.approx(expected))
