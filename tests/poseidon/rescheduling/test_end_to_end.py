"""`poseidon reschedule` against a simulated cluster with both processes, and a controller that replaces pods."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from aiohttp import ClientSession
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.replica_controllers import PodReplacement
from poseidon.testbed.harness.child import Child
from poseidon.testbed.objects.resources import EVENTS, NODES, PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import free_port, scene
from tests.support import preloaded
from tests.support.cluster import pod as api_pod
from tests.support.time_limits import stretch
from tests.support.waiting import until

KEEPING = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
moves: {keepPlaces: true}
"""


@asynccontextmanager
async def crowded(tmp_path, *, nodes=2, pods=8, per_owner=8, replaced=True, config=KEEPING, own_solver=False):
    """Nodes of eight cores; all pods, of one core each, run on the first."""
    file = tmp_path / "config.yaml"
    file.write_text(config)
    async with scene(tmp_path, ClusterOptions(graceful=True), config=file) as s:
        names = await s.nodes(nodes, [NodeShape("eight", cpu="8", memory="64Gi")])
        for index in range(pods):
            create_object(s.operations, owned(f"p{index}", names[0], f"web{index // per_owner}"))
        store = s.operations.store
        tasks = [drive(KubeletSimulation(store))]
        if replaced:
            tasks.append(drive(PodReplacement(store, partial(s.operations.create, PODS))))
        running = [asyncio.create_task(each) for each in tasks]
        if own_solver:
            await s.start(own_solver=True)
        try:
            yield s, names
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def owned(name, node, owner):
    made = api_pod(name, cpu="1", nodeName=node, terminationGracePeriodSeconds=0)
    made["metadata"]["labels"] = {"app": owner}
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    ]
    made["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return made


def allow(s):
    create_object(
        s.operations,
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "shop", "labels": {"firmament.io/reschedule": "allow"}},
        },
    )


def in_shop(s, made):
    made["metadata"]["namespace"] = "shop"
    create_object(s.operations, made)


async def rescheduled(s, *options):
    words = [
        "reschedule",
        "--kubeconfig",
        str(s.stack.kubeconfig),
        "--move-cost",
        "1",
        "-o",
        "json",
        *options,
    ]
    result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def by_node(s):
    return Counter(each["spec"].get("nodeName", "") for each in s.listed(PODS))


async def allowed(s, names, pods, per_owner):
    """Pods of a namespace that allows moves, all on the first node."""
    allow(s)
    for index in range(pods):
        in_shop(s, owned(f"p{index}", names[0], f"web{index // per_owner}"))


async def test_pods_that_crowd_are_spread_and_settle(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 2)
        await s.start()
        found = await rescheduled(s)
        assert found["released"] == 8
        assert [each["result"] for each in found["outcomes"]] == ["moved"] * 4
        assert by_node(s) == {names[0]: 4, names[1]: 4}
        again = await rescheduled(s)
        assert (again["waves"], again["outcomes"]) == ([], [])
        s.check_sound()
        moved = [each for each in s.listed(EVENTS) if each["reason"] == "Moved"]
        assert len(moved) == 8, "of who left, and of who came"
        assert {each["type"] for each in moved} == {"Normal"}


async def test_again_and_again_with_metrics(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 4, 1)
        await s.start()
        port = free_port()
        words = (
            "reschedule",
            "--kubeconfig",
            str(s.stack.kubeconfig),
            "--move-cost",
            "1",
            "--every",
            "100ms",
            "--metrics",
            f"127.0.0.1:{port}",
        )
        process = Child("reschedule", "poseidon", words, tmp_path / "reschedule.log", preloaded.fork)
        await process.start()
        try:
            await until(lambda: by_node(s) == {names[0]: 2, names[1]: 2})
            async with ClientSession() as session, asyncio.timeout(stretch(30)):
                told, plans = "", 0.0
                while plans < 2:  # another one may have been made between two looks
                    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                        told = await answer.text()
                    plans = float(told.partition("\nposeidon_move_plans_total ")[2].partition("\n")[0] or 0)
            assert 'poseidon_moves_total{result="moved"} 2.0' in told
            assert "poseidon_released_pods 4.0" in told
            assert "\nposeidon_moves_saved_points_total " in told
            assert "\nposeidon_moves_saved_points_total 0.0" not in told
        finally:
            await process.stop(60)


