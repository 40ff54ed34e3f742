"""Makes random nodes: sizes, labels, taints, cordons."""

from __future__ import annotations

import random

from benchmarks.judge.random_cluster.objects import GPU, HOSTNAME, REGION, ZONE, Object, chance

ZONES = ("a", "b", "c", "d")
TAINTS: tuple[tuple[Object, float], ...] = (
    ({"key": "dedicated", "value": "batch", "effect": "NoSchedule"}, 0.15),
    ({"key": "spot", "value": "true", "effect": "NoExecute"}, 0.08),
    ({"key": "level", "value": "7", "effect": "NoSchedule"}, 0.05),
    ({"key": "slow", "value": "", "effect": "PreferNoSchedule"}, 0.1),
)
SIZES = ((2, 4), (4, 8), (4, 16), (8, 16))


def random_nodes(draw: random.Random) -> list[Object]:
    """Return 15 to 40 nodes in two to four zones; some lack the labels of zone or disk."""
    zones = ZONES[: draw.randint(2, 4)]
    return [_node(draw, f"n{index:02}", zones) for index in range(draw.randint(15, 40))]


def _node(draw: random.Random, name: str, zones: tuple[str, ...]) -> Object:
    cpu, memory = draw.choice(SIZES)
    labels = {HOSTNAME: name, "cores": str(cpu)}
    if chance(draw, 0.92):
        labels[ZONE] = draw.choice(zones)
        labels[REGION] = "north" if labels[ZONE] in "ab" else "south"
    if chance(draw, 0.8):
        labels["disk"] = draw.choice(("ssd", "hdd", "nvme"))
    if chance(draw, 0.3):
        labels["rack"] = draw.choice(("r1", "r2", "r3"))
    if chance(draw, 0.05):
        labels["cores"] = draw.choice(("many", "04", "0"))
    allocatable = {
        "cpu": str(cpu),
        "memory": f"{memory}Gi",
        "pods": str(draw.choice((4, 8, 16, 110))),
        "ephemeral-storage": f"{draw.choice((10, 50, 100))}Gi",
    }
    if chance(draw, 0.25):
        allocatable[GPU] = str(draw.choice((1, 2, 4)))
    declared = ["RestartAllContainersOnContainerExits"] if chance(draw, 0.7) else []
    spec: Object = {"taints": [taint for taint, share in TAINTS if chance(draw, share)]}
    if chance(draw, 0.06):
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "declaredFeatures": declared,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
