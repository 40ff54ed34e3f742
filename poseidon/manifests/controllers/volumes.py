"""Imitates the controllers of volumes: sets the default class, creates and binds claims, provisions volumes.

Claims whose class has the binding mode WaitForFirstConsumer are left to the scheduler. Objects that an API server has
stored (they have a ``resourceVersion``) stay as its controllers left them: no volume is provisioned for their claims.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace as changed
from typing import TypeAlias

from msgspec.structs import replace

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, OwnerReference, seconds
from poseidon.kube.api.pod_rules import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from poseidon.kube.api.pods import ClaimTemplate, Pod
from poseidon.kube.api.storage import (
    BIND_COMPLETED,
    DEFAULT_CLASS,
    LEGACY_CLASS,
    LEGACY_DEFAULT_CLASS,
    CsiSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from poseidon.volumes.matching import suits
from poseidon.volumes.records import Claim, UnclaimedVolume, claim_record, provision_record, volume_record
from poseidon.volumes.requirements import driver_of_class

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""Annotation of a provisioned volume: the name of the provisioner."""


Admit: TypeAlias = Callable[[Sequence[PersistentVolumeClaim]], list[PersistentVolumeClaim]]
"""A function that returns those claims that the API server would admit, in order."""


def play_volume_controllers(
    objects: Iterable[KubeStruct], pods: Iterable[Pod], admit: Admit = list
) -> tuple[KubeStruct, ...]:
    """Return storage objects as the controllers would leave them, including the claims of ``pods``.

    Claims without a class get the default class. A waiting pod gets a claim for each of its ephemeral volumes. Claims
    of classes with immediate binding are bound to a suitable volume. If no volume suits, the provisioner of the
    claims' class makes one.
    """
    storage = list(objects)
    claims = [each for each in storage if isinstance(each, PersistentVolumeClaim)]
    claims += _ephemeral_claims(pods, {(each.metadata.namespace, each.metadata.name) for each in claims})
    volumes = [each for each in storage if isinstance(each, PersistentVolume)]
    classes = {each.metadata.name: each for each in storage if isinstance(each, StorageClass)}
    default = _default_class(classes.values())
    binder = _Binder(volumes, classes)
    bound = binder.bind(admit([_complete(each, default) for each in claims]))
    others = [each for each in storage if not isinstance(each, PersistentVolumeClaim | PersistentVolume)]
    return (*others, *binder.volumes.values(), *bound)


def is_made(volume: PersistentVolume) -> bool:
    """Return whether a volume comes from a provisioner that this module imitates, and not from the input."""
    return PROVISIONED_BY in volume.metadata.annotations and not was_held(volume.metadata)


def was_held(metadata: ObjectMeta) -> bool:
    """Return whether an API server has stored the object: admission and controllers have then processed it."""
    return bool(metadata.resource_version)


# --- claims -------------------------------------------------------------------------------------------------