async def test_who_does_not_allow_it_stays(tmp_path):
    async with crowded(tmp_path) as (s, names):
        found = await rescheduled(s)
        assert (found["released"], found["waves"]) == (0, [])
        assert by_node(s) == {names[0]: 8}


async def test_a_dry_run_writes_nothing(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 1)
        before = s.operations.store.revision
        found = await rescheduled(s, "--dry-run")
        assert sum(map(len, found["waves"])) == 4
        assert s.operations.store.revision == before


async def test_without_replacements_no_second_wave_begins(tmp_path):
    async with crowded(tmp_path, pods=0, replaced=False) as (s, names):
        await allowed(s, names, 8, 1)
        found = await rescheduled(s, "--patience", "1s")
        assert [each["result"] for each in found["outcomes"]] == ["unplaced"]
        assert found["outcomes"][0]["reason"] == "its controller has not replaced it"
        assert by_node(s) == {names[0]: 7}


async def test_a_scheduler_that_does_not_run_costs_one_pod(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 1)
        found = await rescheduled(s, "--patience", "1s")
        assert [each["result"] for each in found["outcomes"]] == ["unplaced"]
        assert by_node(s) == {names[0]: 7, "": 1}
        await s.start()
        await s.until_bound(1)
        s.check_sound()


async def test_budgets_are_heeded(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 4)
        create_object(
            s.operations,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "one", "namespace": "shop"},
                "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web0"}}},
            },
        )
        await asyncio.sleep(0)
        await s.start()
        found = await rescheduled(s)
        moved = [each["pod"] for each in found["outcomes"] if each["result"] == "moved"]
        assert moved
        assert not {"shop/p0", "shop/p1", "shop/p2", "shop/p3"} & set(moved)
        s.check_sound()


async def test_the_bridge_is_killed_in_the_middle(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 1)
        await s.start()
        reached = s.binding_reached(2)
        moving = asyncio.create_task(rescheduled(s, "--at-once", "2"))
        await asyncio.wait_for(reached.wait(), stretch(30))
        s.stack.bridge.signal(signal.SIGKILL)
        assert await s.stack.bridge.wait() == -signal.SIGKILL
        await s.stack.start_bridge()
        found = await moving
        assert {each["result"] for each in found["outcomes"]} <= {"moved", "elsewhere"}
        assert by_node(s)[""] == 0
        assert sum(by_node(s).values()) == 8
        s.check_sound()


async def test_the_rescheduler_is_killed_in_the_middle(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 8, 1)
        await s.start()
        reached = s.binding_reached(1)
        words = ("reschedule", "--kubeconfig", str(s.stack.kubeconfig), "--move-cost", "1", "--at-once", "1")
        process = Child("reschedule", "poseidon", words, tmp_path / "reschedule.log", preloaded.fork)
        await process.start()
        await asyncio.wait_for(reached.wait(), stretch(30))
        process.signal(signal.SIGKILL)
        await process.wait()

        def all_stay():
            leaving = [each for each in s.listed(PODS) if "deletionTimestamp" in each["metadata"]]
            return not leaving and by_node(s)[""] == 0 and sum(by_node(s).values()) == 8

        await until(all_stay)
        await rescheduled(s)
        assert by_node(s) == {names[0]: 4, names[1]: 4}
        s.check_sound()


async def test_the_solver_is_killed_in_the_middle(tmp_path):
    async with crowded(tmp_path, pods=0, own_solver=True) as (s, names):
        await allowed(s, names, 8, 1)
        reached = s.binding_reached(2)
        moving = asyncio.create_task(rescheduled(s, "--at-once", "2"))
        await asyncio.wait_for(reached.wait(), stretch(30))
        s.stack.solver.signal(signal.SIGKILL)
        assert await s.stack.solver.wait() == -signal.SIGKILL
        await s.stack.start_solver()
        found = await moving
        assert {each["result"] for each in found["outcomes"]} <= {"moved", "elsewhere"}
        assert (by_node(s)[""], sum(by_node(s).values())) == (0, 8)
        s.check_sound()


