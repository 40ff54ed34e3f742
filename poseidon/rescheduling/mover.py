"""Carries out moves, wave by wave: announces each, evicts the pod, and waits until its replacement has a node.

A plan is older than the cluster: right before each move the pod has to be where the plan has it, and its target has to
take pods and to have room. If a pod has no replacement in time, or one without a node, no further wave begins: whatever
is wrong, it costs no more pods than one wave has. Nodes that moves are to free are cordoned before, and stay so once
they are empty.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

from poseidon.kube.api.metadata import PodRef, seconds
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.errors import ApiError
from poseidon.offline.evictability import forbidden_by_annotation
from poseidon.pods.moves import announced_move
from poseidon.pods.resources import amounts, effective_requests
from poseidon.pods.tasks import qualified_name
from poseidon.rescheduling.cluster_access import ClusterAccess
from poseidon.rescheduling.moves import MoveOutcome, PlannedMove, Result, Waves
from poseidon.rescheduling.planning import PlannedMoves

_FIRST_LOOK, _LAST_LOOK = 0.25, 2.0
"""Seconds between looks for a replacement, at first and at last."""

_BUDGET_PAUSE = 1.0
"""Seconds until a disruption budget is asked again: those that were moved before become ready meanwhile."""

_KEPT_SECONDS = 600.0
"""How long a place is asked for; it ends when the replacement has it."""

_GONE = (Result.MOVED, Result.ELSEWHERE)


def changed(pod: Pod, move: PlannedMove, now: float) -> str:
    """Return what is otherwise with a pod than planned, "" for nothing; ``now``: seconds since the epoch."""
    owner = pod.metadata.controller()
    if pod.terminal or pod.metadata.deletion_timestamp is not None:
        return "the pod is ending"
    if pod.spec.node_name != move.source:
        return f"the pod is on {pod.spec.node_name or 'no node'} now"
    if owner is None or (pod.metadata.namespace, owner.kind, owner.name) != move.controller:
        return "the pod has another controller now"
    if announced_move(pod, now)[0]:
        return "the pod is being moved already"
    forbidden = forbidden_by_annotation(pod)
    return f"the pod {forbidden} now" if forbidden else ""


def refusal_of(node: Node, there: Iterable[Pod], pod: Pod) -> str:
    """Return why a node does not take a pod beside those that are ``there``, or coming; "" if it does.

    Of resources and what is said of the node as a whole; all else is for the scheduler, which places the replacement.
    """
    name = node.metadata.name
    if node.spec.unschedulable:
        return f"node {name} is cordoned"
    if not any(each.type == "Ready" and each.status == "True" for each in node.status.conditions):
        return f"node {name} is not ready"
    free = Counter(amounts(node.status.allocatable or {}, "", [], down=True))
    for each in there:
        if not each.terminal:
            free.subtract(_requests(each))
    lacking = sorted(key for key, amount in _requests(pod).items() if free[key] < amount)
    return f"node {name} has not enough {lacking[0]} now" if lacking else ""


def _requests(pod: Pod) -> Counter[str]:
    return Counter({**effective_requests(pod.spec, []), "pods": 1})


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A pod that is announced to leave; ``others``: uids of its controller's pods before."""

    pod: Pod
    ref: PodRef
    others: Collection[str]


