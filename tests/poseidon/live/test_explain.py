"""`poseidon explain` without files: a running solver and the API server say why a pod is where it is, or nowhere."""

from __future__ import annotations

import asyncio
import json

from click.testing import CliRunner

from poseidon.cli import main
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, free_port, scene
from tests.support.cluster import pod
from tests.support.waiting import until

SMALL = NodeShape("small", cpu="4", memory="16Gi")


async def explain(s, name, *options):
    """Run the command as users do, in a thread of its own."""
    arguments = [
        *("explain", "--pod", name, "--kubeconfig", str(s.stack.kubeconfig)),
        *("--firmament", s.stack.solver_address, "--cluster-name", s._cluster_name, *options),
    ]
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


async def test_pods_that_run_that_wait_and_that_nobody_knows(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(3, [SMALL])
        await s.pods(["fits"], cpu="1")
        await s.pods(["huge"], cpu="9")
        create_object(s.operations, pod("gated", schedulingGates=[{"name": "example.com/later"}]))
        create_object(s.operations, pod("theirs", schedulerName="another"))
        await s.start()
        await s.until_bound(1)

        def refused():
            pods = {each["metadata"]["name"]: each for each in s.listed(PODS)}
            return pods["huge"]["status"].get("conditions")

        await until(refused, within=SECONDS)
        bound = await explain(s, "fits", "-o", "json")
        assert bound.exit_code == 0, bound.output
        nodes = json.loads(bound.stdout)["nodes"]
        assert len(nodes) == 3
        assert all(each["feasible"] for each in nodes.values())
        assert f"Pod default/fits runs on {s.placed()['fits']}; 3 of 3" in (await explain(s, "fits")).stdout

        waits = (await explain(s, "default/huge")).stdout
        assert waits.startswith("Pod default/huge waits for a node; 0 of 3 nodes are feasible.")
        assert waits.count("Insufficient cpu") >= 3
        assert "Last reason given: 0/3 nodes are available: 3 Insufficient cpu." in waits.replace("\n", " ")

        short = (await explain(s, "huge", "--most", "1")).stdout
        assert "2 more: Insufficient cpu" in short

        gated = (await explain(s, "gated")).stdout
        assert "Nobody schedules it before its scheduling gates are gone: example.com/later." in gated
        assert "it is for scheduler another" in (await explain(s, "theirs")).stdout

        elsewhere = (await explain(s, "huge", "--cluster-name", "nowhere")).stdout.replace("\n", " ")
        assert "The solver does not know cluster nowhere; choose one with --cluster-name: " in elsewhere
        assert s._cluster_name in elsewhere

        missing = await explain(s, "nobody")
        assert (missing.exit_code, missing.stderr) == (
            2,
            "--pod: pod default/nobody is not in the cluster; name one as NAMESPACE/NAME\n",
        )


async def test_nobody_answers(tmp_path):
    async with scene(tmp_path) as s:
        await s.pods(["p"])
        s.stack.solver_address = f"127.0.0.1:{free_port()}"
        silent = await explain(s, "p", "--timeout", "1")
        assert silent.exit_code == 1
        assert silent.stderr.startswith(f"no solver answers: {s.stack.solver_address}: UNAVAILABLE")
        url = s.cluster.url
        await s.cluster.stop()
        unreachable = await explain(s, "p")
        assert unreachable.exit_code == 1
        assert url in unreachable.stderr
        assert len(unreachable.stderr.splitlines()) == 1


def test_files_and_a_live_cluster_exclude_each_other(tmp_path):
    file = tmp_path / "pods.yaml"
    file.write_text("")
    runner = CliRunner()
    both = runner.invoke(main, ["explain", "--pod", "p", "-f", str(file), "--firmament", "127.0.0.1:1"])
    assert both.exit_code == 2
    assert "--firmament is for a live cluster; leave -f away" in both.stderr
    neither = runner.invoke(main, ["explain", "--pod", "p", "--now", "2026-01-31T12:00:00Z"])
    assert neither.exit_code == 2
    assert "--now is for files; name some with -f" in neither.stderr
