"""Whether budgets allow evicting a pod, by the rules of the eviction subresource."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.disruption_budgets.eviction_answers import (
    BudgetAnswers,
    is_counted,
    is_known_unready,
    parse_selector,
)
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pod_groups import DisruptionBudget
from poseidon.kube.api.pods import Pod

ALL: dict[str, Any] = {}


def budget(
    name: str = "b",
    *,
    selector: Any = ALL,
    namespace: str = "shop",
    generation: int = 1,
    policy: str = "",
    **status: Any,
) -> DisruptionBudget:
    """A budget that allows one disruption unless ``status`` says otherwise."""
    stated = {"disruptionsAllowed": 1, "observedGeneration": 1, **status}
    spec = {"selector": selector, **({"unhealthyPodEvictionPolicy": policy} if policy else {})}
    metadata = {"name": name, "namespace": namespace, "generation": generation}
    return convert_object({"metadata": metadata, "spec": spec, "status": stated}, DisruptionBudget)


def pod(
    *,
    ready: str = "True",
    phase: str = "Running",
    namespace: str = "shop",
    deleting: bool = False,
    **labels: str,
) -> Pod:
    metadata: dict[str, Any] = {"name": "p", "namespace": namespace, "labels": labels}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return convert_object({"metadata": metadata, "status": {"phase": phase, "conditions": conditions}}, Pod)


def refusal(found: Pod, *budgets: DisruptionBudget) -> str:
    return BudgetAnswers(budgets).refusal(found)


NONE_LEFT = "PodDisruptionBudget b allows no disruption"
NOT_COUNTED = "PodDisruptionBudget b has changed, and its controller has not counted since"


@pytest.mark.parametrize(
    ("found", "budgets", "why"),
    [
        (pod(), [], ""),
        (pod(), [budget()], ""),
        (pod(), [budget(disruptionsAllowed=0)], NONE_LEFT),
        (pod(phase="Pending"), [budget(disruptionsAllowed=0)], ""),
        (pod(phase="Succeeded"), [budget(disruptionsAllowed=0)], ""),
        (pod(phase="Failed"), [budget(disruptionsAllowed=0)], ""),
        (pod(deleting=True), [budget(disruptionsAllowed=0)], ""),
        (pod(namespace="other"), [budget(disruptionsAllowed=0)], ""),
        (pod(namespace=""), [budget(disruptionsAllowed=0, namespace="default")], NONE_LEFT),
        (pod(namespace="default"), [budget(disruptionsAllowed=0, namespace="")], NONE_LEFT),
        (pod(app="web"), [budget(disruptionsAllowed=0, selector={"matchLabels": {"app": "web"}})], NONE_LEFT),
        (pod(app="db"), [budget(disruptionsAllowed=0, selector={"matchLabels": {"app": "web"}})], ""),
        (pod(), [budget(disruptionsAllowed=0, selector=None)], ""),
        (
            pod(),
            [budget("b"), budget("a")],
            "is covered by several PodDisruptionBudgets (a, b), which evictions do not support",
        ),
        (pod(), [budget(disruptionsAllowed=0, policy="AlwaysAllow")], NONE_LEFT),
        (pod(), [budget(disruptionsAllowed=0, currentHealthy=3, desiredHealthy=3)], NONE_LEFT),
        (pod(), [budget(generation=2)], NOT_COUNTED),
        (pod(), [budget(generation=2, observedGeneration=2)], ""),
        (pod(), [budget(generation=2, observedGeneration=3)], ""),
        (pod(), [budget(disruptedPods={str(index): "" for index in range(2000)})], ""),
        (
            pod(),
            [budget(disruptedPods={str(index): "" for index in range(2001)})],
            "PodDisruptionBudget b has too many evictions that its controller has not seen yet",
        ),
    ],
)
def test_a_budget_allows_so_many_disruptions_of_its_pods(found, budgets, why):
    assert refusal(found, *budgets) == why


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (budget(disruptionsAllowed=0, currentHealthy=3, desiredHealthy=3), ""),
        (budget(disruptionsAllowed=0, currentHealthy=2, desiredHealthy=3), NONE_LEFT),
        (budget(disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1), ""),
        (budget(disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0), NONE_LEFT),
        (budget(disruptionsAllowed=0, policy="AlwaysAllow"), ""),
        (budget(disruptionsAllowed=0, policy="IfHealthyBudget"), NONE_LEFT),
        (budget(generation=2, policy="AlwaysAllow"), ""),
    ],
)
def test_a_pod_that_is_not_ready_goes_if_enough_ready_ones_stay(made, why):
    assert refusal(pod(ready="False"), made) == why
    assert refusal(pod(ready="Unknown"), made) == why


def test_without_a_status_nobody_may_go():
    found = convert_object(
        {"metadata": {"name": "b", "namespace": "shop"}, "spec": {"selector": {}}}, DisruptionBudget
    )
    assert refusal(pod(), found) == NOT_COUNTED
    assert refusal(pod(ready="False"), found) == NOT_COUNTED
    assert not is_counted(found)


@pytest.mark.parametrize(
    ("ready", "unready"), [("True", False), ("False", True), ("Unknown", True), ("", False)]
)
def test_a_pod_without_conditions_counts_as_ready(ready, unready):
    assert is_known_unready(pod(ready=ready)) is unready


def test_selectors_are_conditions_on_labels():
    assert parse_selector(budget(selector=None)) is None
    assert parse_selector(budget(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]})) is None
    assert parse_selector(budget()) == ()
    assert parse_selector(budget(selector={"matchLabels": {"a": "b"}})) == (("a", "In", ("b",)),)
