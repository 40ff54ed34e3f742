"""What is passed on of a watch, in which order, and what is counted."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.watch.delivery import Delivery
from poseidon.kube.watch.namespace_turns import LONG, PAUSE, NamespaceTurns

NOBODY: Any = None


class Scene:
    def __init__(self, *, in_turn: bool = False, cost: float = 0.0) -> None:
        self.now, self.cost = 0.0, cost
        self.batches = list[list[str]]()
        self.calls = 0
        self.registry = CollectorRegistry()
        environment = Environment(NOBODY, metrics=KubeMetrics(self.registry), clock=lambda: self.now)
        self.delivery: Delivery[Pod] = Delivery(environment, "pods", self.take, self.note, in_turn=in_turn)

    def take(self, changes: Any) -> None:
        self.batches.append([each.uid for each in changes])
        self.now += self.cost * len(changes)

    def note(self) -> None:
        self.calls += 1

    def count(self, kind: str) -> float | None:
        for family in self.registry.collect():
            for sample in family.samples:
                if sample.name.endswith("watch_events_total") and kind in sample.labels.values():
                    return sample.value
        return None


def change(uid: str, namespace: str = "a") -> Change[Pod]:
    return Change(uid, Pod(metadata=ObjectMeta(name=uid, namespace=namespace, uid=uid)))


def test_a_list_is_counted_and_passed_on():
    scene = Scene()
    scene.delivery.hand_over([], "LISTED")
    assert scene.batches == []
    scene.delivery.hand_over([change("x"), change("y")], "LISTED")
    scene.delivery.report_gone({"z", "b"})
    scene.delivery.report_gone(())
    assert scene.batches == [["x", "y"], ["b", "z"]]
    assert (scene.count("LISTED"), scene.count("VANISHED"), scene.calls) == (2, 2, 2)


def test_it_is_told_once_that_a_list_is_complete():
    scene = Scene()
    assert not scene.delivery.synced.is_set()
    scene.delivery.mark_synced()
    scene.delivery.mark_synced()
    assert scene.delivery.synced.is_set()
    assert scene.calls == 1


@pytest.mark.parametrize(("namespace", "named"), [("ns", "name=ns/n"), ("", "name=n ")])
def test_what_cannot_be_decoded_is_named(caplog, namespace, named):
    scene = Scene()
    scene.delivery.reject(ObjectMeta(name="n", namespace=namespace), "odd")
    assert named in caplog.text
    assert "resource=pods" in caplog.text
    scene.delivery.reject(ObjectMeta(), "odd")
    assert "name=? " in caplog.text


def test_few_changes_are_passed_on_at_once():
    scene = Scene(in_turn=True)
    scene.delivery.deliver([change(f"p{at}") for at in range(6)])
    assert len(scene.batches) == 1, "before the first list is complete, all are"
    scene.delivery.mark_synced()
    scene.delivery.deliver([change(f"p{at}") for at in range(4)])
    assert len(scene.batches[-1]) == 4
    scene.delivery.deliver([change(f"p{at}") for at in range(5)])
    assert [len(each) for each in scene.batches[2:]] == [4, 1], "more go in turns"


def test_a_namespace_that_has_taken_long_waits_while_others_are_served():
    scene = Scene(in_turn=True, cost=2 * LONG)
    scene.delivery.mark_synced()
    scene.delivery.deliver([change("x", "slow")])
    scene.cost = 0.0
    scene.delivery.deliver([change("y", "quick")])
    scene.cost = LONG
    scene.delivery.deliver([change("z", "slow")])
    scene.delivery.deliver([change("w", "slow")])
    assert scene.batches == [["x"], ["y"], ["z"]]


# --- turns --------------------------------------------------------------------------------------------------------


class Turns:
    def __init__(self, **costs: float) -> None:
        self.now, self.costs = 0.0, costs
        self.batches = list[list[str]]()
        self.turns: NamespaceTurns[Pod] = NamespaceTurns(self.take, lambda: self.now)

    def take(self, changes: Any) -> None:
        self.batches.append([each.uid for each in changes])
        for each in changes:
            namespace = each.object.metadata.namespace if each.object is not None else ""
            self.now += self.costs.get(namespace, 0.0)


def test_nothing_waits_at_first():
    scene = Turns()
    assert (len(scene.turns), scene.turns.is_idle, scene.turns.next_in()) == (0, True, None)
    scene.turns.take([])
    assert scene.batches == []


def test_pieces_grow_while_they_are_quick_and_shrink_when_they_are_not():
    scene = Turns(a=0.00001)
    scene.turns.take([change(f"p{at}") for at in range(30)])
    assert [len(each) for each in scene.batches] == [4, 8, 16, 2]
    scene = Turns(a=LONG)
    scene.turns.take([change(f"p{at}") for at in range(4)])
    assert [len(each) for each in scene.batches] == [4], "they took four times as long as they should"
    scene.turns.take([change(f"q{at}") for at in range(2)])
    assert [len(each) for each in scene.batches][1:3] == [1, 1]


def test_one_that_has_taken_more_pauses_for_a_multiple_of_its_time():
    scene = Turns(slow=0.05)
    scene.turns.take([change("x", "quick")])
    scene.turns.take([change("y", "slow"), change("z", "slow")])
    assert scene.batches == [["x"], ["y", "z"]]
    scene.turns.take([change("w", "slow")])
    assert len(scene.turns) == 1
    assert scene.turns.next_in() == pytest.approx(PAUSE * 0.1)
    scene.turns.hand_on()
    assert len(scene.batches) == 2, "its pause is not over"
    scene.now += PAUSE * 0.1
    scene.turns.hand_on()
    assert scene.batches[-1] == ["w"]
    assert scene.turns.next_in() is None


def test_alone_none_pauses():
    scene = Turns(slow=0.05)
    for at in range(3):
        scene.turns.take([change(f"p{at}", "slow")])
    assert len(scene.batches) == 3
    scene = Turns(slow=0.05)
    scene.turns.take([change("x", "quick")])
    scene.now += 0.25
    scene.turns.take([change("y", "slow")])
    scene.turns.take([change("z", "slow")])
    assert len(scene.batches) == 3, "the other was served too long ago"


def test_of_one_object_the_last_change_is_passed_on():
    scene = Turns(slow=0.05)
    scene.turns.take([change("x", "quick")])
    scene.turns.take([change("y", "slow")])
    scene.turns.take([change("z", "slow"), Change("z", None)])
    scene.turns.take([change("w", "slow"), change("z", "slow")])
    assert len(scene.turns) == 2
    scene.now += 1.0
    for _ in range(2):
        scene.turns.hand_on()
    assert scene.batches[2:] == [["z"], ["w"]]


def test_past_work_counts_until_it_is_forgotten():
    scene = Turns(slow=0.05)
    scene.turns.take([change("y", "slow")])
    idle = [scene.turns.is_idle]
    scene.now += 0.05 / 0.25 - 0.001
    idle.append(scene.turns.is_idle)
    scene.now += 0.002
    idle.append(scene.turns.is_idle)
    scene.turns.charge(change("x", "other"), 1.0)
    idle.append(scene.turns.is_idle)
    assert idle == [False, False, True, False]
