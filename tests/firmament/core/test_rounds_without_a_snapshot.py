"""Rounds of a few plain tasks without a snapshot, classes that are set aside, and copies that look ahead."""

from __future__ import annotations

import pytest

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import ClassDefined, ClassRemoved, MachineRemoved, TasksSubmitted
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.scheduler import FEW_WAITING, Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class, tasks, uids


def direct_scheduler(least_machines: int = 0, options: RoundOptions | None = None) -> Scheduler:
    """A scheduler that places a few tasks without a snapshot on so many machines or more."""
    made = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model("cpu_mem", {})), options=options or RoundOptions()
        ),
        solver=OrToolsSolver(),
        clock=Clock(),
        kept_rows=KeptRows(least_machines=0),
        first_costs=FirstCosts(least_machines),
    )
    made.apply([machine("a", cpu=300), machine("b", cpu=100), machine("c", cpu=50), machine("d", cpu=50)])
    return made


class TestWithoutASnapshot:
    def test_tasks_get_places_and_are_counted(self):
        core = direct_scheduler()
        core.apply(tasks(1, "t", "u"))
        opened = core.open_direct_round()
        assert opened is not None
        assert (opened.number, opened.snapshot) == (1, None)
        result = core.close_round(opened, opened.solve())
        assert placed(result).keys() == {"t", "u"}
        assert (result.stats.placed, result.stats.pending, result.unscheduled) == (2, 0, ())
        counts = core.counts()
        assert (counts.assumed, counts.pending, counts.rounds) == (2, 0, 1)
        assert core.next_round_in() is None

    def test_nothing_is_decided_if_the_cluster_has_changed_meanwhile(self):
        core = direct_scheduler()
        core.apply(tasks(1, "t", "u"))
        opened = core.open_direct_round()
        assert opened is not None
        placement = opened.solve()
        core.apply([MachineRemoved("a")])
        result = core.close_round(opened, placement)
        assert (placed(result), result.stats.placed, result.stats.pending) == ({}, 0, 2)
        assert core.counts().pending == 2
        assert core.next_round_in() == 0.0, "the next round tries them"
        assert placed(core.run_round()) == {"t": "b"}

    def test_a_task_that_fits_nowhere_needs_a_snapshot(self):
        core = direct_scheduler()
        core.apply(tasks(1, "t", content=task_class(400)))
        assert core.open_direct_round() is None
        assert core.counts().rounds == 0
        assert "t" in messages(core.run_round())

    @pytest.mark.parametrize(("least", "direct"), [(4, True), (5, False)])
    def test_small_clusters_always_take_a_snapshot(self, least: int, direct: bool):
        core = direct_scheduler(least)
        core.apply(tasks(1, "t"))
        assert (core.open_round(whole=False).direct is not None) is direct
        core.try_all_again()
        whole = core.open_round()
        assert (whole.direct, whole.snapshot is None) == (None, False)

    def test_without_waiting_tasks_there_is_no_snapshot(self):
        opened = direct_scheduler().open_round()
        assert (opened.snapshot, opened.direct) == (None, None)
        stats = opened.solve().stats
        assert (stats.tasks, stats.machines) == (0, 0)


