"""Evictions decided in a round whose cluster changes meanwhile: what still holds takes effect, and nothing else."""

from __future__ import annotations

import json

import pytest

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.preemption.test_preemption import budget
from tests.support.core import machine, scheduler, task_class, uids
from tests.support.rules import near

SMALL, LARGE, LEAVING = 1, 2, 3


def crowded() -> Scheduler:
    """Two full machines; the only place for ``preemptor`` is that of ``victim`` and of ``going``, which leaves."""
    return scheduler(
        machine("m", cpu=3000),
        machine("full", cpu=3000),
        ClassDefined(SMALL, task_class(1000)),
        ClassDefined(LARGE, task_class(2000)),
        ClassDefined(LEAVING, task_class(1000, terminating=True)),
        TasksBound("m", SMALL, ("victim",)),
        TasksBound("m", LEAVING, ("going",)),
        TasksBound("m", SMALL, ("important",), priority=20),
        TasksBound("full", SMALL, uids("f", 3), priority=20),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
    )


def close_after(core: Scheduler, *events: Event) -> RoundResult:
    """Open a round that decides an eviction, apply events, and close it."""
    opened = core.open_round()
    placement = opened.solve()
    assert len(placement.evictions) > 0
    core.apply(events)
    return core.close_round(opened, placement)


