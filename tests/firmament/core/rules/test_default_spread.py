"""The terms of tasks that prefer to be apart: groups, domains, who is there already, and what being near costs."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from firmament.core.events import ClassDefined, Event, MachineRemoved, TasksBound, TasksSubmitted
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.intake.events import apply_events
from firmament.core.rules import default_spread
from firmament.core.rules.default_spread import (
    SYSTEM_DEFAULTS,
    SpreadConstraint,
    compile_spread,
    number_domains,
)
from firmament.core.selectors.label_columns import HOSTNAME, ZONE
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.rules import ints

BY_MACHINE, BY_ZONE = SYSTEM_DEFAULTS


def cluster(zones: str, *events: Event) -> Cluster:
    """Machines m0, m1, ...: one per letter, which is its zone; "-" for none."""
    made = Cluster()
    there = [machine(f"m{at}", labels={} if zone == "-" else {ZONE: zone}) for at, zone in enumerate(zones)]
    apply_events(made, [*there, ClassDefined(1, task_class()), *events], 0.0)
    return made


def bound(where: str, group: str, *uids: str) -> TasksBound:
    return TasksBound(where, 1, uids, spread_group=group)


def compile_for(
    made: Cluster,
    codes: list[int],
    tasks: list[int],
    constraints: tuple[SpreadConstraint, ...] = SYSTEM_DEFAULTS,
    feasible: list[list[bool]] | None = None,
) -> SpreadTerms:
    rows = np.array(feasible or [[True] * len(made.machines)], dtype=np.bool_)
    shape = np.arange(len(codes)) if feasible else np.zeros(len(codes), dtype=np.int64)
    return compile_spread(made, constraints, ints(*codes), ints(*tasks), rows, shape)


def step(points: float, tasks_in_fullest: int, domains: int, max_skew: int) -> float:
    """Units of one more task, if those of an even share cost ``points``: kube-scheduler's score of a domain is
    the tasks in it times log(domains + 2), plus maxSkew - 1.
    """
    factor = log(domains + 2)
    return points * COST_UNITS_PER_POINT * factor / (factor * tasks_in_fullest + max_skew - 1)


def test_no_terms_without_groups_constraints_or_a_second_machine():
    assert compile_for(cluster("ab"), [0, 0], [1, 1]) is NO_SPREAD
    assert compile_for(cluster("ab"), [1, 0], [1, 1], constraints=()) is NO_SPREAD
    assert compile_for(cluster("a"), [1], [5]) is NO_SPREAD
    assert compile_for(cluster("aa"), [1], [5]) is not NO_SPREAD


def test_groups_are_numbered_by_their_codes_and_classes_of_none_have_none():
    found = compile_for(cluster("ab"), [3, 0, 1, 3], [1, 1, 1, 1])
    assert found.group.tolist() == [1, -1, 0, 1]
    assert compile_for(cluster("ab"), [7, 7], [1, 1]).group.tolist() == [0, 0]


def test_each_constraint_costs_half_of_200_points_where_the_share_is_even():
    made = cluster("aabb", TasksSubmitted(1, ("w",), spread_group="web"), bound("m0", "web", "t"))
    found = compile_for(
        made, [1, 0, 2], [3, 5, 2], feasible=[[True] * 4, [True] * 4, [True, True, True, False]]
    )
    assert found.domain.tolist() == [0, 0, 1, 1]
    # web: three wait and one runs, on four machines; the other group: two on three machines.
    assert found.machine_step == pytest.approx([step(100, 1, 4, 3), step(100, 1, 3, 3)])
    assert found.domain_step == pytest.approx([step(100, 2, 2, 5), step(100, 1, 2, 5)])
    assert (found.resident_group.tolist(), found.resident_machine.tolist()) == ([0], [0])


def test_an_uneven_share_is_rounded_up():
    found = compile_for(cluster("abc"), [1], [7])
    assert found.machine_step == pytest.approx([step(100, 3, 3, 3)])
    assert found.domain_step == pytest.approx([step(100, 3, 3, 5)])


def test_the_class_with_most_machines_counts_for_its_group():
    feasible = [[True, False, False], [True, True, False], [False, False, False]]
    found = compile_for(cluster("aaa"), [1, 1, 2], [1, 1, 1], (BY_MACHINE,), feasible)
    assert found.machine_step == pytest.approx([step(200, 1, 2, 3), step(200, 1, 1, 3)])


@pytest.mark.parametrize(
    ("zones", "constraints", "machines", "zone"),
    [
        ("aabb", (BY_MACHINE,), 200, 0),
        ("aabb", (BY_ZONE,), 0, 200),
        ("aaaa", SYSTEM_DEFAULTS, 200, 0),  # a single zone tells nothing apart
        ("aaaa", (BY_ZONE,), 0, 0),
        ("----", SYSTEM_DEFAULTS, 200, 0),
        ("aab-", SYSTEM_DEFAULTS, 100, 100),
    ],
)
def test_points_are_divided_among_the_constraints_that_tell_machines_apart(
    zones: str, constraints: tuple[SpreadConstraint, ...], machines: int, zone: int
):
    found = compile_for(cluster(zones), [1], [1], constraints)
    domains = max(1, len(set(zones)))
    assert found.machine_step == pytest.approx([step(machines, 1, 4, 3)])
    assert found.domain_step == pytest.approx([step(zone, 1, domains, 5)])


@pytest.mark.parametrize(("most", "expected"), [(4, 2), (3, 1)])
def test_too_many_domains_for_the_groups_are_left_out(
    monkeypatch: pytest.MonkeyPatch, most: int, expected: int
):
    monkeypatch.setattr(default_spread, "MOST_DOMAIN_COUNTS", most)
    assert compile_for(cluster("ab"), [1, 2], [1, 1]).domains == expected


def test_domains_may_come_from_elsewhere():
    made, asked = cluster("aaa"), []

    def get_domains(which: Cluster, key: str) -> np.ndarray:
        asked.append((which, key))
        return ints(0, 1, 2)

    rows = np.ones((1, 3), dtype=np.bool_)
    found = compile_spread(made, SYSTEM_DEFAULTS, ints(1), ints(1), rows, ints(0), get_domains)
    assert found.domain.tolist() == [0, 1, 2]
    assert asked == [(made, ZONE)]


@pytest.mark.parametrize("groups", [1, 4, 5, 6])
def test_who_is_there_is_found_however_many_groups_there_are(groups: int):
    names = [f"g{number}" for number in range(groups)]
    events: list[Event] = [
        bound(f"m{at}", name, f"{name}-{at}") for name in names for at in range(3) if (len(name) + at) % 2
    ]
    apart = [bound("m1", "unasked", "x"), bound("gone", names[0], "y"), bound("m2", "", "z")]
    pending = TasksSubmitted(1, ("waits",), spread_group=names[0])
    made = cluster("aab", *events, *apart, pending)
    codes = [made.spread_groups.values[name] for name in names]
    found = compile_for(made, codes, [1] * groups)
    there = sorted(zip(found.resident_group.tolist(), found.resident_machine.tolist(), strict=True))
    of_code = {code: number for number, code in enumerate(sorted(codes))}
    tasks = made.tasks
    assert there == sorted(
        (of_code[code], int(tasks.machine[row]))
        for row, code in enumerate(tasks.spread[: len(tasks.uid)].tolist())
        if code in of_code and tasks.machine[row] >= 0
    )
    assert len(there) == len(events)


def test_domains_without_machines_have_no_number():
    made = cluster("abc-", MachineRemoved("m0"))
    found = number_domains(made, ZONE)
    assert sorted(found.tolist()) == [0, 1, 2]
    assert number_domains(cluster("ab"), ZONE).tolist() == [0, 1]
    assert number_domains(cluster("ab"), HOSTNAME).tolist() == [0, 0]
    assert number_domains(cluster("-ba-"), ZONE).tolist()[0::3] == [0, 0]
