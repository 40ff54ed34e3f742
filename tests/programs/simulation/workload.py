"""What users ask for: manifests of pods, groups and budgets, drawn at random."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.programs.simulation.api_server import Object

NAMESPACE = "default"
OURS, RIVAL = "poseidon", "rival"
STRANGER = "stranger"
"""Who is no candidate and takes the Lease all the same."""
GROUP = "scheduling.x-k8s.io/pod-group"
TREE = "example.com/tree"
"""Label of the pods and objects of a tree of groups: its name."""
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU = "example.com/gpu"
ZONES = ("a", "b", "c")


def amounts(given: dict[str, str]) -> dict[str, int]:
    """Read quantities as this module writes them: milli-cores, MiB, and plain numbers."""
    return {name: int(text.removesuffix("m").removesuffix("Mi")) for name, text in given.items()}


def requests(pod: Object) -> dict[str, int]:
    """What a pod asks of its node, with its place among the node's pods."""
    return {**amounts(pod["spec"]["containers"][0]["resources"]["requests"]), "pods": 1}


def held(pod: Object) -> dict[str, int]:
    """What a pod holds of its node by the kubelet's rule: what that has allocated, until then what the pod asks for."""
    statuses = pod["status"].get("containerStatuses")
    return {**amounts(statuses[0]["allocatedResources"]), "pods": 1} if statuses else requests(pod)


def container_status(allocated: dict[str, str], actual: dict[str, str]) -> list[Object]:
    """What a kubelet says of a pod's container."""
    return [{"name": "main", "allocatedResources": allocated, "resources": {"requests": actual}}]


def allocatable(node: Object) -> dict[str, int]:
    """What a node offers."""
    return amounts(node["status"]["allocatable"])


def gang_of(pod: Object) -> str | None:
    """The gang that a pod is in, a tree of groups by its name, None for none."""
    labels = pod["metadata"]["labels"]
    return labels.get(GROUP) or labels.get(TREE)


def priority(pod: Object) -> int:
    """How important a pod is."""
    return int(pod["spec"].get("priority", 0))


def node(name: str, *, cpu: int, memory: int, pods: int, gpus: int, zone: str) -> Object:
    offered = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": str(pods)}
    if gpus:
        offered[GPU] = str(gpus)
    return {
        "metadata": {"name": name, "labels": {ZONE: zone, HOST: name}},
        "spec": {},
        "status": {"allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def random_node(random: Random, index: int) -> Object:
    return node(
        f"n{index}",
        cpu=random.choice((1000, 2000, 4000)),
        memory=random.choice((1024, 2048, 4096)),
        pods=random.choice((4, 6, 10)),
        gpus=random.choice((0, 0, 1, 2)),
        zone=ZONES[index % len(ZONES)],
    )


def pod(
    name: str,
    asks: dict[str, str],
    *,
    priority: int = 0,
    labels: dict[str, str] | None = None,
    scheduler: str = OURS,
    owner: str = "",
    **spec: Any,
) -> Object:
    metadata: Object = {"name": name, "namespace": NAMESPACE, "labels": labels or {}}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"rs-{owner}"}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    return {
        "metadata": metadata,
        "spec": {
            "schedulerName": scheduler,
            "priority": priority,
            "containers": [{"name": "main", "resources": {"requests": asks}}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def random_requests(random: Random) -> dict[str, str]:
    asks = {
        "cpu": f"{random.choice((50, 100, 250, 500, 900))}m",
        "memory": f"{random.choice((32, 64, 256, 512))}Mi",
    }
    if random.random() < 0.1:
        asks[GPU] = "1"
    return asks


def apart(app: str) -> Object:
    """Anti-affinity: no two pods of an app on one node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(app: str) -> list[Object]:
    """No zone has more than one pod of an app more than another."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
        }
    ]


def group(name: str, least: int) -> Object:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"minMember": least}, "status": {}}


def budget(app: str, allowed: int) -> Object:
    return {
        "metadata": {"name": app, "namespace": NAMESPACE, "generation": 1},
        "spec": {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed, "observedGeneration": 1},
    }
