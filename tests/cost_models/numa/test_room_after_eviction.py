"""Whether a machine opens once tasks have left, against going through all ways in which they may be in zones."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from cost_models.numa import room_after_eviction
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.requests import Requests, compile_requests, pods_of
from cost_models.numa.room_after_eviction import (
    NEVER,
    ZonesAfterEviction,
    _world_without_room,
    exclusive_amounts,
)
from tests.cost_models.numa.builders import container, shape
from tests.support.effort import examples


def requests_for(*pods: list[int], resources: tuple[str, ...] = ("cpu",)) -> Requests:
    """Guaranteed pods of one resource, given by their containers' amounts (cpu in cores)."""
    rows = [shape(*(container(f"c{n}", cpu=1000 * cores) for n, cores in enumerate(pod))) for pod in pods]
    options = NumaOptions()
    return compile_requests(
        pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), options), resources, options
    )


def opening(
    left: list[list[int]],
    given: list[list[int]],
    tasks: list[tuple[int, int, int]],
    *,
    ask: list[int],
    pods: list[list[int]],
    pod_scope: bool = False,
    reliable: bool = True,
) -> ZonesAfterEviction:
    """``left``, ``given``: cores by machine and zone; ``tasks``: (machine, task, pod) each; ``ask``: one more pod."""
    machines = len(left)
    return ZonesAfterEviction(
        held=np.ones((1, machines), np.bool_),
        open_to_it=np.full(machines, reliable),
        requests=requests_for(ask),
        residing=requests_for(*pods),
        pod_scope=np.full(machines, pod_scope),
        left=np.array([left], dtype=np.int64) * 1000,
        given=np.array([given], dtype=np.int64) * 1000,
        machine=np.array([each[0] for each in tasks], dtype=np.int64),
        task=np.array([each[1] for each in tasks], dtype=np.int64),
        shape=np.array([each[2] for each in tasks], dtype=np.int64),
    )


class TestOpening:
    @pytest.mark.parametrize(
        ("tasks", "opens"),
        [([7], True), ([8], False), ([], False), ([7, 8], True), ([9], False)],
    )
    def test_a_zone_that_certainly_gets_enough_back_opens(self, tasks: list[int], opens: bool):
        """One zone of 4 cores, 1 left; task 7 has 2 of them and task 8 has 1; the pod asks for 3."""
        made = opening([[1]], [[3]], [(0, 7, 0), (0, 8, 1)], ask=[3], pods=[[2], [1]])
        assert made.admits(0, 0, tasks) is opens
        assert made.find_possible(0, np.array(tasks, dtype=np.int64)).tolist() == [opens]

    def test_it_may_be_in_another_zone(self):
        two = opening([[1, 1]], [[2, 2]], [(0, 7, 0), (0, 8, 0)], ask=[3], pods=[[2]])
        assert two.admits(0, 0, [7])
        uneven = opening([[1, 0]], [[2, 2]], [(0, 7, 0), (0, 8, 0)], ask=[3], pods=[[2]])
        assert not uneven.admits(0, 0, [7]), "it may be in the zone with nothing left"
        assert uneven.find_possible(0, np.array([7])).tolist() == [True]
        assert uneven.admits(0, 0, [7, 8])

    def test_only_machines_with_a_reliable_record_open(self):
        made = opening([[1]], [[3]], [(0, 7, 0)], ask=[3], pods=[[2]], reliable=False)
        assert not made.admits(0, 0, [7])
        assert made.find_possible(0, np.array([7])).tolist() == [False]

    def test_tasks_of_other_machines_give_nothing_back(self):
        made = opening([[1], [1]], [[3], [3]], [(0, 7, 0), (1, 8, 0)], ask=[3], pods=[[2]])
        assert [made.admits(0, machine, [8]) for machine in (0, 1)] == [False, True]
        assert made.find_possible(0, np.array([8])).tolist() == [False, True]

    def test_containers_are_in_zones_of_their_own_except_in_pod_scope(self):
        apart = opening([[0, 0]], [[1, 1]], [(0, 7, 0)], ask=[2], pods=[[1, 1]])
        assert not apart.admits(0, 0, [7])
        together = opening([[0, 0]], [[2, 2]], [(0, 7, 0), (0, 8, 0)], ask=[2], pods=[[1, 1]], pod_scope=True)
        assert together.admits(0, 0, [7])

    def test_a_pod_of_several_containers_needs_one_zone_for_all(self):
        made = opening([[1]], [[3]], [(0, 7, 0)], ask=[1, 2], pods=[[2]])
        assert made.admits(0, 0, [7])
        assert made.find_possible(0, np.array([7])).tolist() == [True]
        more = opening([[1]], [[3]], [(0, 7, 0)], ask=[1, 3], pods=[[2]])
        assert not more.admits(0, 0, [7])
        assert more.find_possible(0, np.array([7])).tolist() == [False]

    def test_in_pod_scope_a_leaving_pod_gives_back_all_its_containers_at_once(self):
        made = opening([[0, 0]], [[3, 3]], [(0, 7, 0), (0, 8, 0)], ask=[3], pods=[[1, 2]], pod_scope=True)
        assert made.admits(0, 0, [7])
        assert made.find_possible(0, np.array([8])).tolist() == [True]
        large = opening([[0, 0]], [[3, 3]], [(0, 7, 0), (0, 8, 0)], ask=[4], pods=[[1, 2]], pod_scope=True)
        assert large.find_possible(0, np.array([7, 8])).tolist() == [False]

    def test_a_resource_of_which_tasks_take_more_than_zones_gave_is_not_given_by_zone(self):
        made = opening([[1]], [[1]], [(0, 7, 0)], ask=[3], pods=[[2]])
        assert not made.admits(0, 0, [7])
        assert made.find_possible(0, np.array([7])).tolist() == [False]
        assert opening([[1]], [[2]], [(0, 7, 0)], ask=[3], pods=[[2]]).admits(0, 0, [7])

    def test_a_zone_that_does_not_list_the_resource_never_opens(self):
        made = opening([[1]], [[3]], [(0, 7, 0)], ask=[3], pods=[[2]])
        made.left[0, 0, 0] = -1
        assert not made.admits(0, 0, [7])
        assert made.find_possible(0, np.array([7])).tolist() == [False]


