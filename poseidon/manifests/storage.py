"""Storage objects of the input: what is wrong with them, and the state that they make up together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from poseidon.kube.api.storage import (
    DEFAULT_CLASS,
    LEGACY_CLASS,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.volumes.requirements import volume_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from poseidon.kube.api.core import KubeStruct, Resources

STORAGE_KINDS = (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
)

_BINDING_MODES = ("", "Immediate", "WaitForFirstConsumer")


def storage_defects(found: KubeStruct) -> Iterator[Defect]:
    """Yield what the API server would refuse in a storage object, as far as it matters here."""
    if isinstance(found, PersistentVolume):
        yield from _size_defects(found.spec.capacity, "spec.capacity")
        rules: list[Defect] = []
        volume_rules(found, rules)
        for defect in rules:
            # The checks are those of a pod's affinity, which is the same type elsewhere.
            path = defect.field.replace(
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                "spec.nodeAffinity.required",
            )
            yield Defect(path, defect.problem)
    elif isinstance(found, PersistentVolumeClaim):
        yield from _size_defects(found.spec.resources.requests, "spec.resources.requests")
    elif isinstance(found, StorageClass) and found.volume_binding_mode not in _BINDING_MODES:
        problem = f"unknown mode {found.volume_binding_mode!r}; use Immediate or WaitForFirstConsumer"
        yield Defect("volumeBindingMode", problem)


def with_default_class(objects: Sequence[KubeStruct]) -> list[KubeStruct]:
    """Return storage objects as in a cluster, where claims that name no class have got the default one."""
    default = _default_class(objects)
    return [
        _completed(each, default) if isinstance(each, PersistentVolumeClaim) else each for each in objects
    ]


def _completed(claim: PersistentVolumeClaim, default: str) -> PersistentVolumeClaim:
    """Return a claim with the default class; its owners by name alone, as pods are known by name here."""
    metadata, spec = claim.metadata, claim.spec
    owners = tuple(replace(owner, uid="") for owner in metadata.owner_references)
    claim = replace(claim, metadata=replace(metadata, owner_references=owners))
    if spec.storage_class_name is not None or LEGACY_CLASS in metadata.annotations or spec.volume_name:
        return claim
    return replace(claim, spec=replace(spec, storage_class_name=default))


def _default_class(objects: Iterable[KubeStruct]) -> str:
    """Return the name of the default class, the youngest of several, "" if there is none."""
    defaults = [
        each.metadata
        for each in objects
        if isinstance(each, StorageClass) and each.metadata.annotations.get(DEFAULT_CLASS) == "true"
    ]
    chosen = max(defaults, key=lambda each: (each.creation_timestamp or "", each.name), default=None)
    return chosen.name if chosen is not None else ""


def _size_defects(amounts: Resources, path: str) -> Iterator[Defect]:
    if "storage" not in amounts:
        return
    try:
        amount("storage", amounts["storage"])
    except QuantityError as error:
        yield Defect(f"{path}.storage", str(error))
