"""Matches the existing pods of an input with the pods that workloads would create."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from poseidon.manifests.documents import Document
from poseidon.manifests.workloads.common.fields import Value
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, Reference


@dataclass(frozen=True, slots=True)
class _Present:
    """An existing pod: its position in the input, its labels, and its chain of controllers, the direct one first."""

    place: int
    name: str
    labels: Mapping[str, str]
    owners: tuple[Reference, ...]
    phase: str


class PresentPods:
    """The pods that the input contains, found by namespace, controller and labels."""

    def __init__(self, documents: Iterable[Document], known: Known) -> None:
        self.names: set[tuple[str, str]] = set()
        self._by_owner: dict[tuple[str, Reference], list[_Present]] = defaultdict(list)
        self._by_label: dict[tuple[str, str, str], list[_Present]] = defaultdict(list)
        self._by_key: dict[tuple[str, str], list[_Present]] = defaultdict(list)
        for place, document in enumerate(documents):
            metadata = document.value.get("metadata")
            if document.kind != "Pod" or "/" in document.api_version or not isinstance(metadata, Mapping):
                continue
            space, name = str(metadata.get("namespace") or "default"), str(metadata.get("name") or "")
            self.names.add((space, name))
            status = document.value.get("status")
            phase = str(status.get("phase")) if isinstance(status, Mapping) else ""
            if phase == "Failed" or is_leaving(document.value):
                continue
            pod = _Present(
                place, name, _labels(metadata), tuple(known.owners_of(space, ("Pod", name))), phase
            )
            for owner in pod.owners:
                self._by_owner[space, owner].append(pod)
            for key, value in pod.labels.items():
                self._by_label[space, key, value].append(pod)
                self._by_key[space, key].append(pod)

    def missing(self, namespace: str, owner: Reference, sets: Sequence[PodSet]) -> list[list[str]]:
        """Return, for each set of an object's pods, the names of the pods that do not exist yet.

        An existing pod first counts as the missing pod with its name. An existing pod with another name counts as any
        pod of its set, if labels or controller show the set, or else as any pod of the object.
        """
        places = _Places(owner, sets)
        rest = [pod for pod in self._iter_owned(namespace, owner, sets) if not places.take_by_name(pod)]
        rest = [pod for pod in rest if not places.take_by_set(pod)]
        for _ in rest:
            places.take_any()
        return [list(each) for each in places.missing]

    def _iter_owned(self, namespace: str, owner: Reference, sets: Sequence[PodSet]) -> Iterator[_Present]:
        """Yield the existing pods of an object, in the order of the input."""
        if any(each.alone for each in sets):
            return
        once = any(each.once for each in sets)
        found: dict[int, _Present] = {}
        owners = dict.fromkeys((owner, *(each.owner for each in sets)))
        for pod in chain.from_iterable(self._by_owner.get((namespace, each), ()) for each in owners):
            found[pod.place] = pod
        for each in sets:
            for pod in self._iter_marked(namespace, each.marks):
                found[pod.place] = pod
            for pod in self._by_key.get((namespace, each.hash_label), ()) if each.hash_label else ():
                # The Deployment's ReplicaSet is not in the input. A ReplicaSet's name consists of its owner's name
                # and the template's hash.
                made_by = pod.owners[0][1] if pod.owners else ""
                if made_by == f"{owner[1]}-{pod.labels[each.hash_label]}":
                    found[pod.place] = pod
        for place in sorted(found):
            if once or found[place].phase != "Succeeded":
                yield found[place]

    def _iter_marked(self, namespace: str, marks: Mapping[str, str]) -> Iterator[_Present]:
        lists = [self._by_label.get((namespace, key, value), []) for key, value in marks.items()]
        for pod in min(lists, key=len, default=[]):
            if marks.items() <= pod.labels.items():
                yield pod


class _Places:
    """Names of the pods that an object still lacks, by set."""

    def __init__(self, owner: Reference, sets: Sequence[PodSet]) -> None:
        self._sets = sets
        self.missing = [dict.fromkeys(each.names) for each in sets]
        self._by_name = {name: at for at, each in enumerate(sets) for name in each.names}
        self._by_marks: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
        self._by_owner: dict[Reference, list[int]] = defaultdict(list)
        for at, each in enumerate(sets):
            if each.marks:
                self._by_marks[frozenset(each.marks.items())].append(at)
            if each.owner != owner:
                self._by_owner[each.owner].append(at)
        keys = {frozenset(key for key, _ in each) for each in self._by_marks}
        self._keys = sorted(keys, key=lambda each: (-len(each), sorted(each)))

    def take_by_name(self, pod: _Present) -> bool:
        """Remove the pod's name from the missing names; return whether it was among them."""
        at = self._by_name.get(pod.name)
        return at is not None and self.missing[at].pop(pod.name, "") is None

    def take_by_set(self, pod: _Present) -> bool:
        """Remove a missing pod of the set to which labels or controller assign the pod.

        The function returns whether a pod of that set was missing.
        """
        labels = pod.labels
        marks = (frozenset((key, labels.get(key, "")) for key in keys) for keys in self._keys)
        candidates = chain(
            chain.from_iterable(self._by_marks.get(each, ()) for each in marks),
            chain.from_iterable(self._by_owner.get(each, ()) for each in pod.owners[:1]),
        )
        at = next((each for each in candidates if self.missing[each]), None)
        if at is None:
            return False
        del self.missing[at][self._name(at, pod)]
        return True

    def take_any(self) -> None:
        """Remove the first missing pod, whatever its set."""
        names = next((each for each in self.missing if each), None)
        if names is not None:
            del names[next(iter(names))]

    def _name(self, at: int, pod: _Present) -> str:
        """Return the index of the missing name that a pod replaces: the one with the pod's number, else the first."""
        pod_set, missing = self._sets[at], self.missing[at]
        number = pod.labels.get(pod_set.index_label, "")
        if number.isascii() and number.isdecimal() and len(number) < 9:
            index = int(number) - pod_set.first_index
            if 0 <= index < len(pod_set.names) and pod_set.names[index] in missing:
                return pod_set.names[index]
        return next(iter(missing))


def _labels(metadata: Value) -> dict[str, str]:
    labels = metadata.get("labels")
    if not isinstance(labels, Mapping):
        return {}
    return {key: value for key, value in labels.items() if isinstance(value, str)}


def is_leaving(value: Value) -> bool:
    """Return whether an object is being deleted."""
    metadata = value.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("deletionTimestamp") is not None
