"""Both programs know by themselves which taints a pod tolerates; they say the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firmament.core import model
from firmament.core.selectors.taints import tolerates
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import Toleration
from poseidon.pod_rules.node_affinity import decimal, is_tolerated

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
    assert decimal(str(number)) == number
