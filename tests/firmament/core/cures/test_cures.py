"""Every cure is carried out on plain pods and nodes, and an independent checker finds the pod accepted by the node."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firmament.core.changes import CureKind
from firmament.core.configuration import CoreConfiguration
from firmament.core.cures.proposals import Cure
from firmament.core.cures.search import CureFinder, cures_for
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    Job,
    Machine,
    NodeSelectorTerm,
    Requirement,
    Taint,
    TaskClass,
    TaskSelector,
    TaskTerm,
    Toleration,
)
from firmament.core.rescheduling.trials import Trials
from firmament.core.scheduler import Scheduler
from firmament.core.selectors.label_columns import HOSTNAME
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.cures.carrying_out import carried_out
from tests.programs.differential.checker import accepting_nodes
from tests.programs.differential.generate import SMALL, WIDE, case
from tests.programs.differential.translation import Classes, machines, namespaces
from tests.programs.differential.world import Pod
from tests.support.effort import examples

BLOCKS = 2
SEEDS = examples(800, slow=True)


def scheduler() -> Scheduler:
    return Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whoever_is_cured_is_accepted(block: int):
    cured, waiting, kinds = 0, 0, Counter[CureKind]()
    for seed in range(block, SEEDS, BLOCKS):
        made = case(seed, SMALL if seed % 2 else WIDE)
        cluster, classes = made.cluster.copy(), Classes()
        world = [*namespaces(cluster.namespaces), *machines(cluster.nodes.values())]
        running, coming = classes.bound(cluster.pods), classes.submitted(made.waiting)
        first = scheduler()
        first.apply([*world, *running, *coming])
        left = dict(made.waiting)
        for delta in first.run_round().deltas:
            cluster.pods[delta.uid] = Pod(left.pop(delta.uid), delta.machine)
        definitions = [each for each in (*running, *coming) if isinstance(each, ClassDefined)]
        bound = [
            TasksBound(pod.node, classes.number(pod.spec, [], terminating=pod.terminating), (uid,))
            for uid, pod in cluster.pods.items()
        ]
        trials = Trials(scheduler(), [*world, *definitions, *bound])
        one_of_each = {spec.name: (uid, spec) for uid, spec in left.items()}
        for uid, spec in one_of_each.values():
            if accepting_nodes(cluster, spec):
                continue  # it waits for others of the round, not for a cure
            waiting += 1
            task = TasksSubmitted(classes.number(spec, []), (uid,))
            cures = cures_for(trials, task, tries=40, most=5)
            for cure in cures:
                after, changed = carried_out(cure, cluster, spec)
                assert cure.machine in accepting_nodes(after, changed), f"seed {seed}: {uid}: {cure}"
                kinds.update(step.kind for step in cure.steps)
            cured += bool(cures)
    assert cured >= 0.8 * waiting > 5
    assert len(kinds) >= 6


def cures_of(content: TaskClass, *nodes: Machine, bound: TaskClass | None = None, on: str = "a"):
    events: list[Event] = [
        *(MachineUpserted(each) for each in nodes),
        ClassDefined(1, content),
        ClassDefined(2, bound or TaskClass()),
    ]
    if bound is not None:
        events.append(TasksBound(on, 2, ("runs",)))
    return cures_for(Trials(scheduler(), events), TasksSubmitted(1, ("t",)), tries=30, most=5)


def small(name: str, **described: Any) -> Machine:
    return Machine(name, {"cpu": 4000, "pods": 10}, **described)


def test_a_request_is_lowered_to_what_is_free_before_machines_are_changed():
    found = cures_of(TaskClass((("cpu", 6000),)), small("a"), small("b"), bound=TaskClass((("cpu", 1000),)))
    assert [cure.steps[0].kind for cure in found] == [
        CureKind.LOWER_REQUEST,
        CureKind.ENLARGE_MACHINE,
    ]
    assert (found[0].steps[0].before, found[0].steps[0].after, found[0].machine) == (6000, 4000, "b")
    assert (found[1].steps[0].machine, found[1].steps[0].after) == ("b", 6000)


def test_a_machine_more_helps_where_machines_are_large_enough():
    found = cures_of(TaskClass((("cpu", 4000),)), small("a"), bound=TaskClass((("cpu", 1000),)))
    assert CureKind.ADD_MACHINE in {cure.steps[0].kind for cure in found}
    assert {cure.machine for cure in found if cure.steps[0].kind is CureKind.ADD_MACHINE} == {"a-more"}


def test_taints_are_tolerated_and_cordons_taken_away():
    tainted = small("a", taints=(Taint("gpu", "yes", "NoSchedule"), Taint("soft", "", "PreferNoSchedule")))
    found = cures_of(TaskClass(), tainted, small("b", unschedulable=True))
    assert [(cure.steps[0].kind, cure.steps[0].subject, cure.machine) for cure in found] == [
        (CureKind.TOLERATE, "gpu=yes:NoSchedule", "a"),
        (CureKind.UNCORDON, "", "b"),
    ]


def test_a_label_or_an_entry_of_the_selector_less():
    found = cures_of(TaskClass(node_selector=(("disk", "ssd"),)), small("a", labels={"disk": "hdd"}))
    assert [(cure.steps[0].kind, cure.steps[0].subject) for cure in found] == [
        (CureKind.LABEL_MACHINE, "disk"),
        (CureKind.DROP, "nodeSelector disk=ssd"),
    ]
    assert (found[0].steps[0].before, found[0].steps[0].after) == ("hdd", "ssd")


@pytest.mark.parametrize(
    ("wanted", "labels", "after"),
    [
        (("shape", "memroy"), {"shape": "memory"}, "shape=memory"),
        (("shpae", "memory"), {"shape": "memory"}, "shape=memory"),
        (("zone", "a"), {"topology.kubernetes.io/zone": "a"}, "topology.kubernetes.io/zone=a"),
        (("shape", "Memory"), {"shape": "memory"}, "shape=memory"),
    ],
)
def test_a_label_that_nearly_exists_may_be_meant(wanted: tuple[str, str], labels: dict[str, str], after: str):
    of_affinity = TaskClass(required=(NodeSelectorTerm((Requirement(wanted[0], "In", wanted[1:]),)),))
    for content in (TaskClass(node_selector=(wanted,)), of_affinity):
        first = cures_of(content, small("a", labels=labels))[0]
        (step,) = first.steps
        assert (step.kind, step.before, step.after) == (CureKind.CORRECT, "=".join(wanted), after)


def test_a_label_that_some_machine_has_is_meant():
    found = cures_of(
        TaskClass((("cpu", 6000),), node_selector=(("zone", "z1"),)),
        small("a", labels={"zone": "z1"}),
        small("b", labels={"zone": "z2"}),
    )
    assert CureKind.CORRECT not in {step.kind for cure in found for step in cure.steps}


def test_the_term_that_takes_the_fewest_labels_is_met():
    terms = (
        NodeSelectorTerm((Requirement("x", "In", ("1",)), Requirement("y", "Exists"))),
        NodeSelectorTerm((Requirement("z", "DoesNotExist"),)),
    )
    found = cures_of(TaskClass(required=terms), small("a", labels={"z": "1"}))
    assert [(step.subject, step.before, step.after) for step in found[0].steps] == [("z", "1", None)]


def test_several_changes_where_no_single_one_helps():
    machine = small("a", unschedulable=True, taints=(Taint("gpu", "", "NoSchedule"),))
    (cure,) = cures_of(TaskClass((("cpu", 8000),)), machine)
    assert {step.kind for step in cure.steps} == {
        CureKind.UNCORDON,
        CureKind.TOLERATE,
        CureKind.LOWER_REQUEST,
    }


def test_others_move_where_that_makes_room():
    trials = Trials(
        scheduler(),
        [
            MachineUpserted(small("a")),
            MachineUpserted(small("b", taints=(Taint("t", "", "NoSchedule"),))),
            ClassDefined(1, TaskClass((("cpu", 3000),))),
            ClassDefined(2, TaskClass((("cpu", 2000),), tolerations=(Toleration("t", "Exists"),))),
            TasksBound("a", 2, ("runs",)),
        ],
    )
    found = cures_for(trials, TasksSubmitted(1, ("t",)), tries=30, most=10)
    assert [(cure.machine, dict(cure.moves)) for cure in found if cure.steps[0].kind is CureKind.MOVES] == [
        ("a", {"runs": "b"})
    ]


def test_nothing_is_left_changed_and_nothing_tried_beyond_the_limit():
    trials = Trials(scheduler(), [MachineUpserted(small("a")), ClassDefined(1, TaskClass((("cpu", 9000),)))])
    before = list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())
    assert cures_for(trials, TasksSubmitted(1, ("t",)), tries=0, most=5) == ()
    assert len(cures_for(trials, TasksSubmitted(1, ("t",)), tries=1, most=5)) == 1
    assert (list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())) == before


def test_who_could_go_nowhere_whatever_changed_has_no_cure():
    assert cures_of(TaskClass(), small("a", not_ready=True)) == ()


LOCAL, ATTACHABLE = "available-volumes-local-1", "attachable-volumes-csi"


@pytest.mark.parametrize("volume", [LOCAL, ATTACHABLE])
def test_volumes_are_nothing_to_ask_less_of_or_to_add_to_a_machine(volume: str):
    def with_volumes(name: str, count: int) -> Machine:
        return Machine(name, {"cpu": 4000, "pods": 10, volume: count})

    assert cures_of(TaskClass(((volume, 2),)), with_volumes("a", 1), with_volumes("b", 0)) == ()
    both = cures_of(TaskClass((("cpu", 6000), (volume, 2))), with_volumes("a", 1))
    assert both == ()


def test_a_machine_more_has_none_of_the_volumes_of_those_it_is_like():
    machine = Machine("a", {"cpu": 1000, "pods": 10, LOCAL: 1})
    wants = TaskClass((("cpu", 1000), (LOCAL, 1)))
    found = cures_of(wants, machine, bound=TaskClass((("cpu", 500),)))
    assert CureKind.ADD_MACHINE not in {cure.steps[0].kind for cure in found}
    found = cures_of(TaskClass((("cpu", 1000),)), machine, bound=TaskClass((("cpu", 500),)))
    assert CureKind.ADD_MACHINE in {cure.steps[0].kind for cure in found}


def waiting_cures(*machines: Machine, uid: str) -> tuple[Cure, ...]:
    """Cures by itself of one of two tasks that wait, the other of which is more important; one runs on ``a``."""
    events: list[Event] = [
        *(MachineUpserted(each) for each in machines),
        ClassDefined(1, TaskClass((("cpu", 4000),))),
        TasksBound("a", 1, ("runs",)),
        TasksSubmitted(1, ("low",)),
        TasksSubmitted(1, ("high",), priority=5),
    ]
    trials = Trials(scheduler(), events)
    cures = CureFinder(trials, events).cures([uid], tries=30, most=5).get(uid, ())
    return tuple(each for each in cures if not each.together)


def test_what_somebody_else_would_take_is_told_only_if_nothing_else_helps():
    assert {each.rival for each in waiting_cures(small("a"), uid="low")} == {"high"}
    assert {each.rival for each in waiting_cures(small("a"), uid="high")} == {""}
    tainted = small("b", taints=(Taint("gpu", "", "NoSchedule"),))
    (cure,) = waiting_cures(small("a"), tainted, uid="low")
    assert (cure.steps[0].kind, cure.machine, cure.rival) == (CureKind.TOLERATE, "b", "")


def test_others_who_wait_leave_nothing_behind():
    events: list[Event] = [
        MachineUpserted(small("a")),
        ClassDefined(1, TaskClass((("cpu", 4000),))),
        TasksBound("a", 1, ("runs",)),
        TasksSubmitted(1, ("one", "two", "three"), names=("1", "2", "3"), created=(3.0, 1.0, 2.0)),
    ]
    trials = Trials(scheduler(), events)
    before = list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())
    found = CureFinder(trials, events).cures(["one", "two"], tries=30, most=5)
    # They come in the order of their ages.
    assert {each.rival for each in found["one"] if not each.together} == {"two"}
    assert (list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())) == before


def found_together(size: int, *nodes: Machine, least: int = 0, **content: Any) -> dict[CureKind, Cure]:
    """Cures after which all of so many tasks have places, by kind; of a gang if ``least`` says so."""
    uids = tuple(f"t{number}" for number in range(size))
    events: list[Event] = [
        *(MachineUpserted(each) for each in nodes),
        ClassDefined(1, TaskClass((("cpu", 3000),), **content)),
        JobDefined(Job("g", min_members=least)),
        TasksSubmitted(1, uids, job="g" if least else ""),
    ]
    trials = Trials(scheduler(), events)
    before = list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())
    cures = CureFinder(trials, events).cures(uids, tries=30, most=5)["t0"]
    assert (list(trials._scheduler.machine_states()), list(trials._scheduler.task_states())) == before
    return {each.steps[0].kind: each for each in cures if each.together}


def test_a_gang_is_helped_by_less_by_fewer_or_by_more_machines():
    found = found_together(5, small("a"), small("b"), least=5)
    assert list(found) == [CureKind.LOWER_REQUEST, CureKind.FEWER, CureKind.ADD_MACHINE]
    assert {kind: cure.together for kind, cure in found.items()} == {
        CureKind.LOWER_REQUEST: 5,
        CureKind.FEWER: 2,
        CureKind.ADD_MACHINE: 5,
    }
    # Three on one machine of 4000 and two on the other: 1333 each.
    assert found[CureKind.LOWER_REQUEST].steps[0].after == 1333
    assert (found[CureKind.FEWER].steps[0].before, found[CureKind.FEWER].steps[0].after) == (5, 2)
    assert found[CureKind.ADD_MACHINE].steps[0].after == 3


def test_a_whole_workload_is_helped_at_once():
    found = found_together(3, small("a"))
    assert {kind: cure.steps[0].after for kind, cure in found.items()} == {
        CureKind.LOWER_REQUEST: 1333,
        CureKind.ADD_MACHINE: 2,
    }


def test_no_machine_is_added_for_tasks_that_rules_keep_out():
    assert found_together(3, small("a"), node_selector=(("disk", "ssd"),)) == {}


@pytest.mark.parametrize("least", [0, 2])
def test_all_are_helped_by_a_wider_rule(least: int):
    """One has room where the selector leads; without it both have, also as a gang."""
    nodes = small("a", labels={"disk": "ssd"}), small("b")
    cure = found_together(2, *nodes, least=least, node_selector=(("disk", "ssd"),))[CureKind.DROP]
    assert (cure.steps[0].subject, cure.together) == ("nodeSelector disk=ssd", 2)


def test_all_are_helped_by_a_toleration():
    taints = (Taint("dedicated", "batch", "NoSchedule"),)
    found = found_together(2, small("a", taints=taints), small("b", taints=taints), least=2)
    assert [*found] == [CureKind.TOLERATE]
    assert found[CureKind.TOLERATE].steps[0].subject == "dedicated=batch:NoSchedule"
    assert found[CureKind.TOLERATE].together == 2


def test_all_are_helped_where_they_may_stand_together():
    """What keeps them apart is between them: no machine refuses one of them."""
    large = Machine("a", {"cpu": 9000, "pods": 10}, labels={HOSTNAME: "a"})
    apart = (TaskTerm(HOSTNAME, TaskSelector(namespaces=("",))),)
    found = found_together(2, large, least=2, anti_affinity=apart)
    assert found[CureKind.DROP].together == 2


class TestRoomForWhoWaits:
    """Moves after which one of several tasks, or its gang, has a place: "runs" may go from a to b."""

    def finder(self, *more: Event, least: int = 0) -> CureFinder:
        tolerated = (Toleration("t", "Exists"),)
        events: list[Event] = [
            MachineUpserted(small("a")),
            MachineUpserted(small("b", taints=(Taint("t", "", "NoSchedule"),))),
            ClassDefined(1, TaskClass((("cpu", 3000),))),
            ClassDefined(2, TaskClass((("cpu", 2000),), tolerations=tolerated)),
            ClassDefined(3, TaskClass((("cpu", 9000),))),
            JobDefined(Job("g", min_members=least)),
            TasksBound("a", 2, ("runs",)),
            *more,
        ]
        return CureFinder(Trials(scheduler(), events), events)

    def test_of_a_class_the_first_task_that_is_asked_for_gets_it(self):
        finder = self.finder(TasksSubmitted(1, ("t", "u", "v")))
        for asked in (["u", "t"], ["t", "u"]):
            room = finder.find_room(asked, 30)
            assert room is not None
            assert (dict(room.places), dict(room.moves)) == ({asked[0]: "a"}, {"runs": "b"})

    def test_who_cannot_be_helped_is_passed_over(self):
        finder = self.finder(TasksSubmitted(3, ("large",)), TasksSubmitted(1, ("t",)))
        room = finder.find_room(["large", "t"], 30)
        assert room is not None
        assert dict(room.places) == {"t": "a"}
        assert finder.find_room(["large"], 30) is None
        assert finder.find_room(["unknown"], 30) is None

    def test_a_gang_gets_places_for_all_or_none(self):
        one = self.finder(TasksSubmitted(1, ("t",), job="g"), least=2)
        two = self.finder(TasksSubmitted(1, ("t", "u"), job="g"), least=2)
        assert two.find_room(["t"], 30) is None
        assert two.find_room(["u", "t"], 30) is None
        room = one.find_room(["t"], 30)
        assert room is None or dict(room.places) == {"t": "a"}