def test_what_is_taken_exclusively():
    rows = [
        shape(container("a", cpu=1500), container("b", cpu=2000)),
        shape(container("a", cpu=2000), qos="Burstable"),
    ]
    options = NumaOptions()
    made = compile_requests(pods_of(rows, np.zeros((2, 1), np.int64), ("cpu",), options), ("cpu",), options)
    assert exclusive_amounts(made)[:, :, 0].tolist() == [[0, 0, 2000], [0, 0, 0]]
    assert made.taken[0, 1, 0] == 1500, "the requests stay"


# --- worlds ----------------------------------------------------------------------------------------------------------


def all_worlds(lacking: list[list[int]], given: list[list[int]], parts: list[list[int]]) -> bool:
    """Whether some way of putting parts into zones leaves every zone without room; True if there is no way at all."""
    if any(all(each <= 0 for each in zone) for zone in lacking):
        return False
    zones, kinds = range(len(given)), range(len(given[0]))
    movable = [part for part in parts if any(all(part[r] <= given[z][r] for r in kinds) for z in zones)]
    possible = False
    for where in product(zones, repeat=len(movable)):
        placed = list(zip(movable, where, strict=True))
        sums = [[sum(part[r] for part, at in placed if at == z) for r in kinds] for z in zones]
        if any(sums[z][r] > given[z][r] for z in zones for r in kinds):
            continue
        possible = True
        if all(any(lacking[z][r] > sums[z][r] for r in kinds) for z in zones):
            return True
    return not possible


def test_worlds_are_all_gone_through():
    for seed in range(examples(150, least=60)):
        draw = random.Random(seed)
        zones, kinds = draw.randint(1, 3), draw.randint(1, 2)
        given = [[draw.randint(0, 4) for _ in range(kinds)] for _ in range(zones)]
        lacking = [[draw.choice((-1, 0, 1, 2, 3)) for _ in range(kinds)] for _ in range(zones)]
        parts = [[draw.randint(0, 3) for _ in range(kinds)] for _ in range(draw.randint(0, 3))]
        parts = [part for part in parts if any(part)]
        found = _world_without_room(
            np.array(lacking), np.array(given), np.array(parts, dtype=np.int64).reshape(-1, kinds)
        )
        assert found == all_worlds(lacking, given, parts), seed


def test_a_zone_that_was_tried_in_vain_is_as_it_was_for_the_other_parts():
    """The large part must go to zone 1, so that the small one goes to zone 0, which then has too little."""
    lacking, given = np.array([[2], [5]]), np.array([[2], [2]])
    assert _world_without_room(lacking, given, np.array([[1], [2]]))
    assert not _world_without_room(np.array([[1], [5]]), given, np.array([[1], [2]]))


def test_a_search_that_is_too_long_opens_nothing(monkeypatch: pytest.MonkeyPatch):
    lacking, given, parts = np.array([[2]]), np.array([[9]]), np.array([[1], [1]])
    assert not _world_without_room(lacking, given, parts)
    monkeypatch.setattr(room_after_eviction, "MOST_WORLDS", 1)
    assert _world_without_room(lacking, given, parts)
    assert NEVER == 2**62
