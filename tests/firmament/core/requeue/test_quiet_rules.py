"""Tasks that rules keep waiting sleep until something happens that could help just them."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from firmament.core.events import (
    BindingReport,
    Event,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    HostPort,
    Requirement,
    SpreadRule,
    Taint,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.record_kinds import NAMESPACE_RECORD
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks

WEB, LONER, FOLLOWER, SPREADER, PORT, KEPT_OFF, PLAIN, LEADER = range(1, 9)


def app(name: str) -> TaskSelector:
    return TaskSelector(labels=(Requirement("app", "In", (name,)),))


def labelled(name: str, **content: object) -> TaskClass:
    return task_class(labels=(("app", name),), **content)  # type: ignore[arg-type]  # fields by name


ZONES = {"m0": "a", "m1": "a", "m2": "b"}
CLASSES = {
    WEB: labelled("web"),
    LONER: labelled("loner", anti_affinity=(TaskTerm("zone", app("web")),)),
    FOLLOWER: labelled("follower", affinity=(TaskTerm("zone", app("leader")),)),
    SPREADER: labelled(
        "spreader", spread=(SpreadRule("zone", app("spreader"), 1, required=True),), machine="m0"
    ),
    PORT: labelled("port", ports=(HostPort(80),), machine="m0"),
    KEPT_OFF: labelled("kept-off"),
    PLAIN: labelled("plain"),
    LEADER: labelled("leader"),
    20: labelled("guard", anti_affinity=(TaskTerm("zone", app("kept-off")),)),
}
WAITING = {"loner": LONER, "follower": FOLLOWER, "spreader": SPREADER, "port": PORT, "kept-off": KEPT_OFF}


def zoned(name: str, **more: object) -> Event:
    return machine(name, labels={"zone": ZONES[name]}, **more)  # type: ignore[arg-type]  # fields by name


@pytest.fixture
def core() -> Scheduler:
    """Three machines with plenty of room, and one waiting task per kind of rule, each refused everywhere."""
    made = scheduler(
        *(zoned(name) for name in ZONES),
        *(tasks(number, content=content) for number, content in CLASSES.items()),
        TasksBound("m0", WEB, ("web-a",)),
        TasksBound("m2", WEB, ("web-b",)),
        TasksBound("m1", SPREADER, ("spread-a",)),
        TasksBound("m0", PORT, ("port-0",)),
        TasksBound("m1", 20, ("guard-a",)),
        TasksBound("m2", 20, ("guard-b",)),
        TasksBound("m1", PLAIN, ("plain-1",)),
        *(TasksSubmitted(number, (uid,)) for uid, number in WAITING.items()),
    )
    result = made.run_round()
    assert result.deltas == ()
    assert set(messages(result)) == set(WAITING)
    assert made.next_round_in() is None
    return made


IRRELEVANT: dict[str, tuple[Event, ...]] = {
    "a task that no rule looks at goes": (TaskRemoved("plain-1"),),
    "one comes": (TasksBound("m2", PLAIN, ("more",)),),
    "more room": (zoned("m1", cpu=64_000),),
    "the same machine again": (zoned("m2"),),
    "a machine where all are refused as well": (machine("m3", labels={"zone": "a"}),),
    "a waiting task goes": (TaskRemoved("loner"),),
}


@pytest.mark.parametrize("events", IRRELEVANT.values(), ids=IRRELEVANT)
def test_what_helps_nobody_causes_no_round(core: Scheduler, events: tuple[Event, ...]):
    core.apply(events)
    assert core.next_round_in() is None


HELPFUL: dict[str, tuple[tuple[Event, ...], dict[str, str]]] = {
    "whom it avoids is gone": ((TaskRemoved("web-b"),), {"loner": "m2"}),
    "whom it wants to be near comes": ((TasksBound("m2", LEADER, ("lead",)),), {"follower": "m2"}),
    "the emptiest zone fills": ((TasksBound("m2", SPREADER, ("spread-b",)),), {"spreader": "m0"}),
    "its own zone empties": ((TaskRemoved("spread-a"),), {"spreader": "m0"}),
    "the port comes free": ((TaskRemoved("port-0"),), {"port": "m0"}),
    "who keeps it off is gone": ((TaskRemoved("guard-b"),), {"kept-off": "m2"}),
    "the emptiest zone is gone": ((MachineRemoved("m2"),), {"spreader": "m0"}),
    "it is in no zone any more": ((machine("m2"),), {"kept-off": "m2", "spreader": "m0", "loner": "m2"}),
}


@pytest.mark.parametrize(("events", "expected"), HELPFUL.values(), ids=HELPFUL)
def test_what_helps_wakes_those_it_helps(core: Scheduler, events: Iterable[Event], expected: dict[str, str]):
    core.apply(list(events))
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == expected
    assert core.next_round_in() is None


def test_a_leader_that_a_round_places_wakes_its_followers(core: Scheduler):
    core.apply([TasksSubmitted(LEADER, ("lead",))])
    assert placed(core.run_round()).keys() == {"lead"}
    assert core.next_round_in() == 0
    (delta,) = core.run_round().deltas
    assert delta.uid == "follower"
    assert delta.depends_on == ("lead",)
    assert core.next_round_in() is None


def test_a_binding_that_fails_wakes_whom_the_task_kept_off(core: Scheduler):
    core.apply([TaskRemoved("guard-b")])
    assert placed(core.run_round()) == {"kept-off": "m2"}
    guard = labelled("guard", anti_affinity=CLASSES[20].anti_affinity, machine="m2")
    core.apply(tasks(21, "guard-c", content=guard))
    assert core.run_round().deltas == ()
    assert core.next_round_in() is None
    core.report([BindingReport("kept-off", "m2", bound=False, retry=False)])
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == {"guard-c": "m2"}
    assert core.next_round_in() is None


def test_labels_of_a_namespace_wake_those_that_select_by_them():
    term = TaskTerm("zone", TaskSelector(namespace_labels=(Requirement("team", "In", ("x",)),)))
    core = scheduler(
        zoned("m0"),
        tasks(1, content=task_class(namespace="n")),
        TasksBound("m0", 1, ("there",)),
        tasks(2, "follower", content=task_class(namespace="own", affinity=(term,))),
        tasks(3, "huge", content=task_class(cpu=99_000)),
    )
    assert core.run_round().deltas == ()
    assert core.next_round_in() is None
    core.apply([RecordUpserted(NAMESPACE_RECORD, "other", _labels(team="x"))])
    assert core.next_round_in() == 0  # it may have
    assert core.run_round().stats.tasks == 1  # but not for the one that no rule binds
    core.apply([RecordUpserted(NAMESPACE_RECORD, "n", _labels(team="x"))])
    assert placed(core.run_round()) == {"follower": "m0"}


def test_machines_that_change_wake_no_task_without_rules_because_others_have_some(core: Scheduler):
    core.apply(tasks(30, "huge", content=task_class(cpu=99_000)))
    core.run_round()
    core.apply([zoned("m1", taints=(Taint("old", "", "NoSchedule"),)), MachineRemoved("m0")])
    assert core.next_round_in() == 0  # domains have changed for those with rules
    assert "huge" not in {uid for group in core.run_round().unscheduled for uid in group.uids}
    assert core.next_round_in() is None


def _labels(**labels: str) -> bytes:
    return json.dumps({"labels": labels}).encode()
