"""No placement is refused by a kubelet, and nothing is left waiting that one would take."""

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
    MachineUpserted,
    RecordUpserted,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.model import Machine
from firmament.core.results import RoundResult
from tests.cost_models.numa.builders import KIND, asks, payload, task_class, zone
from tests.cost_models.numa.kubelet import Amounts, Kubelet, added
from tests.support.core import scheduler
from tests.support.effort import examples

GPU = "example.com/gpu"


@dataclass
class Scene:
    """Nodes with their kubelets, and a scheduler that is told of their zones and nothing more."""

    kubelets: dict[str, Kubelet]
    classes: list[list[Amounts]]
    arguments: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        overlay = WeightedModel(NumaFit(**self.arguments), 1)
        self.scheduler = scheduler(
            [self.machine(name) for name in self.kubelets],
            [self.record(name) for name in self.kubelets],
            [ClassDefined(number + 1, self.described(number)) for number in range(len(self.classes))],
            overlays=[overlay],
        )
        self.class_of: dict[str, int] = {}
        self.used: dict[str, Amounts] = {name: {} for name in self.kubelets}
        self.waiting: set[str] = set()

    def machine(self, name: str) -> MachineUpserted:
        return MachineUpserted(
            Machine(name, {"pods": 110, **added(list(self.kubelets[name].total.values()))})
        )

    def record(self, name: str) -> RecordUpserted:
        kubelet = self.kubelets[name]
        zones = [
            zone(number, kubelet.free[number], capacity=total, allocatable=total)
            for number, total in kubelet.total.items()
        ]
        return RecordUpserted(KIND, name, payload(*zones, policy=kubelet.policy, scope=kubelet.scope))

    def described(self, number: int):
        containers = [
            asks(
                f"c{index}",
                "app",
                **{"gpu" if name == GPU else name: amount for name, amount in each.items() if amount},
            )
            for index, each in enumerate(self.classes[number])
        ]
        return task_class(*containers)

    def submit(self, number: int, count: int) -> None:
        uids = tuple(f"t{len(self.class_of) + index}" for index in range(count))
        if uids:
            self.scheduler.apply([TasksSubmitted(number + 1, uids)])
            self.class_of.update(dict.fromkeys(uids, number))
            self.waiting.update(uids)

    def settle(self) -> None:
        """Run rounds until nothing happens; every placement is bound and goes to its kubelet, in order."""
        while self.scheduler.next_round_in() == 0.0:
            result = self.scheduler.run_round()
            self.bind(result)
            if not result.deltas:
                break
        self.check_nothing_is_left()

    def bind(self, result: RoundResult) -> None:
        last: dict[str, str] = {}
        for delta in result.deltas:
            name = delta.machine
            if name in last:
                assert delta.depends_on == (last[name],)
            last[name] = delta.uid
            request = self.classes[self.class_of[delta.uid]]
            assert self.kubelets[name].admit(request), f"{name} refuses {request}"
            self.used[name] = added([self.used[name], added(request)])
            self.waiting.discard(delta.uid)
        self.scheduler.report(
            [BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas]
        )

    def check_nothing_is_left(self) -> None:
        for number in {self.class_of[uid] for uid in self.waiting}:
            for name, kubelet in self.kubelets.items():
                request = added(self.classes[number])
                capacity = added(list(kubelet.total.values()))
                used = self.used[name]
                fits = all(used.get(key, 0) + amount <= capacity[key] for key, amount in request.items())
                assert not (fits and kubelet.admits(self.classes[number])), (
                    f"{name} would take class {number}"
                )


RESOURCES = ("cpu", "memory", GPU)


@st.composite
def zones(draw):
    count = draw(st.integers(1, 4))
    numbers = sorted(draw(st.sets(st.integers(0, 9), min_size=count, max_size=count)))
    return {
        number: {
            "cpu": 1000 * draw(st.integers(0, 9)),
            "memory": draw(st.integers(4, 20)),
            GPU: draw(st.integers(0, 2)),
        }
        for number in numbers
    }


