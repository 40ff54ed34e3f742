"""Odd JSON becomes readable, value by value; all else stays byte for byte."""

from __future__ import annotations

import json
import sys

import pytest

from poseidon.kube.parsing.readable import MAX_DEPTH, readable

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": [1, 22, 333, 4444, -5.5e10], "b": "x"}',
        b'"[[[[ 99999999999999999999 \\" ]"',
        str(LARGEST).encode(),
        f"-{LARGEST}".encode(),
        b"1.7976931348623157e308",
        rb'"\ud83d\ude00"',
        rb'"\\ud800"',
        "ä".encode(),
        b"not JSON at all }}",
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"1.2.3.4",
    ],
)
def test_what_can_be_read_stays_as_it_is(raw):
    assert readable(raw) == raw


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (str(LARGEST + 1).encode(), LARGEST),
        (f"[-{LARGEST + 1}, 7]".encode(), [-LARGEST, 7]),
        (b"1" * 20, LARGEST),
        (b"9" * 400, LARGEST),
        (b"[1e999, 1]", [sys.float_info.max, 1]),
        (b"-1e999", -sys.float_info.max),
        (rb'"a\ud800b"', "a\ufffdb"),
        (rb'"\udc00"', "\ufffd"),
        (rb'"\uD800\uD800"', "\ufffd\ufffd"),
        (rb'"\ud800\u0041"', "\ufffdA"),
        (rb'"\u0041\udc00"', "A\ufffd"),
        (b'"\xff"', "\ufffd"),
    ],
)
def test_what_cannot_be_read_is_replaced(raw, value):
    assert json.loads(readable(raw)) == value


def test_values_that_are_nested_too_deeply_become_a_text():
    deep = b"[" * (MAX_DEPTH + 2) + b"1" + b"]" * (MAX_DEPTH + 2)
    found = readable(b'{"a": ' + deep + b', "b": [9999999999999999999]}')
    assert found.startswith(
        b'{"a": ' + b"[" * (MAX_DEPTH - 1) + b'"(nested too deeply)"' + b"]" * (MAX_DEPTH - 1)
    )
    assert json.loads(found)["b"] == [LARGEST]


def test_numbers_in_what_is_cut_are_not_looked_at_twice():
    deep = b"[" * (MAX_DEPTH + 1) + b"1e999" + b"]" * (MAX_DEPTH + 1)
    assert readable(deep) == b"[" * MAX_DEPTH + b'"(nested too deeply)"' + b"]" * MAX_DEPTH
