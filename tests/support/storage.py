"""Storage objects as plain data, as an API server would hold them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def claim(
    name: str,
    *,
    storage_class: str | None = "fast",
    namespace: str = "default",
    volume: str = "",
    size: str = "1Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    annotations: dict[str, str] | None = None,
    owner: str = "",
    **spec: Any,
) -> Object:
    """Return a claim, bound if it names a volume; ``owner``: uid, and name, of the pod that it was made for."""
    notes = {**(annotations or {}), **({"pv.kubernetes.io/bind-completed": "yes"} if volume else {})}
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    if volume:
        spec["volumeName"] = volume
    metadata: Object = {"name": name, "namespace": namespace, "annotations": notes}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": owner, "controller": True}
        ]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(
    name: str,
    *,
    to: str = "",
    storage_class: str = "fast",
    size: str = "1Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    driver: str = "",
    at: tuple[str, list[str]] | None = None,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Return a volume; ``to`` is ``namespace/name`` of its claim, ``at`` label and values of its nodes."""
    spec = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": storage_class,
        **spec,
    }
    if to:
        namespace, _, claimed = to.partition("/")
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claimed}
    if driver:
        spec["csi"] = {"driver": driver, "volumeHandle": name}
    if at is not None:
        term = {"matchExpressions": [{"key": at[0], "operator": "In", "values": at[1]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"phase": "Bound" if to else "Available"},
    }


def storage_class(
    name: str = "fast", *, provisioner: str = "disk.example.com", waits: bool = True, topologies: Any = ()
) -> Object:
    """Return a storage class; ``topologies``: one term per (label, values)."""
    found: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }
    if topologies:
        found["allowedTopologies"] = [
            {"matchLabelExpressions": [{"key": key, "values": values}]} for key, values in topologies
        ]
    return found


def csi_node(name: str, **limits: int | None) -> Object:
    """Return the CSI drivers of a node with their limits; in driver names ``_`` stands for ``.``."""
    drivers = []
    for driver, count in limits.items():
        entry: Object = {"name": driver.replace("_", "."), "nodeID": name, "topologyKeys": []}
        if count is not None:
            entry["allocatable"] = {"count": count}
        drivers.append(entry)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def csi_driver(name: str, *, capacity: bool = True) -> Object:
    """Return a CSI driver; ``capacity``: it says how much it can make."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {"storageCapacity": capacity},
    }


def storage_capacity(name: str, storage_class: str, topology: Object | None, **amounts: str) -> Object:
    """Return what can be made for a storage class. ``topology``: a label selector; ``amounts``: fields of it."""
    found: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": storage_class,
        **amounts,
    }
    if topology is not None:
        found["nodeTopology"] = topology
    return found


def using(*claims: str) -> list[Object]:
    """Return volumes of a pod."""
    return [{"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims]


def attachment(name: str, node: str, driver: str, *, volume: str = "", handle: str = "") -> Object:
    """Return a VolumeAttachment, of a volume or of a disk without one."""
    source: Object = {"persistentVolumeName": volume}
    if handle:
        source = {"inlineVolumeSpec": {"csi": {"driver": driver, "volumeHandle": handle}}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": driver, "nodeName": node, "source": source},
        "status": {"attached": True},
    }
