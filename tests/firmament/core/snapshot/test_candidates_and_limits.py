"""Rules, limits and earlier evictions that decide which tasks on machines may leave for those that wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cost_models.interface import Int64, JointRows, Returned
from firmament.core.constraints.ruleset import NO_RULES
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.preemption_candidates import compute_returned
from tests.firmament.core.snapshot.test_preemption_candidates import bound, candidates, core, found, wanting
from tests.support.core import START, machine, scheduler, task_class, tasks
from tests.support.rules import near


class TestRules:
    @pytest.mark.parametrize(
        ("content", "ruled"),
        [
            ({}, False),
            ({"anti_affinity": near("a", "kubernetes.io/hostname")}, True),
            ({"affinity": near("a", "kubernetes.io/hostname")}, True),
            ({"preferred_affinity": near("a", "kubernetes.io/hostname", 5)}, False),
        ],
    )
    def test_they_are_compiled_for_victims_too_if_they_bind_somebody_who_may_evict(
        self, content: dict[str, Any], ruled: bool
    ):
        _, posed = found(bound("a", "runs"), *wanting(**content))
        assert (posed.rules is not NO_RULES) is ruled

    def test_rules_of_a_class_that_evicts_nobody_are_left_out(self):
        made = core(
            bound("a", "runs"),
            *wanting(),
            *tasks(
                8,
                "meek",
                content=task_class(9000, anti_affinity=near("a", "kubernetes.io/hostname")),
                priority=0,
            ),
        )
        posed = candidates(made)
        assert posed is not None
        assert posed.rules is NO_RULES


class TestWhatComesBack:
    """Tasks a and b of one kind are on machine m, task c of another on n."""

    def scene(self) -> Scheduler:
        return scheduler(
            machine("m"),
            machine("n"),
            *(tasks(number, content=task_class(100 * number)) for number in (1, 2)),
            bound("n", "c", cls=2),
            bound("m", "a", "b", cls=1),
            tasks(3, "waits", content=task_class(5)),
        )

    def returned(self, *given: Returned | None, shared: bool = False, uids: str = "abc") -> tuple[Any, Any]:
        made = self.scene()
        rows = np.array([made._cluster.tasks.row_of[uid] for uid in uids], dtype=np.int64)
        row_of = np.zeros(2, np.int64) if shared else np.arange(2)
        joint = [
            JointRows(row_of, np.ones(1, np.int64), np.ones(2, np.int64), "full", each) for each in given
        ]
        numbers, amounts = compute_returned(made._cluster, joint, rows)
        return numbers, amounts.tolist()

    def owed(self, **given: Any) -> Returned:
        return Returned(np.zeros(2, dtype=np.int64), **given)

    def test_by_kind_tasks_of_a_kind_give_back_the_same(self):
        numbers, amounts = self.returned(self.owed(by_kind=np.array([7, 9])))
        assert numbers == (0,)
        assert amounts == [[7], [7], [9]]
        assert self.returned(self.owed(by_kind=np.array([7, 9])), uids="cb")[1] == [[9], [7]]

    def test_by_task_each_gives_back_its_own(self):
        class ByTask:
            def amounts(self, places: Int64) -> Int64:
                return places * 10 + 1

        made = self.scene()
        row_of = made._cluster.tasks.row_of
        place = {uid: rank for rank, uid in enumerate(sorted("abc", key=lambda uid: row_of[uid]))}
        _, amounts = self.returned(self.owed(by_task=ByTask()))
        assert amounts == [[10 * place[uid] + 1] for uid in "abc"]

    def test_rows_that_get_nothing_back_and_rows_of_several_machines_are_left_out(self):
        given = self.owed(by_kind=np.array([7, 9]))
        assert self.returned() == ((), [[], [], []])
        assert self.returned(None, given, None, self.owed(by_kind=np.array([1, 2]))) == (
            (1, 3),
            [[7, 1], [7, 1], [9, 2]],
        )
        assert self.returned(given, shared=True) == ((), [[], [], []])
        assert self.returned(self.owed()) == ((0,), [[0], [0], [0]])


class TestOrigins:
    """A task that was evicted waits, and must not evict those who came instead of it."""

    def posed(self, *pairs: tuple[str, str], more: tuple[Any, ...] = ()) -> dict[int, dict[int, list[str]]]:
        """Who may not be evicted by class and place of a waiting task; ``pairs``: who came for whom."""
        made = core(bound("a", "g", "h", cls=1), bound("b", "i", cls=2), *wanting(), *more)
        cluster, chains = made._cluster, made._requeue.evictions.chains
        row_of = cluster.tasks.row_of
        for comes, goes in pairs:
            chains.note(cluster, row_of[comes], [row_of[goes]], START)
        posed = candidates(made)
        assert posed is not None
        return {
            cls: {
                place: [cluster.tasks.uid[int(posed.row[victim])] for victim in victims.tolist()]
                for place, victims in each.items()
            }
            for cls, each in posed.origins.items()
        }

    def test_nobody_is_protected_if_nobody_was_evicted(self):
        assert self.posed() == {}

    def test_who_came_instead_is_protected(self):
        assert self.posed(("g", "waits")) == {0: {0: ["g"]}}

    def test_so_is_who_came_instead_of_that_one(self):
        found = self.posed(("g", "waits"), ("i", "g"))
        assert {
            cls: {place: sorted(each) for place, each in those.items()} for cls, those in found.items()
        } == {0: {0: ["g", "i"]}}

    def test_evictions_of_tasks_that_run_again_protect_nobody(self):
        assert self.posed(("g", "h")) == {}

    def test_each_waiting_task_has_its_own(self):
        more = tuple(tasks(9, "other", content=task_class(9000), priority=10))
        found = self.posed(("g", "other"), ("h", "waits"), more=more)
        assert found == {0: {0: ["h"], 1: ["g"]}}

    def test_who_came_instead_but_has_no_machine_protects_nobody(self):
        more = tuple(tasks(8, "also", content=task_class(8000), priority=10))
        assert self.posed(("also", "waits"), more=more) == {}
