"""Asks a running solver for changes that would give a waiting pod a node, and describes them in words.

The solver knows tasks, but not the objects that decide whether a pod may be evicted. This module therefore checks
whether the pods that a change would move may be evicted. If a pod of the change may not be evicted, the module asks
the solver again. The module reads only the objects around the pods of changes from the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poseidon.kube.api.kinds import (
    BUDGET,
    GROUPS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    STORAGE_CAPACITY,
    STORAGE_CLASS,
    VOLUME,
)
from poseidon.kube.api.pods import Pod, claims_of
from poseidon.kube.api.resource import Resource
from poseidon.live.solver import find_cures
from poseidon.live.support_bundle import CollectionObjects, list_collection
from poseidon.manifests.documents import Document
from poseidon.manifests.loader import Manifests, build_live_manifests
from poseidon.offline.audit.cures import describe_cures, propose_fewer_replicas
from poseidon.offline.audit.findings import Cure, CureStep, Move
from poseidon.offline.audit.object_changes import Objects
from poseidon.pods.tasks import get_qualified_name

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from protos.conventions.tls import TlsFiles
    from protos.firmament.v1 import scheduler_pb2 as pb

_MOST_ASKED = 4
"""The most times that a solver is asked; each answer but the last would move a pod that must stay."""
_MADE_BY_REPLICA_SETS = "pod-template-hash"


async def find_cures_of_pod(
    transport: Transport,
    targets: Sequence[str],
    cluster: str,
    pod: Pod,
    seconds: float,
    now: float,
    tls: TlsFiles | None = None,
) -> tuple[tuple[Cure, ...], tuple[str, ...]]:
    """Return the cures of a pod that waits in the solver for ``cluster``, and lines about objects that cannot be read.

    ``targets`` are the addresses of solvers, each of which has ``seconds`` for an answer; ``now`` is in seconds since
    the epoch. Raises ``NoAnswerError``, ``KubeError`` or ``TlsError``.
    """
    reader = _Reader(transport)
    around, found = await asyncio.gather(
        _read_around(reader, pod), _ask(reader, targets, cluster, pod.metadata.uid, seconds, now, tls)
    )
    name, objects = get_qualified_name(pod.metadata), Objects(around)
    placed = {each.metadata.uid for each in around.pods if each.spec.node_name}
    cures = list(describe_cures((_read_cure(name, each) for each in found), objects))
    return (*cures, *propose_fewer_replicas(name, placed, objects)), tuple(dict.fromkeys(reader.problems))


class _Reader:
    """Reads collections of objects from the API server.

    ``problems`` has a line for each collection that cannot be listed, and for each object that cannot be read.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.problems: list[str] = []

    async def list_all(self, resources: Iterable[Resource[Any]]) -> list[CollectionObjects]:
        """Return the objects of the collections; objects that cannot be read are left out."""
        found = await asyncio.gather(*(list_collection(self._transport, each) for each in resources))
        for each in found:
            if each.problem:
                self.problems.append(f"{each.name} cannot be listed: {each.problem}")
            self.problems += each.left_out
        return found


async def _ask(
    reader: _Reader,
    targets: Sequence[str],
    cluster: str,
    uid: str,
    seconds: float,
    now: float,
    tls: TlsFiles | None,
) -> Sequence[pb.Cure]:
    """Return a solver's cures, without those that would move a pod that must stay."""
    fixed: set[str] = set()
    found: Sequence[pb.Cure] = ()
    for _ in range(_MOST_ASKED):
        answer = await find_cures(targets, cluster, uid, sorted(fixed), seconds, tls)
        if answer is None:
            return ()
        found = answer.cures
        moved = {move.task for each in found for move in each.moves}
        nodes = {move.source for each in found for move in each.moves}
        if not moved:
            break
        stays = await _list_fixed(reader, sorted(nodes), now)
        if stays.isdisjoint(moved):
            break
        fixed |= stays
        found = [each for each in found if stays.isdisjoint(move.task for move in each.moves)]
    return found


async def _list_fixed(reader: _Reader, nodes: Sequence[str], now: float) -> set[str]:
    """Return the uids of the pods on some nodes that may not be moved, as ``list_running_pods`` decides."""
    from poseidon.embedding import load_configuration
    from poseidon.offline.cluster import build_offline_cluster
    from poseidon.offline.evictability import list_running_pods

    selected = [
        *(replace(NODE.resource, field_selector=f"metadata.name={each}") for each in nodes),
        *(replace(POD.resource, field_selector=f"spec.nodeName={each}") for each in nodes),
    ]
    held = await reader.list_all(selected)
    pods = [each for part in held for each in part.objects if each["kind"] == "Pod"]
    uids = {
        f"{each['metadata'].get('namespace') or 'default'}/{each['metadata']['name']}": each for each in pods
    }
    namespaces = sorted({name.partition("/")[0] for name in uids})
    kinds = [*GROUPS, BUDGET]
    if any(each["spec"].get("resourceClaims") for each in pods):
        kinds.append(RESOURCE_CLAIM)
    beside = [kind.resource.narrow_to(namespace) for namespace in namespaces for kind in kinds]
    manifests = _build_manifests([*held, *await reader.list_all(beside)])
    cluster = build_offline_cluster(manifests, load_configuration(None), now)
    running = list_running_pods(cluster, manifests)
    stays = (each for each in uids if each not in running.movable)
    return {str(uids[each]["metadata"]["uid"]) for each in stays}


async def _read_around(reader: _Reader, pod: Pod) -> Manifests:
    """Return the pod with the other pods of its workload, and the storage objects that limit its nodes."""
    resource, owner = POD.resource.narrow_to(pod.metadata.namespace or "default"), pod.metadata.controller()
    made_by = pod.metadata.labels.get(_MADE_BY_REPLICA_SETS)
    if owner is None:
        resource = replace(resource, field_selector=f"metadata.name={pod.metadata.name}")
    elif owner.kind == "ReplicaSet" and made_by:
        resource = replace(resource, label_selector=f"{_MADE_BY_REPLICA_SETS}={made_by}")
    storage = (VOLUME, STORAGE_CLASS, STORAGE_CAPACITY) if claims_of(pod) else ()
    held = await reader.list_all([resource, *(kind.resource for kind in storage)])
    return _build_manifests(held)


def _build_manifests(held: Iterable[CollectionObjects]) -> Manifests:
    documents = [
        Document("", each["apiVersion"], each["kind"], each, held=True)
        for part in held
        for each in part.objects
    ]
    return build_live_manifests(documents, ())


def _read_cure(pod: str, cure: pb.Cure) -> Cure:
    """Return a solver's cure of a pod (``namespace/name``), still without words for people."""
    steps = tuple(map(_read_step, cure.steps))
    moves = sorted((each.name, each.source, each.target) for each in cure.moves)
    return Cure(
        pod,
        cure.machine,
        steps[0].kind,
        "",
        steps,
        tuple(Move(*each) for each in moves),
        cure.rival,
        cure.together,
    )


def _read_step(step: pb.CureStep) -> CureStep:
    was, becomes = step.WhichOneof("was"), step.WhichOneof("becomes")
    before = None if was is None else getattr(step, was)
    after = None if becomes is None else getattr(step, becomes)
    return CureStep(step.kind, step.subject, step.machine, before, after)
