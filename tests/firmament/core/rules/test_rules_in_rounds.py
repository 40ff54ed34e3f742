"""Rules between tasks through whole rounds: reasons, who took a place, events during the solve, explanations."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firmament.core.events import (
    Event,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Image, Machine, TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.framework.node_rule import MODEL_NAME
from tests.support.core import (
    machine,
    messages,
    placed,
    scheduler,
    task_class,
    tasks,
    uids,
    without_preemption,
)
from tests.support.rules import near, spread

ZONES = {"m0": "a", "m1": "a", "m2": "b", "m3": ""}
MACHINES = [machine(name, labels={"zone": zone} if zone else {}) for name, zone in ZONES.items()]


def app(name: str, **content: object) -> TaskClass:
    return task_class(labels=(("app", name),), **content)  # type: ignore[arg-type]  # fields by name


GUARD = app("guard", anti_affinity=near("kept-off"))
ALWAYS: list[Event | Sequence[Event]] = [
    tasks(90, content=app("web")),
    tasks(91, content=GUARD),
    tasks(92, content=app("port", ports=(HostPort(80),))),
    TasksBound("m0", 90, ("web",)),
]


# --- reasons ---------------------------------------------------------------------------------------------------------


REASONS: dict[str, tuple[TaskClass, dict[str, int]]] = {
    "near": (app("x", affinity=near("nobody")), {Reason.NOT_NEAR.value: 4}),
    "near one": (app("x", affinity=near("web"), cpu=5000), {"Insufficient cpu": 4}),
    "far": (app("x", anti_affinity=near("web"), machine="m1"), {Reason.TOO_NEAR.value: 1}),
    "spread": (app("web", spread=spread("web"), machine="m1"), {Reason.SKEWED.value: 1}),
    "no domain": (app("x", spread=spread("x"), machine="m3"), {Reason.NO_DOMAIN.value: 1}),
    "kept off": (app("kept-off", machine="m2"), {Reason.KEPT_OFF.value: 1}),
    "port": (app("port", ports=(HostPort(80),), machine="m2"), {Reason.PORTS_TAKEN.value: 1}),
}


@pytest.mark.parametrize(("content", "expected"), REASONS.values(), ids=REASONS)
def test_each_rule_has_its_reason(content: TaskClass, expected: dict[str, int]):
    core = scheduler(
        MACHINES,
        *ALWAYS,
        TasksBound("m2", 91, ("guard",)),
        TasksBound("m2", 92, ("port",)),
        tasks(1, "t", content=content),
    )
    (group,) = core.run_round().unscheduled
    found = dict(group.reasons)
    assert {reason: found.get(reason) for reason in expected} == expected
    assert sum(found.values()) == len(MACHINES)
    explained = {each.machine: each.reasons for each in core.explain("t").machines}
    for reason, count in expected.items():
        assert sum(reason in causes for causes in explained.values()) == count


def test_one_cause_per_machine_in_the_order_of_kube_schedulers_filters():
    """Ports come before a lack of room, room before spread, spread before affinity, affinity before anti-affinity."""
    content = app(
        "web",
        cpu=3000,
        ports=(HostPort(80),),
        spread=spread("web"),
        affinity=near("nobody"),
        anti_affinity=near("web"),
    )
    core = scheduler(
        [
            machine("port", cpu=1000, labels={"zone": "a"}),
            machine("room", cpu=1000, labels={"zone": "a"}),
            machine("spread", labels={"zone": "a"}),
            machine("affinity", labels={"zone": "b"}),
            machine("label"),
        ],
        *ALWAYS[:3],
        TasksBound("spread", 90, ("web",)),
        TasksBound("port", 92, ("port",)),
        tasks(1, "t", content=content),
    )
    causes = {each.machine: each.reasons for each in core.explain("t").machines}
    assert causes == {
        "port": (Reason.PORTS_TAKEN.value,),
        "room": ("Insufficient cpu",),
        "spread": (Reason.SKEWED.value,),
        "affinity": (Reason.NOT_NEAR.value,),
        "label": (Reason.NO_DOMAIN.value,),
    }
    (group,) = core.run_round().unscheduled
    assert dict(group.reasons) == {causes[name][0]: 1 for name in causes}


def test_a_task_that_runs_is_explained_without_itself():
    core = scheduler(MACHINES, tasks(1, content=app("web", anti_affinity=near("web"))))
    core.apply([TasksBound("m0", 1, ("one",)), TasksBound("m2", 1, ("two",))])
    feasible = {each.machine for each in core.explain("one").machines if each.feasible}
    assert feasible == {"m0", "m1", "m3"}


def test_preferences_are_part_of_an_explanation():
    core = scheduler(
        MACHINES, *ALWAYS, tasks(1, "t", content=app("x", preferred_affinity=near("web", weight=10)))
    )
    verdicts = {
        each.machine: model
        for each in core.explain("t").machines
        for model in each.models
        if model.model == MODEL_NAME
    }
    # InterPodAffinity scores 100 in web's zone and 0 elsewhere, with weight 2
    assert {name: each.cost for name, each in verdicts.items()} == {"m0": 0, "m1": 0, "m2": 200, "m3": 200}
    assert {name: each.score for name, each in verdicts.items()} == {"m0": 100, "m1": 100, "m2": 0, "m3": 0}
    assert verdicts["m1"].raw == 10


def test_images_are_part_of_the_costs():
    holds = Image(("big",), 1000 * 2**20)
    full = {"cpu": 4000, "memory": 2**34, "pods": 110}
    core = scheduler(
        MachineUpserted(Machine("a", full)),
        MachineUpserted(Machine("has", full, images=(holds,))),
        tasks(1, "t", content=task_class(images=("big",))),
        policy="trivial",
    )
    assert placed(core.run_round()) == {"t": "has"}


# --- places lost -----------------------------------------------------------------------------------------------------


def test_who_took_the_place_is_told():
    core = scheduler(machine("m", cpu=1000), tasks(1, *uids("t", 12)))
    (group,) = core.run_round().unscheduled
    told = set(group.uids)
    assert len(told) == 2
    assert without_preemption(group.message) == (
        "0/1 nodes are available: 1 Insufficient cpu. m had room until t-9 took it in the same round."
    )


def test_a_place_lost_to_one_by_a_rule():
    core = scheduler(MACHINES[:2], tasks(1, "t0", "t1", content=app("web", anti_affinity=near("web"))))
    result = core.run_round()
    ((winner, where),) = placed(result).items()
    ((_, message),) = messages(result).items()
    assert (
        message == f"0/2 nodes are available: 2 {Reason.TOO_NEAR.value}. "
        f"{where} had room until {winner} took it in the same round."
    )


def test_a_place_lost_to_a_task_on_another_machine():
    apart = near("web")
    core = scheduler(
        MACHINES[:2],
        tasks(1, "winner", content=app("web", anti_affinity=apart, machine="m0"), priority=1),
        tasks(2, "loser", content=app("web", anti_affinity=apart, machine="m1")),
    )
    result = core.run_round()
    assert placed(result) == {"winner": "m0"}
    assert messages(result)["loser"].endswith(" m1 had room until other pods of the same round were placed.")


def test_who_had_no_place_to_begin_with_lost_none():
    core = scheduler(
        MACHINES[:2],
        *ALWAYS,
        tasks(1, "other", content=app("x")),
        tasks(2, "t", content=app("y", anti_affinity=near("web"))),
    )
    assert messages(core.run_round())["t"] == f"0/2 nodes are available: 2 {Reason.TOO_NEAR.value}."


# --- events during the solve -----------------------------------------------------------------------------------------


def test_rules_are_checked_again_if_others_come_during_the_solve():
    core = scheduler(
        MACHINES,
        tasks(90, content=app("web")),
        tasks(1, "loner", content=app("loner", anti_affinity=near("web"), machine="m0")),
        tasks(2, "follower", content=app("follower", affinity=near("lead"), machine="m2")),
        tasks(3, "spread", content=app("spread", spread=spread("spread"), machine="m1")),
        tasks(4, content=app("lead")),
        tasks(5, "port", content=app("port", ports=(HostPort(80),), machine="m3")),
        tasks(6, "free", content=app("free", machine="m3")),
        TasksBound("m2", 4, ("lead",)),
    )
    opened = core.open_round()
    placement = opened.solve()
    assert int(placement.assignments.count.sum()) == 5
    core.apply(
        [
            TasksBound("m1", 90, ("web",)),
            TaskRemoved("lead"),
            TasksBound("m0", 3, ("other",)),
            TasksBound("m3", 5, ("first",)),
        ]
    )
    assert placed(core.close_round(opened, placement)) == {"free": "m3"}
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None


def test_placements_count_for_those_that_are_checked_after_them():
    core = scheduler(
        MACHINES,
        tasks(1, "t0", "t1", content=app("web", anti_affinity=near("web"))),
        tasks(2, "gone", content=app("other", machine="m3")),
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TaskRemoved("gone"), machine("m2", labels={"zone": "a"})])  # all are in zone a or in none
    kept = placed(core.close_round(opened, placement))
    zoned = [name for name in kept.values() if name != "m3"]
    assert len(zoned) <= 1
    core.run_round()
    on_zone_a = [each.machine for each in core.task_states() if each.machine in {"m0", "m1", "m2"}]
    assert len(on_zone_a) == 1


def test_followers_of_a_leader_that_is_gone_wait():
    core = scheduler(
        MACHINES,
        tasks(1, "lead", content=app("lead")),
        tasks(2, *uids("f", 3), content=app("f", affinity=near("lead"))),
    )
    opened = core.open_round()
    placement = opened.solve()
    assert int(placement.assignments.count.sum()) == 4
    core.apply([TaskRemoved("lead")])
    assert placed(core.close_round(opened, placement)) == {}
    assert placed(core.run_round()) == {}
    core.apply([TasksSubmitted(1, ("lead-2",))])
    assert placed(core.run_round()).keys() == {"lead-2"}
    deltas = core.run_round().deltas
    assert {delta.depends_on for delta in deltas} == {("lead-2",)}
    assert len(deltas) == 3


def test_all_machines_gone_during_the_solve():
    core = scheduler(MACHINES, tasks(1, "t", content=app("web", anti_affinity=near("web"))))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([MachineRemoved(name) for name in ZONES])
    assert placed(core.close_round(opened, placement)) == {}
    assert placed(core.run_round()) == {}
    core.apply([MACHINES[2]])
    assert placed(core.run_round()) == {"t": "m2"}


def test_deltas_come_in_an_order_in_which_each_is_valid():
    core = scheduler(
        MACHINES,
        tasks(1, *uids("s", 6), content=app("s", spread=spread("s"))),
        tasks(2, *uids("plain", 4)),
    )
    counts = {"a": 0, "b": 0}
    for delta in core.run_round().deltas:
        if delta.uid.startswith("s-"):
            zone = ZONES[delta.machine]
            assert counts[zone] - min(counts.values()) < 1
            counts[zone] += 1
    assert counts == {"a": 3, "b": 3}
