"""Moves carried out on a cluster that is only pretended: with budgets, and things that go wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import cast

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import Condition, PodRef, format_time
from poseidon.kube.api.nodes import Node, Taint
from poseidon.kube.api.pods import Pod, PodStatus
from poseidon.pods.move_annotations import MOVE_TO, MOVE_UNTIL
from poseidon.rescheduling.cluster_access import ClusterAccess, Eviction
from poseidon.rescheduling.mover import Mover, carry_out
from poseidon.rescheduling.moves import MoveOutcome, PlannedMove, Result, Waves, divide_into_waves
from poseidon.rescheduling.planning import PlannedMoves
from tests.poseidon.bridge.objects import node, pod
from tests.support.effort import examples

CPU = 8
PATIENCE = 30.0


@dataclass
class Pretended:
    """Nodes of eight cores, pods of whole cores, one controller each; evicted pods end and are replaced a while later.

    ``budget``: how many pods may be away at once. ``broken``: controllers that replace nobody.
    """

    random: Random
    nodes: list[str]
    budget: int = 100
    broken: frozenset[str] = frozenset()
    pods: dict[str, Pod] = field(default_factory=dict)
    now: float = 1_800_000_000.0
    evicted: list[str] = field(default_factory=list)
    ending: dict[str, float] = field(default_factory=dict)
    due: list[tuple[float, Pod, str]] = field(default_factory=list)
    unready: dict[str, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    taints: dict[str, tuple[Taint, ...]] = field(default_factory=dict)

    def add(self, name: str, where: str, cpu: int, owner: str) -> None:
        self.pods[f"uid-{name}"] = pod(
            name, uid=f"uid-{name}", namespace="shop", node=where, cpu=str(cpu), owner=owner, phase="Running"
        )

    def used(self, name: str) -> int:
        return sum(cores(each) for each in self.pods.values() if each.spec.node_name == name)

    @property
    def away(self) -> int:
        return len(self.ending) + len(self.due) + len(self.unready)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pass_time()
        await asyncio.sleep(0)

    def pass_time(self) -> None:
        for uid in [uid for uid, at in self.ending.items() if at <= self.now]:
            gone = self.pods.pop(uid)
            del self.ending[uid]
            owner = gone.metadata.owner_references[0].name
            if owner not in self.broken:
                self.due.append((self.now + self.random.random(), gone, gone.metadata.annotations[MOVE_TO]))
        for entry in [each for each in self.due if each[0] <= self.now]:
            self.due.remove(entry)
            self._replace(entry[1], entry[2])
        self.unready = {uid: at for uid, at in self.unready.items() if at > self.now}

    def _replace(self, gone: Pod, target: str) -> None:
        """The scheduler places the replacement where it was meant to go, or else anywhere that it fits."""
        name = f"{gone.metadata.name}x"
        fitting = [each for each in self.nodes if self.used(each) + cores(gone) <= CPU]
        where = target if target in fitting else self.random.choice(fitting) if fitting else ""
        self.add(name, where, cores(gone), gone.metadata.owner_references[0].name)
        self.unready[f"uid-{name}"] = self.now + self.random.random() * 3
        self.check()

    def check(self) -> None:
        assert all(self.used(each) <= CPU for each in self.nodes)
        assert self.away <= self.budget

    # --- what a mover asks -----------------------------------------------------------------------------------

    async def pod(self, namespace: str, name: str) -> Pod | None:
        return next((each for each in self.pods.values() if each.metadata.name == name), None)

    async def node(self, name: str) -> Node | None:
        if name not in self.nodes:
            return None
        found = node(name, cpu=str(CPU))
        return replace(found, spec=replace(found.spec, taints=self.taints.get(name, ())))

    def taint(self, name: str, effect: str) -> None:
        self.taints[name] = (Taint(key="gpu", effect=effect),)

    async def pods_on(self, node: str) -> list[Pod]:
        return [each for each in self.pods.values() if each.spec.node_name == node]

    async def siblings(self, pod: Pod) -> list[Pod]:
        self.pass_time()
        return [
            each for each in self.pods.values() if each.metadata.controller() == pod.metadata.controller()
        ]

    async def announce(self, pod: PodRef, node: str, until: float) -> None:
        self._change(pod.uid, annotations={MOVE_TO: node})

    async def withdraw(self, pod: PodRef) -> None:
        self._change(pod.uid, annotations={})

    async def cordon(self, node: str) -> None:
        raise NotImplementedError

    async def uncordon(self, node: str) -> None:
        raise NotImplementedError

    async def evict(self, pod: PodRef) -> Eviction:
        self.pass_time()
        if self.away >= self.budget:
            return Eviction("Cannot evict pod as it would violate the pod's disruption budget.", for_now=True)
        assert pod.uid not in self.evicted
        self.evicted.append(pod.uid)
        self.ending[pod.uid] = self.now + self.random.random() * 5
        self._change(pod.uid, deletion_timestamp=format_time(self.now + 5))
        self.check()
        return Eviction()

    def _change(self, uid: str, **changes: object) -> None:
        found = self.pods[uid]
        self.pods[uid] = replace(found, metadata=replace(found.metadata, **changes))

    def say(self, pod: PodRef, message: str) -> None:
        self.said.append(f"{pod}: {message}")


def cores(found: Pod) -> int:
    return int(str(found.spec.containers[0].resources.requests["cpu"]))


def planned(cluster: Pretended, uid: str, target: str, saves: float = 1.0) -> PlannedMove:
    found = cluster.pods[uid]
    owner = found.metadata.owner_references[0]
    controller = ("shop", owner.kind, owner.name)
    requests = {"cpu": cores(found) * 1000, "pods": 1}
    return PlannedMove(
        f"shop/{found.metadata.name}", found.spec.node_name, target, "why", saves, controller, requests
    )


def carried_out(cluster: Pretended, waves: Waves, cordoned: Collection[str] = ()) -> list[MoveOutcome]:
    mover = Mover(
        cast("ClusterAccess", cluster),
        PATIENCE,
        report=lambda _: None,
        record=cluster.say,
        wall=lambda: cluster.now,
        sleep=cluster.sleep,
    )
    return asyncio.run(mover.carry_out(waves, cordoned))


@pytest.mark.parametrize("seed", range(examples(300)))
def test_nothing_is_overcommitted_and_no_budget_exceeded(seed):
    random = Random(seed)
    broken = frozenset({"web0"}) if random.random() < 0.2 else frozenset()
    cluster = Pretended(random, [f"n{index}" for index in range(4)], random.choice([1, 2, 100]), broken)
    for index in range(random.randint(1, 12)):
        where, cpu = random.choice(cluster.nodes), random.randint(1, 3)
        if cluster.used(where) + cpu <= CPU:
            cluster.add(f"p{index}", where, cpu, f"web{index % 5}")
    wanted = {uid: random.choice(cluster.nodes) for uid in cluster.pods if random.random() < 0.6}
    moves = [
        planned(cluster, uid, target, random.random())
        for uid, target in wanted.items()
        if target != cluster.pods[uid].spec.node_name
    ]
    free = {each: {"cpu": (CPU - cluster.used(each)) * 1000, "pods": 50} for each in cluster.nodes}
    waves = divide_into_waves(moves, free, random.randint(1, 4))
    before = len(cluster.pods)
    if random.random() < 0.3 and cluster.pods:  # somebody else takes room meanwhile
        where = random.choice(cluster.nodes)
        if cluster.used(where) < CPU:
            cluster.add("other", where, CPU - cluster.used(where), "other")
            before += 1
    outcomes = carried_out(cluster, waves)
    assert len({each.move.pod for each in outcomes}) == len(outcomes)
    counts = [each.result for each in outcomes]
    moved = {each.move.pod for each in outcomes if each.result in (Result.MOVED, Result.ELSEWHERE)}
    assert len(cluster.evicted) == len(moved) + counts.count(Result.UNPLACED)
    if Result.UNPLACED not in counts:
        assert len(outcomes) == sum(map(len, waves.waves))
        assert len(cluster.pods) == before
    else:
        last = next(index for index, wave in enumerate(waves.waves) if outcomes[-1].move in wave)
        assert len(outcomes) == sum(map(len, waves.waves[: last + 1])), "no wave follows one that went wrong"
    assert len(cluster.said) == len(cluster.evicted) + len(moved)


def single(change) -> tuple[MoveOutcome, Pretended]:
    """One move from n0 to n1, after a change of the cluster."""
    cluster = Pretended(Random(1), ["n0", "n1"])
    cluster.add("p", "n0", 2, "web")
    move = planned(cluster, "uid-p", "n1")
    change(cluster)
    (outcome,) = carried_out(cluster, Waves(((move,),), ()))
    return outcome, cluster


def announced(until: float) -> dict[str, str]:
    return {MOVE_TO: "n1", MOVE_UNTIL: format_time(until)}


def test_a_move_that_was_announced_and_never_made_is_made_later():
    outcome, _ = single(lambda c: c._change("uid-p", annotations=announced(c.now - 60)))
    assert outcome.result is Result.MOVED


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda c: c.pods.clear(), "the pod is gone"),
        (lambda c: c.add("p", "n1", 2, "web"), "the pod is on n1 now"),
        (lambda c: c.add("p", "n0", 2, "api"), "the pod has another controller now"),
        (lambda c: c._change("uid-p", deletion_timestamp="2026-01-01T00:00:00Z"), "the pod is ending"),
        (lambda c: c._change("uid-p", annotations=announced(c.now + 60)), "the pod is being moved already"),
        (
            lambda c: c._change("uid-p", annotations={"karpenter.sh/do-not-disrupt": "true"}),
            "the pod has the annotation karpenter.sh/do-not-disrupt: true now",
        ),
        (lambda c: c.nodes.remove("n1"), "node n1 is gone"),
        (lambda c: c.taint("n1", "NoSchedule"), "node n1 has the taint gpu now"),
        (lambda c: c.taint("n1", "NoExecute"), "node n1 has the taint gpu now"),
        (lambda c: c.add("q", "n1", 7, "web"), "node n1 has not enough cpu now"),
    ],
)
def test_what_has_changed_since_is_left_alone(change, reason):
    outcome, cluster = single(change)
    assert (outcome.result, outcome.reason, cluster.evicted) == (Result.SKIPPED, reason, [])


def test_a_budget_that_never_allows_it_is_asked_for_a_while():
    outcome, cluster = single(lambda c: setattr(c, "budget", 0))
    assert outcome.result is Result.REFUSED
    assert "disruption budget" in outcome.reason
    assert cluster.pods["uid-p"].metadata.annotations == {}, "the announcement is taken back"


@dataclass
class Stuck(Pretended):
    """Nobody but nodes that were given back takes replacements; schedulers say so."""

    given_back: list[str] = field(default_factory=list)

    def _replace(self, gone: Pod, target: str) -> None:
        name = f"{gone.metadata.name}x"
        self.add(name, "", cores(gone), gone.metadata.owner_references[0].name)
        condition = Condition(type="PodScheduled", status="False", reason="Unschedulable")
        uid = f"uid-{name}"
        self.pods[uid] = replace(self.pods[uid], status=PodStatus(conditions=(condition,)))
        self.unready[uid] = inf
        self._place_back()

    def _place_back(self) -> None:
        for uid, found in self.pods.items():
            if not found.spec.node_name and self.given_back:
                self.pods[uid] = replace(found, spec=replace(found.spec, node_name=self.given_back[0]))

    async def uncordon(self, node: str) -> None:
        self.given_back.append(node)
        self._place_back()


def wave_of(cluster: Pretended, *uids: str) -> Waves:
    return Waves((tuple(planned(cluster, uid, "n1") for uid in uids),), ())


def test_a_pod_without_a_place_gets_its_own_back_and_stops_the_wave():
    cluster = Stuck(Random(1), ["n0", "n1"], budget=1)
    for index in range(3):
        cluster.add(f"p{index}", "n0", 1, f"web{index}")
    outcomes = carried_out(cluster, wave_of(cluster, *sorted(cluster.pods)), cordoned=["n0"])
    results = sorted(each.result.value for each in outcomes)
    assert results == ["returned", "skipped", "skipped"]
    assert (len(cluster.evicted), cluster.given_back) == (1, ["n0"]), "no further pod is evicted"
    assert all(each.spec.node_name == "n0" for each in cluster.pods.values())
    assert {each.reason for each in outcomes if each.result is Result.SKIPPED} == {
        f"stopped, as the replacement of {cluster.evicted[0].replace('uid-', 'shop/')} has no node"
    }


def test_a_node_that_was_not_cordoned_for_moves_is_left_as_it_is():
    cluster = Stuck(Random(1), ["n0", "n1"])
    cluster.add("p", "n0", 1, "web")
    (outcome,) = carried_out(cluster, wave_of(cluster, "uid-p"))
    assert (outcome.result, cluster.given_back) == (Result.UNPLACED, [])


def test_no_wave_follows_one_after_which_a_pod_has_returned():
    cluster = Stuck(Random(1), ["n0", "n1"])
    for name in ("p", "q"):
        cluster.add(name, "n0", 1, name)
    waves = Waves(tuple((planned(cluster, f"uid-{name}", "n1"),) for name in ("p", "q")), ())
    (outcome,) = carried_out(cluster, waves, cordoned=["n0"])
    assert (outcome.result, len(cluster.evicted)) == (Result.RETURNED, 1)


class Cordons:
    """Which nodes are cordoned, and with which state they are given back; ``pods`` by name, after the moves."""

    def __init__(self, **pods: str) -> None:
        self.pods = pods
        self.done: list[tuple[str, ...]] = []

    async def cordon(self, node: str) -> None:
        self.done.append(("cordon", node))

    async def uncordon(self, node: str, state: str = "") -> None:
        self.done.append(("uncordon", node, state))

    async def pod(self, _: str, name: str) -> Pod | None:
        return pod(name, node=self.pods[name]) if name in self.pods else None

    async def pods_on(self, node: str) -> list[Pod]:
        return [pod(name, node=where) for name, where in self.pods.items() if where == node]


class Made:
    """A mover whose moves have ended so."""

    def __init__(self, *outcomes: MoveOutcome) -> None:
        self.outcomes = list(outcomes)

    async def carry_out(self, waves: Waves, cordoned: Collection[str]) -> list[MoveOutcome]:
        assert waves.waves
        assert cordoned
        return self.outcomes


def leaving(name: str, node: str = "n0") -> PlannedMove:
    return PlannedMove(f"shop/{name}", node, "n1", "", 0.0, ("shop", "ReplicaSet", "web"), {})


MOVED = MoveOutcome(leaving("a"), Result.MOVED, "shop/again")


@pytest.mark.parametrize(
    ("outcomes", "pods", "state"),
    [
        ([MOVED], {"again": "n1"}, None),
        ([MOVED], {"again": "n1", "come": "n0"}, "digest"),
        ([MOVED], {"again": "n0"}, "digest"),
        ([MOVED], {"again": ""}, "digest"),
        ([MOVED], {}, "digest"),
        ([MoveOutcome(leaving("a"), Result.UNPLACED, "")], {}, "digest"),
        ([MoveOutcome(leaving("a"), Result.SKIPPED)], {"a": "n0"}, ""),
        ([], {"a": "n0"}, ""),
    ],
    ids=["freed", "another came", "returned", "no node", "gone", "unplaced", "not tried", "stopped before"],
)
def test_a_node_that_was_not_freed_is_given_back_and_not_tried_again_in_the_same_state(outcomes, pods, state):
    access = Cordons(**pods)
    plan = PlannedMoves(Waves(((leaving("a"),),), ()), ("n0",), ("n9",), 0, (), (), "digest")
    done = asyncio.run(carry_out(plan, cast("Mover", Made(*outcomes)), cast("ClusterAccess", access)))
    assert access.done[:2] == [("uncordon", "n9", ""), ("cordon", "n0")]
    assert access.done[2:] == ([] if state is None else [("uncordon", "n0", state)])
    assert (done.freed, done.unfreed) == ((("n0",), ()) if state is None else ((), ("n0",)))
