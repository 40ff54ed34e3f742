"""Groups over a tree that evict for the sake of zones: all come or none, and no kubelet refuses any."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import TaskRemoved, TasksSubmitted
from firmament.core.results import DeltaKind, RoundResult
from tests.cost_models.numa.kubelet import Amounts, Kubelet
from tests.cost_models.tree_groups.scene import Constraints, job, rules, tree
from tests.firmament.core.preemption.test_zone_evictions import HIGH, Scene
from tests.support.effort import examples

ONE_EACH: Constraints = {"node": {"type": "spread", "hard": True}}


def on_tree() -> tuple[WeightedModel, ...]:
    return (WeightedModel(load_model("topology", {})),)


def submitted(scene: Scene, number: int, size: int, constraints: Constraints = ONE_EACH) -> list[str]:
    """Let a group of a class wait; its tasks."""
    names = tuple(f"high-{number}-{index}" for index in range(size))
    scene.scheduler.apply(
        [
            tree({"rack": dict.fromkeys(scene.kubelets, 1)}),
            job("g", size),
            rules("g", constraints),
            TasksSubmitted(number + 1, names, job="g", priority=HIGH, names=names),
        ]
    )
    return list(names)


def evicted(result: RoundResult) -> list[str]:
    return [delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT]


def halves(*nodes: str) -> Scene:
    """Nodes of two zones of four cores, with four pods of two cores each."""
    half: list[Amounts] = [{"cpu": 2000}]
    kubelets = {
        name: Kubelet("single-numa-node", "container", {0: {"cpu": 4000}, 1: {"cpu": 4000}}) for name in nodes
    }
    scene = Scene(kubelets, [half, [{"cpu": 4000}]], others=on_tree())
    scene.fill([(name, 0) for name in nodes for _ in range(4)])
    scene.report()
    return scene


def test_each_of_a_group_gets_a_whole_zone_for_certain():
    scene = halves("a", "b")
    submitted(scene, 1, 2)
    result = scene.scheduler.run_round()
    assert len(evicted(result)) == 6
    assert scene.carry_out(result) == 2


def test_nodes_where_a_zone_is_free_are_taken_first():
    scene = halves("a", "b", "c")
    for uid in [uid for uid, each in scene.running.items() if each.node == "b"]:
        scene.end(uid)
        scene.scheduler.apply([TaskRemoved(uid)])
    scene.report()
    submitted(scene, 1, 2)
    result = scene.scheduler.run_round()
    assert len(evicted(result)) == 3
    scene.carry_out(result)
    assert "b" in {each.node for uid, each in scene.running.items() if uid.startswith("high")}


def test_a_group_that_no_eviction_makes_whole_evicts_nobody():
    scene = halves("a", "b")
    submitted(scene, 1, 3)
    assert scene.scheduler.run_round().deltas == ()


@st.composite
def busy(draw: st.DrawFn) -> Scene:
    """Two to four nodes of two zones full of small pods, some of which nobody may evict; the last class is wanted."""
    total = {zone: {"cpu": 1000 * draw(st.integers(3, 6)), "memory": 8} for zone in (0, 1)}
    kubelets = {
        f"n{index}": Kubelet(
            "single-numa-node",
            draw(st.sampled_from(["container", "pod"])),
            {zone: dict(amounts) for zone, amounts in total.items()},
        )
        for index in range(draw(st.integers(2, 4)))
    }
    small: list[list[Amounts]] = [
        [{"cpu": 1000 * draw(st.integers(1, 3)), "memory": draw(st.integers(1, 2))}] for _ in range(2)
    ]
    wanted: list[Amounts] = [{"cpu": 1000 * draw(st.integers(2, 4)), "memory": draw(st.integers(1, 5))}]
    scene = Scene(kubelets, [*small, wanted], others=on_tree())
    for name in kubelets:
        scene.fill([(name, draw(st.integers(0, 1))) for _ in range(draw(st.integers(0, 5)))])
        scene.fill([(name, 0)] * draw(st.sampled_from([0, 0, 1])), priority=HIGH)
    scene.report()
    return scene


@settings(max_examples=examples(80))
@given(busy(), st.integers(2, 3), st.sampled_from([{}, ONE_EACH]))
def test_a_group_comes_as_a_whole_and_is_never_refused(scene: Scene, size: int, constraints: Constraints):
    names = submitted(scene, 2, size, constraints)
    scene.carry_out(scene.scheduler.run_round())
    assert sum(name in scene.running for name in names) in (0, size)
