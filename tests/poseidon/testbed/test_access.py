"""Roles and tokens: what a service account may do is what is bound to it, and the server says so when asked."""

from __future__ import annotations

import aiohttp
import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from tests.support.cluster import pod, running_cluster

RBAC = "rbac.authorization.k8s.io"
ROBOT = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def role(kind: str, *rules):
    metadata = {"name": "some", **({"namespace": "default"} if kind == "Role" else {})}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def bound(kind: str, to: str = "Role"):
    metadata = {"name": "some", **({"namespace": "default"} if kind == "RoleBinding" else {})}
    reference = {"apiGroup": RBAC, "kind": to, "name": "some"}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [ROBOT],
    }


def rule(verbs: str, resources: str, group: str = "", names: str = ""):
    found = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**found, **({"resourceNames": names.split()} if names else {})}


class Robot:
    """Asks as a service account."""

    def __init__(self, cluster, token):
        self._url, self._headers = cluster.url, {"Authorization": f"Bearer {token}"}

    async def ask(self, path, **query):
        async with aiohttp.ClientSession(self._url, headers=self._headers) as session:
            if "watch" in query:
                query["timeoutSeconds"] = "1"
            async with session.get(path, params=query) as answer:
                return answer.status

    async def may(self, **attributes):
        asked = {"spec": {"resourceAttributes": attributes}}
        async with (
            aiohttp.ClientSession(self._url, headers=self._headers) as session,
            session.post(REVIEWS, json=asked) as answer,
        ):
            return (await answer.json())["status"]["allowed"]


def robot_of(cluster, *objects):
    for each in objects:
        create_object(cluster.operations, each)
    create_object(cluster.operations, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": ROBOT})
    return Robot(cluster, cluster.accounts.issue("default", "robot", 600.0)[0])


async def test_a_cluster_role_holds_everywhere_and_a_role_in_its_namespace():
    async with running_cluster() as cluster:
        some = role("ClusterRole", rule("list", "pods"))
        robot = robot_of(cluster, some, bound("RoleBinding", "ClusterRole"))
        assert await robot.ask("/api/v1/namespaces/default/pods") == 200
        assert await robot.ask("/api/v1/pods") == 403
        assert await robot.ask("/api/v1/namespaces/default/pods", watch="true") == 403
        create_object(cluster.operations, bound("ClusterRoleBinding", "ClusterRole"))
        assert await robot.ask("/api/v1/pods") == 200


async def test_a_role_may_name_objects():
    async with running_cluster() as cluster:
        robot = robot_of(
            cluster,
            role("Role", rule("get list", "pods", names="mine")),
            bound("RoleBinding"),
            pod("mine"),
            pod("yours"),
        )
        pods = "/api/v1/namespaces/default/pods"
        assert await robot.ask(f"{pods}/mine") == 200
        assert await robot.ask(f"{pods}/yours") == 403
        assert await robot.ask(pods) == 403
        assert await robot.ask(pods, fieldSelector="metadata.name=mine") == 200


async def test_the_server_says_what_is_allowed_and_remembers_what_was_done():
    async with running_cluster() as cluster:
        robot = robot_of(cluster, role("Role", rule("create", "pods/binding")), bound("RoleBinding"))
        asked = {"verb": "create", "resource": "pods", "namespace": "default"}
        assert await robot.may(**asked, subresource="binding")
        assert not await robot.may(**asked)
        assert await robot.ask("/version") == 200
        assert cluster.access.used == {}


@pytest.mark.parametrize("token", [None, "administrator"])
async def test_tokens_are_good_for_their_time(token):
    now = 1000.0
    async with running_cluster(ClusterOptions(token=token, clock=lambda: now)) as cluster:
        robot = robot_of(cluster, role("Role", rule("list", "pods")), bound("RoleBinding"))
        path = "/api/v1/namespaces/default/pods"
        assert await robot.ask(path) == 200
        now += 601.0
        assert await robot.ask(path) == 401
        stranger = Robot(cluster, "of somebody")
        assert await stranger.ask(path) == (401 if token else 200)
