"""What claims allow on two nodes: the plan and the checker find the same, and the checker finds what breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.judge.random_cluster.objects import (
    HOSTNAME,
    OURS,
    REGION,
    ZONE,
    Object,
    expression,
    make_object,
)
from firmament.core.results import Delta, DeltaKind
from tests.programs.differential.checker import Rule, accepting_nodes
from tests.programs.differential.manifest_plans import planned_objects

DRIVER = "disk.csi.example.com"


def nodes(*zones: str) -> list[Object]:
    """Nodes n0, n1 ... in these zones; "" is none."""
    made = []
    for index, zone in enumerate(zones):
        each = make_object("Node", f"n{index}", spec={})
        each["metadata"]["labels"] = {
            HOSTNAME: f"n{index}",
            **({ZONE: zone, REGION: "north"} if zone else {}),
        }
        ready = {"type": "Ready", "status": "True"}
        room = {"cpu": "4", "memory": "8Gi", "pods": "9"}
        made.append({**each, "status": {"allocatable": room, "conditions": [ready]}})
    return made


def pods(*claims: str) -> list[Object]:
    """Pods p0, p1 ... in the namespace red, each with one of the claims."""
    made = []
    for index, claim in enumerate(claims):
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        pod = make_object("Pod", f"p{index}")
        pod["metadata"] |= {"namespace": "red"}
        pod["spec"] = {"containers": [{"name": "main"}], "volumes": [volume], "schedulerName": OURS}
        made.append(pod)
    return made


def claim(name: str, of: str, size: str = "1Gi", mode: str = "ReadWriteOnce", volume: str = "") -> Object:
    made = make_object("PersistentVolumeClaim", name)
    made["metadata"] |= {"namespace": "red"}
    resources = {"requests": {"storage": size}}
    made["spec"] = {"accessModes": [mode], "storageClassName": of, "resources": resources}
    if volume:
        made["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        made["spec"]["volumeName"] = volume
        made["status"] = {"phase": "Bound"}
    return made


def volume(name: str, of: str, size: str, mode: str = "ReadWriteOnce", **more: object) -> Object:
    spec = {"capacity": {"storage": size}, "accessModes": [mode], "storageClassName": of, **more}
    made = make_object("PersistentVolume", name, spec=spec, status={"phase": "Available"})
    if "claimRef" in more:
        made["status"] = {"phase": "Bound"}
    return made


def bound(name: str, mode: str = "ReadWriteOnce", **more: object) -> list[Object]:
    """A claim and its volume."""
    ref = {"namespace": "red", "name": name}
    volume_of_it = volume(f"pv-{name}", "disk", "1Gi", mode, claimRef=ref, **more)
    return [claim(name, "disk", mode=mode, volume=f"pv-{name}"), volume_of_it]


def at(key: str, *values: str) -> Object:
    terms = [{"matchExpressions": [expression(key, "In", *values)]}]
    return {"required": {"nodeSelectorTerms": terms}}


def storage_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer", **more: object) -> Object:
    version = "storage.k8s.io/v1"
    return make_object("StorageClass", name, version, provisioner=provisioner, volumeBindingMode=mode, **more)


def one_per_node(name: str) -> Object:
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": 1}}
    return make_object("CSINode", name, "storage.k8s.io/v1", spec={"drivers": [driver]})


CSI: Object = {"csi": {"driver": DRIVER, "volumeHandle": "h"}}
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
DISK = storage_class("disk", DRIVER)
ZONAL = storage_class(
    "zonal", DRIVER, allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
)
LABELLED = bound("c", nfs={"server": "nfs.example", "path": "/"})
LABELLED[1]["metadata"]["labels"] = {ZONE: "b__c"}

CASES: dict[str, tuple[list[Object], tuple[int, ...], tuple[str, ...], Rule]] = {
    "attach limit": (
        [*nodes("a"), one_per_node("n0"), DISK, claim("c", "disk"), claim("d", "disk"), *pods("c", "d")],
        (1, 1),
        ("n0", "n0"),
        Rule.RESOURCES,
    ),
    "a free volume is for one": (
        [
            *(
                *nodes("a", "a"),
                LOCAL,
                claim("c", "local", "10Gi"),
                claim("d", "local", "10Gi"),
                *pods("c", "d"),
            ),
            volume("v0", "local", "5Gi", nodeAffinity=at(HOSTNAME, "n0"), local={"path": "/d"}),
            volume("v1", "local", "20Gi", nodeAffinity=at(HOSTNAME, "n1"), local={"path": "/d"}),
        ],
        (1, 1),
        ("n1", "n1"),
        Rule.RESOURCES,
    ),
    "too small a volume": (
        [
            *(*nodes("a"), LOCAL, claim("c", "local", "10Gi"), *pods("c")),
            volume("v0", "local", "5Gi", nodeAffinity=at(HOSTNAME, "n0"), local={"path": "/d"}),
        ],
        (0,),
        ("n0",),
        Rule.VOLUMES,
    ),
    "one pod at a time": (
        [*nodes("a", "a"), DISK, *bound("c", "ReadWriteOncePod", **CSI), *pods("c", "c")],
        (2, 2),
        ("n0", "n1"),
        Rule.ANTI_AFFINITY,
    ),
    "where the volume is": (
        [*nodes("a", "b"), DISK, *bound("c", nodeAffinity=at(ZONE, "b"), **CSI), *pods("c")],
        (1,),
        ("n0",),
        Rule.VOLUMES,
    ),
    "zones of a volume, where nodes have some": (
        [*nodes("a", "b", ""), DISK, *LABELLED, *pods("c")],
        (2,),
        ("n0",),
        Rule.VOLUMES,
    ),
    "where the class provisions": (
        [*nodes("a", "b", ""), ZONAL, claim("c", "zonal"), *pods("c")],
        (1,),
        ("n2",),
        Rule.VOLUMES,
    ),
    "bound by somebody else first": (
        [*nodes("a"), storage_class("at-once", DRIVER, "Immediate"), claim("c", "at-once"), *pods("c")],
        (0,),
        ("n0",),
        Rule.VOLUMES,
    ),
    "no such claim": ([*nodes("a"), *pods("c")], (0,), ("n0",), Rule.VOLUMES),
}


@pytest.mark.parametrize("name", CASES)
def test_claims_allow_what_the_plan_does_and_no_more(name: str, tmp_path: Path):
    """``accepting``: how many nodes would take each pod by itself; ``wrong``: their nodes if a rule is to be broken."""
    objects, accepting, wrong, rule = CASES[name]
    found = planned_objects(objects, tmp_path)
    cluster, waiting = found.case.cluster, found.case.waiting
    assert tuple(len(accepting_nodes(cluster, spec)) for spec in waiting.values()) == accepting
    outcome = found.checked()
    assert (outcome.faults, outcome.left) == ((), ())
    assert len(outcome.order) == min(1, max(accepting))
    changed = [Delta(DeltaKind.PLACE, uid, node) for uid, node in zip(waiting, wrong, strict=True)]
    (fault,) = found.checked(changed).faults
    assert fault.partition(": breaks ")[2].split(", ")[0] == rule.value
