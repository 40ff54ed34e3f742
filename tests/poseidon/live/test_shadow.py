"""`poseidon shadow` watches another scheduler: whose pods would be cheaper elsewhere, and who broke rules."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from poseidon.bridge.solver_stream.stream import greet, hello_of, open_channel
from poseidon.cli import main
from poseidon.explanations import Charge, Verdict
from poseidon.live.shadow import compare_with_cheapest
from poseidon.live.solver import NoAnswerError, explain_task, read_state
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.harness.child import Child
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from protos.firmament.v1.scheduler_pb2_grpc import SchedulerStub
from tests.programs.end_to_end.scene import SECONDS, SOLVERS, free_port, scene
from tests.support import preloaded
from tests.support.cluster import pod
from tests.support.waiting import until

THEIRS = "default-scheduler"


async def test_pods_that_another_scheduler_binds_are_judged(tmp_path):
    async with scene(tmp_path) as s:
        crowded, free = await s.nodes(2, [NodeShape("four", cpu="4", memory="16Gi")])
        create_object(s.operations, pod("large", cpu="3", nodeName=crowded))
        create_object(s.operations, pod("before", schedulerName=THEIRS, nodeName=free))
        await s.start()
        child = Child(
            "shadow", "poseidon", arguments(s, "-o", "json"), tmp_path / "shadow.log", preloaded.fork
        )
        await child.start()
        try:
            await until(lambda: "watching" in child.log.read_text(), within=SECONDS)
            for made in (pod("dear"), pod("cheap"), pod("wrong", nodeSelector={"disk": "fast"})):
                made["spec"]["schedulerName"] = THEIRS
                create_object(s.operations, made)
            create_object(s.operations, pod("ours", cpu="100m"))
            await until(lambda: s.placed().get("ours"), within=SECONDS)
            await s.bind("cheap", free)
            await s.bind("dear", crowded)
            await until(lambda: "would have cost" in child.log.read_text(), within=SECONDS)
            await s.bind("wrong", free)
            await until(lambda: "would not have been placed there" in child.log.read_text(), within=SECONDS)
        finally:
            await child.stop(10.0)
        text = child.log.read_text()
        report = json.loads(text[text.index("\n{") :])
        found = {each["pod"]: each for each in report["pods"]}
        assert set(found) == {"default/dear", "default/cheap", "default/wrong"}
        assert (report["bound"], report["asked"], report["unknown"]) == (3, 3, 0)
        assert (report["asGood"], report["cheaperElsewhere"], report["wouldNotHaveBeenPlacedThere"]) == (
            1,
            1,
            1,
        )
        assert (found["default/dear"]["node"], found["default/dear"]["cheapest"]) == (crowded, free)
        assert report["saving"] == found["default/dear"]["saving"] > 0
        assert sum(report["savingByModel"].values()) == pytest.approx(report["saving"])
        assert "node affinity" in found["default/wrong"]["reasons"][0]
        assert len(s.listed(PODS)) == 6


def arguments(s, *more: str) -> list[str]:
    return [
        *("shadow", "--kubeconfig", str(s.stack.kubeconfig), "--firmament", s.stack.solver_address),
        *("--cluster-name", s._cluster_name, "--rate", "50", *more),
    ]


def verdict(cost: float, *reasons: str) -> Verdict:
    return Verdict(not reasons, reasons, cost, {"cpu_mem": Charge(True, 0.0, None, cost)})


@pytest.mark.parametrize(
    ("found", "best", "saving"),
    [
        ({"a": verdict(5), "b": verdict(5)}, "b", 0.0),
        ({"a": verdict(3), "b": verdict(5)}, "a", 2.0),
        ({"a": verdict(3, "taint"), "b": verdict(5)}, "b", 0.0),
        ({"a": verdict(3), "b": verdict(5, "taint")}, "a", 0.0),
        ({"a": verdict(3, "taint"), "b": verdict(5, "taint")}, "", 0.0),
    ],
)
def test_the_cheapest_node_is_the_own_one_among_equals(found, best, saving):
    judged = compare_with_cheapest("p", "b", found)
    assert judged is not None
    assert (judged.best, judged.saving) == (best, saving)


def test_a_node_that_the_solver_does_not_know():
    assert compare_with_cheapest("p", "gone", {"a": verdict(3)}) is None


async def test_it_ends_after_its_time_with_a_table(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(1)
        await s.start()
        child = Child(
            "shadow", "poseidon", arguments(s, "--for", "2s"), tmp_path / "shadow.log", preloaded.fork
        )
        await child.start()
        assert await child.wait() == 0, child.tail()
        assert "0 pods bound, 0 of them asked about." in child.log.read_text()


async def test_a_solver_that_is_still_being_told_of_the_cluster_answers(tmp_path):
    async with scene(tmp_path) as s:
        solver = SOLVERS.address(tmp_path, None)
        name = tmp_path.name
        async with open_channel(solver, 1 << 20, 20.0) as channel:
            call = SchedulerStub(channel).Session(None)
            await greet(call, solver, hello_of(name, "a driver that is slow"), SECONDS)
            assert await explain_task([solver], name, "", SECONDS) is None
            with pytest.raises(NoAnswerError, match="does not know all of it yet"):
                await read_state([solver], name, SECONDS)
            s.stack.solver_address = solver
            result = await asyncio.to_thread(CliRunner().invoke, main, arguments(s, "--for", "1ms"))
            call.cancel()
        assert (result.exit_code, result.stdout) == (0, "0 pods bound, 0 of them asked about.\n"), (
            result.output
        )


async def test_no_solver_answers(tmp_path):
    async with scene(tmp_path) as s:
        s.stack.solver_address = f"127.0.0.1:{free_port()}"
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments(s))
        assert result.exit_code == 1
        assert "no solver answers" in result.stderr


def test_nobody_answers(tmp_path):
    write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{free_port()}")
    result = CliRunner().invoke(main, ["shadow", f"--kubeconfig={tmp_path / 'kubeconfig'}"])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    bad = CliRunner().invoke(main, ["shadow", "--for", "soon"])
    assert (bad.exit_code, "--for" in bad.stderr) == (2, True)
