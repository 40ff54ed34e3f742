"""docs/install.md, carried out command by command: from nothing to bound pods, as the account that the manifests make.

Against the simulated cluster, which enforces the shipped roles, and against a real API server where its programs are.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from benchmarks.judge.control_plane import VARIABLE, ControlPlane, binaries
from poseidon.cli import main
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.harness.child import Child
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.seeding import NodeShape, node
from tests.deploy.manifests import BESIDE, DEPLOY, collection_of, everything
from tests.documentation.markdown import ROOT, blocks, text
from tests.programs.end_to_end.scene import free_port
from tests.support import preloaded
from tests.support.waiting import until

TOKEN = "administrator"  # of a server on the loopback interface
NAMESPACE = "poseidon"
ELSEWHERE = ("docker", "firmament", "helm", "make", "poseidon")
"""Programs whose part others play: ``make images``, ``make chart``, for ``make kind`` and the programs from a shell
tests of their own.
"""


def commands() -> Iterator[list[str]]:
    """The page's commands, in order."""
    for block in blocks(text("docs/install.md"), "console"):
        for line in block.splitlines():
            assert line.startswith("$ "), line
            yield shlex.split(line[2:])


def in_files(argument: str) -> list[dict]:
    """Objects of the manifests in a folder that is applied with -f."""
    paths = sorted((ROOT / argument).glob("*.yaml"))
    return [each for path in paths for each in yaml.safe_load_all(path.read_text()) if each]


class Administrator:
    """Carries out commands. Creating goes by HTTP with an administrator's token, as kubectl does it.

    What a kubelet does is done here: both containers are started with the arguments of their Deployments, their
    addresses and files brought to this machine, the bridge's with a token of its account.
    """

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder, self._kubeconfig = folder, kubeconfig
        self._account = folder / "account"
        self._ports = {"firmament": free_port(), "metrics of firmament": free_port(), "poseidon": free_port()}
        self._running: list[Child] = []
        self.shown: list[str] = []

    async def carry_out(self, words: list[str]) -> None:
        match words:
            case ["kubectl", "apply", "-k", folder]:
                await self._create(everything("." if folder == "deploy" else folder.removeprefix("deploy/")))
            case ["kubectl", "delete", "-k", folder]:
                await self._end()
                await self._delete(everything("." if folder == "deploy" else folder.removeprefix("deploy/")))
            case ["kubectl", "apply", "-f", folder]:
                await self._create(in_files(folder))
            case ["kubectl", "delete", "-f", folder]:
                await self._delete(in_files(folder))
            case ["kubectl", "-n", "poseidon", "rollout", "status", *deployments, "--timeout=2m"]:
                assert deployments == ["deployment/firmament", "deployment/poseidon"]
                await self._start_containers()
            case ["kubectl", "-n", "poseidon", "exec", "deployment/poseidon", "--", "poseidon", *arguments]:
                self.shown.append((await self._in_the_pod(arguments)).output)
            case ["kubectl", "get", "pods", *names, "-o", "wide"]:
                await self._until_settled(names)
            case _:
                raise AssertionError(f"docs/install.md: nobody here can {shlex.join(words)}")

    async def close(self) -> None:
        await self._end()

    # --- objects -------------------------------------------------------------------------------------------------

    def transport(self, kubeconfig: Path | None = None) -> Transport:
        return Transport(load_settings(kubeconfig or self._kubeconfig, None), clock=time.monotonic)

    async def _create(self, objects: list[dict]) -> None:
        async with self.transport() as transport:
            for each in objects:
                try:
                    await transport.post(collection_of(each), msgspec.json.encode(each))
                except ApiError as error:
                    if not error.already_exists:
                        raise

    async def _delete(self, objects: list[dict]) -> None:
        async with self.transport() as transport:
            for each in reversed(objects):
                name = each["metadata"]["name"]
                await transport.delete(f"{collection_of(each)}/{name}", b'{"gracePeriodSeconds": 0}')

    async def pods(self) -> dict[str, dict]:
        async with self.transport() as transport:
            listed = msgspec.json.decode(await transport.get("/api/v1/namespaces/default/pods"))
        return {each["metadata"]["name"]: each for each in listed["items"]}

    async def _until_settled(self, names: list[str]) -> None:
        async def settled() -> bool:
            pods = await self.pods()
            return all(
                pods[name]["spec"].get("nodeName") or pods[name]["status"].get("conditions") for name in names
            )

        await until(settled, within=40.0)

    # --- what kubelets do ----------------------------------------------------------------------------------------

    async def _start_containers(self) -> None:
        async with self.transport() as transport:
            base = f"/api/v1/namespaces/{NAMESPACE}"
            request = msgspec.json.encode(
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
            )
            reply = await transport.post(f"{base}/serviceaccounts/poseidon/token", request)
            map_ = msgspec.json.decode(await transport.get(f"{base}/configmaps/scheduler-configuration"))
            found = await transport.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments")
        deployments = {each["metadata"]["name"]: each for each in msgspec.json.decode(found)["items"]}
        self._write_account(msgspec.json.decode(reply)["status"]["token"])
        configuration = yaml.safe_load(map_["data"]["scheduler.yaml"])
        # The namespace of its account is in a file of its pod.
        configuration["leaderElection"] = {"resourceNamespace": NAMESPACE}
        (self._folder / "scheduler.yaml").write_text(yaml.safe_dump(configuration))
        for name in ("firmament", "poseidon"):
            (container,) = deployments[name]["spec"]["template"]["spec"]["containers"]
            arguments = self._here(container["args"], name)
            credentials = ["--kubeconfig", str(self._account)] if name == "poseidon" else []
            child = Child(
                name, name, [*arguments, *credentials], self._folder / f"{name}.log", preloaded.fork
            )
            await child.start()
            self._running.append(child)
            if name == "firmament":
                await child.read_address()

    def _write_account(self, token: str) -> None:
        """Write how the bridge reaches the API server: as the administrator does, by another token."""
        document = yaml.safe_load(self._kubeconfig.read_text())
        for each in document["users"]:
            each["user"] = {"token": token}
        self._account.write_text(yaml.safe_dump(document))

    def _here(self, arguments: list[str], program: str = "poseidon") -> list[str]:
        """Arguments as they are in a manifest, with the files and addresses of this machine."""
        metrics = self._ports["metrics of firmament" if program == "firmament" else "poseidon"]
        places = {
            "firmament:9090": f"127.0.0.1:{self._ports['firmament']}",
            "0.0.0.0:9090": f"127.0.0.1:{self._ports['firmament']}",
            "0.0.0.0:9091": f"127.0.0.1:{metrics}",
            "0.0.0.0:9092": f"127.0.0.1:{metrics}",
            f"/etc/{program}/scheduler.yaml": str(self._folder / "scheduler.yaml"),
        }
        changed = []
        for each in arguments:
            option, sign, value = each.partition("=")
            changed.append(f"{option}={places.get(value, value)}" if sign else places.get(each, each))
        return changed

    async def _in_the_pod(self, arguments: list[str]) -> Result:
        words = [*self._here(arguments), "--kubeconfig", str(self._account)]
        return await asyncio.to_thread(CliRunner().invoke, main, words)

    async def _end(self) -> None:
        for child in reversed(self._running):
            await child.stop(10.0)
        self._running.clear()


