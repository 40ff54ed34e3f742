"""Quota is dealt out in the order of queues, before a flow says where the tasks go."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw
from firmament.core.flow.residual import Residual
from firmament.core.placement.quota_parts import deal_quotas
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, problem, scheduler, task_class, tasks, uids


def _class(queue: str, cpu: int = 1000):
    return task_class(cpu, queue=queue)


def _scene(order: str):
    return scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 3000}}, order=order),
        tasks(1, "large", content=_class("team", 4000), priority=1),
        tasks(2, "small", content=_class("team")),
        tasks(3, "other", content=task_class(1000)),
    )


def test_only_in_a_strict_queue_those_behind_the_first_wait_for_it():
    assert set(placed(_scene("StrictFIFO").run_round())) == {"other"}
    assert set(placed(_scene("BestEffortFIFO").run_round())) == {"small", "other"}


def _count_by_queue(*events) -> Counter[str]:
    there = placed(scheduler(machine("a", cpu=30_000), flavor("any"), *events).run_round())
    return Counter(uid[0] for uid in there)


def test_whose_turn_is_put_off_gets_its_share_nevertheless():
    """Of a queue's two classes the second one stands behind the other queue once the first has been given quota."""
    assert _count_by_queue(
        quota("cohort", {"any": {"cpu": 8000}}),
        quota("left", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        quota("right", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        tasks(1, *uids("l", 2), content=_class("left"), priority=1),
        tasks(2, *uids("l2", 9), content=_class("left")),
        tasks(3, *uids("r", 9), content=_class("right")),
    ) == {"l": 4, "r": 4}


def test_what_is_a_queues_own_is_dealt_at_once_and_the_rest_by_turns():
    assert _count_by_queue(
        quota("cohort", {"any": {"cpu": 4000}}),
        quota("left", {"any": {"cpu": 2000}}, parent="cohort", fair=True),
        quota("right", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        tasks(1, *uids("l", 9), content=_class("left"), priority=1),
        tasks(2, *uids("r", 9), content=_class("right")),
    ) == {"l": 4, "r": 2}


class TestSparingQuotas:
    """Machines 0 and 1 have a flavor each; quota 2 is below quota 1, and that below the root."""

    def parts(self, tasks_: int, *, sparing: bool, room: tuple[int, int] = (99, 99)) -> tuple[int, int]:
        """How many of so many tasks get quota in each flavor: own 1 and 1, the parent's 2 and 2, the root's 4 and 4."""
        quotas = pose(
            [[4, 4], [2, 2], [1, 1]],
            [Draw(2, (one_of(0, 1),))],
            parent=[-1, 0, 1],
            kind=[0, 1],
            covers=[[True, False], [False, True]],
            sparing=(False, False, sparing),
        )
        posed = problem(tasks=[tasks_], requests=[[1]], free=[[room[0]], [room[1]]])
        found = deal_quotas(Residual(replace(posed, quotas=quotas)))
        dealt = [0, 0]
        for part in found:
            assert part.cls == 0
            assert part.allowed is not None
            (machine_,) = np.flatnonzero(part.allowed).tolist()
            dealt[machine_] += part.count
        return dealt[0], dealt[1]

    @pytest.mark.parametrize(
        ("tasks_", "sparing", "rash"),
        [
            (1, (1, 0), (1, 0)),
            (2, (1, 1), (2, 0)),
            (3, (2, 1), (3, 0)),
            (4, (3, 1), (4, 0)),
            (5, (3, 2), (5, 0)),
            (6, (3, 3), (6, 0)),
            (7, (4, 3), (7, 0)),
            (10, (7, 3), (7, 3)),
            (12, (7, 5), (7, 5)),
            (20, (7, 7), (7, 7)),
        ],
    )
    def test_flavors_are_used_up_level_by_level_only_if_borrowing_is_avoided(
        self, tasks_: int, sparing: tuple[int, int], rash: tuple[int, int]
    ):
        assert self.parts(tasks_, sparing=True) == sparing
        assert self.parts(tasks_, sparing=False) == rash

    @pytest.mark.parametrize(
        ("room", "sparing", "rash"),
        [
            ((1, 99), (1, 5), (1, 5)),
            ((99, 2), (4, 2), (6, 0)),
            ((2, 2), (2, 2), (2, 2)),
            ((0, 9), (0, 6), (0, 6)),
        ],
    )
    def test_no_more_gets_quota_than_the_machines_of_a_flavor_take(
        self, room: tuple[int, int], sparing: tuple[int, int], rash: tuple[int, int]
    ):
        assert self.parts(6, sparing=True, room=room) == sparing
        assert self.parts(6, sparing=False, room=room) == rash

    @pytest.mark.parametrize("tasks_", [1, 3, 4, 5, 9])
    def test_without_borrowing_all_of_a_queue_s_own_is_dealt_where_several_flavors_cover_a_machine(
        self, tasks_: int
    ):
        quotas = pose([[4, 4], [3, 1]], [Draw(1, (one_of(0, 1),))], parent=[-1, 0], kind=[0])
        posed = problem(tasks=[tasks_], requests=[[1]], free=[[99]])
        (part,) = deal_quotas(Residual(replace(posed, quotas=quotas)))
        assert (part.cls, part.count, part.allowed) == (0, min(tasks_, 12), None)


def test_who_draws_on_no_quota_is_dealt_all_and_who_is_refused_nothing():
    quotas = pose([[2]], [Draw(0, (one_of(0),)), Draw(0, refused="no"), Draw(-1, (one_of(0),))])
    posed = problem(tasks=[5, 5, 5, 5], requests=[[1]] * 4, free=[[9]], priority=[0, 9, 9, 0])
    found = deal_quotas(Residual(replace(posed, quotas=replace(quotas, draw=np.array([0, 1, 2, -1])))))
    assert {part.cls: (part.count, part.allowed) for part in found} == {0: (2, None), 3: (5, None)}
