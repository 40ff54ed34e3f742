"""Evictions and the budgets that refuse them."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.operations import MERGE_PATCH
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import PODS
from tests.poseidon.testbed.conftest import JsonClient
from tests.support.cluster import pod
from tests.support.waiting import until

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}


class Scene:
    """Pods that run, labelled ``app: web``."""

    def __init__(self, cluster: SimulatedCluster, api: JsonClient) -> None:
        self.api = api
        self.operations = cluster.operations

    def run(self, *names: str, owner: str = "") -> None:
        for name in names:
            body = pod(name)
            body["metadata"]["labels"] = {"app": "web", "name": name}
            if owner:
                reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner}
                body["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
            self.operations.create(PODS, "default", body)
            bind(self.operations.store, "default", name, decode_binding(b'{"target":{"name":"n1"}}'))
        KubeletSimulation(self.operations.store).advance(0.0)

    async def budget(self, name: str = "web", selector: Any = None, **spec: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"selector": selector or {}, **spec}}
        status, answer = await self.api.call("POST", BUDGETS, body)
        assert status == 201, answer

    async def evict(self, name: str, path: str = "", **body: Any) -> tuple[int, Any]:
        path = path or f"/api/v1/namespaces/default/pods/{name}/eviction"
        return await self.api.call("POST", path, {**EVICTION, "metadata": {"name": name}, **body})

    async def status(self, name: str = "web") -> dict[str, Any]:
        _, body = await self.api.call("GET", f"{BUDGETS}/{name}")
        found: dict[str, Any] = body["status"]
        return found

    async def until_status(self, **expected: int) -> None:
        async def reached() -> bool:
            status = await self.status()
            return {name: status.get(name) for name in expected} == expected

        await until(reached, what=f"{expected}")

    def names(self) -> list[str]:
        store = self.operations.store
        return [key.partition("/")[2] for key in store.collection("pods").view(store.revision).keys]


@pytest.fixture
def scene(cluster: SimulatedCluster, api: JsonClient) -> Scene:
    return Scene(cluster, api)


async def test_without_a_budget_a_pod_goes(scene: Scene) -> None:
    scene.run("a")
    status, body = await scene.evict("a")
    assert (status, body["kind"], body["status"]) == (201, "Status", "Success")
    assert scene.names() == []
    status, body = await scene.evict("a")
    assert (status, body["reason"]) == (404, "NotFound")


async def test_a_budget_refuses_what_it_does_not_allow(scene: Scene) -> None:
    scene.run("a", "b", "c")
    await scene.budget(minAvailable=2, selector={"matchLabels": {"app": "web"}})
    await scene.until_status(disruptionsAllowed=1, currentHealthy=3, desiredHealthy=2, expectedPods=3)
    assert (await scene.evict("a"))[0] == 201
    status, body = await scene.evict("b")
    assert (status, body["reason"]) == (429, "TooManyRequests")
    assert body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert body["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
        }
    ]
    assert scene.names() == ["b", "c"]
    await scene.until_status(disruptionsAllowed=0, currentHealthy=2)
    assert (await scene.status())["conditions"][0]["reason"] == "InsufficientPods"


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": "50%"}, 2),
        ({"minAvailable": "51%"}, 1),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": "25%"}, 1),
        ({"maxUnavailable": 0}, 0),
        ({"minAvailable": 0}, 4),
    ],
)
async def test_what_budgets_allow(scene: Scene, spec: Any, allowed: int) -> None:
    scene.run("a", "b", "c", "d")
    await scene.budget(**spec)
    await scene.until_status(disruptionsAllowed=allowed)


async def test_shares_refer_to_the_size_of_the_controller(scene: Scene) -> None:
    replica_set = {"metadata": {"name": "web"}, "spec": {"replicas": 10}}
    await scene.api.call("POST", "/apis/apps/v1/namespaces/default/replicasets", replica_set)
    scene.run("a", "b", "c", "d", owner="web")
    await scene.budget(maxUnavailable=7)
    await scene.until_status(expectedPods=10, desiredHealthy=3, disruptionsAllowed=1)


async def test_pods_that_do_not_count_may_go(scene: Scene) -> None:
    scene.run("a", "b")
    scene.operations.create(PODS, "default", pod("waiting"))
    await scene.budget(minAvailable=2)
    assert (await scene.evict("a"))[0] == 429
    assert (await scene.evict("waiting"))[0] == 201
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    scene.operations.patch(PODS, "default", "a", MERGE_PATCH, unready, status=True)
    # Its budget is not met without it either, so it must not go, unless the budget says otherwise.
    assert (await scene.evict("a"))[0] == 429
    patch = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    await scene.api.call("PATCH", f"{BUDGETS}/web", patch, content_type="application/merge-patch+json")
    assert (await scene.evict("a"))[0] == 201


@pytest.mark.parametrize(
    ("phase", "code"), [("Pending", 201), ("Succeeded", 201), ("Failed", 201), ("Running", 429)]
)
async def test_budgets_are_asked_only_about_pods_that_run(scene: Scene, phase: str, code: int) -> None:
    scene.run("a")
    scene.operations.create(PODS, "default", pod("p"))
    phases = {"status": {"phase": phase}}
    scene.operations.patch(PODS, "default", "p", MERGE_PATCH, phases, status=True)
    await scene.budget(minAvailable=2)
    assert (await scene.evict("p"))[0] == code


async def test_two_budgets_for_one_pod_are_an_error_of_the_administrator(scene: Scene) -> None:
    scene.run("a", "b")
    await scene.budget("one", minAvailable=0)
    await scene.budget(
        "two", minAvailable=0, selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    )
    status, body = await scene.evict("a")
    assert (status, body["reason"]) == (500, "InternalError")
    await scene.api.call("DELETE", f"{BUDGETS}/two")
    assert (await scene.evict("a"))[0] == 201


async def test_dry_runs_and_preconditions(scene: Scene) -> None:
    scene.run("a")
    path = "/api/v1/namespaces/default/pods/a/eviction"
    assert (await scene.evict("a", f"{path}?dryRun=All"))[0] == 201
    assert (await scene.evict("a", deleteOptions={"dryRun": ["All"]}))[0] == 201
    assert (await scene.evict("a", deleteOptions={"preconditions": {"uid": "other"}}))[0] == 409
    assert scene.names() == ["a"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "Pod"}, 400),
        ({"apiVersion": "policy/v1beta1"}, 400),
        ({"metadata": {"name": "b"}}, 400),
        ({"deleteOptions": {"gracePeriodSeconds": "soon"}}, 400),
    ],
)
async def test_bad_evictions(scene: Scene, body: Any, code: int) -> None:
    scene.run("a")
    status, answer = await scene.evict("a", **body)
    assert (status, answer["kind"]) == (code, "Status")
    assert scene.names() == ["a"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"minAvailable": 1, "maxUnavailable": 1}, "spec"),
        ({"minAvailable": -1}, "spec.minAvailable"),
        ({"maxUnavailable": "many"}, "spec.maxUnavailable"),
        ({"maxUnavailable": "101%"}, "spec.maxUnavailable"),
        ({"unhealthyPodEvictionPolicy": "Never"}, "spec.unhealthyPodEvictionPolicy"),
    ],
)
async def test_bad_budgets_are_refused_with_the_field(api: JsonClient, spec: Any, field: str) -> None:
    status, body = await api.call("POST", BUDGETS, {"metadata": {"name": "web"}, "spec": spec})
    assert (status, body["reason"], body["details"]["causes"][0]["field"]) == (422, "Invalid", field)


async def test_the_subresource_is_discovered(api: JsonClient) -> None:
    _, core = await api.call("GET", "/api/v1")
    [found] = [resource for resource in core["resources"] if resource["name"] == "pods/eviction"]
    assert (found["kind"], found["verbs"]) == ("Eviction", ["create"])
