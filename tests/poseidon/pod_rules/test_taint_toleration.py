"""Both programs know by themselves which taints a pod tolerates; they say the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core import model
from firmament.core.selectors.taints import tolerates
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import Toleration
from poseidon.pod_rules.taint_toleration import is_tolerated, parse_compared_integer

KEYS = st.sampled_from(["", "a", "b"])
VALUES = st.sampled_from(["", "x", "1", "2", "-3", "03", "+3", str(2**63 - 1), str(2**63), str(-(2**63))])
EFFECTS = st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"])
OPERATORS = st.sampled_from(["Equal", "Exists", "Gt", "Lt"])


@given(KEYS, OPERATORS, VALUES, EFFECTS, KEYS, VALUES, EFFECTS)
def test_bridge_and_solver_agree(key, operator, value, effect, its_key, its_value, its_effect):
    toleration = Toleration(key=key, operator=operator, value=value, effect=effect)
    taint = Taint(key=its_key, value=its_value, effect=its_effect)
    found = tolerates(
        model.Toleration(key, operator, value, effect), model.Taint(its_key, its_value, its_effect)
    )
    assert is_tolerated(taint, [toleration]) is found


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_of_64_bits_is_a_decimal(number):
    assert parse_compared_integer(str(number)) == number


@pytest.mark.parametrize(
    ("operator", "bound", "value", "tolerated"),
    [
        ("Gt", "3", "4", True),
        ("Gt", "3", "3", False),
        ("Lt", "3", "2", True),
        ("Lt", "3", "3", False),
        ("Gt", "x", "4", False),
        ("Lt", "3", "x", False),
        ("Equal", "3", "3", True),
        ("Equal", "3", "4", False),
        ("Exists", "", "4", True),
    ],
)
def test_numbers_are_compared_as_numbers(operator, bound, value, tolerated):
    toleration = Toleration(key="a", operator=operator, value=bound)
    assert is_tolerated(Taint(key="a", value=value, effect="NoSchedule"), [toleration]) is tolerated


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", None),
        ("12", 12),
        ("-12", -12),
        ("+12", None),
        ("012", None),
        ("", None),
        ("1.0", None),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), None),
    ],
)
def test_numbers_that_are_compared(text, number):
    assert parse_compared_integer(text) == number
