"""Tells whether PodDisruptionBudgets allow evicting a pod now, by the rules of the eviction subresource.

The audit and rescheduling ask it; what preemption knows of budgets is in ``records.py``.

The rules follow ``EvictionREST`` in ``pkg/registry/core/pod/storage`` of Kubernetes: budgets do not matter for pods
that do not run; a pod with two budgets is refused; a pod that is not ready may be evicted if its budget's policy says
so, or if enough ready pods remain; a budget whose latest change its controller has not counted yet refuses.

A budget's status says how many pods may go: the cluster's controller turns percentages into it. For files that is done
in ``poseidon/manifests/budgets.py``.
"""

from __future__ import annotations

from collections.abc import Iterable

from poseidon.kube.api.pod_groups import DisruptionBudget
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import parse_requirements
from poseidon.volumes.matching import holds
from poseidon.volumes.records import Condition

ALWAYS_ALLOW = "AlwaysAllow"

_MOST_UNCONFIRMED = 2000
"""The API server refuses further evictions if a budget's controller has not seen more than this many."""


def is_known_unready(pod: Pod) -> bool:
    """Return whether a pod's conditions say that it is not ready; a pod without them, as in files, counts as ready."""
    ready = pod.condition("Ready")
    return ready is not None and ready.status != "True"


def is_counted(budget: DisruptionBudget) -> bool:
    """Return whether the controller has counted a budget's pods since the budget's latest change."""
    return budget.status is not None and budget.status.observed_generation >= budget.metadata.generation


def parse_selector(budget: DisruptionBudget) -> tuple[Condition, ...] | None:
    """Return the conditions on labels that select a budget's pods.

    Returns None for a budget that selects no pod: it has no selector, or a malformed one.
    """
    if budget.spec.selector is None:
        return None
    defects: list[Defect] = []
    found = parse_requirements(budget.spec.selector, "", defects)
    return None if defects else tuple((each.key, each.operator, tuple(each.values)) for each in found)


class BudgetAnswers:
    """Says which budgets of a cluster cover a pod, and whether they allow evicting it."""

    def __init__(self, budgets: Iterable[DisruptionBudget]) -> None:
        self._in_namespace: dict[str, list[tuple[DisruptionBudget, tuple[Condition, ...]]]] = {}
        for budget in budgets:
            selector = parse_selector(budget)
            if selector is not None:
                namespace = budget.metadata.namespace or "default"
                self._in_namespace.setdefault(namespace, []).append((budget, selector))

    def covering(self, pod: Pod) -> list[DisruptionBudget]:
        """Return the budgets that cover a pod."""
        labels = pod.metadata.labels
        listed = self._in_namespace.get(pod.metadata.namespace or "default", ())
        return [budget for budget, selector in listed if all(holds(each, labels) for each in selector)]

    def refusal(self, pod: Pod) -> str:
        """Return why budgets do not allow evicting a pod now, "" if they allow it."""
        if pod.status.phase == "Pending" or pod.terminal or pod.metadata.deletion_timestamp is not None:
            return ""
        budgets = self.covering(pod)
        if len(budgets) > 1:
            names = ", ".join(sorted(each.metadata.name for each in budgets))
            return f"is covered by several PodDisruptionBudgets ({names}), which evictions do not support"
        return "".join(_refusal(budget, pod) for budget in budgets)


def _refusal(budget: DisruptionBudget, pod: Pod) -> str:
    name, status = f"PodDisruptionBudget {budget.metadata.name}", budget.status
    if is_known_unready(pod):
        enough = status is not None and status.current_healthy >= status.desired_healthy > 0
        if enough or budget.spec.unhealthy_pod_eviction_policy == ALWAYS_ALLOW:
            return ""
    if status is None or not is_counted(budget):
        return f"{name} has changed, and its controller has not counted since"
    if len(status.disrupted_pods) > _MOST_UNCONFIRMED:
        return f"{name} has too many evictions that its controller has not seen yet"
    return f"{name} allows no disruption" if status.disruptions_allowed < 1 else ""
