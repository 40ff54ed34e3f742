"""The zones that kubelets choose: by restricted and best-effort, and container by container under single-numa-node."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from cost_models.numa.single_zone_alignment import (
    ADMITTED,
    UNLIMITED,
    UNLISTED,
    Alignment,
    admit,
    slots_at,
    slots_everywhere,
)
from cost_models.numa.zone_sets import choose_sets, spread_over
from tests.support.effort import examples


def choose(
    left: list[list[int]], need: list[int], total: list[list[int]], *, restricted: bool
) -> tuple[bool, list[int] | None]:
    """One machine: amounts by resource and zone; whether it admits, and which zones it takes."""
    admitted, chosen = choose_sets(
        np.array(left)[:, None, :],
        np.array(need)[:, None],
        np.array(total)[:, None, :],
        aligned_only=np.array([restricted]),
    )
    return bool(admitted[0]), np.flatnonzero(chosen[0]).tolist()


TEN = [[10, 10, 10]]


@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize(
    ("left", "need", "zones"),
    [
        ([[10, 10, 10]], [5], [0]),
        ([[4, 5, 10]], [5], [1]),
        ([[10, 10, 10]], [15], [0, 1]),
        ([[4, 10, 10]], [15], [1, 2]),
        ([[10, 10, 10]], [30], [0, 1, 2]),
        ([[10, 10, 10]], [0], []),
    ],
)
def test_sets_of_as_few_zones_as_an_empty_machine_needs(
    left: list[list[int]], need: list[int], zones: list[int], restricted: bool
):
    assert choose(left, need, TEN, restricted=restricted) == (True, zones)


def test_without_such_a_set_only_best_effort_admits():
    assert choose([[4, 4, 4]], [5], TEN, restricted=True) == (False, [])
    assert choose([[4, 4, 4]], [5], TEN, restricted=False) == (True, [0, 1])
    assert choose([[1, 1, 1]], [5], TEN, restricted=False) == (True, [0, 1, 2])
    assert choose([[10, 10, 10]], [31], TEN, restricted=True) == (False, [])
    assert choose([[10, 10, 10]], [31], TEN, restricted=False) == (True, [0, 1, 2])


def test_resources_must_prefer_sets_of_one_size():
    total = [[10, 10], [4, 4]]
    assert choose(total, [5, 3], total, restricted=True) == (True, [0])
    assert choose(total, [5, 8], total, restricted=True) == (False, [])
    assert choose(total, [5, 8], total, restricted=False) == (True, [0, 1])
    assert choose(total, [0, 8], total, restricted=True) == (True, [0, 1])


def test_amounts_are_taken_from_the_lowest_zones_first():
    left = np.array([[[3, 5, 7]], [[-1, 2, 2]]])
    chosen = np.array([[True, False, True]])
    assert spread_over(left, np.array([[4], [1]]), chosen).tolist() == [[[3, 0, 1]], [[0, 0, 1]]]
    assert spread_over(left, np.array([[99], [0]]), chosen).tolist() == [[[3, 0, 7]], [[0, 0, 0]]]


# --- one zone for each ------------------------------------------------------------------------------------------------


def test_units_that_fit_zones():
    left = np.array([[[7, 3], [UNLISTED, 9]], [[5, 5], [5, 5]]])
    found = slots_everywhere(left, np.array([2, -1]), np.array([2, 0]))
    assert found.tolist() == [[3, 1], [0, 4]]
    needs = slots_everywhere(left, np.array([-1, 5]), np.array([0, 0]))
    assert needs.tolist() == [[UNLIMITED // 2] * 2] * 2
    assert slots_everywhere(left, np.array([-1, 6]), np.array([0, 0])).tolist() == [[0, 0], [0, 0]]
    at = slots_at(left, np.array([1, 0]), np.array([[2, -1], [4, 5]]), np.array([[3, 0], [2, 0]]))
    assert at.tolist() == [[0, 3], [3, 0]]
    assert slots_at(left, np.array([0]), np.array([[-1, 6]]), np.array([[0, 2]])).tolist() == [[0, 0]]


def admit_one_by_one(
    zones: list[list[int]], containers: list[list[int]], init: list[list[int]], limit: int
) -> tuple[int, int, list[list[int]]]:
    """The obvious way: ``zones``: amounts by zone and resource; requests by container, negative for none."""

    def lowest(request: list[int]) -> int | None:
        for zone, there in enumerate(zones):
            if all(amount < 0 or there[k] >= amount for k, amount in enumerate(request)):
                return zone
        return None

    done = 0
    while done < limit:
        for number, request in enumerate(init):
            if lowest(request) is None:
                return done, len(containers) + number, zones
        before = [list(each) for each in zones]
        for number, request in enumerate(containers):
            zone = lowest(request)
            if zone is None:
                return done, number, before
            for k, amount in enumerate(request):
                zones[zone][k] -= max(amount, 0)
        done += 1
    return done, ADMITTED, zones


def repeat(requests: list[list[int]], resources: int, machines: int) -> np.ndarray:
    """Requests by container and resource, the same on each machine."""
    stated = np.array(requests, dtype=np.int64).reshape(len(requests), resources)
    return np.repeat(stated[:, :, None], machines, axis=2)


def test_containers_get_zones_one_after_another():
    for seed in range(examples(60, least=30)):
        rnd = random.Random(seed)
        resources, zones, machines = rnd.randint(1, 2), rnd.randint(1, 3), 2
        amounts = [
            [[rnd.randint(0, 6) for _ in range(resources)] for _ in range(zones)] for _ in range(machines)
        ]
        containers = [[rnd.choice((-1, 1, 2, 3)) for _ in range(resources)] for _ in range(rnd.randint(1, 3))]
        init = [[rnd.choice((-1, 2, 5)) for _ in range(resources)] for _ in range(rnd.randint(0, 2))]
        limit = [rnd.randint(0, 3) for _ in range(machines)]
        left = np.array(amounts, dtype=np.int64).transpose(2, 0, 1).copy()
        size = resources, machines
        asked = repeat(containers, *size)
        alignment = Alignment(asked, np.maximum(asked, 0), repeat(init, *size))
        admitted, failing = admit(left, alignment, np.array(limit))
        for machine in range(machines):
            expected = admit_one_by_one(amounts[machine], containers, init, limit[machine])
            found = left[:, machine].T.tolist()
            assert (admitted[machine], failing[machine], found) == expected, (seed, machine)


def test_all_sets_of_small_machines_are_as_few_as_can_be():
    for left in itertools.product(range(3), repeat=3):
        for need in range(1, 8):
            total = [[2, 2, 2]]
            admitted, zones = choose([list(left)], [need], total, restricted=True)
            size = -(-need // 2)
            sets = [
                each for each in itertools.combinations(range(3), size) if sum(left[z] for z in each) >= need
            ]
            assert admitted == bool(sets)
            assert tuple(zones or ()) == (
                min(sets, key=lambda each: sum(1 << z for z in each)) if sets else ()
            )
