"""Volumes that are attached to a machine already, and what that saves those who share them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firmament.core.events import MachineUpserted, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from tests.support.core import messages, placed, scheduler, task_class, tasks

SLOTS = "attachable-volumes-csi-disk"


def node(name: str, *, slots: int, attached: tuple[str, ...] = (), cpu: int = 1_000) -> MachineUpserted:
    allocatable = {"cpu": cpu, "memory": 2**30, "pods": 100, SLOTS: slots}
    return MachineUpserted(Machine(name, allocatable, attached=attached))


def using(*volumes: str, shared: tuple[str, ...] = (), cpu: int = 100, **content: Any) -> TaskClass:
    """A class whose tasks attach ``volumes``, of which those that are ``shared`` may be there already."""
    made = task_class(cpu, **content)
    requests = (*made.requests, (SLOTS, len(volumes)))
    attachments = tuple((SLOTS, volume) for volume in shared)
    return replace(made, requests=requests, attachments=attachments)


def test_a_shared_volume_needs_no_attachment_where_it_is():
    core = scheduler(node("full", slots=0, attached=("v",)), tasks(1, "p", content=using("v", shared=("v",))))
    assert placed(core.run_round()) == {"p": "full"}


def test_elsewhere_it_does():
    core = scheduler(node("full", slots=0, attached=("w",)), tasks(1, "p", content=using("v", shared=("v",))))
    result = core.run_round()
    assert messages(result) == {"p": "0/1 nodes are available: 1 node(s) exceed max volume count."}


def test_it_saves_nothing_to_others_of_the_same_round():
    core = scheduler(
        node("n", slots=1, attached=("v",)),
        tasks(1, "p", "q", content=using("v", shared=("v",))),
        tasks(2, "both", content=using("v", "w", shared=("v",))),
        tasks(3, "other", "another", content=using("x")),
    )
    result = core.run_round()
    assert {"p", "q"} < placed(result).keys()
    assert len(placed(result)) == 3, "one attachment is left, for both, other, or another"


def test_who_waits_for_room_comes_when_there_is_some_beside_its_volume():
    core = scheduler(
        node("n", slots=0, attached=("v",)),
        tasks(1, content=task_class(1_000)),
        tasks(2, "p", content=using("v", shared=("v",))),
    )
    core.apply([TasksBound("n", 1, ("running",))])
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply([TaskRemoved("running")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"p": "n"}


def test_and_when_its_volume_comes_to_a_machine():
    core = scheduler(node("n", slots=0), tasks(2, "p", content=using("v", shared=("v",))))
    assert placed(core.run_round()) == {}
    core.apply([node("n", slots=0, attached=("v",))])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"p": "n"}


def test_events_during_a_round_overturn_it_only_if_the_volume_is_gone():
    for attached, expected in ((("v",), {"p": "n"}), ((), {})):
        core = scheduler(
            node("n", slots=0, attached=("v",)), tasks(2, "p", content=using("v", shared=("v",)))
        )
        opened = core.open_round()
        placement = opened.solve()
        core.apply([node("n", slots=0, attached=attached, cpu=900)])
        assert placed(core.close_round(opened, placement)) == expected


def test_a_preemptor_needs_no_attachment_where_its_volume_is():
    core = scheduler(
        node("n", slots=0, attached=("v",)),
        tasks(1, content=task_class(1_000)),
        tasks(2, content=using("v", shared=("v",))),
    )
    core.apply([TasksBound("n", 1, ("low",)), TasksSubmitted(2, ("p",), priority=5)])
    assert placed(core.run_round()) == {"low": "n", "p": "n"}
