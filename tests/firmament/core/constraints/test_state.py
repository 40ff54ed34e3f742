"""Where rules let the next task go; on five machines in three domains, the last in none."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion
from firmament.core.constraints.topology_spread_skew import NO_MINIMUM, count_in_emptiest_domain
from firmament.core.reasons import Reason
from tests.support.rules import counter, ints, spreading, state

ZONE = [0, 0, 1, 2, -1]
EVERY = range(5)


def open_to(given: RuleState, cls: int = 0) -> list[int]:
    """Machines that a class may use, asked one by one and all at once."""
    single = [machine for machine in EVERY if given.allows(cls, machine)]
    together = given.find_allowed(cls)
    assert single == (list(EVERY) if together is None else np.flatnonzero(together).tolist())
    some = ints(4, 2, 0)
    of_some = given.find_allowed(cls, some)
    assert [m for m in (4, 2, 0) if m in single] == ([4, 2, 0] if of_some is None else some[of_some].tolist())
    return single


# --- counting --------------------------------------------------------------------------------------------------------


def test_placements_are_counted_where_machines_count():
    given = state([counter(ZONE, [5, 0, 0]), counter(ZONE), counter(ZONE)], {0: ClassRules(adds=(0, 2))})
    given.add(0, 1)
    given.add(0, 3, 4)
    given.add(0, 4)  # in no domain
    given.add(7, 0)  # a class that nobody looks at
    assert [counts.tolist() for counts in given.counts] == [[6, 0, 4], [0, 0, 0], [1, 0, 4]]
    assert given.totals == [10, 0, 5]
    given.add(0, 3, -4)
    assert given.counts[0].tolist() == [6, 0, 0]
    assert given.totals == [6, 0, 1]


def test_what_single_machines_count_can_be_left_out():
    given = state([counter(ZONE), counter([0, 1, 2, 3, 4])], {0: ClassRules(adds=(0, 1))})
    given.add(0, 1, coarse_only=True)
    assert given.totals == [1, 0]
    given.add(0, 1)
    assert given.totals == [2, 1]


def test_a_copy_and_the_start_stay_as_they_are():
    start = counter(ZONE, [1, 0, 0])
    given = state([start], {0: ClassRules(adds=(0,))})
    twin = given.copy()
    twin.add(0, 0)
    assert (given.counts[0].tolist(), given.totals) == ([1, 0, 0], [1])
    given.add(0, 3, 2)
    assert (twin.counts[0].tolist(), twin.totals) == ([2, 0, 0], [2])
    assert start.start.tolist() == [1, 0, 0]


# --- exclusion -------------------------------------------------------------------------------------------------------


def test_a_class_without_rules_goes_anywhere():
    given = state([counter(ZONE, [9, 9, 9])], {})
    assert given.find_allowed(0) is None
    assert given.refusals(0) == []
    assert open_to(given) == list(EVERY)


def test_an_exclusion_closes_domains_in_which_somebody_is():
    given = state([counter(ZONE, [0, 2, 0])], {0: ClassRules(exclusions=(Exclusion(0, Reason.TOO_NEAR),))})
    assert open_to(given) == [0, 1, 3, 4]


def test_a_task_that_excludes_its_like_closes_its_own_domain():
    given = state([counter(ZONE)], {0: ClassRules(adds=(0,), exclusions=(Exclusion(0, Reason.TOO_NEAR),))})
    given.add(0, 1)
    assert open_to(given) == [2, 3, 4]
    given.add(0, 4)  # where there is no domain nobody is excluded
    assert open_to(given) == [2, 3, 4]


def test_all_exclusions_hold():
    exclusions = (Exclusion(0, Reason.TOO_NEAR), Exclusion(1, Reason.KEPT_OFF))
    given = state(
        [counter(ZONE, [1, 0, 0]), counter(ZONE, [0, 0, 1])], {0: ClassRules(exclusions=exclusions)}
    )
    assert open_to(given) == [2, 4]


# --- attraction ------------------------------------------------------------------------------------------------------


def test_an_attraction_opens_domains_in_which_somebody_is():
    given = state(
        [counter(ZONE, [0, 2, 0])],
        {0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR))},
    )
    assert open_to(given) == [2]


def test_every_counter_of_an_attraction_has_to_count_somebody():
    counters = [counter(ZONE, [1, 1, 0]), counter([0, 1, 2, 3, 4], [0, 3, 0, 0, 0])]
    given = state(counters, {0: ClassRules(attraction=Attraction((0, 1), own=True, reason=Reason.NOT_NEAR))})
    assert open_to(given) == [1]


def test_the_first_of_a_group_goes_where_there_are_domains():
    own = {0: ClassRules(adds=(0,), attraction=Attraction((0,), own=True, reason=Reason.NOT_NEAR))}
    given = state([counter(ZONE)], own)
    assert open_to(given) == [0, 1, 2, 3]
    given.add(0, 2)
    assert open_to(given) == [2]


def test_a_group_has_begun_once_one_counter_counts_anybody_anywhere():
    counters = [counter(ZONE, [0, 0, 0]), counter([0, 1, 2, 3, 4], [0, 0, 0, 0, 1])]
    given = state(counters, {0: ClassRules(attraction=Attraction((0, 1), own=True, reason=Reason.NOT_NEAR))})
    assert not given.starts(Attraction((0, 1), own=True, reason=Reason.NOT_NEAR))
    assert open_to(given) == []


def test_who_would_not_count_itself_cannot_be_the_first():
    given = state(
        [counter(ZONE)], {0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR))}
    )
    assert open_to(given) == []


# --- spreading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "max_skew", "expected"),
    [
        ([0, 0, 0], 1, [0, 1, 2, 3]),
        ([1, 0, 0], 1, [2, 3]),
        ([1, 0, 0], 2, [0, 1, 2, 3]),
        ([2, 0, 0], 2, [2, 3]),
        ([3, 2, 4], 1, [2]),
        ([3, 2, 4], 2, [0, 1, 2]),
        ([3, 2, 4], 3, [0, 1, 2, 3]),
    ],
)
def test_a_domain_may_exceed_the_emptiest_by_the_skew(start: list[int], max_skew: int, expected: list[int]):
    rule = spreading(0, ZONE, max_skew=max_skew)
    assert open_to(state([counter(ZONE, start)], {0: ClassRules(spreadings=(rule,))})) == expected


def test_a_task_that_its_rule_does_not_count_adds_nothing():
    given = state([counter(ZONE, [1, 0, 2])], {0: ClassRules(spreadings=(spreading(0, ZONE, own=0),))})
    assert open_to(given) == [0, 1, 2]


def test_domains_that_do_not_count_have_no_say_but_are_held_to_the_rule():
    rule = spreading(0, ZONE, counted=[True, False, True])
    given = state([counter(ZONE, [2, 0, 1])], {0: ClassRules(spreadings=(rule,))})
    assert count_in_emptiest_domain(rule, given.counts[rule.counter]) == 1
    assert open_to(given) == [2, 3]


def test_with_too_few_domains_the_emptiest_counts_as_empty():
    start = [1, 1, 1]
    enough, too_few = (spreading(0, ZONE, min_domains=count) for count in (3, 4))
    given = state(
        [counter(ZONE, start)], {0: ClassRules(spreadings=(enough,)), 1: ClassRules(spreadings=(too_few,))}
    )
    counts = [count_in_emptiest_domain(each, given.counts[each.counter]) for each in (enough, too_few)]
    assert counts == [1, 0]
    assert open_to(given, 0) == [0, 1, 2, 3]
    assert open_to(given, 1) == []


def test_if_no_domain_counts_nobody_is_refused_but_for_a_label():
    rule = spreading(0, ZONE, counted=[False] * 3)
    given = state([counter([-1] * 5, [])], {0: ClassRules(spreadings=(spreading(0, [-1] * 5),))})
    assert open_to(given) == []
    given = state([counter(ZONE)], {0: ClassRules(spreadings=(rule,))})
    assert count_in_emptiest_domain(rule, given.counts[rule.counter]) == NO_MINIMUM
    assert open_to(given) == [0, 1, 2, 3]


def test_every_spreading_holds():
    host = [0, 1, 2, 3, 4]
    rules = ClassRules(spreadings=(spreading(0, ZONE), spreading(1, host)))
    given = state([counter(ZONE, [1, 1, 1]), counter(host, [1, 0, 1, 0, 0])], {0: rules})
    assert open_to(given) == [1, 3]


# --- reasons ---------------------------------------------------------------------------------------------------------


def test_reasons_come_in_the_order_of_kube_schedulers_filters():
    rules = ClassRules(
        exclusions=(
            Exclusion(0, Reason.TOO_NEAR),
            Exclusion(0, Reason.KEPT_OFF),
            Exclusion(0, Reason.PORTS_TAKEN),
        ),
        attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR),
        spreadings=(spreading(0, ZONE),),
    )
    found = state([counter(ZONE, [0, 1, 0])], {0: rules}).refusals(0)
    assert [(reason, np.flatnonzero(refused).tolist()) for reason, refused in found] == [
        (Reason.PORTS_TAKEN, [2]),
        (Reason.NO_DOMAIN, [4]),
        (Reason.SKEWED, [2]),
        (Reason.NOT_NEAR, [0, 1, 3, 4]),
        (Reason.TOO_NEAR, [2]),
        (Reason.KEPT_OFF, [2]),
    ]


def test_a_missing_label_is_not_told_where_none_is_missing():
    domain = [0, 0, 1, 1, 2]
    found = state([counter(domain, [1, 0, 0])], {0: ClassRules(spreadings=(spreading(0, domain),))}).refusals(
        0
    )
    assert [(reason, np.flatnonzero(refused).tolist()) for reason, refused in found] == [
        (Reason.SKEWED, [0, 1])
    ]


def test_no_machines():
    rules = ClassRules(
        exclusions=(Exclusion(0, Reason.TOO_NEAR),),
        attraction=Attraction((0,), own=True, reason=Reason.NOT_NEAR),
        spreadings=(spreading(0, [0]),),
    )
    given = state([counter([], [0])], {0: rules})
    allowed = given.find_allowed(0, ints())
    assert allowed is not None
    assert len(allowed) == 0


def test_one_machine_at_a_time_and_all_at_once_agree():
    for seed in range(60):
        rnd = random.Random(seed)
        domains = [[rnd.randint(-1, 2) for _ in EVERY] for _ in range(3)]
        counters = [counter(each, [rnd.randint(0, 2) for _ in range(max(each) + 1)]) for each in domains]
        rules = ClassRules(
            adds=tuple(rnd.sample(range(3), 2)),
            exclusions=tuple(Exclusion(n, Reason.TOO_NEAR) for n in rnd.sample(range(3), rnd.randint(0, 1))),
            attraction=rnd.choice(
                [None, Attraction((rnd.randrange(3),), own=bool(rnd.randint(0, 1)), reason=Reason.NOT_NEAR)]
            ),
            spreadings=tuple(
                spreading(n, domains[n], max_skew=rnd.randint(1, 2), min_domains=rnd.randint(0, 4))
                for n in rnd.sample(range(3), rnd.randint(0, 2))
                if max(domains[n]) >= 0
            ),
        )
        given = state(counters, {0: rules})
        for _ in range(4):
            open_to(given)
            given.add(0, rnd.randrange(5))
