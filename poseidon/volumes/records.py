"""Defines records of claims, volumes and storage classes, with only the fields that decide where pods may run.

A cluster may have 100,000 claims, so strings and rules that many objects share are kept only once.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2s
from sys import intern

from poseidon.kube.api.metadata import Number, ObjectMeta
from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.api.storage import (
    BIND_COMPLETED,
    LEGACY_CLASS,
    NO_PROVISIONER,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.volumes.requirements import AVAILABLE, driver_of, driver_of_class, topology_rule, volume_rules

FILESYSTEM = "Filesystem"
_UNUSABLE_PHASES = ("Failed", "Released")

Condition = tuple[str, str, tuple[str, ...]]
"""Key, operator and values of a condition on labels."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a claim requires of existing volumes: classes, least size in bytes, modes and labels."""

    storage_class: str
    attributes_class: str
    size: int
    modes: tuple[str, ...]
    volume_mode: str
    conditions: tuple[Condition, ...]

    @property
    def resource(self) -> str:
        """Name of the resource that counts available volumes for this profile on a machine."""
        digest = blake2s(repr(self).encode(), digest_size=6).hexdigest()
        return f"{AVAILABLE}{self.storage_class}-{digest}"


@dataclass(frozen=True, slots=True)
class Claim:
    """The record of a PersistentVolumeClaim."""

    key: str
    """The claim's name, ``namespace/name``."""
    uid: str
    """The claim's uid."""
    storage_class: str
    """Name of the claim's storage class."""
    volume: str
    """Name of the volume in its spec, "" for none; final only if ``bound``."""
    bound: bool
    """Whether the claim is bound."""
    lost: bool
    """Whether the claim's volume is lost."""
    deleting: bool
    """Whether the claim is being deleted."""
    exclusive: bool
    """Whether only one pod at a time may use the claim."""
    selected_node: str
    """The node for which the claim's volume is provisioned, "" for none."""
    owner: str
    """Uid of the claim's controller, or the controller's name if no uid is stated; "" without controller."""
    profile: Profile | None
    """The claim's requirements for existing volumes; None once the claim is bound."""


@dataclass(frozen=True, slots=True)
class UnclaimedVolume:
    """The properties of a volume that no claim has yet."""

    storage_class: str
    attributes_class: str
    size: int
    modes: tuple[str, ...]
    volume_mode: str
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class Volume:
    """The record of a PersistentVolume."""

    name: str
    """The volume's name."""
    uid: str
    """The volume's uid."""
    version: str
    """The volume's resource version."""
    rules: tuple[bytes, ...]
    """Rules for the machines that reach the volume (see ``VolumeNeeds``)."""
    driver: str
    """The volume's CSI driver, "" for none."""
    claim: str = ""
    """Key of the claim that the volume names, "" for none."""
    claim_uid: str = ""
    """Uid of that claim."""
    unclaimed: UnclaimedVolume | None = None
    """The volume's properties that claims are compared with; None unless the volume is available."""
    defect: str = ""
    """Why the claim is unusable, "" if it is usable."""


@dataclass(frozen=True, slots=True)
class Provision:
    """A StorageClass.

    ``waits``: whether claims are bound only once a pod has a node; ``dynamic``: whether volumes are made for claims;
    ``driver``: the CSI driver that attaches such volumes; ``topology``: the rule that says where volumes may be made,
    b"" for anywhere.
    """

    waits: bool
    dynamic: bool
    driver: str
    topology: bytes


def claim_record(claim: PersistentVolumeClaim) -> Claim:
    """Return the record of a claim."""
    metadata, spec = claim.metadata, claim.spec
    completed = BIND_COMPLETED in metadata.annotations or claim.status.phase == "Bound"
    bound = bool(spec.volume_name) and completed
    owner = metadata.controller()
    storage_class = intern(metadata.annotations.get(LEGACY_CLASS, spec.storage_class_name or ""))
    return Claim(
        key=key_of(metadata),
        uid=metadata.uid,
        storage_class=storage_class,
        volume=spec.volume_name,
        bound=bound,
        lost=claim.status.phase == "Lost",
        deleting=metadata.deletion_timestamp is not None,
        exclusive=READ_WRITE_ONCE_POD in spec.access_modes,
        selected_node="" if bound else metadata.annotations.get(SELECTED_NODE, ""),
        owner=owner.uid or owner.name if owner is not None else "",
        profile=None if bound else _profile(claim, storage_class),
    )


def volume_record(
    volume: PersistentVolume, known_rules: dict[tuple[bytes, ...], tuple[bytes, ...]]
) -> Volume:
    """Return the record of a volume; equal rules are kept once, in ``known_rules``."""
    metadata, spec = volume.metadata, volume.spec
    defects: list[Defect] = []
    rules = volume_rules(volume, defects)
    given = spec.claim_ref
    to_be_had = given is None and metadata.deletion_timestamp is None
    to_be_had = to_be_had and volume.status.phase not in _UNUSABLE_PHASES and not defects
    return Volume(
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        rules=known_rules.setdefault(rules, rules),
        driver=intern(driver_of(volume)),
        claim=f"{given.namespace or 'default'}/{given.name}" if given is not None else "",
        claim_uid=given.uid if given is not None else "",
        unclaimed=_describe_unclaimed(volume) if to_be_had else None,
        defect=str(defects[0]) if defects else "",
    )


def provision_record(storage_class: StorageClass) -> Provision:
    """Return the record of a storage class."""
    return Provision(
        waits=storage_class.waits,
        dynamic=storage_class.provisioner not in ("", NO_PROVISIONER),
        driver=intern(driver_of_class(storage_class)),
        topology=topology_rule(storage_class),
    )


def key_of(metadata: ObjectMeta) -> str:
    """Return ``namespace/name`` of an object."""
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def _profile(claim: PersistentVolumeClaim, storage_class: str) -> Profile:
    spec = claim.spec
    return Profile(
        storage_class=storage_class,
        attributes_class=intern(spec.volume_attributes_class_name),
        size=storage_bytes(spec.resources.requests.get("storage")) or 0,
        modes=tuple(sorted(set(spec.access_modes))),
        volume_mode=spec.volume_mode or FILESYSTEM,
        conditions=conditions_of(spec.selector),
    )


def _describe_unclaimed(volume: PersistentVolume) -> UnclaimedVolume:
    metadata, spec = volume.metadata, volume.spec
    return UnclaimedVolume(
        storage_class=intern(metadata.annotations.get(LEGACY_CLASS, spec.storage_class_name)),
        attributes_class=intern(spec.volume_attributes_class_name),
        size=storage_bytes(spec.capacity.get("storage")) or 0,
        modes=tuple(sorted(set(spec.access_modes))),
        volume_mode=spec.volume_mode or FILESYSTEM,
        labels=metadata.labels,
    )


def conditions_of(selector: LabelSelector | None) -> tuple[Condition, ...]:
    """Return the conditions of a label selector, sorted, each once."""
    if selector is None:
        return ()
    equal = [(key, "In", (value,)) for key, value in selector.match_labels.items()]
    other = [(each.key, each.operator, tuple(sorted(each.values))) for each in selector.match_expressions]
    return tuple(sorted({*equal, *other}))


def storage_bytes(quantity: Number | None) -> int | None:
    """Return an amount of storage in bytes; None if it is missing or malformed."""
    try:
        return None if quantity is None else amount("storage", quantity)
    except QuantityError:
        return None
