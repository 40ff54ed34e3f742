"""A round's placements are checked against what came while it was solved: room, promises, gangs, trees, and order."""

from __future__ import annotations

import json

import pytest

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Taint, TaskClass, Toleration
from tests.cost_models.numa.builders import asks, machine_events, payload, zone
from tests.cost_models.numa.builders import task_class as aligned
from tests.firmament.core.commit.test_during_solve import placed_after
from tests.firmament.core.filters.test_foreign_nominations import nominated
from tests.firmament.core.rules.gangs.test_trees_of_groups import RACK, group, racks, tree
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids


def test_a_task_that_comes_in_the_row_of_one_that_went_is_not_taken_for_it():
    core = scheduler(machine("m"), tasks(1, "gone"))
    assert placed_after(core, TaskRemoved("gone"), TasksSubmitted(1, ("new",))) == {}
    assert placed(core.run_round()) == {"new": "m"}


@pytest.mark.parametrize(("kept", "count"), [(4, 0), (3, 1), (2, 2), (1, 2)])
def test_room_that_another_scheduler_has_claimed_meanwhile_is_not_given_away(kept: int, count: int):
    core = scheduler(machine("m", cpu=4), tasks(1, "a", "b", content=task_class(cpu=1)))
    assert len(placed_after(core, nominated("theirs", "m", cpu=kept, priority=5))) == count


@pytest.mark.parametrize(("taken", "count"), [(0, 3), (1, 3), (2, 2), (3, 1), (4, 0)])
@pytest.mark.parametrize("memory", [1, 9], ids=["", "memory overcommitted"])
def test_of_several_on_a_machine_that_has_less_room_now_as_many_go_as_fit(
    taken: int, count: int, memory: int
):
    """None of them asks for memory, of which the machine has 8 bytes."""
    core = scheduler(machine("m", cpu=4, memory=8), tasks(1, *uids("t", 3), content=task_class(cpu=1)))
    core.apply([ClassDefined(2, task_class(cpu=taken, memory=memory))])
    found = placed_after(core, TasksBound("m", 2, ("foreign",)))
    assert found == dict.fromkeys(uids("t", 3)[:count], "m")


@pytest.mark.parametrize(("need", "count"), [(3, 0), (2, 2), (1, 2)])
def test_a_gang_keeps_its_places_if_they_suffice_for_what_it_needs_now(need: int, count: int):
    core = scheduler(
        *(machine(name, cpu=100) for name in ("m", "n", "o")),
        ClassDefined(1, task_class()),
        JobDefined(Job("g", min_members=3)),
        TasksSubmitted(1, uids("t", 3), job="g"),
    )
    assert len(placed_after(core, MachineRemoved("n"), JobDefined(Job("g", min_members=need)))) == count


def test_what_was_decided_for_a_tree_of_groups_takes_effect_as_a_whole():
    """One task would do for its group, but both were placed with each other in mind."""
    groups = (group("root", "", 1), group("a", "root", 1, RACK))
    core = scheduler([*racks(2), *tree(groups, {"a": 2}), ClassDefined(9, task_class(cpu=1))])
    assert placed_after(core, TasksBound("m-0-1", 9, ("foreign",))) == {}
    assert set(placed(core.run_round()).values()) == {"m-0-0"}


@pytest.mark.parametrize(("least", "count"), [(3, 3), (2, 0)])
def test_a_group_with_rules_over_a_tree_comes_in_the_number_that_it_needs_or_not(least: int, count: int):
    names = ("m", "n", "o", "p")
    leaves = {"name": "tree", "levels": ["node"], "tree": {name: {} for name in names}}
    ruled = json.dumps({"group": "g", "constraints": {"node": {"maxPerDomain": 1}}}).encode()
    core = scheduler(
        *(machine(name) for name in names),
        RecordUpserted(TREE_RECORD, "tree", json.dumps(leaves).encode()),
        RecordUpserted(GROUP_RECORD, "g", ruled),
        ClassDefined(1, task_class()),
        JobDefined(Job("g", min_members=3, size=3)),
        TasksSubmitted(1, uids("t", 3), job="g"),
        overlays=[WeightedModel(load_model("topology", {}))],
    )
    assert len(placed_after(core, JobDefined(Job("g", min_members=least, size=3)))) == count


@pytest.mark.parametrize(("where", "expected"), [("m", {}), ("n", {"a": "m"})])
def test_who_must_reach_its_machine_in_order_does_not_come_behind_a_stranger(
    where: str, expected: dict[str, str]
):
    """The kubelet aligns tasks in the order in which they come, so another one before may leave other zones."""
    one_zone = payload(zone(0, {"cpu": 8_000, "memory": 2**34}), zone(1, {"cpu": 8_000, "memory": 2**34}))
    events: list[Event] = [
        *machine_events("m", one_zone, cpu=16_000, memory=2**35),
        machine("n", cpu=1),
        ClassDefined(2, TaskClass()),
    ]
    core = scheduler(
        events,
        tasks(1, "a", content=aligned(asks("c", cpu=1_000, memory=2**30))),
        overlays=[WeightedModel(load_model("numa_fit", {"missingTopology": "refuse"}))],
    )
    assert placed_after(core, TasksBound(where, 2, ("foreign",))) == expected


def test_a_machine_may_be_closed_meanwhile_to_some_classes_and_not_to_others():
    taint = Taint("team", "x", "NoSchedule")
    tolerant = task_class(tolerations=(Toleration("team", "Exists"),))
    core = scheduler(machine("m"), tasks(1, "a"), tasks(2, "b", content=tolerant), tasks(3, "c"))
    assert placed_after(core, machine("m", taints=[taint])) == {"b": "m"}
    assert core.counts().pending == 2


def test_room_that_is_left_by_who_could_not_come_is_offered_to_others():
    """The large task goes before the round is closed; the small one, which found no place beside it, comes next."""
    core = scheduler(
        machine("m", cpu=4),
        tasks(1, "large", content=task_class(cpu=4), priority=5),
        tasks(2, "small", content=task_class(cpu=3)),
    )
    assert placed_after(core, TaskRemoved("large")) == {}
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}
