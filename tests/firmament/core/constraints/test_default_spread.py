"""What it costs that tasks of one owner are near each other."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from tests.support.rules import ints


def terms(domain: list[int] | None = None, residents: list[tuple[int, int]] | None = None) -> SpreadTerms:
    """Classes 0 and 1 are of groups 0 and 1, class 2 of none; four machines."""
    there = residents or []
    return SpreadTerms(
        group=ints(0, 1, -1),
        domain=ints(*(domain or [0, 0, 1, 1])),
        machine_step=np.array([10.0, 1.0]),
        domain_step=np.array([2.0, 0.0]),
        resident_group=ints(*(group for group, _ in there)),
        resident_machine=ints(*(machine for _, machine in there)),
    )


def test_sizes():
    assert (terms().groups, terms().domains) == (2, 2)
    assert terms([0, 0, 0, 0]).domains == 1
    assert (NO_SPREAD.groups, NO_SPREAD.domains) == (0, 1)


def test_who_is_near():
    spread = terms(residents=[(0, 1), (0, 1), (1, 1), (0, 3)])
    assert spread.count_near(0, ints()).tolist() == [0, 2, 0, 1]
    assert spread.count_near(0, ints(0, 1)).tolist() == [1, 3, 0, 1]
    assert spread.count_near(1, ints()).tolist() == [0, 1, 0, 0]
    more = spread.add_residents(ints(1, 0), ints(2, 0))
    assert more.count_near(1, ints()).tolist() == [0, 1, 1, 0]
    assert more.count_near(0, ints()).tolist() == [1, 2, 0, 1]
    assert spread.count_near(1, ints()).tolist() == [0, 1, 0, 0]


def test_tasks_on_machines_and_in_domains():
    spread = terms(residents=[(0, 1), (1, 3)])
    pairs, counts = spread.count_by_machine(ints(0, 1), ints(1, 0), ints(2, 1))
    assert (pairs.tolist(), counts.tolist()) == ([1, 4, 7], [3, 1, 1])
    assert spread.in_domains(ints(0, 1), ints(1, 0), ints(2, 1)).tolist() == [[3, 0], [1, 1]]
    assert spread.in_domains(ints(), ints(), ints()).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("classes", "machines", "counts", "cost"),
    [
        ([0], [0], [1], 0.0),
        ([0], [0], [2], 12.0),
        ([0], [0], [3], 36.0),
        ([0, 0], [0, 1], [1, 1], 2.0),
        ([0, 0], [0, 2], [1, 1], 0.0),
        ([1], [0], [3], 3.0),
        ([2], [0], [9], 0.0),
        ([0, 1, 2], [0, 0, 0], [2, 2, 2], 13.0),
    ],
)
def test_the_kth_task_costs_k_steps_more(
    classes: list[int], machines: list[int], counts: list[int], cost: float
):
    shapes = np.zeros(len(classes), dtype=np.int64)
    assert terms().compute_cost(ints(*classes), shapes, ints(*machines), ints(*counts)) == cost


def test_tasks_that_are_there_already_raise_the_cost_of_others_only():
    spread = terms(residents=[(0, 0), (0, 0), (1, 3)])
    assert spread.compute_cost(ints(0), ints(0), ints(0), ints(1)) == 24.0
    assert spread.compute_cost(ints(0), ints(0), ints(1), ints(1)) == 4.0
    assert spread.compute_cost(ints(0), ints(0), ints(2), ints(1)) == 0.0
    assert spread.compute_cost(ints(1), ints(0), ints(3), ints(1)) == 1.0
    assert spread.compute_cost(ints(), ints(), ints(), ints()) == 0.0
