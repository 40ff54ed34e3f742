"""Decides which metadata of objects is sent to the solver: what cost models need, and labels that selectors read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from poseidon.kube.api.pods import Pod
from poseidon.pods.koordinator_priority import NODE_ANNOTATIONS, POD_ANNOTATIONS
from poseidon.pods.learnt_run_times import PROGRAM, get_program
from poseidon.pods.move_annotations import MOVE_ANNOTATIONS
from poseidon.pods.requests_and_limits import BANDWIDTH_ANNOTATIONS
from protos.firmament.v1 import scheduler_pb2 as pb

ANNOTATION_PREFIX = "firmament.io/"
"""Annotations of pods and nodes that begin like this are meant for cost models."""

APP_GROUP_LABEL = "appgroup.diktyo.x-k8s.io"
"""Pod label: the name of its AppGroup, without a namespace."""

WORKLOAD_LABEL = "appgroup.diktyo.x-k8s.io.workload"
"""Pod label: the selector of its workload."""

_FLAGS = ("namespaces", "programs", "containers", "qos", "limits", "service_classes", "daemons", "timings")
_LISTS = ("labels", "kind_labels", "annotations", "machine_annotations", "records", "arrivals", "profiles")
_SOLVERS_OWN = ("residents", "load", "unseen", "devices", "typical")
"""Facts that models need and for which a driver sends no data of its own."""

_LABELS = ("networkRequirement", "taskType", APP_GROUP_LABEL, WORKLOAD_LABEL)

WHEN_UNTOLD = frozenset(
    {
        *_FLAGS,
        *(f"labels:{label}" for label in _LABELS),
        *(f"annotations:{each}" for each in POD_ANNOTATIONS),
        *(f"machine_annotations:{each}" for each in NODE_ANNOTATIONS),
    }
)
"""The needs of a solver too old to state them: all data that such solvers can use, without records."""

_NEEDING = ("In", "Exists")
_NO_LABEL = ""
"""Stands for "no label" in the index of selectors; no label has an empty key."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The data of pods and nodes that cost models read.

    Other labels distinguish classes only if a selector reads them.
    """

    labels: frozenset[str] = frozenset()
    """Names of labels."""
    annotations: frozenset[str] = frozenset()
    """Names of annotations."""
    namespaces: bool = False
    """Whether models read namespaces."""
    prefix: str = ""
    """Prefix of further annotations that cost models read, "" for none."""
    programs: bool = False
    """Whether a pod that names no program gets the name of its owner, so that pods of different jobs differ."""
    containers: bool = False
    """Whether models read requests of each container."""
    limits: bool = False
    """Whether models read limits of containers and pods."""
    qualities: bool = False
    """Whether models read QoS classes."""
    service_classes: bool = False
    """Whether models read Koordinator's priority classes."""
    daemons: bool = False
    """Whether models read if a DaemonSet owns the pod."""
    timed: bool = False
    """Whether models read when pods were scheduled and initialized."""
    bandwidth: bool = False
    """Whether bandwidth annotations count as requests."""
    node_annotations: frozenset[str] = frozenset()
    """Names of node annotations, in addition to those with the models' prefix."""
    records: frozenset[str] = frozenset()
    """Kinds of records that cost models read."""
    profiles: frozenset[str] = frozenset()
    """Names of schedulers whose pods are scored by profiles of their own."""

    def annotations_of(self, pod: Pod) -> dict[str, str]:
        """Return the pod's annotations that cost models read, with the name of its program if they read programs."""
        found = pod.metadata.annotations
        chosen = _choose(found, self.annotations)
        if self.prefix and found:
            chosen.update(filter_by_prefix(found, self.prefix))
            for key in MOVE_ANNOTATIONS:  # Only the bridge reads these annotations.
                chosen.pop(key, None)
        if self.programs:
            name = get_program(pod)
            if name:
                chosen[PROGRAM] = name
        return chosen


def visible_to(needs: Collection[str], *, bandwidth: bool = False) -> Visibility:
    """Return the data that a solver's cost models read, by its needs as stated in the message ``Welcome``.

    ``bandwidth``: bandwidth annotations count as requests.
    """
    lists: dict[str, set[str]] = {kind: set() for kind in _LISTS}
    for word in needs:
        kind, _, entry = word.partition(":")
        if kind in lists:
            lists[kind].add(entry)
    return Visibility(
        labels=frozenset(lists["labels"] | lists["kind_labels"]),
        annotations=frozenset(lists["annotations"]) | (BANDWIDTH_ANNOTATIONS if bandwidth else frozenset()),
        namespaces="namespaces" in needs,
        prefix=ANNOTATION_PREFIX,
        programs="programs" in needs,
        containers="containers" in needs,
        limits="limits" in needs,
        qualities="qos" in needs,
        service_classes="service_classes" in needs,
        daemons="daemons" in needs,
        timed="timings" in needs,
        bandwidth=bandwidth,
        node_annotations=frozenset(lists["machine_annotations"]),
        records=frozenset(lists["records"]),
        profiles=frozenset(lists["profiles"]),
    )


def not_understood(needs: Iterable[str]) -> list[str]:
    """Return the needs that this version does not understand, sorted."""
    known = {*_FLAGS, *_LISTS, *_SOLVERS_OWN}
    return sorted(word for word in needs if word.partition(":")[0] not in known)


def filter_by_prefix(annotations: Mapping[str, str], prefix: str = ANNOTATION_PREFIX) -> dict[str, str]:
    """Return the annotations whose names begin with ``prefix``."""
    return {key: value for key, value in annotations.items() if key.startswith(prefix)}


