"""What a decided eviction depends on: rules, models, quotas, gangs, other decisions, and earlier evictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cost_models.registry import load_model
from firmament.core.commit.eviction_check import EvictionCheck
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineUpserted,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine
from firmament.core.scheduler import Scheduler
from tests.cost_models.network_aware.scenes import app_group, labels, pair_labels, records, topology
from tests.firmament.core.commit.test_evictions_during_solve import awaited, close_after, evicted
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, uids
from tests.support.rules import ints, near

LARGE, OTHER, FREE = 1, 2, 3


def occupied(*more: Event, preemptor: Any = None, **settings: Any) -> Scheduler:
    """A full machine m with one victim, an empty machine that is too small, and a preemptor of priority 10."""
    return scheduler(
        machine("m", cpu=2000, labels={"zone": "a"}),
        machine("small", cpu=900, labels={"zone": "b"}),
        ClassDefined(LARGE, preemptor or task_class(2000)),
        ClassDefined(OTHER, task_class(2000, labels=(("app", "old"),))),
        TasksBound("m", OTHER, ("victim",)),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
        *more,
        **settings,
    )


class TestRules:
    """The preemptor goes to no machine on which a task of the app ``old`` is."""

    APART = task_class(2000, anti_affinity=near("old"))

    def test_a_victim_may_repel_the_preemptor_until_it_has_left(self):
        result = close_after(occupied(preemptor=self.APART), TasksSubmitted(OTHER, ("later",)))
        assert evicted(result) == {"victim"}
        assert awaited(result) == {"preemptor": {"victim"}}

    @pytest.mark.parametrize(("name", "stands"), [("old", False), ("new", True)])
    def test_one_that_came_and_stays_repels_it(self, name: str, stands: bool):
        comes: list[Event] = [
            ClassDefined(FREE, task_class(0, labels=(("app", name),))),
            TasksBound("m", FREE, ("came",), priority=20),
        ]
        result = close_after(occupied(preemptor=self.APART), *comes)
        assert evicted(result) == ({"victim"} if stands else set())

    def test_preemptors_of_one_machine_repel_each_other(self):
        """Two preemptors that keep apart never go to one machine, whatever else happens."""
        alone = task_class(1000, labels=(("app", "g"),), anti_affinity=near("g"))
        core = occupied(ClassDefined(FREE, alone), TasksSubmitted(FREE, ("g1", "g2"), priority=10))
        result = close_after(core, TaskRemoved("preemptor"))
        assert len([uid for uid in awaited(result) if uid != "preemptor"]) <= 1


def with_bandwidth(name: str, amount: int, **labels: str) -> MachineUpserted:
    capacity = {"cpu": 2_000, "memory": 2**34, "pods": 10}
    return MachineUpserted(
        Machine(name, capacity, annotations={"firmament.io/network-bandwidth": str(amount)}, labels=labels)
    )


class TestPairs:
    """The preemptor may cost at most 4 to reach tasks of the workload that it depends on."""

    @pytest.mark.parametrize(("cost", "stands"), [(1, True), (4, True), (5, False)])
    def test_a_limit_holds_for_what_came_since(self, cost: int, stands: bool):
        groups = app_group(["a", "b"], [("a", "b", 4, 0)])
        core = scheduler(
            machine("m", cpu=2000, labels=labels("r", "z1")),
            machine("n", cpu=10, labels=labels("r", "z2")),
            records(topology({}, {"z1": {"z2": cost}, "z2": {"z1": cost}}), groups),
            ClassDefined(OTHER, task_class(2000)),
            ClassDefined(LARGE, task_class(2000, labels=pair_labels("a"))),
            TasksBound("m", OTHER, ("victim",)),
            TasksSubmitted(LARGE, ("preemptor",), priority=10),
            overlays=[WeightedModel(load_model("network_overhead", {"strictMaxNetworkCost": True}))],
        )
        core.apply([ClassDefined(FREE, task_class(0, labels=pair_labels("b")))])
        result = close_after(core, TasksBound("n", FREE, ("needed",), priority=20))
        assert evicted(result) == ({"victim"} if stands else set())


class TestModels:
    def core(self) -> Scheduler:
        wants = task_class(2000, labels=(("networkRequirement", "400"),))
        return scheduler(
            with_bandwidth("m", 1000),
            with_bandwidth("n", 0),
            ClassDefined(LARGE, wants),
            ClassDefined(OTHER, task_class(2000)),
            ClassDefined(FREE, task_class(0)),
            TasksBound("m", OTHER, ("victim",)),
            TasksSubmitted(LARGE, ("preemptor",), priority=10),
            policy="net",
        )

    @pytest.mark.parametrize(
        ("event", "stands"),
        [
            (TasksBound("n", FREE, ("foreign",)), True),
            (with_bandwidth("n", 0, zone="a"), True),
            (TasksSubmitted(FREE, ("waits",)), True),
            (TasksBound("m", FREE, ("foreign",)), False),
            (with_bandwidth("m", 399), False),
            (with_bandwidth("m", 2000), False),
        ],
    )
    def test_limits_of_a_machine_stand_until_the_machine_changes(self, event: Event, stands: bool):
        result = close_after(self.core(), event)
        assert evicted(result) == ({"victim"} if stands else set())
        assert set(awaited(result)) == ({"preemptor"} if stands else set())

    @pytest.mark.parametrize("event", [TasksBound("m", FREE, ("foreign",)), machine("m", cpu=2001)])
    def test_without_limits_such_changes_do_not_matter(self, event: Event):
        core = occupied()
        core.apply([ClassDefined(FREE, task_class(0))])
        assert evicted(close_after(core, event)) == {"victim"}


def test_a_quota_may_have_changed_with_any_event():
    """What a task draws on is shared by all machines, so that no such decision outlives an event."""
    core = scheduler(
        machine("m", cpu=2000),
        machine("n", cpu=500),
        flavor("any"),
        quota("team", {"any": {"cpu": 9000}}),
        ClassDefined(LARGE, task_class(2000, queue="team")),
        ClassDefined(OTHER, task_class(2000)),
        TasksBound("m", OTHER, ("victim",)),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
    )
    opened = core.open_round()
    placement = opened.solve()
    assert len(placement.evictions) == 1
    core.apply([MachineRemoved("n")])
    assert core.close_round(opened, placement).deltas == ()
    assert evicted(core.run_round()) == {"victim"}


class TestGangsOfVictims:
    def core(self, need: int) -> Scheduler:
        """A gang of two, of which ``need`` must stay, on two full machines."""
        return scheduler(
            machine("m", cpu=2000),
            machine("n", cpu=2000),
            ClassDefined(LARGE, task_class(2000)),
            JobDefined(Job("old", min_members=need)),
            TasksBound("m", LARGE, ("v",), job="old"),
            TasksBound("n", LARGE, ("w",), job="old"),
            TasksSubmitted(LARGE, ("preemptor",), priority=10),
        )

    def test_one_that_can_be_spared_leaves(self):
        result = close_after(self.core(1), TasksSubmitted(LARGE, ("later",)))
        assert len(evicted(result)) == 1

    def test_one_that_is_needed_by_now_stays(self):
        assert close_after(self.core(1), JobDefined(Job("old", min_members=2))).deltas == ()

    def test_one_that_no_longer_belongs_to_a_gang_leaves_alone(self):
        result = close_after(self.core(2), JobDefined(Job("old", min_members=0)))
        assert len(evicted(result)) in (1, 2)
        assert set(awaited(result)) == {"preemptor"}

    def test_a_gang_of_which_a_member_came_is_not_evicted_in_part(self):
        core = self.core(2)
        core.apply([machine("o", cpu=0)])
        grown: list[Event] = [ClassDefined(FREE, task_class(0)), TasksBound("o", FREE, ("x",), job="old")]
        result = close_after(core, *grown)
        assert evicted(result) in (set(), {"v", "w", "x"})


class TestSeveralDecisions:
    def core(self, *priorities: int, machines: int = 1) -> Scheduler:
        """On each machine as many victims as preemptors, of these priorities, could replace."""
        count = len(priorities) // machines
        names = [f"m{number}" for number in range(machines)]
        return scheduler(
            *(machine(name, cpu=1000 * count) for name in names),
            ClassDefined(LARGE, task_class(1000)),
            *(TasksBound(name, LARGE, uids(f"v{name}", count)) for name in names),
            *(TasksSubmitted(LARGE, (f"g{n}",), priority=rank) for n, rank in enumerate(priorities)),
        )

    def test_those_of_one_machine_hold_or_fail_together(self):
        assert close_after(self.core(10, 10), TaskRemoved("g0")).deltas == ()
        assert close_after(self.core(10, 10), TaskRemoved("g1")).deltas == ()
        assert len(evicted(close_after(self.core(10, 10), TasksSubmitted(LARGE, ("x",))))) == 2

    def test_those_of_others_do_not_depend_on_them(self):
        result = close_after(self.core(10, 10, machines=2), MachineRemoved("m1"))
        assert evicted(result) == {"vm0-0"}
        assert len(awaited(result)) == 1

    @pytest.mark.parametrize(("priority", "stand"), [(9, True), (10, False), (15, False)])
    def test_no_victim_may_be_as_important_as_the_least_important_preemptor(self, priority: int, stand: bool):
        core = self.core(10, 20)
        result = close_after(core, TasksBound("m0", LARGE, ("vm0-1",), priority=priority))
        assert bool(evicted(result)) is stand

    def test_with_one_of_a_machine_all_others_fall_also_if_they_count_on_other_victims(self):
        core = self.core(10, 10)
        opened = core.open_round()
        found = opened.solve().evictions
        decided = [replace(each, evicts=(at,), awaits=(at,)) for at, each in enumerate(found)]
        snapshot, context, row = opened.snapshot, core._profile.context, core._cluster.tasks.row_of
        assert snapshot is not None
        assert snapshot.preemption is not None
        assert len(decided) == 2
        preemptors = ints(row["g0"], row["g1"])
        check = EvictionCheck(context, snapshot, snapshot.preemption, decided, preemptors)
        assert check.standing().tolist() == [True, True]
        for victim in ("vm0-0", "vm0-1"):
            context.evictions.chains.note(core._cluster, row[victim], [row["g0"]], 0.0)
        check = EvictionCheck(context, snapshot, snapshot.preemption, decided, preemptors)
        assert check.standing().tolist() == [False, False]

    def test_what_a_dropped_preemptor_does_not_take_is_offered_to_others_at_once(self):
        core = self.core(10)
        core.apply([TasksSubmitted(LARGE, ("next",), priority=5)])
        assert close_after(core, TaskRemoved("g0")).deltas == ()
        assert core.next_round_in() == 0.0
        assert evicted(core.run_round()) == {"vm0-0"}

    def test_room_is_for_all_preemptors_together(self):
        assert close_after(self.core(10, 10), machine("m0", cpu=1999)).deltas == ()
        assert len(evicted(close_after(self.core(10, 10), machine("m0", cpu=2001)))) == 2


class TestCircles:
    """A preemptor does not evict a workload from which evictions have led to its own."""

    def close(self, *, evicted_before: bool, event: Event | None = None) -> set[str]:
        core = self.core()
        opened = core.open_round()
        placement = opened.solve()
        cluster, chains = core._cluster, core._requeue.evictions.chains
        row = cluster.tasks.row_of
        if evicted_before:
            chains.note(cluster, row["victim"], [row["preemptor"]], 0.0)
        else:
            chains.note(cluster, row["other"], [row["preemptor"]], 0.0)
        core.apply([event] if event else [])
        return evicted(core.close_round(opened, placement))

    def core(self) -> Scheduler:
        return scheduler(
            machine("m", cpu=2000),
            machine("full", cpu=1000),
            ClassDefined(LARGE, task_class(2000)),
            ClassDefined(OTHER, task_class(1000)),
            TasksBound("m", OTHER, ("victim", "next")),
            TasksBound("full", OTHER, ("other",)),
            TasksSubmitted(LARGE, ("preemptor",), priority=10),
        )

    def test_one_of_several_victims_closes_it(self):
        assert self.close(evicted_before=True) == set()
        assert self.close(evicted_before=True, event=TasksSubmitted(OTHER, ("x",))) == set()

    def test_an_eviction_for_somebody_else_does_not(self):
        assert self.close(evicted_before=False) == {"victim", "next"}

    def test_with_one_decision_all_of_its_machine_are_dropped(self):
        """Only one of the preemptors would evict whom its own evictions led to, but both come to the same machine."""
        core = scheduler(
            machine("m", cpu=2000),
            ClassDefined(LARGE, task_class(1000)),
            TasksBound("m", LARGE, ("v", "w")),
            TasksSubmitted(LARGE, ("a", "b"), priority=10),
        )
        opened = core.open_round()
        placement = opened.solve()
        cluster, chains = core._cluster, core._requeue.evictions.chains
        row = cluster.tasks.row_of
        assert len(placement.evictions) == 2
        for victim in ("v", "w"):
            chains.note(cluster, row[victim], [row["a"]], 0.0)
        assert core.close_round(opened, placement).deltas == ()

    def test_what_is_carried_out_is_noted(self):
        core = self.core()
        cluster, chains = core._cluster, core._requeue.evictions.chains
        row = cluster.tasks.row_of
        opened = core.open_round()
        placement = opened.solve()
        chains.note(cluster, row["other"], [row["preemptor"]], 0.0)
        core.close_round(opened, placement)
        victim, preemptor = (chains.find_workload(cluster, row[uid]) for uid in ("victim", "preemptor"))
        assert preemptor in chains.find_origins(cluster, victim)

    def test_two_decisions_of_one_round_may_not_close_it_either(self):
        """Each of two preemptors would evict the one whom the other's evictions led to."""
        core = scheduler(
            machine("m", cpu=1000),
            machine("n", cpu=1000),
            ClassDefined(LARGE, task_class(1000)),
            TasksBound("m", LARGE, ("v",)),
            TasksBound("n", LARGE, ("w",)),
            TasksSubmitted(LARGE, ("a", "b"), priority=10),
        )
        opened = core.open_round()
        placement = opened.solve()
        cluster, chains = core._cluster, core._requeue.evictions.chains
        row = cluster.tasks.row_of
        assert len(placement.evictions) == 2
        for victim in ("v", "w"):
            for preemptor in ("a", "b"):
                chains.note(cluster, row[victim], [row[preemptor]], 0.0)
        assert evicted(core.close_round(opened, placement)) == set()


def test_records_that_say_nothing_of_tasks_do_not_matter():
    assert evicted(close_after(occupied(), RecordUpserted("Kind", "x", b"{}"))) == {"victim"}


@pytest.mark.parametrize(("need", "comes"), [(3, 0), (2, 2), (1, 2)])
def test_a_gang_comes_if_enough_of_its_decisions_hold_for_what_it_needs_now(need: int, comes: int):
    names = ("m", "n", "o")
    core = scheduler(
        *(machine(name, cpu=2000) for name in names),
        ClassDefined(LARGE, task_class(2000)),
        *(TasksBound(name, LARGE, (f"v{name}",)) for name in names),
        JobDefined(Job("gang", min_members=3)),
        TasksSubmitted(LARGE, uids("g", 3), job="gang", priority=10),
    )
    result = close_after(core, JobDefined(Job("gang", min_members=need)), MachineRemoved("n"))
    assert len(awaited(result)) == comes
    assert evicted(result) == ({"vm", "vo"} if comes else set())
