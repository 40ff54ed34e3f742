"""Types for sets of equal pods that an object creates, and for objects that describe groups of pods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.documents import Document
from poseidon.manifests.validation import MAX_PODS
from poseidon.manifests.workloads.common.fields import Value

Reference = tuple[str, str]
"""Kind and name of an object that is in the same namespace as the object that refers to it."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """The pods that an object's controller makes from one template."""

    names: tuple[str, ...]
    """Names of all pods of the set."""
    template: Value
    """The pod template from which the pods are made."""
    owner: Reference
    """The object that controls the pods.

    If the input contains the controlling object and it is expanded by itself, the set is not expanded.
    """
    marks: Mapping[str, str] = field(default_factory=dict)
    """Labels that existing pods of this set have and the object's other pods lack."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels to add to the pods."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations to add to the pods."""
    index_label: str = ""
    """Pod label whose value is the pod's number, "" for none."""
    first_index: int = 0
    """Number of the set's first pod."""
    once: bool = False
    """Whether a pod that has succeeded stays without a replacement."""
    hash_label: str = ""
    """Pod label whose value is the last part of a ReplicaSet's name, for ReplicaSets that the input lacks."""
    alone: bool = False
    """Whether other code counts the existing pods, so that all of ``names`` are missing."""


@dataclass(frozen=True, slots=True)
class PodGroupObject:
    """An object, made by another object's controller, that describes a group of pods."""

    value: dict[str, Any]


class Known:
    """The objects of an input by namespace, kind and name, with their controllers."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._objects: dict[tuple[str, str, str], Value] = {}
        self._owners: dict[tuple[str, str, str], Reference] = {}
        self._owned: dict[tuple[str, str, str], list[Document]] = defaultdict(list)
        for each in documents:
            metadata = each.value.get("metadata")
            if not isinstance(metadata, Mapping):
                continue
            space = str(metadata.get("namespace") or "default")
            name = str(metadata.get("name") or "")
            self._objects[space, each.kind, name] = each.value
            if (owner := _controller(metadata)) is not None:
                self._owners[space, each.kind, name] = owner
                self._owned[space, *owner].append(each)

    def get(self, namespace: str, kind: str, name: str) -> Value | None:
        """Return an object, or None if the input lacks it; objects without a namespace are found in ``default``."""
        return self._objects.get((namespace, kind, name))

    def list_kind(self, kind: str) -> list[Value]:
        """Return the objects of a kind, in the order of the input."""
        return [value for (_, each, _), value in self._objects.items() if each == kind]

    def list_owned(self, namespace: str, owner: Reference) -> list[Document]:
        """Return the objects that an owner controls."""
        return self._owned.get((namespace, *owner), [])

    def owners_of(self, namespace: str, of: Reference) -> Iterator[Reference]:
        """Yield the controller of an object, the controller of that controller, and so on."""
        seen: set[Reference] = set()
        owner = self._owners.get((namespace, *of))
        while owner is not None and owner not in seen:
            seen.add(owner)
            yield owner
            owner = self._owners.get((namespace, *owner))


def _controller(metadata: Mapping[str, Any]) -> Reference | None:
    references = metadata.get("ownerReferences")
    for each in references if isinstance(references, list) else ():
        if isinstance(each, Mapping) and each.get("controller"):
            return str(each.get("kind") or ""), str(each.get("name") or "")
    return None


def number_names(prefix: str, count: int, first: int = 0) -> tuple[str, ...]:
    """Return the names PREFIX-FIRST, PREFIX-(FIRST + 1), …; if ``count`` is absurd, raise ``MalformedObjectError``."""
    if count > MAX_PODS:
        raise MalformedObjectError("spec", f"stands for more than {MAX_PODS} pods")
    return tuple(f"{prefix}-{number}" for number in range(first, first + count))