def requests():
    container = st.builds(
        lambda cpu, memory, gpu: {"cpu": 1000 * cpu, "memory": memory, GPU: gpu},
        st.integers(1, 6),
        st.integers(1, 3),
        st.sampled_from([0, 0, 0, 1, 2]),
    )
    return st.lists(container, min_size=1, max_size=3)


@st.composite
def scenes(draw, policies=("single-numa-node",), arguments=None):
    kubelets = {
        f"n{index}": Kubelet(
            draw(st.sampled_from(policies)), draw(st.sampled_from(["container", "pod"])), draw(zones())
        )
        for index in range(draw(st.integers(1, 3)))
    }
    return Scene(kubelets, draw(st.lists(requests(), min_size=1, max_size=4)), arguments or {})


steps = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 8), st.booleans()), min_size=1, max_size=3)


@settings(max_examples=examples(60))
@given(scenes(), steps)
def test_single_numa_node(scene, batches):
    play(scene, batches)


@settings(max_examples=examples(30))
@given(
    scenes(("single-numa-node", "restricted"), {"modelledPolicies": ["restricted"]}),
    steps,
)
def test_restricted_when_it_is_modelled(scene, batches):
    play(scene, batches)


def play(scene, batches):
    """Submit tasks in batches; between them some nodes report anew, and others do not."""
    for number, count, measured in batches:
        for cls in range(len(scene.classes)):
            scene.submit((number + cls) % len(scene.classes), count if cls == 0 else 1)
        scene.settle()
        if measured:
            scene.scheduler.apply([scene.record(next(iter(scene.kubelets)))])


def test_two_pods_in_one_batch_do_not_count_on_the_same_zone():
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 3000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 3000}], [{"cpu": 4000}]])
    scene.submit(0, 1)
    scene.submit(1, 1)
    scene.settle()  # the small pod first would take the large zone, the kubelet's lowest
    assert len(scene.waiting) == 1


def test_what_a_record_does_not_count_yet_takes_one_zone_and_not_all():
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 4000}]])
    scene.submit(0, 1)
    scene.settle()
    scene.submit(0, 1)
    scene.settle()
    assert not scene.waiting


@pytest.mark.parametrize("modelled", [[], ["restricted"]])
def test_a_restricted_node_that_cannot_align_is_avoided_when_it_is_modelled(modelled):
    kubelet = Kubelet("restricted", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}})
    kubelet.free = {0: {"cpu": 2000}, 1: {"cpu": 2000}}
    scene = Scene({"a": kubelet}, [[{"cpu": 4000}]], {"modelledPolicies": modelled})
    scene.submit(0, 1)
    placed = scene.scheduler.run_round().deltas
    assert bool(placed) != bool(modelled)


def test_a_task_that_ended_frees_its_zone_with_the_next_record():
    kubelet = Kubelet("single-numa-node", "container", {0: {"cpu": 4000}})
    scene = Scene({"a": kubelet}, [[{"cpu": 4000}]])
    scene.submit(0, 2)
    scene.settle()
    gone = next(uid for uid in scene.class_of if uid not in scene.waiting)
    kubelet.free[0]["cpu"] = 4000
    scene.used["a"] = {}
    scene.scheduler.apply([TaskRemoved(gone), scene.record("a")])
    scene.settle()
    assert not scene.waiting


def test_a_pod_that_fits_only_after_another_is_placed_in_the_end():
    total = {0: {"cpu": 3000, GPU: 1}, 1: {"cpu": 3000, GPU: 0}}
    kubelet = Kubelet("single-numa-node", "container", total)
    # Alone, its first container takes zone 0, and leaves no cpu beside the GPU there.
    scene = Scene({"a": kubelet}, [[{"cpu": 1000}], [{"cpu": 3000}, {"cpu": 1000, GPU: 1}]])
    scene.submit(1, 1)
    scene.settle()
    assert scene.waiting
    scene.submit(0, 1)
    scene.settle()
    assert not scene.waiting
