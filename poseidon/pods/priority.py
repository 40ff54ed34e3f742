"""A pod's priority, where admission has not written it into the spec already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.kube.api.core import PodSpec, PriorityClass

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Classes that every cluster has (k8s.io/kubernetes/pkg/apis/scheduling)."""

NEVER = "Never"
"""The preemption policy of pods that wait rather than evict others."""

LOWEST, HIGHEST = -(2**31), 2**31 - 1


class UnknownPriorityClassError(LookupError):
    """A pod names a PriorityClass that does not exist; ``name`` is that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no PriorityClass {name!r} exists")
        self.name = name


class PriorityResolver:
    """Knows a cluster's priority classes."""

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._values = dict(SYSTEM_CLASSES)
        self._defaults: dict[str, int] = {}
        self._peaceful: set[str] = set()
        for priority_class in classes:
            self.upsert(priority_class)

    def upsert(self, priority_class: PriorityClass) -> None:
        """Learn of a class or of its new value."""
        name = priority_class.metadata.name
        self.remove(name)
        self._values[name] = _clipped(priority_class.value)
        if priority_class.global_default:
            self._defaults[name] = self._values[name]
        if priority_class.preemption_policy == NEVER:
            self._peaceful.add(name)

    def remove(self, name: str) -> None:
        """Forget a class; unknown names are ignored."""
        self._values.pop(name, None)
        self._defaults.pop(name, None)
        self._peaceful.discard(name)
        if name in SYSTEM_CLASSES:
            self._values[name] = SYSTEM_CLASSES[name]

    def priority(self, spec: PodSpec) -> int:
        """Return ``spec.priority``, else that of its class, else of the global default class, else 0.

        Of several default classes the lowest counts, as in Kubernetes. Raises ``UnknownPriorityClassError``.
        """
        if spec.priority is not None:
            return _clipped(spec.priority)
        name = spec.priority_class_name
        if not name:
            return min(self._defaults.values()) if self._defaults else 0
        if name not in self._values:
            raise UnknownPriorityClassError(name)
        return self._values[name]

    def never_preempts(self, spec: PodSpec) -> bool:
        """Return whether a pod evicts nobody: as its spec says, else its class, else the global default class."""
        if spec.preemption_policy or spec.priority is not None:
            return spec.preemption_policy == NEVER
        name = spec.priority_class_name or min(self._defaults, key=self._defaults.__getitem__, default="")
        return name in self._peaceful


def _clipped(value: int) -> int:
    return min(max(value, LOWEST), HIGHEST)
