"""What a class's rules say about themselves."""

from __future__ import annotations

import pytest

from firmament.core.constraints.ruleset import (
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    RuleSet,
)
from firmament.core.reasons import Reason
from tests.support.rules import ints, soft_spreading, spreading

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


EVERY = ClassRules(
    exclusions=(Exclusion(0, Reason.TOO_NEAR), Exclusion(1, Reason.KEPT_OFF)),
    attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR),
    spreadings=(spreading(0, [0]),),
)


def test_every_rule_names_its_reason():
    assert EVERY.reasons() == {Reason.TOO_NEAR, Reason.KEPT_OFF, Reason.NOT_NEAR, Reason.SKEWED}
    assert ClassRules(adds=(0,)).reasons() == frozenset()


@pytest.mark.parametrize("reason", sorted(EVERY.reasons(), key=str))
def test_rules_are_dropped_by_their_reasons_and_by_no_others(reason: Reason):
    assert EVERY.drop_reasons([reason]).reasons() == EVERY.reasons() - {reason}
    assert EVERY.drop_reasons(EVERY.reasons() - {reason}).reasons() == {reason}
    assert EVERY.drop_reasons([]) == EVERY


def test_a_class_matters_to_others_if_it_is_counted():
    assert ClassRules(adds=(0,)).matters
    assert ClassRules(modelled=True).matters
    assert not EVERY.matters


def test_checks_are_all_counters_that_are_read():
    assert EVERY.checks == 4
    near = Attraction((0, 1, 2), own=False, reason=Reason.NOT_NEAR)
    assert ClassRules(adds=(5,), attraction=near).checks == 3


def test_tasks_matter_elsewhere_by_counters_of_several_machines_or_by_constraints_of_models():
    single = Counter(ints(0, 1), ints(0, 0), ints(0, 0), coarse=False)
    zones = Counter(ints(0, 0), ints(0), ints(0), coarse=True)
    rules = RuleSet(
        [single, zones],
        {0: ClassRules(adds=(0,)), 1: ClassRules(adds=(0, 1)), 2: ClassRules(modelled=True)},
    )
    assert [rules.matters_elsewhere(cls) for cls in range(4)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("rules", "checks"),
    [
        (ClassRules(), 0),
        (ClassRules(adds=(0, 1)), 0),
        (ClassRules(exclusions=(Exclusion(0, Reason.TOO_NEAR), Exclusion(1, Reason.TOO_NEAR))), 2),
        (ClassRules(attraction=Attraction((0, 1, 2), own=False, reason=Reason.NOT_NEAR)), 3),
        (
            ClassRules(
                exclusions=(Exclusion(0, Reason.TOO_NEAR),),
                attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR),
                spreadings=(spreading(0, [0]),),
            ),
            3,
        ),
    ],
)
def test_each_counter_that_decides_where_a_task_may_go_is_counted(rules: ClassRules, checks: int):
    assert rules.checks == checks
