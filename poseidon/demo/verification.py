"""Checks a cluster by the objects that its API server holds, independently of the scheduler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from poseidon.kube.api.collections import NODES, PODS
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import pages
from poseidon.pods.requests_and_limits import amounts, effective_requests

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What the pods request of all nodes, and what the nodes offer.

    ``bound`` is the number of pods with a node; ``overcommitted`` has a line for each node and resource with too many
    requests.

    ``unknown_nodes`` are nodes to which pods are bound although they do not exist.
    """

    nodes: int
    bound: int
    nodes_used: int
    overcommitted_nodes: int
    overcommitted: tuple[str, ...]
    unknown_nodes: tuple[str, ...]


async def read_occupancy(transport: Transport) -> Occupancy:
    """Read all nodes and pods from the API server, and return how much of the nodes is requested.

    Raises ``KubeError`` if the API server does not answer.
    """
    nodes = [node async for page in pages(transport, NODES, _PAGE) for node in page.items]
    pods = [pod async for page in pages(transport, PODS, _PAGE) for pod in page.items]
    return occupancy(nodes, pods)


def occupancy(nodes: Iterable[Node], pods: Iterable[Pod]) -> Occupancy:
    """Return what all pods with a node request, compared with what the nodes offer.

    If a pod requests a resource that its node does not offer, the node counts as overcommitted.
    """
    offered = {
        node.metadata.name: amounts(node.status.allocatable or {}, "status.allocatable", []) for node in nodes
    }
    taken: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    bound = 0
    for pod in pods:
        if not pod.spec.node_name or pod.terminal:
            continue
        bound += 1
        used = taken[pod.spec.node_name]
        used["pods"] += 1
        for resource, amount in effective_requests(pod.spec, []).items():
            used[resource] += amount
    over = [
        (name, f"{name}: {resource}: {amount} requested, {offered[name].get(resource, 0)} offered")
        for name, used in sorted(taken.items())
        if name in offered
        for resource, amount in sorted(used.items())
        if amount > offered[name].get(resource, 0)
    ]
    return Occupancy(
        nodes=len(offered),
        bound=bound,
        nodes_used=len(taken),
        overcommitted_nodes=len({name for name, _ in over}),
        overcommitted=tuple(line for _, line in over),
        unknown_nodes=tuple(sorted(taken.keys() - offered.keys())),
    )