def _ephemeral_claims(pods: Iterable[Pod], claimed: set[tuple[str, str]]) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims that the ephemeral volumes of waiting pods lack."""
    for pod in pods:
        if pod.terminal or pod.spec.node_name or was_held(pod.metadata):
            continue
        for volume in pod.spec.volumes:
            key = (pod.metadata.namespace, f"{pod.metadata.name}-{volume.name}")
            if volume.ephemeral is not None and volume.persistent_volume_claim is None and key not in claimed:
                claimed.add(key)
                yield _claim_for(pod, key[1], volume.ephemeral.volume_claim_template)


def _claim_for(pod: Pod, name: str, template: ClaimTemplate) -> PersistentVolumeClaim:
    namespace = pod.metadata.namespace
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}/{name}",
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(OwnerReference(kind="Pod", name=pod.metadata.name, controller=True),),
    )
    return PersistentVolumeClaim(metadata=metadata, spec=template.spec)


def _complete(claim: PersistentVolumeClaim, default: str) -> PersistentVolumeClaim:
    """Return a claim with the default class; its owners are identified by name, as pods of an input are.

    The API server's admission sets the class of every new claim. Later, the controller sets the class of claims, but
    only if they name no volume.
    """
    metadata, spec = claim.metadata, claim.spec
    owners = tuple(replace(owner, uid="") for owner in metadata.owner_references)
    claim = replace(claim, metadata=replace(metadata, owner_references=owners))
    has_class = spec.storage_class_name is not None or LEGACY_CLASS in metadata.annotations
    settled = spec.volume_name and (was_held(metadata) or claim_record(claim).bound)
    if has_class or settled or not default:
        return claim
    return replace(claim, spec=replace(spec, storage_class_name=default))


def _default_class(classes: Iterable[StorageClass]) -> str:
    """Return the name of the default class, or "" if none is the default.

    Of several default classes, the newest counts, then the first by name.
    """
    defaults = [
        each.metadata
        for each in classes
        if "true" in (each.metadata.annotations.get(key) for key in (DEFAULT_CLASS, LEGACY_DEFAULT_CLASS))
    ]
    chosen = min(
        defaults, key=lambda each: (-(seconds(each.creation_timestamp) or 0), each.name), default=None
    )
    return chosen.name if chosen is not None else ""


# --- volumes ------------------------------------------------------------------------------------------------


class _Binder:
    """Binds claims to volumes, as ``syncUnboundClaim`` of the PersistentVolume controller does.

    ``volumes`` has all volumes by name, including those bound to a claim and those that provisioners have made.
    """

    def __init__(self, volumes: Sequence[PersistentVolume], classes: dict[str, StorageClass]) -> None:
        self.volumes = {each.metadata.name: each for each in volumes}
        self._classes = classes
        self._unclaimed: dict[str, UnclaimedVolume] = {}
        self._named_for: dict[str, list[str]] = defaultdict(list)
        self._free: dict[str, list[str]] = defaultdict(list)
        for each in volumes:
            self._add_volume(each)
        for names in self._free.values():
            names.sort(key=self._preference)

    def bind(self, claims: Iterable[PersistentVolumeClaim]) -> list[PersistentVolumeClaim]:
        """Bind claims as far as possible, those that name a volume first, and return them all."""
        found = list(claims)
        records = [claim_record(each) for each in found]
        unbound = [at for at, each in enumerate(records) if not (each.bound or each.lost or each.deleting)]
        for choose in (self._volume_named, self._volume_found, self._volume_made):
            waiting = []
            for at in unbound:
                if volume := choose(found[at], records[at]):
                    found[at] = self._bind(found[at], volume)
                else:
                    waiting.append(at)
            unbound = waiting
        return found

    def _add_volume(self, volume: PersistentVolume) -> None:
        """Record what a volume offers, and which claim it is bound to, if any."""
        without_claim = replace(volume, spec=replace(volume.spec, claim_ref=None))
        unclaimed, name, given = (
            volume_record(without_claim, {}).unclaimed,
            volume.metadata.name,
            volume.spec.claim_ref,
        )
        if unclaimed is None:
            return
        self._unclaimed[name] = unclaimed
        if given is not None:
            self._named_for[f"{given.namespace or 'default'}/{given.name}"].append(name)
        else:
            self._free[unclaimed.storage_class].append(name)

    def _preference(self, volume: str) -> tuple[int, int, str]:
        """Return a sort key for the controller's order of volumes: fewest access modes, smallest size, name."""
        unclaimed = self._unclaimed[volume]
        return len(unclaimed.modes), unclaimed.size, volume

    def _volume_named(self, claim: PersistentVolumeClaim, record: Claim) -> str:
        """Return the volume that a claim names, or that names the claim; "" if no such volume exists or suits."""
        profile = record.profile
        if profile is None:
            return ""
        if record.volume:
            volume = self.volumes.get(record.volume)
            unclaimed = self._unclaimed.get(record.volume)
            if volume is None or unclaimed is None or self._both_held(claim, volume):
                return ""
            if volume.spec.claim_ref is not None:
                return record.volume if self._is_for(volume, record) else ""
            # If the claim or the volume names the other, neither a selector nor a class that waits for a consumer
            # matters.
            return record.volume if suits(unclaimed, changed(profile, conditions=())) else ""
        for name in self._named_for.get(record.key, ()):
            volume, unclaimed = self.volumes[name], self._unclaimed[name]
            wanted = changed(profile, storage_class=unclaimed.storage_class, conditions=())
            if (
                self._is_for(volume, record)
                and suits(unclaimed, wanted)
                and not self._both_held(claim, volume)
            ):
                return name
        return ""

    def _volume_found(self, claim: PersistentVolumeClaim, record: Claim) -> str:
        """Return the volume that the controller would choose for a claim, "" if no volume suits."""
        profile = record.profile
        if profile is None or record.volume or self._waits(record):
            return ""
        free = self._free.get(record.storage_class, [])
        for at, name in enumerate(free):
            volume = self.volumes[name]
            is_free = volume.spec.claim_ref is None and not self._both_held(claim, volume)
            if is_free and suits(self._unclaimed[name], profile):
                del free[at]
                return name
        return ""

    def _bind(self, claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
        volume, metadata = self.volumes[name], claim.metadata
        given = ObjectReference(
            kind="PersistentVolumeClaim", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
        )
        self.volumes[name] = replace(
            volume, spec=replace(volume.spec, claim_ref=given), status=PersistentVolumeStatus(phase="Bound")
        )
        annotations = {**metadata.annotations, BIND_COMPLETED: "yes"}
        return replace(
            claim,
            metadata=replace(metadata, annotations=annotations),
            spec=replace(claim.spec, volume_name=name),
            status=replace(claim.status, phase="Bound"),
        )

    def _volume_made(self, claim: PersistentVolumeClaim, record: Claim) -> str:
        """If a claim's class binds at once, provision a volume for the claim and return the volume's name.

        Otherwise the function returns "".
        """
        found, spec = self._classes.get(record.storage_class), claim.spec
        if found is None or found.waits or not provision_record(found).dynamic or record.volume:
            return ""
        if spec.selector is not None or was_held(claim.metadata):
            return ""  # provisioners make no volume for a claim with a selector
        name = f"pvc-{record.key.replace('/', '-')}"
        self.volumes[name] = PersistentVolume(
            metadata=ObjectMeta(name=name, annotations={PROVISIONED_BY: found.provisioner}),
            spec=PersistentVolumeSpec(
                capacity={"storage": spec.resources.requests.get("storage", 0)},
                access_modes=spec.access_modes,
                storage_class_name=record.storage_class,
                volume_mode=spec.volume_mode,
                node_affinity=_find_allowed_places(found),
                csi=CsiSource(driver=driver_of_class(found)),
            ),
        )
        return name

    def _waits(self, record: Claim) -> bool:
        found = self._classes.get(record.storage_class)
        return found is not None and found.waits

    @staticmethod
    def _is_for(volume: PersistentVolume, record: Claim) -> bool:
        given = volume.spec.claim_ref
        if given is None or f"{given.namespace or 'default'}/{given.name}" != record.key:
            return False
        return not given.uid or not record.uid or given.uid == record.uid

    @staticmethod
    def _both_held(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
        """Return whether the controller has already seen claim and volume, and did not bind them."""
        return was_held(claim.metadata) and was_held(volume.metadata)


def _find_allowed_places(storage_class: StorageClass) -> VolumeNodeAffinity | None:
    """Return the nodes that can reach a new volume of a class, as the class's allowed topologies state."""
    terms = tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement(key=each.key, operator="In", values=each.values)
                for each in term.match_label_expressions
            )
        )
        for term in storage_class.allowed_topologies
    )
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms)) if terms else None
