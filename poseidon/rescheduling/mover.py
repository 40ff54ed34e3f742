"""Carries out moves, wave by wave: announces each move, evicts the pod, and waits until its replacement has a node.

The cluster may have changed since the moves were planned. Before each move, the pod must therefore still be where the
plan has it, and the target node must accept pods and have room. If a replacement waits too long, its wave stops: no
further pod is evicted. If the old node was cordoned for the moves, it is uncordoned, so that the replacement can run
there. If a replacement gets no node in time, or gets the old node, no further wave begins. A fault therefore affects
at most the pods of one wave. Nodes to be freed are cordoned before the first wave, and stay cordoned if they become
empty.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from poseidon.kube.api.metadata import PodRef, seconds
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.errors import ApiError
from poseidon.offline.evictability import find_forbidding_annotation, goes_with_its_node
from poseidon.pod_rules.taint_toleration import is_tolerated
from poseidon.pods.move_annotations import parse_announced_move
from poseidon.pods.requests_and_limits import amounts, effective_requests
from poseidon.pods.tasks import get_qualified_name
from poseidon.rescheduling.cluster_access import ClusterAccess
from poseidon.rescheduling.moves import MoveOutcome, PlannedMove, Result, Waves
from poseidon.rescheduling.planning import PlannedMoves

_FIRST_LOOK, _LAST_LOOK = 0.25, 2.0
"""Seconds between two looks for a replacement: at the beginning, and at most."""

_BUDGET_PAUSE = 1.0
"""Seconds until an eviction that a disruption budget refused is tried again; meanwhile, moved pods may become ready."""

_KEPT_SECONDS = 600.0
"""Seconds until the announcement of a move expires."""

_KEEPING_AWAY = ("NoSchedule", "NoExecute")

_STUCK_SECONDS = 5.0
"""How many seconds a replacement may be unschedulable before its wave stops.

