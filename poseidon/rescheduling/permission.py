"""Which pods may be moved: those whose namespace, or who themselves, say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poseidon.kube.api.core import Namespace, Pod

RESCHEDULE = "firmament.io/reschedule"
"""Label of a namespace, and annotation of a pod, which goes before it."""

ALLOW, DENY = "allow", "deny"


class Permission:
    """``faults``: what was said that makes no sense; it allows nothing. Pods of nobody who says anything stay."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self.faults: list[str] = []
        self._allowed = {
            each.metadata.name
            for each in namespaces
            if self._allows(f"namespace {each.metadata.name}: label", each.metadata.labels, default=False)
        }

    def allows(self, pod: Pod) -> bool:
        """Whether a pod may be moved as far as its owners are concerned."""
        metadata = pod.metadata
        return self._allows(
            f"pod {metadata.namespace}/{metadata.name}: annotation",
            metadata.annotations,
            default=metadata.namespace in self._allowed,
        )

    def _allows(self, where: str, said: Mapping[str, str], *, default: bool) -> bool:
        value = said.get(RESCHEDULE)
        if value in (ALLOW, DENY):
            return value == ALLOW
        if value is None:
            return default
        fault = f"{where} {RESCHEDULE} is {value!r}; write {ALLOW} or {DENY}; nothing of it moves"
        if fault not in self.faults:
            self.faults.append(fault)
        return False
