"""Makes random storage: bound claims in zones and on nodes, claims that wait for a consumer, attach limits."""

from __future__ import annotations

import random

from benchmarks.judge.random_cluster.objects import (
    HOSTNAME,
    ZONE,
    Object,
    chance,
    expression,
    key_of,
    make_object,
)

DRIVER = "disk.csi.example.com"
POOL = "pool.csi.example.com"
"""A driver that publishes how much storage it can provide, and where."""

DRIVERS = {"disk": DRIVER, "zonal": DRIVER, "pool": POOL}
"""The provisioner of volumes for waiting pods, by storage class."""

BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}


def storage_scaffold(draw: random.Random, nodes: list[Object]) -> list[Object]:
    """Return storage classes, the drivers' limits on nodes, and volumes on nodes that any claim may use."""
    zones = {node["metadata"]["labels"].get(ZONE, "a") for node in nodes}
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": sorted(zones)[:2]}]}]
    classes = [
        _storage_class("disk", DRIVER, "WaitForFirstConsumer"),
        _storage_class("zonal", DRIVER, "WaitForFirstConsumer", allowedTopologies=allowed),
        _storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        _storage_class("at-once", DRIVER, "Immediate"),
        _storage_class("pool", POOL, "WaitForFirstConsumer"),
    ]
    made = list(classes)
    made.append(make_object("CSIDriver", POOL, "storage.k8s.io/v1", spec={"storageCapacity": True}))
    made += [_capacity(draw, f"pool-{index}", nodes) for index in range(draw.randint(0, 3))]
    for node in nodes:
        name = node["metadata"]["name"]
        driver: Object = {"name": DRIVER, "nodeID": name, "topologyKeys": []}
        if chance(draw, 0.7):
            driver["allocatable"] = {"count": draw.choice((1, 2, 4))}
        made.append(make_object("CSINode", name, "storage.k8s.io/v1", spec={"drivers": [driver]}))
        if chance(draw, 0.3):
            at = expression(HOSTNAME, "In", node["metadata"]["labels"][HOSTNAME])
            size = draw.choice(("5Gi", "20Gi"))
            made.append(_volume(f"free-{name}", "local", size, at, {"local": {"path": "/disk"}}))
    return made


def _capacity(draw: random.Random, name: str, nodes: list[Object]) -> Object:
    label = draw.choice((ZONE, HOSTNAME))
    at = expression(label, draw.choice(("In", "In", "NotIn")), draw.choice(_values(nodes, label) or ["a"]))
    made = make_object("CSIStorageCapacity", name, "storage.k8s.io/v1", storageClassName="pool")
    made["metadata"]["namespace"] = "default"
    made["nodeTopology"] = {"matchExpressions": [at]}
    made["capacity"] = draw.choice(("2Gi", "20Gi"))
    if chance(draw, 0.3):
        made["maximumVolumeSize"] = draw.choice(("1Gi", "10Gi"))
    return made


def add_volumes(draw: random.Random, nodes: list[Object], waiting: list[Object]) -> list[Object]:
    """Give some of the waiting pods claims; return the claims and their volumes."""
    made: list[Object] = []
    kinds = (
        _bind_zonal,
        _bind_zonal,
        _bind_local,
        _draw_labelled,
        _unbound,
        _unbound,
        _unbound,
        _exclusive,
        _make_unbound,
    )
    families: dict[str, list[Object]] = {}
    for pod in waiting:
        families.setdefault(key_of(pod).rpartition("-")[0], []).append(pod)
    for pods in families.values():
        if not chance(draw, 0.35):
            continue
        kind = draw.choice(kinds)
        for pod in pods:
            made += kind(draw, nodes, pod)
    return made


def _bind_zonal(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:
    at = expression(ZONE, "In", draw.choice(_values(nodes, ZONE)))
    return _bind(pod, at, {"csi": {"driver": DRIVER, "volumeHandle": _name(pod)}})


def _bind_local(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:
    at = expression(HOSTNAME, "In", draw.choice(_values(nodes, HOSTNAME)))
    return _bind(pod, at, {"local": {"path": "/data"}})


def _draw_labelled(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:
    claim, volume = _bind(pod, None, {"nfs": {"server": "nfs.example", "path": "/"}})
    zones = _values(nodes, ZONE)
    volume["metadata"]["labels"] = {ZONE: "__".join(sorted({draw.choice(zones), draw.choice(zones)}))}
    return [claim, volume]


def _unbound(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:  # noqa: ARG001 - as the others
    return [
        _claim(
            pod,
            draw.choice(("disk", "zonal", "local", "local", "pool", "pool")),
            draw.choice(("1Gi", "10Gi")),
        )
    ]


def _exclusive(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:
    """Return one claim, for one pod at a time, that a pod shares with its next replica."""
    stem, _, number = pod["metadata"]["name"].rpartition("-")
    if int(number) % 2:
        _use(pod, f"{stem}-{int(number) - 1}")
        return []
    claim, volume = _bind_zonal(draw, nodes, pod)
    for each in (claim, volume):
        each["spec"]["accessModes"] = ["ReadWriteOncePod"]
    return [claim, volume]


def _make_unbound(draw: random.Random, nodes: list[Object], pod: Object) -> list[Object]:  # noqa: ARG001 - as the others
    """Return a claim that is not bound yet, or let the pod name a missing one: it has to wait."""
    if chance(draw, 0.5):
        return [_claim(pod, "at-once", "1Gi")]
    _use(pod, "missing")
    return []


def _bind(pod: Object, at: Object | None, source: Object) -> list[Object]:
    claim = _claim(pod, "disk", "1Gi")
    claim["metadata"]["annotations"] = dict(BOUND)
    claim["spec"]["volumeName"] = name = f"pv-{_name(pod)}"
    claim["status"] = {"phase": "Bound"}
    volume = _volume(name, "disk", "1Gi", at, source)
    where = {key: claim["metadata"][key] for key in ("namespace", "name")}
    volume["spec"]["claimRef"] = dict(where, apiVersion="v1", kind="PersistentVolumeClaim")
    volume["status"] = {"phase": "Bound"}
    return [claim, volume]


def _claim(pod: Object, storage_class: str, size: str) -> Object:
    name = pod["metadata"]["name"]
    _use(pod, name)
    claim = make_object("PersistentVolumeClaim", name)
    claim["metadata"]["namespace"] = pod["metadata"]["namespace"]
    claim["spec"] = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": size}},
    }
    return claim


def _use(pod: Object, claim: str) -> None:
    volumes = pod["spec"].setdefault("volumes", [])
    volumes.append({"name": f"data{len(volumes)}", "persistentVolumeClaim": {"claimName": claim}})


def _volume(name: str, storage_class: str, size: str, at: Object | None, source: Object) -> Object:
    volume = make_object("PersistentVolume", name)
    volume["spec"] = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain",
        **source,
    }
    if at is not None:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [at]}]}}
    volume["status"] = {"phase": "Available"}
    return volume


def _storage_class(name: str, provisioner: str, mode: str, **more: object) -> Object:
    return make_object(
        "StorageClass", name, "storage.k8s.io/v1", provisioner=provisioner, volumeBindingMode=mode, **more
    )


def _values(nodes: list[Object], label: str) -> list[str]:
    return [node["metadata"]["labels"][label] for node in nodes if label in node["metadata"]["labels"]]


def _name(pod: Object) -> str:
    return key_of(pod).replace("/", "-")
