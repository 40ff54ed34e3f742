"""Gives pods their priority and preemption policy, by their spec or their PriorityClass."""

from __future__ import annotations

from collections.abc import Iterable

from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pods import PodSpec
from poseidon.pods.templates import NEVER

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""PriorityClasses that every cluster has (k8s.io/kubernetes/pkg/apis/scheduling), with their values."""

LOWEST, HIGHEST = -(2**31), 2**31 - 1


class UnknownPriorityClassError(LookupError):
    """A pod names a PriorityClass that does not exist; ``name`` is that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no PriorityClass {name!r} exists")
        self.name = name


class PriorityResolver:
    """A cluster's PriorityClasses, by which pods get their priorities."""

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._values = dict(SYSTEM_CLASSES)
        self._defaults: dict[str, int] = {}
        self._peaceful: set[str] = set()
        for priority_class in classes:
            self.upsert(priority_class)

    def upsert(self, priority_class: PriorityClass) -> None:
        """Add or update a PriorityClass."""
        name = priority_class.metadata.name
        self.remove(name)
        self._values[name] = _clip(priority_class.value)
        if priority_class.global_default:
            self._defaults[name] = self._values[name]
        if priority_class.preemption_policy == NEVER:
            self._peaceful.add(name)

    def remove(self, name: str) -> None:
        """Remove a class; unknown names are ignored."""
        self._values.pop(name, None)
        self._defaults.pop(name, None)
        self._peaceful.discard(name)
        if name in SYSTEM_CLASSES:
            self._values[name] = SYSTEM_CLASSES[name]

    def priority(self, spec: PodSpec) -> int:
        """Return ``spec.priority``, or the value of its priority class, or that of the global default class, or 0.

        If there are several global default classes, the lowest value is used, as in Kubernetes. Raises
        ``UnknownPriorityClassError``.
        """
        if spec.priority is not None:
            return _clip(spec.priority)
        name = spec.priority_class_name
        if not name:
            return min(self._defaults.values()) if self._defaults else 0
        if name not in self._values:
            raise UnknownPriorityClassError(name)
        return self._values[name]

    def of_class(self, name: str) -> int | None:
        """Return the value of a priority class, None if no class has this name."""
        return self._values.get(name)

    def forbids_preemption(self, name: str) -> bool:
        """Return whether a class exists whose ``preemptionPolicy`` is Never."""
        return name in self._peaceful

    def never_preempts(self, spec: PodSpec) -> bool:
        """Return whether a pod must not evict others, by its spec, else its class, else the global default class."""
        if spec.preemption_policy or spec.priority is not None:
            return spec.preemption_policy == NEVER
        name = spec.priority_class_name or min(self._defaults, key=self._defaults.__getitem__, default="")
        return name in self._peaceful


def _clip(value: int) -> int:
    return min(max(value, LOWEST), HIGHEST)
