"""The quick reading of amounts agrees with the general one; durations are read as Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.metrics_sources.amounts import amounts_in_use, parse_go_duration

WRITTEN = st.one_of(
    st.from_regex(r"[0-9]{1,18}(n|u|m|k|Ki|Mi|Gi|M|)", fullmatch=True),
    st.from_regex(r"[+-]?[0-9]{1,4}(\.[0-9]{1,3})?(n|m|Ki|e[0-9])?", fullmatch=True),
    st.text(max_size=8),
    st.integers(-(10**18), 10**18),
    st.floats(allow_nan=True),
)


@given(st.sampled_from(["cpu", "memory", "example.com/x"]), WRITTEN)
def test_every_amount_is_read_as_the_general_parser_does(resource, value):
    faults: list = []
    found = amounts_in_use({resource: value}, "usage", faults)
    try:
        assert found == {resource: amount(resource, value)}
        assert not faults
    except QuantityError:
        assert found == {}
        [fault] = faults
        assert fault.field == f"usage.{resource}"


@pytest.mark.parametrize(
    ("value", "kind"),
    [("-1m", "negative"), ("-5", "negative"), ("lots", "quantity"), ("NaN", "quantity"), (None, "quantity"),
     (True, "quantity"), ({}, "quantity"), (float("nan"), "quantity")],
)  # fmt: skip
def test_what_is_no_amount_is_left_out_and_named(value, kind):
    faults: list = []
    assert amounts_in_use({"cpu": value, "memory": "1Ki"}, "status", faults) == {"memory": 1024}
    assert [(fault.kind, fault.field) for fault in faults] == [(kind, "status.cpu")]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5m0s", 300), ("10m", 600), ("1h2m3.5s", 3723.5), ("500ms", 0.5), ("0s", 0), ("", 0), ("0", 0),
     ("300", None), ("5 m", None), ("m", None), ("-5m", None)],
)  # fmt: skip
def test_durations(text, seconds):
    assert parse_go_duration(text) == seconds