class TestClassesThatFail:
    TROUBLE = task_class(100, labels=(("a", "trouble"),))

    def core(self) -> Scheduler:
        made = scheduler(machine("m"), tasks(1, "bad", content=self.TROUBLE), tasks(2, "good"))
        made.set_aside([self.TROUBLE], "it fails")
        return made

    def test_its_tasks_wait_and_are_told_why_and_others_are_placed(self):
        core = self.core()
        result = core.run_round()
        assert placed(result) == {"good": "m"}
        assert messages(result) == {"bad": "it fails"}
        assert core.next_round_in() is None
        core.apply([TasksSubmitted(1, ("worse",))])
        assert messages(core.run_round()) == {"worse": "it fails"}
        assert core.waiting_classes() == []

    def test_it_is_tried_again_once_it_is_defined_again(self):
        core = self.core()
        core.run_round()
        core.apply([ClassDefined(2, task_class())])
        assert core.next_round_in() is None, "another class changes nothing"
        core.apply([ClassDefined(1, self.TROUBLE)])
        assert placed(core.run_round()) == {"bad": "m"}

    def test_a_round_may_be_of_some_classes_alone(self):
        core = scheduler(machine("m"), tasks(1, "bad", content=self.TROUBLE), tasks(2, "good"))
        assert core.waiting_classes() == [self.TROUBLE, task_class()]
        opened = core.open_round(frozenset({self.TROUBLE}))
        assert opened.snapshot is not None
        assert len(opened.snapshot.tasks) == 1
        assert core.open_round(frozenset()).snapshot is None
        core.try_all_again()
        assert placed(core.run_round()).keys() == {"bad", "good"}

    def test_tasks_that_fit_nowhere_are_tried_with_all_others_again(self):
        core = scheduler(machine("m", cpu=50), tasks(1, "t"))
        core.run_round()
        assert core.next_round_in() is None
        core.try_all_again()
        assert core.next_round_in() == 0.0


@pytest.mark.parametrize(("waiting", "few"), [(0, True), (FEW_WAITING, True), (FEW_WAITING + 1, False)])
def test_whether_few_tasks_wait(waiting: int, few: bool):
    core = scheduler(machine("m"), tasks(1, *uids("t", waiting)))
    assert core.waits_for_few is few


def test_a_copy_that_looks_ahead_moves_no_tasks_and_reserves_as_before():
    core = scheduler(options=RoundOptions(reserve_after=60.0, reserve_for=300.0, reserve_after_rounds=10))
    assert core.open_round().options.relocates
    core.become_forecast()
    assert not core.open_round().options.relocates
    options = core._requeue.reservations._options
    assert (options.reserve_after, options.reserve_for, options.reserve_after_rounds) == (60.0, 300.0, 10)


def test_a_copy_for_trials_solves_with_its_own_solver():
    core, solver = scheduler(machine("m"), tasks(1, "t")), OrToolsSolver()
    core.become_trial(solver)
    assert core.open_round().solver is solver


def test_memory_that_only_makes_rounds_faster_can_be_freed():
    core = direct_scheduler()
    core.apply(tasks(1, "t"))
    core.run_round()
    core.apply(tasks(2, "u", content=task_class(10)))
    opened = core.open_direct_round()
    assert opened is not None
    core.close_round(opened, opened.solve())
    kept = core._profile.kept_rows
    assert kept.generations
    core.free_memory()
    assert not kept.generations
    core.apply([TasksSubmitted(2, ("v",))])
    assert placed(core.run_round()).keys() == {"v"}


def test_tables_are_enlarged_before_they_are_full():
    core = scheduler(machine("m"), tasks(1, *uids("t", 1024)))
    table = core._cluster.tasks
    before = len(table.state)
    core.make_room()
    assert len(table.state) >= before
    assert len(table.state) >= 1024 + 1024 // 8
    few = scheduler(machine("m"), tasks(1, "t"))
    size = len(few._cluster.tasks.state)
    few.make_room()
    assert len(few._cluster.tasks.state) == size


class TestUnusedClasses:
    def has_surplus(self, core: Scheduler) -> bool:
        return core._cluster.classes.has_surplus

    def test_they_are_freed_between_rounds_and_not_while_one_is_open(self):
        core = scheduler(machine("m"), tasks(1, "t"))
        opened = core.open_round()
        for number in range(100):
            core.apply([ClassDefined(2, task_class(100, labels=(("n", str(number)),))), ClassRemoved(2)])
        assert self.has_surplus(core), "the open round refers to rows of classes"
        assert placed(core.close_round(opened, opened.solve())) == {"t": "m"}
        core.apply([])
        assert not self.has_surplus(core)
        core.apply([TasksSubmitted(1, ("u",)), *tasks(2, "v", content=task_class(200))])
        assert placed(core.run_round()).keys() == {"u", "v"}


def test_devices_divide_tasks_only_where_a_model_reads_them():
    core = scheduler(machine("m"), tasks(1, "t", "u"))
    assert core.divide_by_devices(["u", "unknown", "t"]) == ([], ["u", "t"])
