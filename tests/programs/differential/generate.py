"""Random clusters with pods that wait, from a seed: applications with the rules that people give them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.programs.differential.applications import HOST, RACK, ZONE, application, keep_away
from tests.programs.differential.world import Case, Cluster, Node, Pod, PodSpec, Taint

GPU = "example.com/gpu"
NAMESPACES: dict[str, dict[str, str]] = {
    "default": {"kubernetes.io/metadata.name": "default"},
    "shop": {"kubernetes.io/metadata.name": "shop", "team": "blue"},
    "data": {"kubernetes.io/metadata.name": "data", "team": "red"},
}
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


@dataclass(frozen=True)
class Size:
    """Ranges (least, most) of how many there are; ``load``: what waits, as a share of the free processors."""

    name: str
    nodes: tuple[int, int]
    waiting: tuple[int, int]
    running: tuple[int, int]
    applications: tuple[int, int]
    load: tuple[float, float]


SMALL = Size("small", (2, 4), (3, 7), (0, 3), (1, 4), (0.2, 1.1))
WIDE = Size("wide", (3, 12), (5, 40), (0, 15), (2, 7), (0.2, 1.2))
MIDDLE = Size("middle", (50, 50), (200, 200), (20, 80), (12, 24), (0.5, 1.2))
SIZES = {size.name: size for size in (SMALL, WIDE, MIDDLE)}


def case(seed: int, size: Size) -> Case:
    """The case of a seed: equal in every process and under every hash seed."""
    draw = random.Random(f"{size.name} {seed}")
    cluster = Cluster({node.name: node for node in _nodes(draw, size)}, namespaces=dict(NAMESPACES))
    names = [f"app-{index}" for index in range(draw.randint(*size.applications))]
    templates = [application(draw, name, names, sorted(cluster.nodes)) for name in names]
    total = draw.randint(*size.waiting)
    specs = _scaled(draw, size, cluster, templates, total)
    _run(draw, size, cluster, specs)
    waiting: dict[str, PodSpec] = {}
    for spec, count in _replicas(draw, specs, total):
        waiting.update({f"{spec.name}-{index}": spec for index in range(count)})
    return Case(seed, cluster, waiting)


# --- nodes -----------------------------------------------------------------------------------------------------------


def _nodes(draw: random.Random, size: Size) -> list[Node]:
    count = draw.randint(*size.nodes)
    zones = draw.choice([1, 2, 2, 3] if count < 20 else [3, 4, 5])
    per_rack = draw.choice([2, 3]) if count < 20 else draw.choice([4, 8])
    uniform = draw.random() < 0.4
    cpu = draw.choice([2000, 4000, 8000])
    return [
        node(draw, index, f"zone-{index % zones}", f"rack-{index // per_rack}", cpu if uniform else 0)
        for index in range(count)
    ]


def node(draw: random.Random, index: int, zone: str, rack: str, cpu: int = 0) -> Node:
    """A node; some of its labels may be missing. ``cpu`` 0: drawn, too."""
    name = f"node-{index:02}"
    labels = {HOST: name, ZONE: zone, RACK: rack, "size": str(draw.randint(1, 4)), "disk": "ssd"}
    for key, odds in ((HOST, 0.04), (ZONE, 0.06), (RACK, 0.12), ("size", 0.2), ("disk", 0.4)):
        if draw.random() < odds:
            del labels[key]
    taints = []
    if draw.random() < 0.08:
        taints.append(
            Taint("dedicated", draw.choice(["batch", "web"]), draw.choice(["NoSchedule", "NoExecute"]))
        )
    if draw.random() < 0.06:
        taints.append(Taint("spot", "", "PreferNoSchedule"))
    cordoned, not_ready = draw.random() < 0.04, draw.random() < 0.03
    taints += [CORDON] * cordoned + [NOT_READY] * not_ready  # as the node controller does
    allocatable = {
        "cpu": cpu or draw.choice([1000, 2000, 4000, 8000]),
        "memory": draw.choice([4, 8, 16]),
        "pods": draw.choice([2, 4, 10, 10, 110]),
    }
    if draw.random() < 0.25:
        allocatable[GPU] = draw.randint(1, 2)
    return Node(name, allocatable, labels, tuple(taints), unschedulable=cordoned, not_ready=not_ready)


# --- pods ------------------------------------------------------------------------------------------------------------


def _scaled(
    draw: random.Random, size: Size, cluster: Cluster, templates: list[PodSpec], total: int
) -> list[PodSpec]:
    """Specs whose requests make all that waits come to about the load that was drawn."""
    room = sum(node.allocatable["cpu"] for node in cluster.nodes.values())
    mean = max(10, int(room * draw.uniform(*size.load) / max(1, total)))
    specs = []
    for template in templates:
        requests = {"cpu": max(0, round(mean * draw.choice([0, 0.5, 1, 1, 1.5]) / 10) * 10)}
        if draw.random() < 0.4:
            requests["memory"] = draw.randint(1, 4)
        if draw.random() < 0.06:
            requests[GPU] = 1
        specs.append(replace(template, requests=requests))
    return specs


def _replicas(draw: random.Random, specs: list[PodSpec], total: int) -> list[tuple[PodSpec, int]]:
    """How many pods of each spec wait; ``total`` in all, some of the applications much larger than others.

    Those that keep to themselves are small, as people make them; some are still larger than their domains.
    """
    weights = [draw.choice([1, 1, 2] if spec.anti_affinity else [1, 2, 4, 8]) for spec in specs]
    counts = dict.fromkeys(range(len(specs)), 0)
    for index in draw.choices(range(len(specs)), weights, k=total):
        counts[index] += 1
    return [(specs[index], count) for index, count in counts.items() if count]


def _run(draw: random.Random, size: Size, cluster: Cluster, specs: list[PodSpec]) -> None:
    """Pods that run already, of the same applications and of other schedulers, where there is room; some are ending.

    They need not keep the rules: labels of nodes may have changed since, or another scheduler may not know them.
    """
    foreign = _foreign(draw)
    names = sorted(cluster.nodes)
    for index in range(draw.randint(*size.running)):
        spec = draw.choice(specs + foreign)
        name = spec.node_name or draw.choice(names)
        if name not in cluster.nodes:
            continue
        here = [pod.spec for pod in cluster.pods.values() if pod.node == name]
        allocatable = cluster.nodes[name].allocatable
        taken = {resource: sum(each.requests.get(resource, 0) for each in here) for resource in allocatable}
        lacks = any(
            taken.get(resource, 0) + amount > allocatable.get(resource, 0)
            for resource, amount in spec.requests.items()
        )
        if (lacks or len(here) >= allocatable["pods"]) and draw.random() < 0.95:
            continue
        cluster.pods[f"running-{index:03}"] = Pod(spec, name, terminating=draw.random() < 0.12)


def _foreign(draw: random.Random) -> list[PodSpec]:
    """Pods that another scheduler runs; one of them keeps some of ours away."""
    return [
        PodSpec("foreign-plain", "default", {"app": "foreign"}, {"cpu": draw.choice([100, 500])}),
        PodSpec("foreign-look-alike", "shop", {"app": "app-0", "tier": "front"}, {"cpu": 100}),
        keep_away(draw, "foreign-shy"),
    ]
