"""Asks a running solver and its API server why a pod may or may not run on each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from poseidon.explanations import PodExplanation, UnknownPodError, read_verdicts
from poseidon.kube.api.decoding import decode_object
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.pods import Pod
from poseidon.live.solver import explain_task, list_clusters
from poseidon.pods.scheduling_gates import describe_gates
from poseidon.pods.tasks import Disposition, classify_pod

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from protos.conventions.tls import TlsFiles
    from protos.firmament.v1 import scheduler_pb2 as pb


class _Pods(KubeStruct, frozen=True):
    items: tuple[Pod, ...] = ()


async def explain_live(
    transport: Transport,
    targets: Sequence[str],
    cluster: str,
    name: str,
    seconds: float,
    tls: TlsFiles | None = None,
    cures_at: float | None = None,
) -> PodExplanation:
    """Explain the pod ``namespace/name`` as the solver for ``cluster`` sees it now.

    ``targets`` are the addresses of solvers. ``cures_at`` is the time, in seconds since the epoch, if cures are
    sought, too, else None. If the solver does not know the pod, it gives no verdicts, and the outlook says why.
    Raises ``UnknownPodError``, ``KubeError``, ``MalformedObjectError``, ``NoAnswerError`` or ``TlsError``.
    """
    pod = await _read(transport, name)
    if classify_pod(pod) is Disposition.FINISHED:
        raise UnknownPodError(f"pod {name} has ended ({pod.status.phase}), so no node is sought for it")
    found = await explain_task(targets, cluster, pod.metadata.uid, seconds, tls)
    outlook = () if pod.spec.node_name else tuple(_describe_outlook(pod, found))
    if found is None and not pod.spec.node_name:
        driven = await list_clusters(targets, seconds, tls)
        if cluster not in driven:
            outlook = (_say_which_are_driven(cluster, driven), *outlook)
    known = dict(sorted(read_verdicts(found).items())) if found is not None else {}
    explained = PodExplanation(name, pod.spec.node_name, known, (), outlook)
    if cures_at is None or found is None or found.state != "PENDING":
        return explained
    from poseidon.live.cures import find_cures_of_pod
    from poseidon.offline.explain import describe_cure

    cures, warnings = await find_cures_of_pod(transport, targets, cluster, pod, seconds, cures_at, tls)
    return replace(explained, warnings=warnings, cures=tuple(map(describe_cure, cures)))


async def _read(transport: Transport, name: str) -> Pod:
    """Return the pod, read by a list request, because a bridge's account may list pods but not get one."""
    namespace, _, own = name.partition("/")
    path = f"/api/v1/namespaces/{quote(namespace)}/pods"
    body = await transport.get(path, {"fieldSelector": f"metadata.name={own}"})
    found = decode_object(body, _Pods).items
    if not found:
        raise UnknownPodError(f"pod {name} is not in the cluster; name one as NAMESPACE/NAME")
    return found[0]


def _say_which_are_driven(cluster: str, driven: set[str]) -> str:
    if not driven:
        return f"The solver knows no cluster, neither {cluster} nor another: no bridge has connected to it."
    return f"The solver does not know cluster {cluster}; choose one with --cluster-name: {', '.join(sorted(driven))}."


def _describe_outlook(pod: Pod, found: pb.Explanation | None) -> Iterator[str]:
    """Yield lines on why a pod waits, as far as its object shows that."""
    said = next((each.message for each in pod.status.conditions if each.type == "PodScheduled"), "")
    if pod.status.nominated_node_name:
        yield f"It is to get node {pod.status.nominated_node_name}."
    if gates := describe_gates(pod):
        yield gates
    elif found is None:
        yield (
            f"The solver does not know it: it is for scheduler {pod.spec.scheduler_name or 'default-scheduler'}, "
            "and may be new, or wait for its group or its volumes."
        )
    elif found.machine:
        yield f"The solver has given it node {found.machine}; its binding is under way."
    if said:
        yield f"Last reason given: {said}"