def _choose(given: Mapping[str, str], keys: frozenset[str]) -> dict[str, str]:
    return {key: given[key] for key in keys if key in given} if keys and given else {}


@dataclass(frozen=True, slots=True)
class SelectorReads:
    """The labels that a kind of selector reads.

    ``needs``: labels that a pod must have to match. ``reads``: all labels with a condition. ``limited``: whether the
    selector covers some namespaces only.
    """

    needs: frozenset[str]
    reads: frozenset[str]
    limited: bool


FiledReads: TypeAlias = tuple[str | None, SelectorReads]
"""The namespace of a selector (None: any), and the labels that it reads."""


@dataclass(frozen=True, slots=True)
class VisibleLabels:
    """The names of a pod's labels that any selector reads, and whether any selector reads its namespace."""

    labels: frozenset[str] = frozenset()
    namespace: bool = False


class Shown(NamedTuple):
    """Those metadata of a pod that are part of its class."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    ending: bool

    def add_to(self, message: pb.TaskClass) -> None:
        """Write namespace, labels, and whether the pods are being deleted, into the message of a class."""
        message.namespace = self.namespace
        message.labels.update(self.labels)
        message.terminating = self.ending


def choose_shown(
    visible: Visibility,
    visible_labels: VisibleLabels,
    namespace: str,
    labels: Iterable[tuple[str, str]],
    *,
    ending: bool,
) -> Shown:
    """Return the metadata of a pod that cost models or selectors read; ``labels`` are sorted."""
    return Shown(
        namespace if visible_labels.namespace or visible.namespaces else "",
        tuple([item for item in labels if item[0] in visible_labels.labels or item[0] in visible.labels]),
        ending,
    )


_MANY_NAMESPACES = 200
"""A selector that names more namespaces than this counts as selecting all namespaces."""


class SelectorIndex:
    """An index of the labels that selectors read. Selectors are only added, never removed."""

    def __init__(self) -> None:
        self._anywhere: dict[str, set[SelectorReads]] = {}
        self._within: dict[str, dict[str, set[SelectorReads]]] = {}
        self._grown: set[str] = set()
        self._grown_anywhere = False

    def __len__(self) -> int:
        anywhere = sum(map(len, self._anywhere.values()))
        return anywhere + sum(len(found) for filed in self._within.values() for found in filed.values())

    def grow_everywhere(self) -> None:
        """Let the next ``take_grown`` return that selectors may read more labels in all namespaces."""
        self._grown_anywhere = True

    def observe(self, found: Iterable[FiledReads]) -> None:
        """Add the labels that a class's selectors read."""
        for namespace, reads in found:
            if namespace is None:
                self._grown_anywhere |= _file(self._anywhere, reads)
            elif _file(self._within.setdefault(namespace, {}), reads):
                self._grown.add(namespace)

    def watch(self, selector: pb.TaskSelector) -> None:
        """Add a selector that belongs to no pod, such as that of a disruption budget."""
        self.observe(_list_reads(selector))

    def visible_labels(self, namespace: str, labels: frozenset[str]) -> VisibleLabels:
        """Return which of these label names of a pod in a namespace selectors read."""
        seen: set[str] = set()
        limited = False
        for selector in self._find_filed(namespace, labels):
            if selector.needs <= labels:
                seen |= selector.reads
                limited = limited or selector.limited
        return VisibleLabels(labels & seen, limited)

    @property
    def has_grown(self) -> bool:
        """Whether ``take_grown`` has anything to return."""
        return self._grown_anywhere or bool(self._grown)

    def take_grown(self) -> frozenset[str] | None:
        """Return the namespaces where selectors may read more labels since the last call, None for all namespaces."""
        grown, anywhere = frozenset(self._grown), self._grown_anywhere
        self._grown.clear()
        self._grown_anywhere = False
        return None if anywhere else grown

    def _find_filed(self, namespace: str, labels: frozenset[str]) -> Iterator[SelectorReads]:
        for filed in (self._anywhere, self._within.get(namespace)):
            if filed:
                yield from filed.get(_NO_LABEL, ())
                for label in labels & filed.keys():
                    yield from filed[label]


def list_reads(rules: pb.TaskClass) -> tuple[FiledReads, ...]:
    """Return the labels of pods and namespaces that each selector of a class reads, without repetition."""
    terms = (rules.affinity, rules.anti_affinity, rules.preferred_affinity, rules.preferred_anti_affinity)
    selectors = [term.selector for each in terms for term in each]
    selectors += [rule.selector for rule in rules.spread]
    return tuple(dict.fromkeys(reads for each in selectors for reads in _list_reads(each)))


def _list_reads(selector: pb.TaskSelector) -> Iterator[FiledReads]:
    if selector.nothing:
        return
    by_label = selector.HasField("namespaces_by_label") or len(selector.namespaces) > _MANY_NAMESPACES
    found = SelectorReads(
        needs=frozenset(each.key for each in selector.labels if each.operator in _NEEDING),
        reads=frozenset(each.key for each in selector.labels),
        limited=not selector.HasField("namespaces_by_label") or bool(selector.namespaces_by_label.labels),
    )
    if by_label:
        # Labels of namespaces may change, so a selector of namespaces counts as selecting all namespaces. A term that
        # names very many namespaces is also indexed in this way: checking some more pods takes less than an entry for
        # each namespace.
        yield None, found
    else:
        yield from ((namespace, found) for namespace in selector.namespaces)


def _file(filed: dict[str, set[SelectorReads]], selector: SelectorReads) -> bool:
    """Add a selector to the index under one label that it needs; return whether the selector is new."""
    known = filed.setdefault(min(selector.needs, default=_NO_LABEL), set())
    if selector in known:
        return False
    known.add(selector)
    return True
