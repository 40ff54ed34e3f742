"""Evicting for the sake of zones: who comes is never refused by the kubelet, wherever the others were."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.numa.numa_fit import NumaFit
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine
from firmament.core.results import DeltaKind, RoundResult
from tests.cost_models.numa.builders import KIND, asks, payload, task_class, zone
from tests.cost_models.numa.kubelet import Amounts, Kubelet, added
from tests.support.core import scheduler
from tests.support.effort import examples

GPU = "example.com/gpu"
LOW, HIGH = 0, 100


@dataclass
class Running:
    """A pod that a kubelet has admitted: what it asks for, and what it has of each zone."""

    node: str
    number: int
    zones: list[tuple[int, Amounts]]


@dataclass
class Scene:
    """Nodes full of pods that a record counts, whose zones nobody but the kubelet knows."""

    kubelets: dict[str, Kubelet]
    classes: list[list[Amounts]]
    arguments: dict[str, object] = field(default_factory=lambda: {"preemptionMode": "Enabled"})
    others: tuple[WeightedModel, ...] = ()
    with_sidecar: frozenset[int] = frozenset()
    """Classes whose first container is a sidecar."""

    def __post_init__(self) -> None:
        overlay = WeightedModel(NumaFit(**self.arguments), 1)
        machines = [
            MachineUpserted(Machine(name, {"pods": 110, **added(list(kubelet.total.values()))}))
            for name, kubelet in self.kubelets.items()
        ]
        classes = [
            ClassDefined(number + 1, described(each, sidecar=number in self.with_sidecar))
            for number, each in enumerate(self.classes)
        ]
        self.scheduler = scheduler(machines, classes, overlays=[overlay, *self.others])
        self.running: dict[str, Running] = {}

    def run(self, node: str, number: int, uid: str) -> bool:
        """Let a kubelet admit a pod; whether it does."""
        kubelet = self.kubelets[node]
        before = {zone: dict(amounts) for zone, amounts in kubelet.free.items()}
        if not kubelet.admit(self.classes[number]):
            return False
        taken = [
            (zone, {name: amount - kubelet.free[zone][name] for name, amount in amounts.items()})
            for zone, amounts in before.items()
        ]
        self.running[uid] = Running(node, number, taken)
        return True

    def end(self, uid: str) -> None:
        """Let a pod end."""
        gone = self.running.pop(uid)
        for number, amounts in gone.zones:
            for name, amount in amounts.items():
                self.kubelets[gone.node].free[number][name] += amount

    def fill(self, pods: list[tuple[str, int]], priority: int = LOW) -> None:
        """Run pods, as many as the kubelets admit."""
        for node, number in pods:
            uid = f"low{len(self.running)}"
            if self.run(node, number, uid):
                self.scheduler.apply([TasksBound(node, number + 1, (uid,), priority=priority)])

    def report(self) -> None:
        self.scheduler.apply([self.record(name) for name in self.kubelets])

    def record(self, name: str) -> RecordUpserted:
        kubelet = self.kubelets[name]
        zones = [
            zone(number, kubelet.free[number], capacity=total, allocatable=total)
            for number, total in kubelet.total.items()
        ]
        return RecordUpserted(KIND, name, payload(*zones, policy=kubelet.policy, scope=kubelet.scope))

    def submit(self, number: int, *uids: str) -> None:
        self.scheduler.apply([TasksSubmitted(number + 1, uids, priority=HIGH)])

    def carry_out(self, result: RoundResult) -> int:
        """Evict, bind in order, and hold every placement against its kubelet; returns how many came for others."""
        for delta in result.deltas:
            if delta.kind == DeltaKind.PREEMPT:
                self.end(delta.uid)
                self.scheduler.apply([TaskRemoved(delta.uid)])
        came = 0
        for delta in result.deltas:
            if delta.kind != DeltaKind.PLACE:
                continue
            number = self.number_of(delta.uid)
            assert self.run(delta.machine, number, delta.uid), (
                f"{delta.machine} refuses {self.classes[number]}"
            )
            self.scheduler.report([BindingReport(delta.uid, delta.machine, bound=True)])
            came += any(uid.startswith("low") for uid in delta.depends_on)
        return came

    def number_of(self, uid: str) -> int:
        return int(uid.split("-")[1])


def described(containers: list[Amounts], *, sidecar: bool = False):
    return task_class(
        *(
            asks(
                f"c{index}",
                "sidecar" if sidecar and index == 0 and len(containers) > 1 else "app",
                **{"gpu" if name == GPU else name: amount for name, amount in each.items() if amount},
            )
            for index, each in enumerate(containers)
        )
    )


def containers(most_cpu: int):
    one = st.builds(
        lambda cpu, memory, gpu: {"cpu": 1000 * cpu, "memory": memory, GPU: gpu},
        st.integers(1, most_cpu),
        st.integers(1, 6),
        st.sampled_from([0, 0, 1, 2]),
    )
    return st.lists(one, min_size=1, max_size=2)


@st.composite
def scenes(draw):
    kubelets = {}
    for index in range(draw(st.integers(1, 2))):
        total = {
            number: {"cpu": 1000 * draw(st.integers(2, 8)), "memory": draw(st.integers(6, 16)), GPU: 2}
            for number in range(draw(st.integers(1, 3)))
        }
        kubelets[f"n{index}"] = Kubelet(
            "single-numa-node", draw(st.sampled_from(["container", "pod"])), total
        )
    small = draw(st.lists(containers(3), min_size=1, max_size=3))
    large = draw(st.lists(containers(8), min_size=1, max_size=2))
    pods = draw(
        st.lists(
            st.tuples(st.sampled_from(sorted(kubelets)), st.integers(0, len(small) - 1)),
            min_size=2,
            max_size=9,
        )
    )
    with_sidecar = draw(st.frozensets(st.integers(0, len(small) - 1)))
    return Scene(kubelets, small + large, with_sidecar=with_sidecar), pods, len(small)


@settings(max_examples=examples(120, slow=True))
@given(scenes(), st.data())
def test_who_comes_for_others_is_never_refused(drawn, data):
    scene, pods, first = drawn
    scene.fill(pods)
    ended = data.draw(st.lists(st.sampled_from(sorted(scene.running) or ["none"]), max_size=2, unique=True))
    scene.report()
    for uid in ended:  # the record does not know yet
        if uid in scene.running:
            scene.end(uid)
            scene.scheduler.apply([TaskRemoved(uid)])
    for turn in range(3):
        for number in range(first, len(scene.classes)):
            scene.submit(number, f"high-{number}-{turn}")
        scene.carry_out(scene.scheduler.run_round())
        if data.draw(st.booleans()):
            scene.report()


def halves() -> Scene:
    """One node of two zones, each with half of it taken by one pod, and the other half by another."""
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 2000}], [{"cpu": 4000}]])
    scene.fill([("a", 0), ("a", 0), ("a", 0), ("a", 0)])
    scene.report()
    return scene


def test_a_whole_zone_is_freed():
    scene = halves()
    scene.submit(1, "high-1-0")
    result = scene.scheduler.run_round()
    # Two of four would do if they shared a zone; any three do for certain.
    assert [delta.kind for delta in result.deltas] == [DeltaKind.PREEMPT] * 3 + [DeltaKind.PLACE]
    assert scene.carry_out(result) == 1


@pytest.mark.parametrize("sidecars", ["upstream", "kubelet"])
@pytest.mark.parametrize("scope", ["container", "pod"])
def test_what_sidecars_hold_is_freed(scope, sidecars):
    """Whatever new pods' sidecars are taken for. Each of two zones is full of one pod."""
    kubelet = Kubelet("single-numa-node", scope, {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    arguments = {"preemptionMode": "Enabled", "sidecars": sidecars}
    classes = [[{"cpu": 3000}, {"cpu": 1000}], [{"cpu": 4000}]]
    scene = Scene({"a": kubelet}, classes, arguments, with_sidecar=frozenset({0}))
    scene.fill([("a", 0), ("a", 0)])
    scene.report()
    scene.submit(1, "high-1-0")
    assert scene.carry_out(scene.scheduler.run_round()) == 1


@pytest.mark.parametrize("mode", ["Disabled", None])
def test_nobody_is_evicted_for_a_zone_unless_asked_for(mode):
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    scene = Scene(
        {"a": kubelet}, [[{"cpu": 2000}], [{"cpu": 4000}]], {"preemptionMode": mode} if mode else {}
    )
    scene.fill([("a", 0)] * 4)
    scene.report()
    scene.submit(1, "high-1-0")
    assert not scene.scheduler.run_round().deltas


def test_the_zone_of_a_pod_that_nobody_else_could_have_is_known():
    total = {0: {"cpu": 4000, GPU: 1}, 1: {"cpu": 4000, GPU: 0}}
    kubelet = Kubelet("single-numa-node", "container", total)
    scene = Scene({"a": kubelet}, [[{"cpu": 1000, GPU: 1}], [{"cpu": 4000}], [{"cpu": 3000, GPU: 1}]])
    scene.fill([("a", 0), ("a", 1)])
    scene.report()
    scene.submit(2, "high-2-0")
    result = scene.scheduler.run_round()
    evicted = [delta.uid for delta in result.deltas if delta.kind == DeltaKind.PREEMPT]
    assert evicted == ["low0"]
    assert scene.carry_out(result) == 1


def test_a_machine_takes_no_more_until_a_record_counts_who_came_for_others():
    total = {0: {"cpu": 4000, "memory": 8, GPU: 1}, 1: {"cpu": 4000, "memory": 8, GPU: 0}}
    kubelet = Kubelet("single-numa-node", "container", total)
    goes, stays = {"cpu": 2000, "memory": 1, GPU: 1}, {"cpu": 3000, "memory": 8}
    comes, later = {"cpu": 4000, "memory": 1}, {"cpu": 1000, "memory": 3}
    scene = Scene({"a": kubelet}, [[goes], [stays], [comes], [later], [{"cpu": 1000}]])
    scene.fill([("a", 0)])
    scene.fill([("a", 1)], priority=HIGH)
    scene.report()
    scene.submit(2, "high-2-0")
    assert scene.carry_out(scene.scheduler.run_round()) == 1
    # There is a core in one zone and memory in the other; the record still has both in the first.
    scene.submit(3, "high-3-0")
    scene.submit(4, "high-4-0")
    assert not scene.scheduler.run_round().deltas
    scene.report()
    assert scene.carry_out(scene.scheduler.run_round()) == 0
    assert "high-4-0" in scene.running
    assert "high-3-0" not in scene.running


def test_a_record_that_comes_while_someone_waits_does_not_count_it():
    scene = halves()
    scene.submit(1, "high-1-0")
    result = scene.scheduler.run_round()
    scene.report()
    scene.submit(0, "high-0-1")
    assert not scene.scheduler.run_round().deltas
    scene.carry_out(result)
    assert not scene.scheduler.run_round().deltas


def test_two_who_come_for_others_go_to_different_machines():
    kubelets = {
        name: Kubelet("single-numa-node", "pod", {0: {"cpu": 4000}, 1: {"cpu": 4000}}) for name in "ab"
    }
    scene = Scene(kubelets, [[{"cpu": 4000}], [{"cpu": 3000}]])
    scene.fill([("a", 0), ("a", 0), ("b", 0), ("b", 0)])
    scene.report()
    scene.submit(1, "high-1-0", "high-1-1")
    result = scene.scheduler.run_round()
    assert {delta.machine for delta in result.deltas if delta.kind == DeltaKind.PLACE} == {"a", "b"}
    assert scene.carry_out(result) == 2


def test_tasks_of_which_the_record_knows_nothing_keep_a_machine_closed():
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 2000}], [{"cpu": 4000}]])
    scene.report()
    scene.fill([("a", 0), ("a", 0)])
    scene.submit(1, "high-1-0")
    assert not scene.scheduler.run_round().deltas


def test_nobody_of_a_gang_goes_for_a_zone():
    """Two zones of two halves each: a gang has two of these, and who comes needs a whole zone."""
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 2000}], [{"cpu": 4000}]])
    scene.scheduler.apply([JobDefined(Job("g", min_members=2))])
    for index in range(4):
        uid = f"low{index}"
        assert scene.run("a", 0, uid)
        job = "g" if index < 2 else ""
        scene.scheduler.apply([TasksBound("a", 1, (uid,), priority=LOW, job=job)])
    scene.report()
    scene.submit(1, "high-1-0")
    assert not scene.scheduler.run_round().deltas
