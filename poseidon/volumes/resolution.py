"""Finds what a pod's claims require of a machine, or what the pod has to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from poseidon.kube.api.pods import PodClaim
from poseidon.volumes.attachments import Attached
from poseidon.volumes.catalogue import Catalogue
from poseidon.volumes.records import Claim, Profile
from poseidon.volumes.requirements import (
    ABSENT_RULE,
    IN_USE,
    IN_USE_RULE,
    NO_NEEDS,
    NO_SUCH_VOLUME,
    VolumeNeeds,
    in_use_on,
    name_attachments,
    node_rule,
)

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The needs of a pod because of its claims, or the reason why the pod waits.

    ``reason``: what the pod waits for before any node is checked, "" for nothing. ``refused``: why no node can take
    the pod, "" if some node can; a rule of ``needs`` then excludes all nodes for this reason. ``unbound``: claims
    that must be bound after a node was chosen; ``profiles``: the profiles of those that need an existing volume.
    """

    needs: VolumeNeeds = NO_NEEDS
    reason: str = ""
    refused: str = ""
    unbound: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()

    def message(self, nodes: int) -> str:
        """Return the reason in kube-scheduler's words for a cluster of ``nodes`` nodes, "" if the pod need not wait.

        kube-scheduler adds a further text ("not found") to the reason, which this message leaves out.
        """
        return f"0/{nodes} nodes are available: {self.reason}." if self.reason else ""


NOTHING = Resolution()
TAKEN = Resolution(VolumeNeeds(rules=(IN_USE_RULE,)), refused=IN_USE)
"""For a pod whose claim is for one pod at a time and is used by another pod.

The pod's other needs are found after the use by the other pod has ended.
"""


def find_obstacle(storage: Catalogue, uid: str, name: str, claims: tuple[PodClaim, ...]) -> Resolution | None:
    """Return the resolution with the ``reason`` why no node can help a pod; None if that depends on the node.

    ``name``: ``namespace/name`` of the pod.
    """
    claims = tuple(each for each in claims if not each.disk)
    for each in claims:
        problem = _problem(storage.claim(each.key), each, uid, name)
        if problem:
            return Resolution(reason=problem)
    found = [claim for each in claims if (claim := storage.claim(each.key)) is not None]
    unbound = next((claim for claim in found if not claim.bound and not _waits(storage, claim)), None)
    if unbound is not None:
        return Resolution(reason=UNBOUND_IMMEDIATE + _explain_lack(storage, unbound))
    for each in claims:
        problem = _problem_of_volume(storage, each)
        if problem:
            return Resolution(reason=problem)
    return None


def needs_of(
    storage: Catalogue,
    claims: tuple[PodClaim, ...],
    charged: Callable[[str], bool],
    counted: Callable[[str], bool],
    attached: Callable[[str], Attached | None],
    shared: Callable[[str], bool],
    implied: Callable[[Profile], Iterable[Profile]],
) -> Resolution:
    """Return the needs of a pod because of its claims, and the claims that are not bound yet.

    ``charged``: whether this pod requests the attachment of a claim's volume. ``counted``: whether attachments of a
    driver are limited. ``attached``: the volume that a claim needs attached. ``shared``: whether that volume may
    already be attached where a waiting pod goes. ``implied``: profiles of which a claim with this profile uses a unit.
    """
    together: set[tuple[str, str]] = set()
    rules: set[bytes] = set()
    amounts: dict[str, int] = {}
    unbound: list[str] = []
    profiles: list[Profile] = []
    sizes: dict[str, list[int]] = {}
    for key in dict.fromkeys(each.key for each in claims):
        claim, known = storage.claim(key), attached(key)
        driver = known.driver if known is not None else ""
        volume = None
        if claim is not None:
            volume = storage.volume(claim.volume) if claim.bound else storage.volume_for(claim)
            if not claim.bound:
                unbound.append(key)
        if volume is not None:
            rules.update(volume.rules)
        elif claim is not None:
            driver = _add_needs_of_unbound(storage, claim, rules, profiles)
            if driver and claim.profile is not None and storage.states_capacity(driver):
                sizes.setdefault(claim.storage_class, []).append(claim.profile.size)
        if driver and counted(driver) and charged(key):
            resource = name_attachments(driver)
            amounts[resource] = amounts.get(resource, 0) + 1
            if known is not None and shared(key):
                together.add((resource, known.volume))
    for profile in profiles:
        for each in implied(profile):
            amounts[each.resource] = amounts.get(each.resource, 0) + 1
    needs = VolumeNeeds(
        tuple(sorted(rules)),
        tuple(sorted(amounts.items())),
        shared=tuple(sorted(together)),
        new_storage=tuple((name, max(sizes[name]), sum(sizes[name])) for name in sorted(sizes)),
    )
    return Resolution(needs, unbound=tuple(unbound), profiles=tuple(profiles))


