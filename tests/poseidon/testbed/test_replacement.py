"""Pods that controllers replace in the simulated cluster: which, when, and by what."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.controllers.replica_controllers import PodReplacement
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.resources import PODS
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod


class Scene:
    """Operations on a store, and what the controllers create."""

    def __init__(self, *, taken: bool = False) -> None:
        self.operations = new_operations()
        self.created: list[dict[str, Any]] = []
        self._taken = taken
        self.replacement = PodReplacement(self.operations.store, self._create)

    def _create(self, namespace: str, body: dict[str, Any]) -> None:
        assert namespace == body["metadata"]["namespace"]
        self.created.append(body)
        if self._taken:
            raise errors.ApiError(409, "AlreadyExists", "taken")

    def pod(self, name: str, kind: str = "ReplicaSet", *, controller: bool = True) -> None:
        made = pod(name, nodeName="n1")
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "w", "controller": controller}
        made["metadata"] |= {"labels": {"app": "web"}, "annotations": {"a": "1"}}
        made["metadata"]["ownerReferences"] = [owner] if kind else []
        self.operations.create(PODS, "default", made)

    def delete(self, name: str, grace: int = 0) -> None:
        self.operations.delete(PODS, "default", name, None, grace=grace)

    def look(self) -> list[str]:
        """Let the controllers look; return the names of the pods that they create."""
        self.created.clear()
        self.replacement.advance(0.0)
        return [each["metadata"]["name"] for each in self.created]


def test_a_pod_that_is_gone_is_replaced_by_one_without_node_and_annotations():
    scene = Scene()
    scene.pod("a")
    assert scene.look() == []
    scene.delete("a")
    assert scene.look() == ["web-r1"]
    [made] = scene.created
    assert made["metadata"]["labels"] == {"app": "web"}
    assert "annotations" not in made["metadata"]
    assert made["metadata"]["ownerReferences"][0]["name"] == "web"
    assert "nodeName" not in made["spec"]
    assert made["spec"]["containers"]
    assert scene.look() == []


def test_each_is_replaced_once_in_the_order_of_their_ends():
    scene = Scene()
    for name in "abc":
        scene.pod(name)
    scene.look()
    scene.delete("c")
    scene.delete("a")
    assert scene.look() == ["web-r1", "web-r2"]


@pytest.mark.parametrize(("kind", "controller"), [("", True), ("ReplicaSet", False)])
def test_pods_without_a_controller_are_not_replaced(kind, controller):
    scene = Scene()
    scene.pod("a", kind, controller=controller)
    scene.look()
    scene.delete("a")
    assert scene.look() == []


def test_a_stateful_set_gives_the_same_name_again():
    scene = Scene()
    scene.pod("a", "StatefulSet")
    scene.look()
    scene.delete("a")
    assert scene.look() == ["a"]


def test_a_name_that_somebody_has_taken_stops_nobody():
    scene = Scene(taken=True)
    scene.pod("a")
    scene.pod("b")
    scene.look()
    scene.delete("a")
    scene.delete("b")
    assert len(scene.look()) == 2