async def test_a_node_is_freed_and_stays_cordoned(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 4, 1)
        in_shop(s, owned("q", names[1], "api"))
        await s.start()
        found = await rescheduled(s, "--objective", "free-nodes")
        assert (found["freed"], [each["result"] for each in found["outcomes"]]) == ([names[1]], ["moved"])
        assert by_node(s) == {names[0]: 5}
        assert cordoned(s) == [names[1]]
        again = await rescheduled(s, "--objective", "free-nodes")
        assert again["outcomes"] == []
        assert cordoned(s) == [names[1]]


async def test_a_node_that_is_not_freed_takes_pods_again(tmp_path):
    async with crowded(tmp_path, pods=0, replaced=False) as (s, names):
        await allowed(s, names, 4, 1)
        for index in range(3):
            in_shop(s, owned(f"q{index}", names[1], f"api{index}"))
        words = ("--objective", "free-nodes", "--node", names[1], "--patience", "1s")
        found = await rescheduled(s, *words)
        assert [each["result"] for each in found["outcomes"]] == ["unplaced"]
        assert by_node(s) == {names[0]: 4, names[1]: 2}
        assert cordoned(s) == []


def taint(s, name, *taints):
    spec = {"spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}}
    s.operations.patch(NODES, "", name, MERGE_PATCH, spec)


async def test_a_taint_that_comes_in_between_costs_nobody_a_place(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        await allowed(s, names, 2, 1)
        for index in range(2):
            in_shop(s, owned(f"q{index}", names[1], f"api{index}"))
        words = ("--objective", "free-nodes", "--node", names[1], "--patience", "30s")
        moving = asyncio.create_task(rescheduled(s, *words))
        await until(lambda: by_node(s)[""] == 1)  # nobody schedules yet
        taint(s, names[0], "special")
        await s.start()
        found = await moving
        assert [each["result"] for each in found["outcomes"]] == ["returned"]
        assert (found["freed"], found["notFreed"]) == ([], [names[1]])
        assert by_node(s) == {names[0]: 2, names[1]: 2}
        assert cordoned(s) == []
        taint(s, names[0])  # all is as it was, but that is known to fail
        again = await rescheduled(s, *words)
        assert (again["waves"], again["outcomes"], cordoned(s)) == ([], [], [])
        in_shop(s, owned("r", names[0], "new"))
        changed = await rescheduled(s, *words)
        assert (changed["freed"], changed["notFreed"]) == ([names[1]], [])
        assert by_node(s) == {names[0]: 5}
        s.check_sound()


async def test_room_is_made_for_who_waits(tmp_path):
    async with crowded(tmp_path, pods=0) as (s, names):
        allow(s)
        for index in range(6):
            in_shop(s, owned(f"p{index}", names[index % 2], f"web{index}"))
        waits = api_pod("large", cpu="6")
        in_shop(s, waits)
        await s.start()
        found = await rescheduled(s, "--objective", "make-room")
        assert [(each["result"], each["why"]) for each in found["outcomes"]] == [
            ("moved", "makes room for shop/large")
        ]
        await s.until_bound(2)
        assert by_node(s)[""] == 0
        s.check_sound()


def cordoned(s):
    return [each["metadata"]["name"] for each in s.listed(NODES) if each["spec"].get("unschedulable")]


EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "13-rescheduling"


def test_the_example():
    words = ["plan", "--reschedule", "-f", str(EXAMPLE), "-o", "json"]
    found = json.loads(CliRunner().invoke(main, words).stdout)
    assert {(each["pod"], each["from"]) for each in found["migrations"]} == {
        ("shop/web-2", "early-1"),
        ("shop/web-5", "early-2"),
    }