@dataclass(frozen=True, slots=True)
class Mover:
    """``patience``: seconds that a replacement may take until it has a node, from the end of its predecessor on.

    ``told`` hears of each outcome, ``say`` what is to be said of a pod. ``wall`` tells seconds since the epoch.
    """

    access: ClusterAccess
    patience: float
    _: KW_ONLY
    told: Callable[[MoveOutcome], None]
    say: Callable[[PodRef, str], None]
    wall: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def carry_out(self, waves: Waves) -> list[MoveOutcome]:
        """Make the moves; returns what became of those that were begun, in order. Raises ``KubeError``."""
        outcomes: list[MoveOutcome] = []
        for wave in waves.waves:
            coming: dict[str, list[Pod]] = {}
            begun = [(move, await self._begin(move, coming)) for move in wave]
            ended = await asyncio.gather(*(self._end(move, leaving) for move, leaving in begun))
            outcomes.extend(ended)
            if any(each.result is Result.UNPLACED for each in ended):
                break
        return outcomes

    async def _begin(self, move: PlannedMove, coming: dict[str, list[Pod]]) -> _Leaving | MoveOutcome:
        """Announce that a pod leaves, if all is as planned; ``coming``: by node, those of this wave that do already."""
        namespace, _, name = move.pod.partition("/")
        pod = await self.access.pod(namespace, name)
        if pod is None:
            return MoveOutcome(move, Result.SKIPPED, reason="the pod is gone")
        unlike = changed(pod, move, self.wall()) or await self._refusal(
            pod, move.target, coming.get(move.target, [])
        )
        if unlike:
            return MoveOutcome(move, Result.SKIPPED, reason=unlike)
        ref = PodRef(pod.metadata.uid, namespace, name)
        others = {each.metadata.uid for each in await self.access.siblings(pod)}
        try:
            await self.access.announce(ref, move.target, self.wall() + _KEPT_SECONDS)
        except ApiError as error:
            return MoveOutcome(move, Result.REFUSED, reason=error.message)
        coming.setdefault(move.target, []).append(pod)
        return _Leaving(pod, ref, others)

    async def _refusal(self, pod: Pod, target: str, coming: list[Pod]) -> str:
        node = await self.access.node(target)
        if node is None:
            return f"node {target} is gone"
        return refusal_of(node, [*await self.access.pods_on(target), *coming], pod)

    async def _evict(self, ref: PodRef) -> str:
        """Have a pod leave, if it may within a while; return why it stays, "" if it goes."""
        until = self.wall() + self.patience
        while True:
            eviction = await self.access.evict(ref)
            if not eviction.for_now or self.wall() >= until:
                return eviction.refusal
            await self.sleep(_BUDGET_PAUSE)

    async def _take_back(self, ref: PodRef) -> None:
        try:
            await self.access.take_back(ref)
        except ApiError as error:
            if not (error.not_found or error.replaced):
                raise

    async def _end(self, move: PlannedMove, begun: _Leaving | MoveOutcome) -> MoveOutcome:
        outcome = begun if isinstance(begun, MoveOutcome) else await self._moved(move, begun)
        self.told(outcome)
        return outcome

    async def _moved(self, move: PlannedMove, leaving: _Leaving) -> MoveOutcome:
        """Evict a pod, and wait until it is replaced."""
        refusal = await self._evict(leaving.ref)
        if refusal:
            await self._take_back(leaving.ref)
            return MoveOutcome(move, Result.REFUSED, reason=refusal)
        self.say(leaving.ref, f"Leaves {move.source} for {move.target}: {move.why}")
        return await self._replaced(move, leaving)

    async def _replaced(self, move: PlannedMove, leaving: _Leaving) -> MoveOutcome:
        """Wait until the replacement of a pod has a node, or for too long."""
        deadline = self.wall() + self.patience
        pause = _FIRST_LOOK
        while True:
            siblings = {each.metadata.uid: each for each in await self.access.siblings(leaving.pod)}
            predecessor = siblings.get(leaving.pod.metadata.uid)
            if predecessor is not None and not predecessor.terminal:
                ends = seconds(predecessor.metadata.deletion_timestamp) or 0.0
                deadline = max(self.wall(), ends) + self.patience
            new = [
                pod
                for uid, pod in siblings.items()
                if uid not in leaving.others and uid != leaving.pod.metadata.uid
            ]
            placed = [pod for pod in new if pod.spec.node_name]
            if placed:
                return self._placed(move, min(placed, key=lambda pod: pod.spec.node_name != move.target))
            if self.wall() >= deadline:
                reason = f"no node for {self.patience:.0f} s" if new else "its controller has not replaced it"
                name = qualified_name(new[0].metadata) if new else ""
                return MoveOutcome(move, Result.UNPLACED, name, reason)
            await self.sleep(pause)
            pause = min(pause * 2, _LAST_LOOK)

    def _placed(self, move: PlannedMove, pod: Pod) -> MoveOutcome:
        node, metadata = pod.spec.node_name, pod.metadata
        ref = PodRef(metadata.uid, metadata.namespace, metadata.name)
        self.say(ref, f"Replaces {move.pod}, which ran on {move.source}")
        if node == move.target:
            return MoveOutcome(move, Result.MOVED, qualified_name(metadata))
        return MoveOutcome(move, Result.ELSEWHERE, qualified_name(metadata), f"its replacement got {node}")


async def carry_out(planned: PlannedMoves, mover: Mover, access: ClusterAccess) -> list[MoveOutcome]:
    """Make the moves of a plan; returns what became of those that were begun. Raises ``KubeError``.

    Freed nodes stay cordoned, for whoever takes machines away; one that could not be freed takes pods again.
    """
    for node in planned.given_back:
        await access.uncordon(node)
    for node in planned.freed:
        await access.cordon(node)
    outcomes = await mover.carry_out(planned.waves)
    for node in unfreed(planned, outcomes):
        await access.uncordon(node)
    return outcomes


def unfreed(planned: PlannedMoves, outcomes: Sequence[MoveOutcome]) -> list[str]:
    """Return the nodes that were to be freed and that some pod has not left."""
    moves = [move for wave in planned.waves.waves for move in wave]
    gone = {outcome.move.pod for outcome in outcomes if outcome.result in _GONE}
    staying: Iterable[str] = {move.source for move in moves if move.pod not in gone}
    return sorted(set(planned.freed).intersection(staying))
