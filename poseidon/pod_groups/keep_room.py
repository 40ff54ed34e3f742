"""Reads for how long the room of a group's pods is kept for their replacements after the pods are deleted."""

from __future__ import annotations

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.pod_groups.demands import Known

KEEP_ROOM = "firmament.io/keep-room-seconds"
"""Annotation of a pod, or of the object of its group: the seconds for which the pod's room (capacity) is kept."""

_LONGEST = 10**6
"""Largest number of seconds that is read; more than any configuration allows."""


def read_keep_seconds(metadata: ObjectMeta) -> float | None:
    """Return the seconds that an object states in its annotation; None if it states no whole number."""
    stated = metadata.annotations.get(KEEP_ROOM, "")
    if not (stated.isascii() and stated.isdecimal() and len(stated) <= len(str(_LONGEST))):
        return None
    return float(stated)


def explain_wrong_seconds(known: Known) -> str:
    """Return what is wrong with the annotation of a group's object, "" for nothing."""
    metadata = get_metadata(known)
    if KEEP_ROOM not in metadata.annotations or read_keep_seconds(metadata) is not None:
        return ""
    return f"annotation {KEEP_ROOM}: is {metadata.annotations[KEEP_ROOM]!r}; write whole seconds"


def get_metadata(known: Known) -> ObjectMeta:
    """Return the metadata of the object that describes a group."""
    return known.found.metadata if isinstance(known, DescribedMap) else known.metadata
