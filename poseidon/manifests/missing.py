"""What pods and claims of an input refer to and the input lacks, and which command prints it.

Dumps are rarely complete. What is not there makes pods wait, or rules mean less, for reasons that do not hold in the
cluster; so it is said, with a command that brings it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from poseidon.kube.api.storage import (
    LEGACY_CLASS,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from poseidon.pods.daemon_sets import DaemonSets, claimed
from poseidon.pods.tasks import PriorityResolver, UnknownPriorityClassError, qualified_name
from poseidon.pods.visibility import APP_GROUP_LABEL
from poseidon.volumes.claims import claims_of

if TYPE_CHECKING:
    from poseidon.kube.api.core import KubeStruct, Namespace, ObjectMeta, Pod, PodAffinityTerm, PriorityClass

_NAMED = 3


def printed_by(resources: str, *, namespaced: bool = True) -> str:
    """Return what to do to have objects in the input: ``add what `kubectl get …` prints``."""
    scope = "--all-namespaces " if namespaced else ""
    return f"add what `kubectl get {resources} {scope}-o yaml` prints"


def listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(slots=True)
class _Missing:
    """Objects of one kind that are referred to; ``users`` are those who do."""

    kind: str
    consequence: str
    remedy: str
    names: dict[str, None] = field(default_factory=dict)
    users: dict[str, None] = field(default_factory=dict)

    def add(self, name: str, user: str) -> None:
        self.names[name] = None
        self.users[user] = None

    def lines(self) -> Iterator[str]:
        if self.names:
            users = list(self.users)
            more = f" and {len(users) - 1} more" if len(users) > 1 else ""
            be = "is" if len(self.names) == 1 else "are"
            yield (
                f"{users[0]}{more}: {self.kind} {listed(sorted(self.names))} {be} not in the input, "
                f"{self.consequence}; {self.remedy}"
            )


def missing_references(
    pods: Sequence[Pod],
    priority_classes: Iterable[PriorityClass],
    namespaces: Iterable[Namespace],
    storage: Iterable[KubeStruct],
) -> Iterator[str]:
    """Yield a line for people per kind of which objects are missing that pods in ``pods`` depend on."""
    living = [pod for pod in pods if not pod.terminal]
    yield from _priority_classes(living, PriorityResolver(priority_classes))
    yield from _namespaces(living, {each.metadata.name for each in namespaces})
    yield from _storage(living, list(storage))


def missing_app_groups(pods: Iterable[Pod], known: Iterable[str]) -> Iterator[str]:
    """Yield a line for people if pods name AppGroups (``namespace/name``) that are not among ``known``."""
    missing = _Missing(
        "AppGroup", "so its pods count as any", printed_by("appgroups.appgroup.diktyo.x-k8s.io")
    )
    there = set(known)
    for pod in pods:
        name = pod.metadata.labels.get(APP_GROUP_LABEL)
        if name and not pod.terminal and f"{pod.metadata.namespace}/{name}" not in there:
            missing.add(f"{pod.metadata.namespace}/{name}", _pod(pod))
    yield from missing.lines()


def missing_daemon_sets(pods: Iterable[Pod], known: Iterable[ObjectMeta]) -> Iterator[str]:
    """Yield a line for people per DaemonSet that pods name as theirs and that is not among ``known``."""
    daemon_sets = DaemonSets()
    for each in known:
        daemon_sets.put(qualified_name(each), each)
    users: dict[str, list[str]] = {}
    for pod in pods:
        owner = None if pod.terminal or daemon_sets.owns(pod) else claimed(pod)
        if owner is not None:
            name = f"{pod.metadata.namespace}/{owner.name}"
            users.setdefault(name, []).append(qualified_name(pod.metadata))
    for name, found in sorted(users.items()):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield (
            f"Pod {found[0]}{more}: metadata.ownerReferences: DaemonSet {name} is not in the input, thresholds of "
            "use hold as for any pod; add it with -f"
        )


def _priority_classes(pods: Iterable[Pod], priorities: PriorityResolver) -> Iterator[str]:
    remedy = printed_by("priorityclasses", namespaced=False)
    missing: dict[str, _Missing] = {}
    for pod in pods:
        try:
            priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            kind = "spec.priorityClassName: PriorityClass"
            found = missing.setdefault(error.name, _Missing(kind, "so its pods wait", remedy))
            found.add(repr(error.name), _pod(pod))
    for _, found in sorted(missing.items()):
        yield from found.lines()


def _namespaces(pods: Sequence[Pod], known: set[str]) -> Iterator[str]:
    """Rules that select namespaces by labels find only those whose labels are known."""
    choosing = next((pod for pod in pods if any(map(_chooses_namespaces, _terms(pod)))), None)
    if choosing is None:
        return
    missing = _Missing(
        "Namespace",
        "so rules that select namespaces by label do not find it",
        printed_by("namespaces", namespaced=False),
    )
    for pod in pods:
        if pod.metadata.namespace not in known:
            missing.add(pod.metadata.namespace, _pod(choosing))
    yield from missing.lines()


def _terms(pod: Pod) -> Iterator[PodAffinityTerm]:
    affinity = pod.spec.affinity
    for rules in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if rules is not None:
            yield from chain(rules.required, (each.pod_affinity_term for each in rules.preferred))


def _chooses_namespaces(term: PodAffinityTerm) -> bool:
    selector = term.namespace_selector
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def _storage(pods: Sequence[Pod], storage: Sequence[KubeStruct]) -> Iterator[str]:
    claims = {
        qualified_name(each.metadata): each for each in storage if isinstance(each, PersistentVolumeClaim)
    }
    volumes = {each.metadata.name: each for each in storage if isinstance(each, PersistentVolume)}
    classes = {each.metadata.name for each in storage if isinstance(each, StorageClass)}
    waits = "so its pods wait"
    no_claim = _Missing(
        "PersistentVolumeClaim",
        waits,
        printed_by(
            "persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,csidrivers,csistoragecapacities"
        ),
    )
    no_volume = _Missing(
        "PersistentVolume", waits, printed_by("persistentvolumes,csinodes", namespaced=False)
    )
    no_class = _Missing("StorageClass", waits, printed_by("storageclasses", namespaced=False))
    no_limits = _Missing(
        "CSINode", "so attach limits are not known", printed_by("csinodes", namespaced=False)
    )
    attached: dict[str, str] = {}
    for pod in pods:
        for used in claims_of(pod):
            claim = claims.get(used.key)
            if claim is None:
                no_claim.add(used.key, _pod(pod))
                continue
            volume, name = claim.spec.volume_name, f"PersistentVolumeClaim {used.key}"
            if volume and volume not in volumes:
                no_volume.add(volume, name)
            elif volume and (source := volumes[volume].spec.csi) is not None:
                attached.setdefault(source.driver, f"PersistentVolume {volume}")
            elif not volume and (storage_class := _class_of(claim)) and storage_class not in classes:
                no_class.add(storage_class, name)
    if not any(isinstance(each, CsiNode) for each in storage):
        for driver, user in attached.items():
            no_limits.add(f"with the driver {driver}", user)
    for missing in (no_claim, no_volume, no_class, no_limits):
        yield from missing.lines()


def _class_of(claim: PersistentVolumeClaim) -> str:
    """The class that a claim names; "" if it names none, or wants none."""
    return claim.metadata.annotations.get(LEGACY_CLASS) or claim.spec.storage_class_name or ""


def _pod(pod: Pod) -> str:
    return f"Pod {qualified_name(pod.metadata)}"