async def follow_the_page(administrator: Administrator) -> None:
    """Carry out all of the page, and look at what comes of it after each step that shows something."""
    done = 0
    try:
        for words in commands():
            if words[0] in ELSEWHERE:
                continue
            await administrator.carry_out(words)
            done += 1
            if words[:3] == ["kubectl", "get", "pods"]:
                pods = await administrator.pods()
                assert pods["hello-0"]["spec"]["nodeName"], "not bound"
                assert pods["hello-1"]["spec"]["nodeName"], "not bound"
                assert not pods["too-large"]["spec"].get("nodeName")
    finally:
        await administrator.close()
    assert done == 8
    diagnosis, explanation = administrator.shown
    assert {line.split()[0] for line in diagnosis.splitlines()} == {"ok", "warning"}, diagnosis
    assert explanation.startswith("Pod default/too-large waits for a node; 0 of 3 nodes are feasible."), (
        explanation
    )
    assert "Insufficient cpu" in explanation


async def test_from_nothing_to_bound_pods(tmp_path):
    refused: list[tuple[str, str, int]] = []

    def observe(method: str, path: str, status: int) -> None:
        if status in (401, 403):
            refused.append((method, path, status))

    cluster = SimulatedCluster(ClusterOptions(token=TOKEN), observer=observe)
    await cluster.start()
    try:
        write_kubeconfig(tmp_path / "kubeconfig", cluster.url, TOKEN)
        administrator = Administrator(tmp_path, tmp_path / "kubeconfig")
        await give_nodes(administrator)
        await follow_the_page(administrator)
    finally:
        await cluster.stop()
    # The base reads no ConfigMaps: sizes of groups that those would state are for deploy/topology.
    assert set(refused) <= {("GET", "/api/v1/configmaps", 403)}


async def give_nodes(administrator: Administrator) -> None:
    shape = NodeShape("four", cpu="4", memory="16Gi")
    async with administrator.transport() as transport:
        for name in ("n1", "n2", "n3"):
            made = node(name, shape)
            await transport.post("/api/v1/nodes", msgspec.json.encode(made))
            status = msgspec.json.encode({"status": made["status"]})
            await transport.patch(f"/api/v1/nodes/{name}/status", status, "application/merge-patch+json")


@pytest.mark.skipif(binaries() is None, reason=f"{VARIABLE} names no folder of binaries")
@pytest.mark.timeout(300)
async def test_from_nothing_to_bound_pods_in_a_real_cluster(tmp_path):
    where = binaries()
    assert where is not None
    async with ControlPlane(where, tmp_path) as control_plane:
        kubectl = {**os.environ, "KUBECONFIG": str(control_plane.kubeconfig)}
        for namespace in ("poseidon", "netperf"):  # without them nothing can be tried in them
            await run([where / "kubectl", "create", "namespace", namespace], kubectl)
        for folder in (".", *BESIDE):
            options = ("--dry-run=server", "--validate=false")
            await run([where / "kubectl", "apply", "-k", DEPLOY / folder, *options], kubectl)
        administrator = Administrator(tmp_path, control_plane.kubeconfig)
        await give_nodes(administrator)
        await follow_the_page(administrator)


async def run(words: list[str | Path], environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *map(str, words), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
