"""`poseidon support-bundle`: what others need to look at a cluster from afar, and no secret."""

from __future__ import annotations

import asyncio
import json
import tarfile
from dataclasses import replace

from click.testing import CliRunner

from firmament.cli import main as firmament
from poseidon.cli import main
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import free_port, scene
from tests.support.cluster import pod
from tests.support.storage import claim, csi_node, storage_class, using
from tests.support.waiting import until

SECRET = "hunter2"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SMALL = NodeShape("small", cpu="4", memory="16Gi")


def guarded(name, **spec):
    """A pod with secrets in every place where people put them."""
    made = pod(name, **spec)
    container = made["spec"]["containers"][0]
    container |= {
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "command": ["serve", f"--password={SECRET}"],
        "args": [SECRET],
        "livenessProbe": {"httpGet": {"path": "/", "httpHeaders": [{"name": "X", "value": SECRET}]}},
    }
    made["spec"].setdefault("volumes", []).append({"name": "s", "secret": {"secretName": SECRET}})
    made["metadata"]["annotations"] = {
        LAST_APPLIED: SECRET,
        "kapp.k14s.io/original": SECRET,
        "csi.storage.k8s.io/node-publish-secret-value": SECRET,
        "iam.kubernetes.io/aws-secret-key": SECRET,
        "vault.example.com/token": SECRET,
        "scheduling.koordinator.sh/load-estimated-scaling-factors": "{}",
    }
    return made


async def bundled(s, file, *options):
    arguments = [
        *("support-bundle", str(file), "--kubeconfig", str(s.stack.kubeconfig)),
        *("--firmament", s.stack.solver_address, "--cluster-name", s._cluster_name, *options),
    ]
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


CONFIGURATION = f"""
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
utilisation:
  prometheus:
    url: http://reader:{SECRET}@127.0.0.1:1/prometheus
    queries: [{{query: up, resource: cpu}}]
"""


async def test_it_can_be_planned_with_and_holds_no_secret(tmp_path):
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIGURATION)
    async with scene(tmp_path, config=config) as s:
        for name in await s.nodes(3, [SMALL]):
            create_object(s.operations, csi_node(name, disk_example_com=1))
        create_object(s.operations, storage_class() | {"parameters": {"password": SECRET}})
        create_object(s.operations, claim("c"))
        create_object(s.operations, guarded("runs", cpu="1"))
        create_object(s.operations, guarded("waits", cpu="9"))
        port = free_port()
        s.stack._options = replace(s.stack._options, more_for_bridge=("--metrics", f"127.0.0.1:{port}"))
        await s.start()
        await s.until_bound(1)
        create_object(s.operations, guarded("later", cpu="1", volumes=using("c")))
        file = tmp_path / "bundle.tar.gz"
        options = ["--bridge-url", f"http://127.0.0.1:{port}", "--config", str(config)]
        options += ("--solver-url", f"http://u:{SECRET}@127.0.0.1:{free_port()}?token={SECRET}")
        outcome = await bundled(s, file, *options)
        assert outcome.exit_code == 0, outcome.output
        assert SECRET not in outcome.output
        assert SECRET not in s.log("bridge")
        assert file.stat().st_mode & 0o077 == 0
        with tarfile.open(file) as tar:
            tar.extractall(tmp_path / "out", filter="data")
            names = set(tar.getnames())
        found = tmp_path / "out" / "support-bundle"
        assert {f"support-bundle/{name}" for name in ("README.txt", "versions.json", "doctor.json")} <= names
        assert "support-bundle/solver/state.json" in names
        assert "poseidon_build_info" in (found / "bridge" / "metrics.txt").read_text()
        assert "url: http://***@127.0.0.1:1/prometheus" in (found / "bridge" / "configz.txt").read_text()
        assert "http://***@127.0.0.1:1/prometheus: " in (found / "doctor.json").read_text()
        assert not any(SECRET in each.read_text() for each in found.rglob("*") if each.is_file())
        pods = json.loads((found / "cluster" / "pods.json").read_text())["items"]
        kept = {"scheduling.koordinator.sh/load-estimated-scaling-factors": "{}"}
        assert all(each["metadata"]["annotations"] == kept for each in pods)

        runner = CliRunner()
        plan = runner.invoke(main, ["plan", "-f", str(found / "cluster"), "-o", "json"])
        assert plan.exit_code == 0, plan.stderr
        answer = json.loads(plan.stdout)
        assert {each["pod"] for each in answer["bindings"]} <= {"default/later"}
        reasons = {each["pod"]: each["reason"] for each in answer["pending"]}
        assert reasons["default/waits"].startswith("0/3 nodes are available: 3 Insufficient cpu.")


async def test_what_cannot_be_had_is_told_and_the_rest_is_there(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(1, [SMALL])
        s.stack.solver_address = f"127.0.0.1:{free_port()}"
        file = tmp_path / "bundle.tar.gz"
        outcome = await bundled(s, file, "--bridge-url", f"http://127.0.0.1:{free_port()}")
        assert outcome.exit_code == 0, outcome.output
        assert "warning: solver/state.json: " in outcome.stderr
        assert "warning: bridge/metrics.txt: " in outcome.stderr
        with tarfile.open(file) as tar:
            names = tar.getnames()
            listed = tar.extractfile("support-bundle/README.txt")
            assert listed is not None
            text = listed.read().decode()
        assert "support-bundle/cluster/nodes.json" in names
        assert "support-bundle/solver/state.json" not in names
        assert "solver/state.json: " in text
        await s.cluster.stop()
        nothing = await bundled(s, tmp_path / "none.tar.gz")
        assert nothing.exit_code == 1
        assert not (tmp_path / "none.tar.gz").exists()


async def test_rounds_that_the_solver_has_saved_are_replayed_from_it(tmp_path):
    saved = tmp_path / "artefacts"
    async with scene(tmp_path) as s:
        await s.nodes(3, [SMALL])
        create_object(s.operations, guarded("runs", cpu="1"))
        s.stack._options = replace(s.stack._options, more_for_solver=("--artefacts", str(saved)))
        await s.start(own_solver=True)
        await s.until_bound(1)
        file = tmp_path / "bundle.tar.gz"
        await until(lambda: list(saved.glob("round-*")))
        outcome = await bundled(s, file, "--rounds", str(saved))
        assert outcome.exit_code == 0, outcome.output
        with tarfile.open(file) as tar:
            tar.extractall(tmp_path / "out", filter="data")
        rounds = tmp_path / "out" / "support-bundle" / "rounds"
        assert SECRET.encode() not in b"".join(
            each.read_bytes() for each in rounds.rglob("*") if each.is_file()
        )
        replayed = await asyncio.to_thread(CliRunner().invoke, firmament, ["replay", str(rounds)])
        assert replayed.exit_code == 0, replayed.output
        missing = await bundled(s, file, "--rounds", str(tmp_path / "nowhere"))
        assert "nowhere: No such file or directory" in missing.stderr