def evicted(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


def awaited(result: RoundResult) -> dict[str, set[str]]:
    return {delta.uid: {*delta.depends_on} for delta in result.deltas if delta.kind is DeltaKind.PLACE}


IRRELEVANT: dict[str, Event] = {
    "a task comes": TasksSubmitted(SMALL, ("small",)),
    "a full machine goes": MachineRemoved("full"),
    "a full machine gets a label": machine("full", cpu=3000, labels={"zone": "a"}),
    "the machine has more room": machine("m", cpu=3500),
}


@pytest.mark.parametrize("event", IRRELEVANT.values(), ids=IRRELEVANT)
def test_what_does_not_matter_changes_nothing(event: Event):
    result = close_after(crowded(), event)
    assert evicted(result) == {"victim"}
    assert awaited(result) == {"preemptor": {"victim", "going"}}


def test_a_task_that_was_leaving_may_be_gone_by_then():
    result = close_after(crowded(), TaskRemoved("going"))
    assert evicted(result) == {"victim"}
    assert awaited(result) == {"preemptor": {"victim"}}


PREVENTING: dict[str, Event] = {
    "the victim is gone": TaskRemoved("victim"),
    "the victim has become as important": TasksBound("m", SMALL, ("victim",), priority=10),
    "the victim leaves by itself": TasksBound("m", LEAVING, ("victim",)),
    "the machine is gone": MachineRemoved("m"),
    "the machine is cordoned": machine("m", cpu=3000, cordoned=True),
    "the machine is smaller": machine("m", cpu=2999),
    "somebody takes the room": TasksBound("m", SMALL, ("thief",), priority=20),
    "the preemptor is gone": TaskRemoved("preemptor"),
    "the preemptor has a place": TasksBound("full", LARGE, ("preemptor",), priority=10),
    "the preemptor is less important": TasksSubmitted(LARGE, ("preemptor",), priority=0),
    "the preemptor asks for something else": TasksSubmitted(SMALL, ("preemptor",), priority=10),
}


@pytest.mark.parametrize("event", PREVENTING.values(), ids=PREVENTING)
def test_nobody_goes_for_what_is_no_longer_possible_or_needed(event: Event):
    assert close_after(crowded(), event).deltas == ()


def besieged() -> Scheduler:
    """Two machines with a victim each, and a gang of two that needs both places."""
    return scheduler(
        *(machine(name, cpu=2000) for name in ("m", "n")),
        ClassDefined(LARGE, task_class(2000)),
        TasksBound("m", LARGE, ("v",)),
        TasksBound("n", LARGE, ("w",)),
        JobDefined(Job("gang", min_members=2)),
        TasksSubmitted(LARGE, ("a", "b"), job="gang", priority=10),
    )


@pytest.mark.parametrize("event", [TasksSubmitted(LARGE, ("other",)), machine("m", cpu=2500)])
def test_a_gang_comes_as_a_whole(event: Event):
    result = close_after(besieged(), event)
    assert evicted(result) == {"v", "w"}
    found = awaited(result)
    assert found.keys() == {"a", "b"}
    [leader] = [uid for uid, others in found.items() if others == {"v", "w"}]
    [follower] = found.keys() - {leader}
    assert leader in found[follower], "if one victim stays, no member is bound"
    assert len(found[follower] & {"v", "w"}) == 1


@pytest.mark.parametrize(
    "event",
    [
        MachineRemoved("n"),
        TasksBound("n", LARGE, ("w",), priority=10),
        TaskRemoved("b"),
        JobDefined(Job("gang", min_members=3)),
    ],
    ids=["a machine goes", "a victim stays", "a member goes", "it needs more"],
)
def test_or_not_at_all(event: Event):
    assert close_after(besieged(), event).deltas == ()


def test_members_of_what_is_no_gang_any_more_come_alone():
    result = close_after(besieged(), JobRemoved("gang"), MachineRemoved("n"))
    assert evicted(result) == {"v"}
    assert len(awaited(result)) == 1


def test_tasks_without_a_gang_wait_each_for_its_own_victims():
    """Although the round has a gang, too."""
    core = scheduler(
        *(machine(name, cpu=2000) for name in ("m", "n")),
        ClassDefined(LARGE, task_class(2000)),
        ClassDefined(SMALL, task_class(0)),
        TasksBound("m", LARGE, ("v",)),
        TasksBound("n", LARGE, ("w",)),
        TasksSubmitted(LARGE, ("a", "b"), priority=10),
        JobDefined(Job("gang", min_members=2)),
        TasksSubmitted(SMALL, ("x", "y"), job="gang", priority=10),
    )
    found = awaited(core.run_round())
    assert sorted(map(sorted, (found["a"], found["b"]))) == [["v"], ["w"]]
    assert found["x"] == found["y"] == set()


def test_members_of_a_gang_lose_their_places_together_if_one_victim_stays():
    core = besieged()
    found = awaited(core.run_round())
    [leader] = [uid for uid, others in found.items() if others == {"v", "w"}]
    assert {state.uid for state in core.task_states() if state.machine} == {"v", "w", "a", "b"}
    [follower] = found.keys() - {leader}
    [victim] = {"v", "w"} - found[follower]
    core.report([BindingReport(victim, {"v": "m", "w": "n"}[victim], bound=False)])
    assert {state.uid for state in core.task_states() if state.machine} == {"v", "w"}


@pytest.mark.parametrize(("memory", "stands"), [(0, True), (1, False)])
def test_what_others_have_overcommitted_matters_only_to_a_preemptor_that_asks_for_it(
    memory: int, stands: bool
):
    core = scheduler(
        machine("m", cpu=2000, memory=8),
        ClassDefined(SMALL, task_class(2000)),
        ClassDefined(LARGE, task_class(2000, memory)),
        ClassDefined(LEAVING, task_class(0, 9)),
        TasksBound("m", SMALL, ("victim",)),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
    )
    result = close_after(core, TasksBound("m", LEAVING, ("foreign",), priority=20))
    assert evicted(result) == ({"victim"} if stands else set())


def test_evictions_beyond_a_budget_are_marked_as_such():
    """One of two may go by the budget; where both have to, the other goes beyond it."""
    guarded = ClassDefined(SMALL, task_class(1000, labels=(("app", "a"),)))
    core = scheduler(
        machine("m", cpu=2000),
        guarded,
        ClassDefined(LARGE, task_class(2000)),
        budget("b", "a", 1),
        TasksBound("m", SMALL, ("v", "w")),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
    )
    told = {delta.uid: delta.beyond_budget for delta in core.run_round().deltas}
    assert sorted(told[uid] for uid in ("v", "w")) == [False, True]
    assert not told["preemptor"]


def test_a_group_with_rules_over_a_tree_evicts_nobody_once_the_tree_has_changed():
    names = ("m", "n")

    def leaves(*racks: str) -> RecordUpserted:
        tree: dict[str, dict[str, dict[str, str]]] = {rack: {} for rack in racks}
        for name, rack in zip(names, racks, strict=True):
            tree[rack][name] = {}
        document = {"name": "tree", "levels": ["rack", "node"], "tree": tree}
        return RecordUpserted(TREE_RECORD, "tree", json.dumps(document).encode())

    rules = {"group": "g", "constraints": {"rack": {"partitions": 1}}}

    def core() -> Scheduler:
        return scheduler(
            *(machine(name, cpu=2000) for name in names),
            leaves("r", "r"),
            RecordUpserted(GROUP_RECORD, "g", json.dumps(rules).encode()),
            ClassDefined(LARGE, task_class(2000)),
            TasksBound("m", LARGE, ("v",)),
            TasksBound("n", LARGE, ("w",)),
            JobDefined(Job("g", min_members=2, size=2)),
            TasksSubmitted(LARGE, ("a", "b"), job="g", priority=10),
            overlays=[WeightedModel(load_model("topology", {}))],
        )

    assert evicted(close_after(core(), TasksSubmitted(LARGE, ("later",)))) == {"v", "w"}
    assert close_after(core(), leaves("r", "s")).deltas == ()
    assert close_after(core(), JobDefined(Job("g", min_members=1, size=2))).deltas == ()


def test_a_preemptor_is_repelled_by_what_came_although_all_else_holds():
    """Rules between tasks are asked again, as the snapshot knows nothing of who came since."""
    select_excluded_tasks = task_class(2000, labels=(("app", "g"),), anti_affinity=near("new"))
    core = scheduler(
        machine("m", cpu=2000, labels={"zone": "a"}),
        ClassDefined(SMALL, task_class(2000)),
        ClassDefined(LARGE, select_excluded_tasks),
        ClassDefined(LEAVING, task_class(0, labels=(("app", "new"),))),
        TasksBound("m", SMALL, ("victim",)),
        TasksSubmitted(LARGE, ("preemptor",), priority=10),
    )
    assert close_after(core, TasksBound("m", LEAVING, ("came",), priority=20)).deltas == ()


def test_an_eviction_that_nobody_needs_any_more_is_withdrawn():
    core = crowded()
    core.run_round()
    core.apply([machine("new", cpu=3000)])
    result = core.run_round()
    assert [(each.uid, each.machine) for each in result.deltas if each.withdrawn] == [("victim", "m")]
    assert {each.uid: each.machine for each in result.deltas if not each.withdrawn} == {"preemptor": "new"}