def require_volumes(storage: Catalogue, claims: tuple[PodClaim, ...], found: Resolution) -> Resolution:
    """Return ``found`` of a waiting pod, with a rule that excludes all nodes if a bound claim's volume is missing."""
    known = [claim for each in claims if (claim := storage.claim(each.key)) is not None]
    if not any(_is_without_volume(storage, claim) for claim in known):
        return found
    rules = tuple(sorted({*found.needs.rules, ABSENT_RULE}))
    return replace(found, needs=replace(found.needs, rules=rules), refused=NO_SUCH_VOLUME)


def add_sole_claims(found: Resolution, keys: Iterable[str], node: str) -> Resolution:
    """Return ``found`` for a pod; ``keys``: those of its claims for one pod at a time that other pods need, too.

    ``node``: the node of the pods that use these claims and may be evicted for this pod, "" for none.
    """
    rules = {*found.needs.rules, in_use_on(node)} if node else found.needs.rules
    return replace(found, needs=replace(found.needs, rules=tuple(sorted(rules)), sole=tuple(sorted(keys))))


def _add_needs_of_unbound(
    storage: Catalogue, claim: Claim, rules: set[bytes], profiles: list[Profile]
) -> str:
    """Add the needs of a claim without volume to rules and profiles; return the driver that will attach its volume."""
    provision = storage.provision(claim.storage_class)
    if claim.bound or claim.profile is None or provision is None:
        return ""
    if not provision.dynamic:
        profiles.append(claim.profile)
        return ""
    if claim.selected_node:
        # The provisioner may already create a volume for this node; only it may remove the choice.
        rules.add(node_rule(claim.selected_node))
    if provision.topology:
        rules.add(provision.topology)
    return provision.driver


def _problem(claim: Claim | None, wanted: PodClaim, uid: str, pod: str) -> str:
    """Return in kube-scheduler's words what is wrong with a claim, "" if nothing is."""
    name = wanted.name
    if claim is None:
        if wanted.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.lost:
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"'
    if claim.deleting:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if wanted.ephemeral and claim.owner not in (uid, pod.partition("/")[2]):
        return f"PVC {claim.key} was not created for pod {pod} (pod is not owner)"
    return ""


def _explain_lack(storage: Catalogue, claim: Claim) -> str:
    """Return which volume or StorageClass an unbound claim lacks, to add to kube-scheduler's words; "" for none."""
    name = claim.key.partition("/")[2]
    if claim.volume:
        there = storage.volume(claim.volume) is not None
        said = "is not bound to it" if there else "does not exist"
        return f': PersistentVolume "{claim.volume}" that persistentvolumeclaim "{name}" names {said}'
    if not claim.storage_class:
        return f': persistentvolumeclaim "{name}" names no StorageClass'
    if storage.provision(claim.storage_class) is None:
        return f': StorageClass "{claim.storage_class}" of persistentvolumeclaim "{name}" does not exist'
    return ""


def _problem_of_volume(storage: Catalogue, wanted: PodClaim) -> str:
    """Return what is wrong with the volume of a claim, before any node is checked; "" if nothing is.

    kube-scheduler looks up the zones of all volumes beforehand, except for claims of ephemeral volumes.
    """
    claim = storage.claim(wanted.key)
    if claim is None:
        return ""
    if _is_without_volume(storage, claim):
        return "" if wanted.ephemeral else f'persistentvolume "{claim.volume}" not found'
    volume = storage.volume(claim.volume) if claim.bound else None
    if volume is not None and volume.defect:
        return f'persistentvolume "{volume.name}" is malformed: {volume.defect}'
    return ""


def _is_without_volume(storage: Catalogue, claim: Claim) -> bool:
    """Return whether a claim is bound to a volume that does not exist."""
    return claim.bound and storage.volume(claim.volume) is None


def _waits(storage: Catalogue, claim: Claim) -> bool:
    """Return whether an unbound claim is to be bound only once a node has been chosen."""
    provision = storage.provision(claim.storage_class)
    return provision is not None and provision.waits and not claim.volume
