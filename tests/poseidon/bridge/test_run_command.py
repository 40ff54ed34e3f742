"""``poseidon run`` as a process."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from poseidon.configuration.document import BridgeConfiguration
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import Api
from tests.support.preloaded import process_of, quick_python
from tests.support.time_limits import stretch
from tests.support.waiting import until

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{token: secret}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


async def start(tmp_path, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command = [quick_python(), "-m", "poseidon", "run", *arguments]
    return await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no API server given: pass --kubeconfig FILE"),
        (("--kubeconfig", "/nowhere"), "kubeconfig /nowhere: no such file"),
        (("--config", "{bad}"), "bad.yaml"),
        (("--firmament", "nonsense"), "is not HOST:PORT"),
        (("--metrics", "127.0.0.1:99999"), "is not HOST:PORT"),
    ],
)
async def test_bad_input_is_one_line_and_exit_2(tmp_path, arguments, told):
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nnonsense: 1\n")
    process = await start(tmp_path, *(argument.format(bad=bad) for argument in arguments))
    _, err = await process.communicate()
    assert process.returncode == 2
    text = err.decode()
    assert told in text
    assert "Traceback" not in text


async def test_the_effective_configuration_needs_no_cluster(tmp_path):
    process = await start(tmp_path, "--print-config")
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.decode() == BridgeConfiguration().effective_yaml()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_binds_and_ends_cleanly_on_a_signal(tmp_path, number):
    cluster = SimulatedCluster(ClusterOptions(token="secret"))
    await cluster.start()
    api = Api(cluster.url, authorize=lambda: "Bearer secret")
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(url=cluster.url))
    solver = ScriptedSolver()
    solver.place_all = True
    try:
        await api.node("n1")
        await api.pod("a")
        async with running_solver(solver) as port:
            target = f"127.0.0.1:{port}"
            process = await start(
                tmp_path, "--kubeconfig", str(config), "--firmament", target, "--cluster-name", "mine"
            )
            await until(lambda: solver.reports, within=30)
            process.send_signal(number)
            _, err = await asyncio.wait_for(process.communicate(), stretch(20))
            assert solver.hellos[-1].cluster == "mine"
            assert solver.hellos[-1].fencing > 1_600_000_000_000
        log = err.decode()
        assert process.returncode == 0, log
        assert 'msg="round" round=1 placed=1 evicted=0' in log
        assert 'msg="stopped"' in log
        assert (await api.pods())["a"]["spec"]["nodeName"] == "n1"
        assert len(await api.items("/api/v1/events")) == 1
    finally:
        await api.transport.close()
        await cluster.stop()


async def test_a_dry_run_has_a_cluster_of_its_own_at_the_solver(tmp_path):
    cluster = SimulatedCluster(ClusterOptions(token="secret"))
    await cluster.start()
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(url=cluster.url))
    solver = ScriptedSolver()
    try:
        async with running_solver(solver) as port:
            target = f"127.0.0.1:{port}"
            arguments = (
                "--kubeconfig",
                str(config),
                "--firmament",
                target,
                "--cluster-name",
                "mine",
                "--dry-run",
            )
            process = await start(tmp_path, *arguments)
            await until(lambda: solver.synced, within=30)
            number = process_of(process.pid)
            process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(process.communicate(), stretch(20))
        asking, hello = solver.hellos
        assert asking.ephemeral
        assert asking.cluster not in ("mine", hello.cluster)
        assert hello.cluster.startswith("mine.dry-run.")
        assert hello.cluster.endswith(f".{number}")
        assert (hello.fencing, hello.ephemeral) == (0, True)
    finally:
        await cluster.stop()


@pytest.mark.parametrize(("flag", "elects"), [("--leader-elect", "true"), ("--no-leader-elect", "false")])
async def test_the_command_line_decides_about_leader_election(tmp_path, flag, elects):
    other = {"true": "false", "false": "true"}[elects]
    config = tmp_path / "config.yaml"
    header = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
    config.write_text(f"{header}leaderElection: {{leaderElect: {other}}}\n")
    process = await start(tmp_path, "--config", str(config), flag, "--print-config")
    printed, _ = await process.communicate()
    assert f"leaderElect: {elects}" in printed.decode()
