"""Typed storage objects from the plain ones."""

from __future__ import annotations

from typing import Any

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.resource import Change
from poseidon.kube.api.storage import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.support import storage

KINDS: dict[str, Any] = {
    "PersistentVolumeClaim": PersistentVolumeClaim,
    "PersistentVolume": PersistentVolume,
    "StorageClass": StorageClass,
    "CSINode": CsiNode,
    "VolumeAttachment": VolumeAttachment,
}


def typed(value, uid=None):
    """Return an object as decoded, with a uid if one is given."""
    metadata = {**value["metadata"], **({"uid": uid} if uid else {})}
    return convert_object({**value, "metadata": metadata}, KINDS[value["kind"]])


def present(value, uid=None):
    """Return the change that brings an object; its uid is its name unless given."""
    uid = uid or value["metadata"]["name"]
    return Change(uid, typed(value, uid))


def claim(name, **options):
    return present(storage.claim(name, **options))


def volume(name, **options):
    return present(storage.volume(name, **options))


def storage_class(name="fast", **options):
    return present(storage.storage_class(name, **options))


def csi_node(name, **limits):
    return present(storage.csi_node(name, **limits))
