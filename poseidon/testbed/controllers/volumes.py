"""Simulates the controllers of volumes: binds claims, provisions volumes, and releases volumes of deleted claims.

Like ``KubeletSimulation``, ``VolumeSimulation`` does no input or output and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from poseidon.testbed.controllers.controller_loop import Agenda, Follower
from poseidon.testbed.controllers.node_rules import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    annotations_of,
    is_bound,
    is_fit,
    is_for,
    size,
)
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

PROVISIONING = "simulated.poseidon.io/provisioning"
"""Annotation of a claim that says what its provisioner does: a value of ``Provisioning``."""

_ZONE, _HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


class Provisioning(Enum):
    """What a provisioner does for a claim."""

    PROVIDE = "provide"
    REFUSE = "refuse"
    """Reject the selected node, as a real provisioner does if the node cannot reach such a volume."""
    HANG = "hang"
    """Do nothing, so that the claim waits for ever."""


def as_annotated(claim: Object, node: str) -> Provisioning:  # noqa: ARG001 - the signature of a provisioner
    """Return what a provisioner does for a claim according to the claim's annotation.

    Without an annotation, the provisioner creates the volume.
    """
    text = annotations_of(claim).get(PROVISIONING, Provisioning.PROVIDE.value)
    known = {each.value: each for each in Provisioning}
    return known.get(text, Provisioning.PROVIDE)


class VolumeSimulation:
    """Binds claims to volumes, and creates volumes, ``delay`` seconds after they are requested.

    ``provisioner`` returns what happens for a claim and its selected node ("" for a class with immediate binding).
    """

    def __init__(
        self,
        store: Store,
        *,
        delay: float = 0.0,
        provisioner: Callable[[Object, str], Provisioning] = as_annotated,
    ) -> None:
        if delay < 0:
            raise ValueError(f"volume simulation: delay: {delay} is negative")
        self._store = store
        self._claims = store.collection("persistentvolumeclaims")
        self._volumes = store.collection("persistentvolumes")
        self._classes = store.collection("storageclasses.storage.k8s.io")
        self._nodes = store.collection("nodes")
        self.follows = self._claims, self._volumes, self._classes
        self._claim_changes = Follower(self._claims)
        self._volume_changes = Follower(self._volumes)
        self._class_changes = Follower(self._classes)
        self._delay = delay
        self._provisioner = provisioner
        self._agenda: Agenda[tuple[Record, str]] = Agenda()
        self._asked: set[tuple[str, str]] = set()
        self._unbound: set[str] = set()
        self._free: set[str] = set()
        self._given: dict[str, str] = {}

    def advance(self, now: float) -> float | None:
        """Handle changes, and do the work that is due at ``now``; return when further work is due."""
        while self._take_in(now):
            pass
        for _, (asked, node) in self._agenda.due(now):
            self._asked.discard((asked.uid, node))
            record = self._claims.get(asked.key)
            if record is not None and record.uid == asked.uid:
                self._answer(record, node)
        return now if self._take_in(now) else self._agenda.next

    def _take_in(self, now: float) -> bool:
        """Handle changes. Returns whether anything was handled, because handling changes makes new ones."""
        _, claims = self._claim_changes.take_changes()
        _, volumes = self._volume_changes.take_changes()
        _, classes = self._class_changes.take_changes()
        for gone, record in claims:
            if gone:
                self._unbound.discard(record.key)
                self._give_back(decode(record))
            else:
                self._sync_claim(record.key, now)
        freed = [self._sync_volume(record.key, now) for _, record in volumes]
        if any(freed) or classes:
            for key in sorted(self._unbound):
                self._sync_claim(key, now)
        return bool(claims or volumes or classes)

    # --- claims --------------------------------------------------------------------------------------------

    def _sync_claim(self, key: str, now: float) -> None:
        record = self._claims.get(key)
        claim = decode(record) if record is not None else {}
        if record is None or is_bound(claim) or claim["metadata"].get("deletionTimestamp"):
            self._unbound.discard(key)
            return
        self._unbound.add(key)
        if not claim.get("status"):
            claim["status"] = {"phase": "Pending"}
            record = self._store.replace(self._claims, record, claim)
            claim = decode(record)
        given = self._volumes.get(self._given.get(key, ""))
        if given is not None and is_for(decode(given), claim):
            self._bind(record, given)
            return
        storage_class = self._class_of(claim)
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if not waits:
            free = [each for name in sorted(self._free) if (each := self._volumes.get(name)) is not None]
            fit = [each for each in free if is_fit(decode(each), claim)]
            if fit:
                self._bind(record, min(fit, key=lambda each: (size(decode(each)), each.name)))
                return
        node = annotations_of(claim).get(SELECTED_NODE, "")
        provides = storage_class.get("provisioner", "") not in ("", NO_PROVISIONER)
        if provides and (node or not waits) and (record.uid, node) not in self._asked:
            self._asked.add((record.uid, node))
            self._agenda.put(now + self._delay, (record, node))

    def _answer(self, record: Record, node: str) -> None:
        claim = decode(record)
        if is_bound(claim) or annotations_of(claim).get(SELECTED_NODE, "") != node:
            return
        match self._provisioner(claim, node):
            case Provisioning.PROVIDE:
                volume = self._create_volume(claim, node)
                created = self._store.create(self._volumes, volume)
                self._bind(record, created)
            case Provisioning.REFUSE:
                claim["metadata"]["annotations"].pop(SELECTED_NODE, None)
                self._store.replace(self._claims, record, claim)
            case Provisioning.HANG:
                self._asked.add((record.uid, node))

    def _bind(self, claim_record: Record, volume_record: Record) -> None:
        """Bind a claim and a volume to each other; the volume is written first."""
        claim, volume = decode(claim_record), decode(volume_record)
        metadata = claim["metadata"]
        volume["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        volume["status"] = {**(volume.get("status") or {}), "phase": "Bound"}
        self._store.replace(self._volumes, volume_record, volume)
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        metadata["annotations"] = {**annotations_of(claim), BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
        capacity, modes = volume["spec"].get("capacity"), volume["spec"].get("accessModes")
        claim["status"] = {"phase": "Bound", "accessModes": modes, "capacity": capacity}
        self._store.replace(self._claims, claim_record, claim)

    def _create_volume(self, claim: Object, node: str) -> Object:
        """Return a new volume that the node's zone can reach.

        If the node has no zone, only the node itself can reach the volume; if no node is given, all nodes can.
        """
        storage_class = self._class_of(claim)
        name = f"pvc-{claim['metadata']['uid']}"
        asked = claim["spec"]
        spec: Object = {
            "capacity": dict((asked.get("resources") or {}).get("requests") or {}),
            "accessModes": asked.get("accessModes") or ["ReadWriteOnce"],
            "storageClassName": asked.get("storageClassName") or "",
            "volumeMode": asked.get("volumeMode") or "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
            "csi": {"driver": storage_class.get("provisioner", ""), "volumeHandle": name},
        }
        record = self._nodes.get(node)
        labels = (decode(record)["metadata"].get("labels") or {}) if record is not None else {}
        key = next((key for key in (_ZONE, _HOSTNAME) if key in labels), "")
        if key:
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": [labels[key]]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Pending"}}

    def _class_of(self, claim: Object) -> Object:
        """Return the storage class of a claim, or an empty object if there is none."""
        record = self._classes.get(claim["spec"].get("storageClassName") or "")
        return decode(record) if record is not None else {}

    # --- volumes -------------------------------------------------------------------------------------------

    def _sync_volume(self, key: str, now: float) -> bool:
        """Record the claim for which a volume is reserved. Returns whether the volume has become available."""
        record = self._volumes.get(key)
        volume = decode(record) if record is not None else {}
        given = volume["spec"].get("claimRef") if record is not None else None
        if record is None or given:
            self._free.discard(key)
            if given:
                claim = f"{given.get('namespace') or 'default'}/{given['name']}"
                self._given[claim] = key
                self._sync_claim(claim, now)
            return False
        if (volume.get("status") or {}).get("phase", "Pending") == "Pending":
            volume["status"] = {"phase": "Available"}
            self._store.replace(self._volumes, record, volume)
        is_new = key not in self._free
        self._free.add(key)
        return is_new

    def _give_back(self, claim: Object) -> None:
        """Delete or release the volume of a deleted claim, as the volume's policy says."""
        record = self._volumes.get(claim["spec"].get("volumeName") or "")
        if record is None or not is_for(decode(record), claim):
            return
        volume = decode(record)
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._store.delete(self._volumes, record)
        else:
            volume["status"] = {**(volume.get("status") or {}), "phase": "Released"}
            self._store.replace(self._volumes, record, volume)
