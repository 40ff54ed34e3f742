"""Statuses of disruption budgets in the simulated cluster, by the rules of Kubernetes' controller."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.controllers.disruption import BUDGETS, DisruptionController
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod


class Scene:
    def __init__(self) -> None:
        self.operations = new_operations()
        self.controller = DisruptionController(self.operations.store)

    def pod(self, name: str, *, ready: bool = True, owner: str = "", **labels: str) -> None:
        made = pod(name)
        made["metadata"]["labels"] = labels or {"app": "web"}
        if owner:
            kind, _, own = owner.partition("/")
            made["metadata"]["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": kind, "name": own, "uid": own, "controller": True}
            ]
        self.operations.create(PODS, "default", made)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
        self.operations.patch(
            PODS, "default", name, "application/merge-patch+json", {"status": status}, status=True
        )

    def create(self, group: str, version: str, plural: str, body: dict[str, Any]) -> None:
        resource = self.operations.registry.find(group, version, plural)
        assert resource is not None
        self.operations.create(resource, "default", body)

    def budget(self, **spec: Any) -> None:
        selector = {"matchLabels": {"app": "web"}}
        body = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"selector": selector, **spec},
        }
        self.create("policy", "v1", "poddisruptionbudgets", body)

    def owner(self, replicas: int) -> None:
        template = {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}
        self.create("apps", "v1", "replicasets", body)

    def status(self) -> dict[str, Any]:
        self.controller.advance(0.0)
        record = self.operations.store.collection(BUDGETS).get("default/b")
        assert record is not None
        found: dict[str, Any] = decode(record)["status"]
        return found

    def figures(self) -> tuple[int, int, int, int]:
        """Return how many may go, are healthy, should be, and are expected."""
        found = self.status()
        names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        allowed, healthy, desired, expected = (int(found[name]) for name in names)
        return allowed, healthy, desired, expected


@pytest.mark.parametrize(
    ("spec", "figures"),
    [
        ({"minAvailable": 2}, (1, 3, 2, 4)),
        ({"minAvailable": 3}, (0, 3, 3, 4)),
        ({"minAvailable": 4}, (0, 3, 4, 4)),
        ({"minAvailable": "50%"}, (0, 3, 3, 5)),
        ({"maxUnavailable": 1}, (0, 3, 4, 5)),
        ({"maxUnavailable": 3}, (1, 3, 2, 5)),
        ({"maxUnavailable": "50%"}, (1, 3, 2, 5)),
        ({"maxUnavailable": 9}, (3, 3, 0, 5)),
        ({}, (2, 3, 1, 5)),
    ],
)
def test_figures_follow_from_pods_and_the_replicas_of_their_owner(spec, figures):
    scene = Scene()
    scene.owner(5)
    for name in "abc":
        scene.pod(name, owner="ReplicaSet/web")
    scene.pod("d", ready=False, owner="ReplicaSet/web")
    scene.pod("other", app="db")
    scene.budget(**spec)
    assert scene.figures() == figures


def test_pods_of_unknown_owners_count_as_they_are():
    scene = Scene()
    scene.pod("a", owner="Thing/x")
    scene.pod("b")
    scene.budget(maxUnavailable=1)
    assert scene.figures() == (1, 2, 1, 2)


def test_a_budget_without_pods_allows_nothing():
    scene = Scene()
    scene.budget(minAvailable=0)
    assert scene.figures() == (0, 0, 0, 0)


def test_a_budget_follows_its_pods_and_keeps_the_time_of_its_condition():
    scene = Scene()
    scene.budget(minAvailable=1)
    scene.pod("a")
    first = scene.status()
    [condition] = first["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    scene.pod("b")
    assert scene.figures() == (1, 2, 1, 2)
    [condition] = scene.status()["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "SufficientPods")
    scene.operations.delete(PODS, "default", "a", None, grace=0)
    assert scene.figures() == (0, 1, 1, 1)
    assert first["observedGeneration"] == scene.status()["observedGeneration"]
