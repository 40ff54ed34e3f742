"""`poseidon doctor` says what a bridge would miss, and the rights that it asks about are those of the manifests."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest
import yaml
from aiohttp import web
from click.testing import CliRunner, Result

from poseidon.cli import main
from poseidon.configuration.document import BridgeConfiguration
from poseidon.doctor import rights
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.deploy.manifests import of_kind, rights_of
from tests.programs.end_to_end.sessions import solving

Denial = Callable[[dict[str, str]], bool]
MODELS = [{"name": "network_overhead"}, {"name": "numa_fit"}, {"name": "topology"}]


def node(*, ready: str = "True", **spec: Any) -> dict[str, Any]:
    return {"spec": spec, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def lease(holder: str, age: float, stated: int = 15) -> dict[str, Any]:
    renewed = datetime.fromtimestamp(time.time() - age, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"holderIdentity": holder, "leaseDurationSeconds": stated, "renewTime": renewed}


class ApiServer:
    """What the doctor asks an API server: of what ``denied`` is true it denies, of groups it serves some."""

    def __init__(self) -> None:
        self.denied: Denial = lambda _: False
        self.version: dict[str, str] = {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
        self.groups: set[str] = set()
        self.asked: list[dict[str, str]] = []
        self.other: list[str] = []
        self.nodes: list[dict[str, Any]] = [node()]
        self.lease: dict[str, Any] | None = None
        self.ahead = 0.0

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/version":
            date = formatdate(time.time() + self.ahead, usegmt=True)
            return web.json_response(self.version, headers={"Date": date})
        if request.path == "/api/v1/nodes":
            return web.json_response({"kind": "NodeList", "items": self.nodes})
        if "/leases/" in request.path and self.lease is not None:
            return web.json_response({"metadata": {"name": "poseidon"}, "spec": self.lease})
        if request.path.endswith("/selfsubjectaccessreviews"):
            attributes = (await request.json())["spec"]["resourceAttributes"]
            self.asked.append(attributes)
            return web.json_response({"status": {"allowed": not self.denied(attributes)}}, status=201)
        if request.path.removeprefix("/apis/") in self.groups:
            return web.json_response({"kind": "APIGroup"})
        self.other.append(f"{request.method} {request.path}")
        return web.json_response({"kind": "Status", "reason": "NotFound", "code": 404}, status=404)


@asynccontextmanager
async def serving(server: ApiServer, folder) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    path = folder / "kubeconfig"
    write_kubeconfig(path, f"http://{host}:{port}")
    try:
        yield str(path)
    finally:
        await runner.cleanup()


async def run(folder, server: ApiServer, *options: str, config: dict[str, Any] | None = None) -> Result:
    """Run the command against an API server and a solver."""
    if config is not None:
        path = folder / "configuration.yaml"
        head = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
        path.write_text(yaml.safe_dump(head | config))
        options = (*options, f"--config={path}")
    async with serving(server, folder) as kubeconfig, solving() as solver:
        command = ["doctor", f"--kubeconfig={kubeconfig}", f"--firmament={solver}", *options]
        return await asyncio.to_thread(CliRunner().invoke, main, command)


async def verdicts(folder, server: ApiServer, *options: str, **more: Any) -> tuple[int, dict[str, list[str]]]:
    """The exit status, and what was found, by check: verdict and message."""
    result = await run(folder, server, "-o", "json", *options, **more)
    document = json.loads(result.stdout)
    assert document["ok"] is (result.exit_code == 0)
    return result.exit_code, {
        each["check"]: [each["verdict"], each["message"]] for each in document["checks"]
    }


async def test_where_all_is_well_the_table_says_so(tmp_path):
    server = ApiServer()
    result = await run(tmp_path, server)
    assert result.exit_code == 0, result.output
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert {line[0] for line in lines} == {"ok"}
    assert server.other == []


@pytest.mark.parametrize(
    ("resource", "check", "verdict", "status"),
    [("pods/binding", "rights base", "wrong", 1), ("pods/eviction", "rights preemption", "warning", 0)],
)
async def test_a_right_that_is_missing_is_named_with_what_grants_it(
    tmp_path, resource, check, verdict, status
):
    server = ApiServer()
    server.denied = lambda asked: f"{asked['resource']}/{asked.get('subresource')}" == resource
    code, found = await verdicts(tmp_path, server)
    assert code == status
    assert found[check][0] == verdict
    assert f"create {resource}" in found[check][1]
    assert [name for name, (each, _) in found.items() if each != "ok"] == [check]


async def test_models_ask_for_rights_and_definitions(tmp_path):
    server = ApiServer()
    server.groups = {"topology.node.k8s.io", "appgroup.diktyo.x-k8s.io"}
    server.denied = lambda asked: asked["resource"] == "configmaps" and asked["verb"] == "patch"
    recovery = {"recovery": {"recreateBarePods": True}}
    code, found = await verdicts(tmp_path, server, config={"costModels": MODELS, **recovery})
    assert code == 1
    wrong = {name for name, (verdict, _) in found.items() if verdict == "wrong"}
    assert wrong == {"definition networktopology.diktyo.x-k8s.io", "rights topology"}
    assert {"rights network", "rights recovery", "definition topology.node.k8s.io"} <= found.keys()


async def test_leader_election_takes_one_lease(tmp_path):
    server = ApiServer()
    server.denied = lambda asked: asked["resource"] == "leases" and asked.get("name") == "poseidon"
    assert (await verdicts(tmp_path, server))[0] == 0
    code, found = await verdicts(tmp_path, server, "--leader-elect")
    assert code == 1
    leases = [asked for asked in server.asked if asked["resource"] == "leases"]
    assert {asked["namespace"] for asked in leases} == {"default"}
    assert "patch leases.coordination.k8s.io poseidon" in found["rights lease"][1]


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ({"major": "1", "minor": "20+", "gitVersion": "v1.20.1"}, "v1.20.1 is older"),
        ({"major": "1", "minor": "?"}, "invalid literal"),
    ],
)
async def test_an_api_server_that_is_too_old_or_none(tmp_path, version, says):
    server = ApiServer()
    server.version = version
    code, found = await verdicts(tmp_path, server)
    assert (code, found["api server"][0]) == (1, "wrong")
    assert says in found["api server"][1]
    assert "rights base" not in found
    assert found["solver"][0] == "ok"


async def test_a_solver_that_is_not_there(tmp_path):
    code, found = await verdicts(tmp_path, ApiServer(), "--firmament=127.0.0.1:1")
    assert (code, found["solver"][0]) == (1, "wrong")
    assert "127.0.0.1:1" in found["solver"][1]


async def test_a_configuration_that_is_wrong(tmp_path):
    code, found = await verdicts(tmp_path, ApiServer(), config={"schedulerName": "x"})
    assert code == 1
    assert found.keys() == {"configuration"}
    assert "schedulerName" in found["configuration"][1]


def triples(granted: frozenset[rights.Right]) -> set[tuple[str, str, str]]:
    return {(each.group, each.resource, each.verb) for each in granted}


@pytest.mark.parametrize(
    ("folder", "granted"),
    [
        ("preemption", rights.PREEMPTION),
        ("recovery", rights.RECOVERY),
        ("topology", rights.TOPOLOGY),
        ("queues", rights.QUEUES),
        ("queue-admission", rights.QUEUE_ADMISSION),
        ("queue-statuses", rights.QUEUE_STATUSES),
        ("gpu-sharing", rights.GPU_SHARING),
        ("network", rights.NETWORK),
    ],
)
def test_rights_are_those_that_the_folders_grant(folder, granted):
    assert triples(granted) == rights_of(f"poseidon-{folder}", folder)


def test_rights_of_the_base_are_those_that_it_grants():
    assert triples(rights.BASE) == rights_of("poseidon")
    lease = BridgeConfiguration().leader_election.resource_name
    (role,) = of_kind("Role").values()
    granted = {
        rights.Right(group, resource, verb, "poseidon", name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert rights.lease_rights("poseidon", lease) == granted


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([], "there are none"),
        ([node(ready="False"), node(unschedulable=True)], "none of 2 is ready and schedulable"),
    ],
)
async def test_nodes_that_take_nothing(tmp_path, nodes, says):
    server = ApiServer()
    server.nodes = nodes
    code, found = await verdicts(tmp_path, server)
    assert (code, found["nodes"][0]) == (0, "warning")
    assert says in found["nodes"][1]


@pytest.mark.parametrize(("ahead", "says"), [(120.0, "behind the API server's"), (-90.0, "ahead of")])
async def test_clocks_that_differ(tmp_path, ahead, says):
    server = ApiServer()
    server.ahead = ahead
    _, found = await verdicts(tmp_path, server)
    assert found["clock"][0] == "warning"
    assert says in found["clock"][1]


@pytest.mark.parametrize(
    ("given", "verdict", "says"),
    [
        (None, "ok", "no bridge has led yet"),
        (("", 1.0), "warning", "no bridge leads"),
        (("bridge-a", 300.0), "warning", "bridge-a renewed its Lease 30"),
        (("bridge-a", 2.0), "ok", "bridge-a"),
        (("ghost", 2.0, 2**31 - 1), "warning", "ghost holds the Lease for 2147483647 s"),
        (("ghost", 300.0, 2**31 - 1), "warning", "counts as 120 s"),
    ],
)
async def test_who_leads(tmp_path, given, verdict, says):
    server = ApiServer()
    server.lease = lease(*given) if given is not None else None
    _, found = await verdicts(tmp_path, server, "--leader-elect")
    assert found["leader"][0] == verdict
    assert says in found["leader"][1]


@pytest.mark.parametrize(
    ("config", "check"),
    [
        ({"utilisation": {"metricsServer": {"mode": "auto"}}}, "measured use metrics.k8s.io"),
        ({"costModels": [{"name": "load_threshold"}]}, "measured use slo.koordinator.sh"),
        (
            {"utilisation": {"prometheus": {"url": "http://127.0.0.1:1", "queries": [
                {"query": "up", "resource": "cpu"}
            ]}}},
            "measured use prometheus",
        ),
    ],
)  # fmt: skip
async def test_sources_of_measured_use_that_are_not_there(tmp_path, config, check):
    server = ApiServer()
    _, found = await verdicts(tmp_path, server, config=config)
    assert found[check][0] == "warning"
    server.groups = {"metrics.k8s.io", "slo.koordinator.sh"}
    if "prometheus" not in check:
        assert (await verdicts(tmp_path, server, config=config))[1][check] == ["ok", "served"]
