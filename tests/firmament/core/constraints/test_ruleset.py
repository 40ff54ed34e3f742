"""What a class's rules say about themselves."""

from __future__ import annotations

import pytest

from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion, Inclination, RuleSet
from firmament.core.reasons import Reason
from tests.support.rules import soft_spreading, spreading

KINDS = {
    "adds": (ClassRules(adds=(0,)), (False, False)),
    "exclusion": (ClassRules(exclusions=(Exclusion(0, Reason.TOO_NEAR),)), (True, False)),
    "attraction": (ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)), (True, False)),
    "spreading": (ClassRules(spreadings=(spreading(0, [0]),)), (True, False)),
    "inclination": (ClassRules(inclinations=(Inclination(0, -1),)), (False, True)),
    "soft spreading": (ClassRules(soft_spreadings=(soft_spreading(0, [0]),)), (False, True)),
}


@pytest.mark.parametrize(("rules", "expected"), KINDS.values(), ids=KINDS)
def test_rules_bind_or_incline(rules: ClassRules, expected: tuple[bool, bool]):
    assert (rules.binding, rules.soft) == expected


def test_a_class_excludes_itself_if_it_counts_for_its_own_exclusion():
    exclusions = (Exclusion(3, Reason.TOO_NEAR), Exclusion(5, Reason.TOO_NEAR))
    assert ClassRules(adds=(1, 5), exclusions=exclusions).excludes_itself()
    assert not ClassRules(adds=(1, 2), exclusions=exclusions).excludes_itself()
    assert not ClassRules(adds=(1,)).excludes_itself()


def test_classes_without_rules_have_empty_ones():
    own = ClassRules(adds=(0,))
    rules = RuleSet([], {4: own})
    assert rules.rules(4) is own
    assert rules.rules(3) == ClassRules()
