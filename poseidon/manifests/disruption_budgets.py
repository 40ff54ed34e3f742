"""Counts how many evictions each PodDisruptionBudget of an input allows, if no controller has counted them yet.

Objects dumped from clusters contain the controller's counts; budgets that people write do not. Counting follows
``pkg/controller/disruption``. A pod is healthy if it is on a node, has not ended, is not being deleted, and no
condition says that it is not ready.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from poseidon.disruption_budgets.eviction_answers import is_known_unready, parse_selector
from poseidon.kube.api.metadata import Number
from poseidon.kube.api.pod_groups import DisruptionBudget, DisruptionBudgetStatus
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import parse_requirements
from poseidon.volumes.matching import holds


def count_budgets(budgets: Iterable[DisruptionBudget], pods: Sequence[Pod]) -> list[DisruptionBudget]:
    """Return the budgets, each with a status; a budget without one gets the status that its controller would write."""
    return [each if each.status is not None else _count(each, pods) for each in budgets]


def budget_defects(found: DisruptionBudget) -> Iterator[Defect]:
    """Yield the faults of a PodDisruptionBudget."""
    spec = found.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        yield Defect("spec.maxUnavailable", "stands beside minAvailable; remove one of the two")
    for field, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if value is not None and _share(value, 1) is None:
            yield Defect(
                f"spec.{field}", f"{value!r} is neither a number of pods nor a percentage; give 1 or 50%"
            )
    if spec.selector is not None:
        defects: list[Defect] = []
        parse_requirements(spec.selector, "spec.selector", defects)
        yield from defects


def _count(budget: DisruptionBudget, pods: Sequence[Pod]) -> DisruptionBudget:
    spec = budget.spec
    covered = _list_covered(budget, pods)
    expected = len(covered)
    if spec.max_unavailable is not None:
        desired = expected - (_share(spec.max_unavailable, expected) or 0)
    else:
        desired = _share(1 if spec.min_available is None else spec.min_available, expected) or 0
    healthy = sum(map(_is_healthy, covered))
    status = DisruptionBudgetStatus(
        disruptions_allowed=max(healthy - max(desired, 0), 0),
        observed_generation=budget.metadata.generation,
        current_healthy=healthy,
        desired_healthy=max(desired, 0),
    )
    return replace(budget, status=status)


def _list_covered(budget: DisruptionBudget, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that a budget selects, without those that have ended."""
    selector = parse_selector(budget)
    if selector is None:
        return []
    namespace = budget.metadata.namespace or "default"
    return [
        pod
        for pod in pods
        if (pod.metadata.namespace or "default") == namespace
        and not pod.terminal
        and all(holds(each, pod.metadata.labels) for each in selector)
    ]


def _share(value: Number, whole: int) -> int | None:
    """Return how many pods a number or percentage means, rounded up, or None for anything else."""
    if isinstance(value, int):
        return value if value >= 0 else None
    text = str(value)
    digits = text.removesuffix("%")
    if digits == text or not (digits.isascii() and digits.isdecimal()) or len(digits) > 9:
        return None
    return math.ceil(int(digits) * whole / 100)


def _is_healthy(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and pod.metadata.deletion_timestamp is None and not is_known_unready(pod)