A scheduler may try only the target node during this time.
"""

_STOPPING = (Result.UNPLACED, Result.RETURNED)


def explain_change(pod: Pod, move: PlannedMove, now: float) -> str:
    """Return why a planned move of a pod is no longer possible, or "" if it is.

    ``now`` is in seconds since the epoch.
    """
    owner = pod.metadata.controller()
    if pod.terminal or pod.metadata.deletion_timestamp is not None:
        return "the pod is ending"
    if pod.spec.node_name != move.source:
        return f"the pod is on {pod.spec.node_name or 'no node'} now"
    if owner is None or (pod.metadata.namespace, owner.kind, owner.name) != move.controller:
        return "the pod has another controller now"
    if parse_announced_move(pod, now)[0]:
        return "the pod is being moved already"
    forbidden = find_forbidding_annotation(pod)
    return f"the pod {forbidden} now" if forbidden else ""


def find_refusal(node: Node, there: Iterable[Pod], pod: Pod) -> str:
    """Return why a pod does not fit on a node together with the pods ``there``, or "" if it does.

    ``there`` are the pods that are on the node or will come to it. The function checks only resources, taints,
    readiness and cordon; the scheduler that places the replacement checks all other rules.
    """
    name = node.metadata.name
    if node.spec.unschedulable:
        return f"node {name} is cordoned"
    if not any(each.type == "Ready" and each.status == "True" for each in node.status.conditions):
        return f"node {name} is not ready"
    for taint in node.spec.taints:
        if taint.effect in _KEEPING_AWAY and not is_tolerated(taint, pod.spec.tolerations):
            return f"node {name} has the taint {taint.key} now"
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
    """A pod whose move has been announced.

    ``others`` has the uids that its controller's pods had before the eviction.
    """

    pod: Pod
    ref: PodRef
    others: Collection[str]


@dataclass(slots=True)
class _WaveState:
    """Progress of a wave.

    ``cordoned`` are the nodes that were cordoned for the moves before the wave; ``given_back`` are those of these
    nodes that were uncordoned since. ``stopped`` says why no further pod is evicted, or "" while the wave goes on.
    """

    cordoned: frozenset[str]
    given_back: set[str] = field(default_factory=set)
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Mover:
    """Carries out planned moves in a cluster."""

    access: ClusterAccess
    """Reads and changes the cluster."""
    patience: float
    """Seconds within which a replacement must get a node once the evicted pod has ended."""
    _: KW_ONLY
    report: Callable[[MoveOutcome], None]
    """Called with the outcome of each move."""
    record: Callable[[PodRef, str], None]
    """A function that is called with a pod and a message about the pod for people."""
    wall: Callable[[], float]
    """Returns the seconds since the epoch."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for some seconds."""

    async def carry_out(self, waves: Waves, cordoned: Collection[str] = ()) -> list[MoveOutcome]:
        """Make the moves; return the outcomes of the moves that were begun, in order.

        Raises ``KubeError`` if the API server does not answer.

        ``cordoned`` are the nodes that were cordoned for the moves.
        """
        outcomes: list[MoveOutcome] = []
        for wave in waves.waves:
            state = _WaveState(frozenset(cordoned))
            coming: dict[str, list[Pod]] = {}
            begun = [(move, await self._begin(move, coming)) for move in wave]
            ended = await asyncio.gather(*(self._finish(move, leaving, state) for move, leaving in begun))
            outcomes.extend(ended)
            if state.stopped or any(each.result in _STOPPING for each in ended):
                break
        return outcomes

    async def _begin(self, move: PlannedMove, coming: dict[str, list[Pod]]) -> _Leaving | MoveOutcome:
        """Announce a move if it is still possible; ``coming`` has the announced pods of this wave by target node."""
        namespace, _, name = move.pod.partition("/")
        pod = await self.access.pod(namespace, name)
        if pod is None:
            return MoveOutcome(move, Result.SKIPPED, reason="the pod is gone")
        unlike = explain_change(pod, move, self.wall()) or await self._refusal(
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
        return find_refusal(node, [*await self.access.pods_on(target), *coming], pod)

    async def _evict(self, ref: PodRef, state: _WaveState) -> str:
        """Evict a pod, waiting ``patience`` seconds for its disruption budget.

        The function returns why the pod stays, or "" if it leaves.
        """
        until = self.wall() + self.patience
        while not state.stopped:
            eviction = await self.access.evict(ref)
            if not eviction.for_now or self.wall() >= until:
                return eviction.refusal
            await self.sleep(_BUDGET_PAUSE)
        return state.stopped

    async def _withdraw(self, ref: PodRef) -> None:
        try:
            await self.access.withdraw(ref)
        except ApiError as error:
            if not (error.not_found or error.replaced):
                raise

    async def _finish(
        self, move: PlannedMove, begun: _Leaving | MoveOutcome, state: _WaveState
    ) -> MoveOutcome:
        outcome = begun if isinstance(begun, MoveOutcome) else await self._move(move, begun, state)
        self.report(outcome)
        return outcome

    async def _move(self, move: PlannedMove, leaving: _Leaving, state: _WaveState) -> MoveOutcome:
        """Evict a pod, and wait for its replacement; return the outcome of the move."""
        refusal = await self._evict(leaving.ref, state)
        if refusal:
            await self._withdraw(leaving.ref)
            result = Result.SKIPPED if refusal == state.stopped else Result.REFUSED
            return MoveOutcome(move, result, reason=refusal)
        self.record(leaving.ref, f"Leaves {move.source} for {move.target}: {move.why}")
        return await self._wait_for_replacement(move, leaving, state)

    async def _wait_for_replacement(
        self, move: PlannedMove, leaving: _Leaving, state: _WaveState
    ) -> MoveOutcome:
        """Wait until an evicted pod's replacement has a node, or until the time is over.

        The function returns the outcome of the move.
        """
        deadline = self.wall() + self.patience
        pause, waits_since = _FIRST_LOOK, math.inf
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
                return self._record_replacement(
                    move, min(placed, key=lambda pod: pod.spec.node_name != move.target)
                )
            waits_since = min(waits_since, self.wall()) if any(map(_waits_in_vain, new)) else math.inf
            if self.wall() - waits_since >= min(_STUCK_SECONDS, self.patience / 2):
                await self._stop(move, state)
            if self.wall() >= deadline:
                reason = f"no node for {self.patience:.0f} s" if new else "its controller has not replaced it"
                name = get_qualified_name(new[0].metadata) if new else ""
                await self._stop(move, state)
                return MoveOutcome(move, Result.UNPLACED, name, reason)
            await self.sleep(pause)
            pause = min(pause * 2, _LAST_LOOK)

    async def _stop(self, move: PlannedMove, state: _WaveState) -> None:
        """Stop the wave: evict no further pod, and uncordon the evicted pod's node for its replacement."""
        if not state.stopped:
            state.stopped = f"stopped, as the replacement of {move.pod} has no node"
        if move.source in state.cordoned and move.source not in state.given_back:
            state.given_back.add(move.source)
            await self.access.uncordon(move.source)

    def _record_replacement(self, move: PlannedMove, pod: Pod) -> MoveOutcome:
        """Write an event that ``pod`` replaces a moved pod; return the outcome of the move."""
        node, metadata = pod.spec.node_name, pod.metadata
        ref = PodRef(metadata.uid, metadata.namespace, metadata.name)
        self.record(ref, f"Replaces {move.pod}, which ran on {move.source}")
        if node == move.target:
            return MoveOutcome(move, Result.MOVED, get_qualified_name(metadata))
        if node == move.source:
            return MoveOutcome(move, Result.RETURNED, get_qualified_name(metadata), "no other node took it")
        return MoveOutcome(
            move, Result.ELSEWHERE, get_qualified_name(metadata), f"its replacement got {node}"
        )


def _waits_in_vain(pod: Pod) -> bool:
    """Return whether a pod's conditions say that a scheduler has found no node for it."""
    scheduled = pod.condition("PodScheduled")
    return scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable"


class CarriedOut(NamedTuple):
    """The outcomes of a plan's moves.

    ``freed`` are the nodes that became empty as planned; ``unfreed`` are those that did not.
    """

    outcomes: list[MoveOutcome]
    freed: tuple[str, ...] = ()
    unfreed: tuple[str, ...] = ()


async def carry_out(planned: PlannedMoves, mover: Mover, access: ClusterAccess) -> CarriedOut:
    """Make the moves of a plan. Raises ``KubeError`` if the API server does not answer.

    Freed nodes stay cordoned, so that an autoscaler or another tool can remove them. A node that could not be freed
    is uncordoned. If one of the node's moves was tried, the node is annotated with the digest of the cluster's state,
    so that freeing the node is not tried again in the same state.
    """
    for node in planned.given_back:
        await access.uncordon(node)
    for node in planned.freed:
        await access.cordon(node)
    outcomes = await mover.carry_out(planned.waves, planned.freed)
    tried = {each.move.source for each in outcomes if each.result is not Result.SKIPPED}
    freed = [node for node in planned.freed if await _is_freed(node, planned, outcomes, access)]
    unfreed = [node for node in planned.freed if node not in freed]
    for node in unfreed:
        await access.uncordon(node, planned.state if node in tried else "")
    return CarriedOut(outcomes, tuple(freed), tuple(unfreed))


async def _is_freed(
    node: str, planned: PlannedMoves, outcomes: Sequence[MoveOutcome], access: ClusterAccess
) -> bool:
    """Return whether a node is freed as planned: all its pods have replacements elsewhere, and no new pod is on it."""
    wanted = {move.pod for wave in planned.waves.waves for move in wave if move.source == node}
    made = {each.move.pod: each for each in outcomes if each.result in (Result.MOVED, Result.ELSEWHERE)}
    for name in wanted:
        replacement = made[name].replacement if name in made else ""
        namespace, _, own = replacement.partition("/")
        pod = await access.pod(namespace, own) if replacement else None
        if pod is None or pod.spec.node_name in ("", node):
            return False
    return all(each.terminal or goes_with_its_node(each) for each in await access.pods_on(node))
