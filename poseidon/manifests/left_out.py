"""Pods that are left out of a plan: those of other schedulers, and those that run on nodes outside the input."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from poseidon.manifests.missing import listed, printed_by
from poseidon.pods.tasks import qualified_name, scheduler_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.api.core import Pod


class LeftOut:
    """Counts pods, and says in a line each which they are and why."""

    def __init__(self) -> None:
        self._schedulers: Counter[str] = Counter()
        self._pods: list[str] = []
        self._nodes: dict[str, None] = {}

    def of_other_scheduler(self, pod: Pod) -> None:
        """Take note of a pod that waits for a scheduler that is not asked about."""
        self._schedulers[scheduler_of(pod)] += 1

    def elsewhere(self, pod: Pod) -> None:
        """Take note of a pod that runs on a node which is not in the input."""
        self._pods.append(qualified_name(pod.metadata))
        self._nodes[pod.spec.node_name] = None

    def warnings(self) -> Iterator[str]:
        """Yield a line per reason."""
        if self._pods:
            more = f" and {len(self._pods) - 1} more" if len(self._pods) > 1 else ""
            yield (
                f"Pod {self._pods[0]}{more}: spec.nodeName: node {listed(list(map(repr, self._nodes)))} is not in the "
                f"input, so what runs there is left out; {printed_by('nodes', namespaced=False)}"
            )
        if self._schedulers:
            total = sum(self._schedulers.values())
            noun = "pod waits" if total == 1 else "pods wait"
            counts = ", ".join(f"{count} for {name}" for name, count in sorted(self._schedulers.items()))
            yield f"{total} {noun} for another scheduler and take no part: {counts}; add --scheduler-name NAME"
