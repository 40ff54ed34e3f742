"""Warns of objects that an input refers to and lacks, and of settings without effect; names commands that help.

Dumps of a cluster are rarely complete. If only the dump lacks an object, pods of the plan may wait, or rules may be
weaker, than in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pod_rules import PodAffinityTerm
from poseidon.kube.api.pods import Pod, claims_of
from poseidon.kube.api.storage import (
    LEGACY_CLASS,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from poseidon.manifests.controllers.volumes import is_made
from poseidon.manifests.warning_phrases import list_names, suggest_printing
from poseidon.pod_groups.group_names import TOPOLOGY_GROUP, YUNIKORN
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.kinds import GROUP_KINDS
from poseidon.pods.daemon_sets import DaemonSets, find_daemon_set
from poseidon.pods.priority_classes import PriorityResolver, UnknownPriorityClassError
from poseidon.pods.tasks import get_qualified_name
from poseidon.pods.visibility import APP_GROUP_LABEL

_WAITS = "so its pods wait"
_NO_DAEMON_SET = (
    "metadata.ownerReferences: DaemonSet",
    "thresholds of use hold as for any pod",
    "add it with -f",
)

_RESOURCES = {
    **{name: f"{kind.plural}.{kind.group}" for name, kind in GROUP_KINDS.items()},
    TOPOLOGY_GROUP: "configmaps",
}


@dataclass(slots=True)
class _Missing:
    """Missing objects of one kind; ``users`` are the objects that refer to them."""

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
            users = f"{list_names(self.users, 1)}: " if self.users else ""
            be = "is" if len(self.names) == 1 else "are"
            yield (
                f"{users}{self.kind} {list_names(sorted(self.names))} {be} not in the input, "
                f"{self.consequence}; {self.remedy}"
            )


def _lines(missing: Mapping[str, _Missing]) -> Iterator[str]:
    for _, each in sorted(missing.items()):
        yield from each.lines()


def missing_references(
    pods: Sequence[Pod],
    priority_classes: Iterable[PriorityClass],
    namespaces: Iterable[Namespace],
    storage: Iterable[KubeStruct],
) -> Iterator[str]:
    """Yield a warning per kind of objects that ``pods`` refer to and the input lacks."""
    living = [pod for pod in pods if not pod.terminal]
    yield from _priority_classes(living, PriorityResolver(priority_classes))
    yield from _namespaces(living, {each.metadata.name for each in namespaces})
    yield from _storage(living, list(storage))


def warn_of_missing_app_groups(pods: Iterable[Pod], known: Iterable[str]) -> Iterator[str]:
    """Yield a warning if pods name AppGroups (``namespace/name``) that are not among ``known``."""
    missing = _Missing(
        "AppGroup", "so its pods count as any", suggest_printing("appgroups.appgroup.diktyo.x-k8s.io")
    )
    there = set(known)
    for pod in pods:
        name = pod.metadata.labels.get(APP_GROUP_LABEL)
        if name and not pod.terminal and f"{pod.metadata.namespace}/{name}" not in there:
            missing.add(f"{pod.metadata.namespace}/{name}", _pod(pod))
    yield from missing.lines()


def warn_of_missing_daemon_sets(pods: Iterable[Pod], known: Iterable[ObjectMeta]) -> Iterator[str]:
    """Yield a warning per DaemonSet that owns pods and is not among ``known``."""
    daemon_sets = DaemonSets()
    for each in known:
        daemon_sets.put(get_qualified_name(each), each)
    missing: dict[str, _Missing] = {}
    for pod in pods:
        owner = None if pod.terminal or daemon_sets.owns(pod) else find_daemon_set(pod)
        if owner is not None:
            name = f"{pod.metadata.namespace}/{owner.name}"
            found = missing.setdefault(name, _Missing(*_NO_DAEMON_SET))
            found.add(name, _pod(pod))
    yield from _lines(missing)


def _priority_classes(pods: Iterable[Pod], priorities: PriorityResolver) -> Iterator[str]:
    remedy = suggest_printing("priorityclasses", namespaced=False)
    missing: dict[str, _Missing] = {}
    for pod in pods:
        try:
            priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            kind = "spec.priorityClassName: PriorityClass"
            found = missing.setdefault(error.name, _Missing(kind, _WAITS, remedy))
            found.add(repr(error.name), _pod(pod))
    yield from _lines(missing)


def _namespaces(pods: Sequence[Pod], known: set[str]) -> Iterator[str]:
    """Yield warnings if rules select namespaces by labels, and the input lacks namespaces whose labels matter."""
    choosing = next((pod for pod in pods if any(map(_chooses_namespaces, _terms(pod)))), None)
    if choosing is None:
        return
    missing = _Missing(
        "Namespace",
        "so rules that select namespaces by label do not find it",
        suggest_printing("namespaces", namespaced=False),
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
        get_qualified_name(each.metadata): each for each in storage if isinstance(each, PersistentVolumeClaim)
    }
    volumes = {each.metadata.name: each for each in storage if isinstance(each, PersistentVolume)}
    classes = {each.metadata.name for each in storage if isinstance(each, StorageClass)}
    no_claim = _Missing(
        "PersistentVolumeClaim",
        _WAITS,
        suggest_printing(
            "persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments"
        ),
    )
    no_volume = _Missing(
        "PersistentVolume", _WAITS, suggest_printing("persistentvolumes,csinodes", namespaced=False)
    )
    no_class = _Missing("StorageClass", _WAITS, suggest_printing("storageclasses", namespaced=False))
    no_limits = _Missing(
        "CSINode", "so attach limits are not known", suggest_printing("csinodes", namespaced=False)
    )
    attached: dict[str, str] = {}
    classless: dict[str, None] = {}
    for pod in pods:
        for used in claims_of(pod):
            claim = claims.get(used.key)
            if claim is None:
                no_claim.add(used.key, _pod(pod))
                continue
            volume, name = claim.spec.volume_name, f"PersistentVolumeClaim {used.key}"
            if volume and volume not in volumes:
                no_volume.add(volume, name)
            elif volume and (driver := _find_driver(volumes[volume])):
                attached.setdefault(driver, f"PersistentVolume {volume}")
            elif not volume:
                storage_class = claim.metadata.annotations.get(LEGACY_CLASS) or claim.spec.storage_class_name
                if storage_class is None:
                    classless[name] = None
                elif storage_class and storage_class not in classes:
                    no_class.add(storage_class, name)
    if not any(isinstance(each, CsiNode) for each in storage):
        for driver, user in attached.items():
            no_limits.add(f"with the driver {driver}", user)
    yield from _iter_without_class(classless)
    for missing in (no_claim, no_volume, no_class, no_limits):
        yield from missing.lines()


def _find_driver(volume: PersistentVolume) -> str:
    """Return the driver of a volume of the input, "" if it has none."""
    return volume.spec.csi.driver if volume.spec.csi is not None and not is_made(volume) else ""


def _iter_without_class(claims: Iterable[str]) -> Iterator[str]:
    names = list(claims)
    if names:
        yield (
            f"{list_names(names, 1)}: names no StorageClass, none of the input is the default, and no PersistentVolume "
            f"without a class suits, {_WAITS}; {suggest_printing('storageclasses,persistentvolumes', namespaced=False)}"
        )


def _pod(pod: Pod) -> str:
    return f"Pod {get_qualified_name(pod.metadata)}"


def warn_of_ignored_settings(groups: Groups) -> Iterator[str]:
    """Yield a warning per group with settings that are not honoured."""
    for group in groups:
        ignored = groups.not_honoured(group)
        if ignored:
            kind = "Gang" if groups.source(group) is None else group.member.source.kind.partition(" ")[0]
            yield f"{kind} {group.member.name}: {ignored}"


def warn_of_missing_groups(groups: Groups) -> Iterator[str]:
    """Yield a warning per kind of objects that would define the sizes of pod groups and that the input lacks."""
    missing: dict[str, _Missing] = {}
    for group in groups:
        if groups.demand(group) is None and group.member.source.kind != YUNIKORN:
            kind, namespace, name = group.member.source
            what = "the ConfigMap of topology group" if kind == TOPOLOGY_GROUP else kind.split()[0]
            remedy = suggest_printing(_RESOURCES.get(kind, f"{kind.lower()}s"))
            missing.setdefault(kind, _Missing(what, _WAITS, remedy)).names[f"{namespace}/{name}"] = None
    yield from _lines(missing)
