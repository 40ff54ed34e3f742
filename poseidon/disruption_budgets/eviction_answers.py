"""Decides whether PodDisruptionBudgets allow evicting a pod now, by the rules of the eviction subresource.

The audit and rescheduling use this module; preemption uses the records that ``records.py`` makes. The rules follow
``EvictionREST`` in ``pkg/registry/core/pod/storage`` of Kubernetes. Budgets do not protect pods that do not run. A pod
with two budgets may not be evicted. A pod that is not ready may be evicted if its budget's policy says so, or if enough
ready pods remain. A budget allows no eviction until its controller has counted its pods after the budget's latest
change.

A budget's status says how many pods may be evicted; the cluster's controller computes this number from percentages.
For files, ``poseidon/manifests/disruption_budgets.py`` computes the number.
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
"""The API server refuses further evictions while a budget's controller has not seen more than this number of them."""


def is_known_unready(pod: Pod) -> bool:
    """Return whether a pod's conditions say that it is not ready; a pod without conditions counts as ready."""
    ready = pod.condition("Ready")
    return ready is not None and ready.status != "True"


def is_counted(budget: DisruptionBudget) -> bool:
    """Return whether the controller has counted a budget's pods since the budget's latest change."""
    return budget.status is not None and budget.status.observed_generation >= budget.metadata.generation


def parse_selector(budget: DisruptionBudget) -> tuple[Condition, ...] | None:
    """Return the conditions on labels that select a budget's pods.

    Returns None for a budget that selects no pod, because it has no selector or a malformed one.
    """
    if budget.spec.selector is None:
        return None
    defects: list[Defect] = []
    found = parse_requirements(budget.spec.selector, "", defects)
    return None if defects else tuple((each.key, each.operator, tuple(each.values)) for each in found)


class BudgetAnswers:
    """The PodDisruptionBudgets of a cluster, to find those that cover a pod and whether they allow evicting it."""

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
