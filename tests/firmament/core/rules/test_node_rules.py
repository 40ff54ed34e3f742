"""What each rule about machines says of them, one rule at a time: refusals, costs, checks, cures, machines as new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.changes import ChangedMachine, CureKind, CureProposal
from firmament.core.events import Event
from firmament.core.intake.events import apply_events
from firmament.core.model import (
    Image,
    Machine,
    NewStorage,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    StorageRoom,
    Taint,
    TaskClass,
    Toleration,
    VolumeRule,
)
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import NodeRule
from firmament.core.rules.framework.work import count_checks_of_selectors, count_checks_of_terms
from firmament.core.rules.image_locality import ImageLocality
from firmament.core.rules.node_affinity import NodeAffinity, find_selected, mark_selected
from firmament.core.rules.node_name import NodeName, list_pin_refusals, list_pinned_rows
from firmament.core.rules.node_unschedulable import NodeReady, NodeUnschedulable, cordon, find_open
from firmament.core.rules.taint_toleration import TaintToleration, add_taint, find_tolerated, mark_tolerated
from firmament.core.rules.volumes.node_volumes import (
    ELSEWHERE,
    NodeDeclaredFeatures,
    VolumeBinding,
    VolumeRestrictions,
)
from firmament.core.rules.volumes.storage_capacity import StorageCapacity
from firmament.core.selectors.label_columns import HOSTNAME
from firmament.core.selectors.taints import CORDON_TAINT
from firmament.core.state.cluster import Cluster
from tests.support.core import GIB, machine, task_class
from tests.support.rules import app

MIB = 2**20
DEDICATED = Taint("dedicated", "batch", "NoSchedule")
EVICTING = Taint("broken", "", "NoExecute")
SPOT = Taint("spot", "yes", "PreferNoSchedule")


def cluster(*events: Event | Machine) -> Cluster:
    made = Cluster()
    given = [machine_event(each) if isinstance(each, Machine) else each for each in events]
    apply_events(made, given, 0.0)
    return made


def machine_event(described: Machine) -> Event:
    event = machine(described.name)
    return replace(event, machine=described)


def refused(rule: NodeRule, made: Cluster, content: TaskClass) -> list[tuple[Cause, list[str]]]:
    """Causes with the names of the machines that are refused."""
    names = np.array(made.machines.names)
    return [(cause, names[rows].tolist()) for cause, rows in rule.refusals(made.machines, content)]


def points(rule: NodeRule, made: Cluster, content: TaskClass, *feasible: bool) -> list[float] | None:
    rows = np.array(feasible or [True] * len(made.machines), dtype=np.bool_)
    cost = rule.score(made.machines, content, rows)
    return None if cost is None else cost.points.tolist()


def steps(proposals: Sequence[CureProposal]) -> list[list[tuple[CureKind, str]]]:
    return [[(step.kind, step.subject) for step in each.steps] for each in proposals]


# --- NodeUnschedulable, NodeReady ------------------------------------------------------------------------------------

TOLERATES_CORDON = task_class(tolerations=(Toleration(CORDON_TAINT.key, "Exists"),))
TOLERATES_NOT_READY = task_class(tolerations=(Toleration("node.kubernetes.io/not-ready", "Exists"),))


def test_cordoned_machines_are_refused_unless_that_is_tolerated():
    made = cluster(machine("a"), machine("b", cordoned=True), machine("c", not_ready=True))
    assert refused(NodeUnschedulable(), made, task_class()) == [(Cause(Reason.CORDONED), ["b"])]
    assert refused(NodeUnschedulable(), made, TOLERATES_CORDON) == []
    assert refused(NodeUnschedulable(), made, TOLERATES_NOT_READY) == [(Cause(Reason.CORDONED), ["b"])]


def test_machines_that_are_not_ready_are_refused_unless_that_is_tolerated():
    made = cluster(machine("a"), machine("b", cordoned=True), machine("c", not_ready=True))
    assert refused(NodeReady(), made, task_class()) == [(Cause(Reason.NOT_READY), ["c"])]
    assert refused(NodeReady(), made, TOLERATES_NOT_READY) == []
    assert refused(NodeReady(), made, TOLERATES_CORDON) == [(Cause(Reason.NOT_READY), ["c"])]


def test_open_machines_are_neither_cordoned_nor_unready():
    made = cluster(
        machine("a"),
        machine("b", cordoned=True),
        machine("c", not_ready=True),
        machine("d", cordoned=True, not_ready=True),
    )
    assert find_open(made.machines).tolist() == [True, False, False, False]


@pytest.mark.parametrize("rule", [NodeUnschedulable(), NodeReady()], ids=lambda rule: rule.name)
def test_tasks_that_run_may_stay_whatever_becomes_of_their_machine(rule: NodeRule):
    assert not rule.binds_running
    assert NodeAffinity().binds_running


def test_an_uncordoned_machine_is_the_cure_of_a_cordon():
    spec = Machine("a", {"cpu": 1}, labels={"x": "y"}, unschedulable=True)
    content = task_class()
    (proposal,) = NodeUnschedulable().cures(ChangedMachine(content, spec, {}))
    assert [(step.kind, step.machine) for step in proposal.steps] == [(CureKind.UNCORDON, "a")]
    assert proposal.change.machine == replace(spec, unschedulable=False)
    assert proposal.change.content == content
    assert NodeUnschedulable().as_new(spec) == replace(spec, unschedulable=False)
    assert NodeReady().cures(ChangedMachine(content, spec, {})) is None


def test_a_cordon_adds_its_taint_once():
    spec = Machine("a", {}, taints=(DEDICATED,))
    once = cordon(spec)
    assert once == replace(spec, unschedulable=True, taints=(DEDICATED, CORDON_TAINT))
    assert cordon(once) == once


# --- TaintToleration -------------------------------------------------------------------------------------------------


def test_the_first_hard_taint_that_is_not_tolerated_is_the_cause():
    made = cluster(
        machine("plain"),
        machine("soft", taints=[SPOT]),
        machine("both", taints=[SPOT, DEDICATED, EVICTING]),
        machine("evicting", taints=[EVICTING]),
    )
    dedicated = Cause(Reason.UNTOLERATED, "{dedicated: batch}")
    broken = Cause(Reason.UNTOLERATED, "{broken: }")
    rule = TaintToleration()
    assert refused(rule, made, task_class()) == [(dedicated, ["both"]), (broken, ["evicting"])]
    tolerant = task_class(tolerations=(Toleration("dedicated", "Exists"),))
    assert refused(rule, made, tolerant) == [(broken, ["both", "evicting"])]
    assert find_tolerated(made.machines, tolerant).tolist() == [True, True, False, False]
    assert mark_tolerated(tolerant) != mark_tolerated(task_class())


def test_answers_about_taints_are_kept_until_machines_change():
    made = cluster(machine("a", taints=[DEDICATED]))
    rule = TaintToleration()
    first = list(rule.refusals(made.machines, task_class()))
    assert next(iter(rule.refusals(made.machines, task_class()))).refused is first[0].refused
    apply_events(made, [machine("a", taints=[EVICTING]), machine("b")], 0.0)
    assert refused(rule, made, task_class()) == [(Cause(Reason.UNTOLERATED, "{broken: }"), ["a"])]


@pytest.mark.parametrize(
    ("feasible", "expected"),
    [
        ((True, True, True), [0.0, 150.0, 300.0]),  # 3 points of weight for each percent
        ((True, True, False), [0.0, 300.0, 300.0]),
        ((True, False, False), None),
    ],
)
def test_soft_taints_cost_in_proportion_to_the_most_on_a_feasible_machine(feasible, expected):
    made = cluster(
        machine("a"), machine("b", taints=[SPOT]), machine("c", taints=[SPOT, replace(SPOT, key="old")])
    )
    assert points(TaintToleration(), made, task_class(), *feasible) == expected


def test_soft_taints_cost_nothing_where_they_are_tolerated_or_there_are_none():
    made = cluster(machine("a"), machine("b", taints=[SPOT]))
    tolerant = task_class(tolerations=(Toleration("spot", "Exists"),))
    assert points(TaintToleration(), made, tolerant) is None
    assert points(TaintToleration(), cluster(machine("a", taints=[DEDICATED])), task_class()) is None
    cost = TaintToleration().score(made.machines, task_class(), np.ones(2, dtype=np.bool_))
    assert cost is not None
    assert (cost.raw.tolist(), cost.weight) == ([0.0, -1.0], 3)


@pytest.mark.parametrize(
    ("operator", "value", "fault"),
    [
        ("Gt", "5", False),
        ("Lt", "-5", False),
        ("Gt", "", True),
        ("Gt", "five", True),
        ("Lt", "05", True),
        ("Lt", "+5", True),
        ("Equal", "five", False),
        ("Exists", "", False),
    ],
)
def test_tolerations_that_compare_need_integers(operator: str, value: str, fault: bool):
    content = task_class(tolerations=(Toleration("ok", "Exists"), Toleration("size", operator, value)))
    text = f"toleration of 'size' compares with {value!r}, which is no integer"
    assert TaintToleration().find_malformed(content) == (text if fault else "")


@pytest.mark.parametrize(("number", "checks"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2)])
def test_four_tolerations_take_a_check(number: int, checks: int):
    content = task_class(tolerations=(Toleration("a", "Exists"),) * number)
    assert TaintToleration().count_checks(content) == checks


def test_the_cure_of_taints_is_to_tolerate_every_hard_one():
    own = Toleration("x", "Exists")
    spec = Machine("a", {}, taints=(SPOT, DEDICATED, Taint("x", "1", "NoSchedule"), EVICTING))
    (proposal,) = TaintToleration().cures(ChangedMachine(task_class(tolerations=(own,)), spec, {}))
    assert steps([proposal]) == [
        [(CureKind.TOLERATE, "dedicated=batch:NoSchedule"), (CureKind.TOLERATE, "broken:NoExecute")]
    ]
    assert proposal.change.content is not None
    assert proposal.change.content.tolerations == (
        own,
        Toleration("dedicated", "Equal", "batch", "NoSchedule"),
        Toleration("broken", "Exists", "", "NoExecute"),
    )
    assert proposal.change.machine == spec
    assert (
        list(TaintToleration().cures(ChangedMachine(task_class(), Machine("a", {}, taints=(SPOT,)), {})))
        == []
    )


def test_a_taint_is_added_once():
    spec = Machine("a", {}, taints=(SPOT,))
    assert add_taint(spec, SPOT) is spec
    assert add_taint(spec, DEDICATED).taints == (SPOT, DEDICATED)


# --- NodeName --------------------------------------------------------------------------------------------------------


def named(*names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(fields=(Requirement("metadata.name", "In", names),))


def test_machines_outside_the_terms_that_name_some_are_refused():
    made = cluster(machine("a"), machine("b"), machine("c"))
    cause = Cause(Reason.NOT_NAMED)
    assert refused(NodeName(), made, TaskClass(required=(named("a"), named("c", "gone")))) == [(cause, ["b"])]
    unnamed = NodeSelectorTerm((Requirement("x", "Exists"),))
    assert refused(NodeName(), made, TaskClass(required=(named("a"), unnamed))) == []


def local(*hosts: str) -> VolumeRule:
    return VolumeRule((NodeSelectorTerm((Requirement(HOSTNAME, "In", hosts),)),))


@pytest.mark.parametrize(
    ("content", "rows", "causes"),
    [
        (TaskClass(), None, []),
        (TaskClass(machine="b"), [1], [(Cause(Reason.WRONG_NAME), ["a", "c"])]),
        (TaskClass(machine="gone"), [], [(Cause(Reason.WRONG_NAME), ["a", "b", "c"])]),
        (TaskClass(required=(named("c", "a"),)), [0, 2], [(Cause(Reason.NOT_NAMED), ["b"])]),
        (TaskClass(volumes=(local("host-b", "host-c"),)), [1, 2], [(ELSEWHERE, ["a"])]),
        (
            TaskClass(required=(named("a", "b"),), volumes=(local("host-b", "host-c"),)),
            [1],
            [(Cause(Reason.NOT_NAMED), ["c"]), (ELSEWHERE, ["a"])],
        ),
    ],
    ids=["no pins", "by name", "by an unknown name", "by terms", "by volumes", "by both"],
)
def test_pins(content: TaskClass, rows: list[int] | None, causes: list[tuple[Cause, list[str]]]):
    made = cluster(*(machine(name, labels={HOSTNAME: f"host-{name}"}) for name in "abc"))
    row = made.classes.define(1, content)
    found = list_pinned_rows(made, row)
    assert (None if found is None else found.tolist()) == rows
    names = np.array(made.machines.names)
    assert [(cause, names[who].tolist()) for cause, who in list_pin_refusals(made, row)] == causes


# --- NodeAffinity ----------------------------------------------------------------------------------------------------

SSD = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
ZONE_A = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))


def labelled() -> Cluster:
    return cluster(
        machine("fast", labels={"disk": "ssd", "zone": "a"}),
        machine("far", labels={"disk": "ssd", "zone": "b"}),
        machine("bare"),
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TaskClass(), []),
        (TaskClass(node_selector=(("disk", "ssd"),)), [["bare"]]),
        (TaskClass(required=(ZONE_A, SSD)), [["bare"]]),
        (TaskClass(node_selector=(("disk", "ssd"),), required=(ZONE_A,)), [["bare"], ["far", "bare"]]),
    ],
)
def test_selectors_and_terms_refuse_machines_one_after_the_other(
    content: TaskClass, expected: list[list[str]]
):
    made = labelled()
    wanted = [(Cause(Reason.WRONG_LABELS), names) for names in expected]
    assert refused(NodeAffinity(), made, content) == wanted
    left = [name for name in made.machines.names if not any(name in names for names in expected)]
    assert np.array(made.machines.names)[find_selected(made.machines, content)].tolist() == left


def test_what_selectors_read_marks_their_answers():
    marks = {
        mark_selected(TaskClass(**content))
        for content in ({}, {"node_selector": (("a", "b"),)}, {"required": (SSD,)}, {"namespace": "n"})
    }
    assert len(marks) == 3


@pytest.mark.parametrize(
    ("feasible", "expected"),
    [
        ((True, True, True), [0.0, 2 * (100 - 75), 200.0]),
        ((False, True, True), [0.0, 0.0, 200.0]),  # no score is above 100
        ((False, False, True), [200.0, 200.0, 200.0]),
    ],
)
def test_preferred_terms_cost_what_they_do_not_match(feasible: tuple[bool, ...], expected: list[float]):
    content = TaskClass(preferred=(PreferredTerm(3, SSD), PreferredTerm(1, ZONE_A)))
    assert points(NodeAffinity(), labelled(), content, *feasible) == expected


def test_looks_of_selectors_and_terms():
    many = Requirement("x", "In", tuple(f"v{index}" for index in range(50)))
    assert count_checks_of_terms([]) == 0
    assert count_checks_of_terms([SSD, NodeSelectorTerm((many,), (many,))]) == 1 + 2 + 2
    one_less = replace(many, values=many.values[1:])
    assert count_checks_of_terms([NodeSelectorTerm((one_less,))]) == 1
    assert count_checks_of_selectors([]) == 0
    selector = replace(app("a", "b"), namespaces=("n",) * 48)
    assert count_checks_of_selectors([selector]) == 1 + 1
    assert count_checks_of_selectors([replace(selector, namespaces=("n",) * 47)]) == 1
    content = TaskClass(
        node_selector=(("a", "b"), ("c", "d")), required=(SSD, ZONE_A), preferred=(PreferredTerm(1, SSD),)
    )
    assert NodeAffinity().count_checks(content) == 2 + 3


# --- ImageLocality, StorageCapacity ----------------------------------------------------------------------------------


def with_images(name: str, **sizes: int) -> Machine:
    return Machine(name, {"cpu": 1000}, images=tuple(Image((image,), size) for image, size in sizes.items()))


def test_large_images_on_many_machines_make_these_cheaper():
    made = cluster(
        with_images("full", big=1000 * MIB), with_images("same", big=1000 * MIB), with_images("none", x=1)
    )
    cost = ImageLocality().score(made.machines, TaskClass(images=("big",)), np.ones(3, dtype=np.bool_))
    assert cost is not None
    # Two of three machines have it: (1000 * 2 / 3 - 23) / (1000 - 23) of 100 points.
    assert cost.points.tolist() == [35.0, 35.0, 100.0]
    assert (cost.raw.tolist(), cost.weight) == ([65.0, 65.0, 0.0], 1)
    assert (
        ImageLocality().score(made.machines, TaskClass(images=("other",)), np.ones(3, dtype=np.bool_)) is None
    )
    assert refused(ImageLocality(), made, TaskClass(images=("other",))) == []


def storing(name: str, largest: int, capacity: int = 0) -> Machine:
    return Machine(name, {"cpu": 1000}, storage=(StorageRoom("fast", largest, capacity),))


@pytest.mark.parametrize(
    ("largest", "expected"), [(10, ["none"]), (11, ["small", "none"]), (21, ["small", "large", "none"])]
)
def test_machines_need_storage_for_the_largest_new_volume(largest: int, expected: list[str]):
    made = cluster(storing("small", 10), storing("large", 20), Machine("none", {"cpu": 1}))
    content = TaskClass(new_storage=(NewStorage("fast", largest, largest),))
    assert refused(StorageCapacity(), made, content) == [(Cause(Reason.NO_STORAGE), expected)]


def test_every_storage_class_must_have_room():
    made = cluster(storing("a", 10))
    content = TaskClass(new_storage=(NewStorage("fast", 1, 1), NewStorage("slow", 1, 1)))
    assert refused(StorageCapacity(), made, content) == [(Cause(Reason.NO_STORAGE), ["a"])]
    assert StorageCapacity().count_checks(content) == 2


def test_used_capacity_costs():
    made = cluster(storing("a", 10, 100), storing("b", 10, 40), storing("c", 10))
    content = TaskClass(new_storage=(NewStorage("fast", 10, 20),))
    assert points(StorageCapacity(), made, content) == [20.0, 50.0, 100.0]
    assert points(StorageCapacity(), cluster(storing("c", 10)), content) is None


# --- volumes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "volume", "cause"),
    [
        (VolumeBinding(), VolumeRule((SSD,)), Reason.WRONG_VOLUMES),
        (VolumeBinding(), VolumeRule((SSD,), Reason.NO_VOLUME_LEFT.value), Reason.NO_VOLUME_LEFT),
        (
            VolumeRestrictions(),
            VolumeRule((SSD,), Reason.CLAIM_IN_USE.value, in_use=True),
            Reason.CLAIM_IN_USE,
        ),
        (NodeDeclaredFeatures(), VolumeRule((SSD,), Reason.WRONG_FEATURES.value), Reason.WRONG_FEATURES),
    ],
    ids=["affinity", "unclaimed", "in use", "features"],
)
def test_each_stage_has_the_volumes_of_its_own_reasons(rule: NodeRule, volume: VolumeRule, cause: Reason):
    made, content = labelled(), TaskClass(volumes=(volume,))
    for each in (VolumeRestrictions(), VolumeBinding(), NodeDeclaredFeatures()):
        expected = [(Cause(cause), ["bare"])] if type(each) is type(rule) else []
        assert refused(each, made, content) == expected


def test_looks_of_volumes_are_those_of_all_their_terms():
    content = TaskClass(volumes=(VolumeRule((SSD, ZONE_A)), VolumeRule((SSD,), in_use=True)))
    assert VolumeBinding().count_checks(content) == 3


def test_a_new_machine_has_no_volumes():
    spec = Machine(
        "a",
        {"cpu": 1, "attachable-volumes-csi": 5, "available-volumes-local": 2, "memory": GIB},
        attached=("v",),
    )
    offered = {"cpu": 1, "attachable-volumes-csi": 5, "memory": GIB}
    assert VolumeBinding().as_new(spec) == replace(spec, allocatable=offered, attached=())
