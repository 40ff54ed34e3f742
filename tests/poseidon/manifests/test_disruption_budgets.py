"""Disruption budgets in manifests: counted as a controller would, unless one has counted already."""

from __future__ import annotations

import pytest

from poseidon.kube.api.metadata import Condition, GenerationMeta, ObjectMeta
from poseidon.kube.api.pod_groups import (
    DisruptionBudget,
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
)
from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus
from poseidon.manifests.disruption_budgets import budget_defects, count_budgets

WEB = LabelSelector({"app": "web"})


def web(name, *, node="n1", phase="Running", ready="True", deleting=False, app="web", namespace="default"):
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            labels={"app": app},
            deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
        ),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase, conditions=(Condition(type="Ready", status=ready),)),
    )


PODS = [
    *(web(f"w{index}") for index in range(4)),
    web("unready", ready="False"),
    web("leaving", deleting=True),
    web("waiting", node=""),
    web("ended", phase="Succeeded"),
    web("other", app="db"),
    web("elsewhere", namespace="shop"),
]


def allowed(selector=WEB, status=None, **spec):
    found = DisruptionBudget(
        GenerationMeta(name="b", namespace="default"), DisruptionBudgetSpec(selector, **spec), status
    )
    [done] = count_budgets([found], PODS)
    assert done.status is not None
    return done.status.disruptions_allowed


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"min_available": 3}, 1),
        ({"min_available": "50%"}, 0),  # of seven that there are, four
        ({"min_available": "30%"}, 1),  # three
        ({"min_available": 9}, 0),
        ({"max_unavailable": 3}, 0),
        ({"max_unavailable": 5}, 2),
        ({"max_unavailable": "100%"}, 4),
        ({}, 3),
    ],
)
def test_what_nobody_has_counted_is_counted(spec, expected):
    assert allowed(**spec) == expected


def test_what_has_been_counted_stands():
    assert allowed(status=DisruptionBudgetStatus(7, 1), min_available=3) == 7


def test_a_budget_without_selector_is_about_nothing():
    assert allowed(selector=None, max_unavailable=5) == 0


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"min_available": 1, "max_unavailable": 1}, "spec.maxUnavailable: stands beside minAvailable"),
        ({"min_available": -1}, "spec.minAvailable: -1 is neither"),
        ({"max_unavailable": "half"}, "spec.maxUnavailable: 'half' is neither"),
        ({"max_unavailable": "5"}, "spec.maxUnavailable: '5' is neither"),
    ],
)
def test_defects(spec, field):
    found = DisruptionBudget(GenerationMeta(name="b"), DisruptionBudgetSpec(WEB, **spec))
    [defect] = budget_defects(found)
    assert str(defect).startswith(field)
