"""``firmament get``, ``explain`` and ``export-network`` against a server in the test's own loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firmament.cli import main
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import Running, eventually, machine, running_server, task_class
from tests.support.core import without_preemption

pytestmark = pytest.mark.usefixtures("forked_programs")

WORLD = (machine("m1", cpu=300), machine("m2", cpu=200), task_class(1, cpu=150), task_class(2, cpu=900))


def named(cls: int, *names: str) -> pb.Event:
    uids = [f"uid-{name}" for name in names]
    return pb.Event(tasks=pb.TaskBatch(task_class=cls, uids=uids, names=names))


async def firmament(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


async def asked(running: Running, *arguments: str) -> str:
    done = await firmament(*arguments, "--target", str(running.address))
    assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    return done.stdout


async def document(running: Running, *arguments: str) -> Any:
    return json.loads(await asked(running, *arguments, "-o", "json"))


async def refused(running: Running, *arguments: str, status: int = 1) -> str:
    done = await firmament(*arguments, "--target", str(running.address))
    assert (done.exit_code, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    return line


async def placed(running: Running, cluster: str = "c") -> None:
    """Two tasks that fit, of two namespaces, and one that does not."""
    driver = await running.driving(*WORLD, cluster=cluster)
    await driver.events(named(1, "a/web-0", "b/web-0"), named(2, "a/big-0"))
    await driver.until(lambda: len(driver.placed) == 2 and bool(driver.unscheduled))


def rows(table: str) -> list[list[str]]:
    """Cells of a table by two blanks or more."""
    return [[cell for cell in line.split("  ") if cell] for line in table.splitlines()]


async def test_tasks_show_state_place_and_reason():
    async with running_server() as running:
        await placed(running)
        listed = (await document(running, "get", "tasks"))["tasks"]
        assert [task["name"] for task in listed] == ["a/big-0", "a/web-0", "b/web-0"]
        big, first, second = listed
        assert (big["state"], big["machine"]) == ("PENDING", None)
        assert without_preemption(big["message"]) == "0/2 nodes are available: 2 Insufficient cpu."
        assert first["state"] == second["state"] == "ASSUMED"
        assert {first["machine"], second["machine"]} <= {"m1", "m2"}
        assert first["message"] is None

        table = await asked(running, "get", "tasks", "--state", "pending")
        assert [line.split()[:3] for line in table.splitlines()] == [
            ["TASK", "STATE", "MACHINE"],
            ["a/big-0", "PENDING", "-"],
        ]
        there = (await document(running, "get", "tasks", "--machine", first["machine"]))["tasks"]
        assert first in there
        assert all(task["machine"] == first["machine"] for task in there)
        assert await asked(running, "get", "tasks", "--state", "bound") == "No tasks found.\n"


async def test_machines_show_what_is_left():
    async with running_server() as running:
        await placed(running)
        listed = (await document(running, "get", "machines"))["machines"]
        assert [each["name"] for each in listed] == ["m1", "m2"]
        for each in listed:
            assert each["free"]["cpu"] == each["allocatable"]["cpu"] - 150 * each["tasks"] >= 0
        assert sum(each["tasks"] for each in listed) == 2
        header, first, _ = rows(await asked(running, "get", "machines"))
        assert [cell.strip() for cell in header] == [
            "MACHINE",
            "TASKS",
            "FREE CPU",
            "FREE MEMORY",
            "FREE PODS",
        ]
        assert first[0].strip() == "m1"
        assert first[2].strip() == f"{listed[0]['free']['cpu'] / 1000:g} of 0.3"


async def test_clusters_are_counted_and_the_only_one_is_taken():
    async with running_server() as running:
        assert await document(running, "get", "clusters") == {"clusters": []}
        assert "the solver knows no cluster yet" in await refused(running, "get", "tasks")
        await placed(running)
        (counted,) = (await document(running, "get", "clusters"))["clusters"]
        assert {
            key: counted[key] for key in ("cluster", "live", "machines", "pending", "assumed", "bound")
        } == {
            "cluster": "c",
            "live": True,
            "machines": 2,
            "pending": 1,
            "assumed": 2,
            "bound": 0,
        }
        await running.driving(*WORLD, cluster="d")
        assert (await refused(running, "get", "machines")).endswith(
            "the solver knows several clusters; name one with --cluster: 'c' (live), 'd' (live)"
        )
        assert len((await document(running, "get", "machines", "--cluster", "d"))["machines"]) == 2
        table = await asked(running, "get", "clusters")
        assert [line.split()[0] for line in table.splitlines()] == ["CLUSTER", "c", "d"]
        assert (
            await refused(running, "get", "tasks", "--cluster", "x")
            == "cluster 'x' is not known; known: c, d"
        )


async def test_of_several_clusters_the_one_that_is_live_is_taken():
    """As after `firmament submit`, which leaves a cluster of its own behind."""
    async with running_server() as running:
        await placed(running, "default")
        other = await running.driving(*WORLD, cluster="simulated")
        other.call.cancel()
        await eventually(lambda: _live(running, "default"))
        table = rows(await asked(running, "get", "clusters"))
        assert [[cell.strip() for cell in row[:2]] for row in table] == [
            ["CLUSTER", "STATE"],
            ["default", "live"],
            ["simulated", "ended"],
        ]
        listed = (await document(running, "get", "tasks"))["tasks"]
        assert [task["name"] for task in listed] == ["a/big-0", "a/web-0", "b/web-0"]
        assert (await document(running, "explain", "a/big-0"))["name"] == "a/big-0"


async def test_what_has_ended_is_dropped():
    async with running_server() as running:
        first = await running.driving(*WORLD, cluster="a")
        await running.driving(*WORLD, cluster="b")
        assert await refused(running, "delete", "cluster", "a") == (
            "cluster 'a' is in use: its driver is connected; end that first"
        )
        first.call.cancel()
        await eventually(lambda: _live(running, "b"))
        assert await asked(running, "delete", "cluster", "a") == "cluster a deleted\n"
        assert [each["cluster"] for each in (await document(running, "get", "clusters"))["clusters"]] == ["b"]
        assert await refused(running, "delete", "cluster", "a") == "cluster 'a' is not known; known: b"


async def _live(running: Running, *names: str) -> bool:
    reply = await running.stub.ListState(pb.ListStateRequest())
    return list(reply.live_clusters) == list(names)


async def test_tasks_are_explained_by_name_or_uid():
    async with running_server() as running:
        await placed(running)
        by_name = await document(running, "explain", "a/big-0")
        assert (
            by_name
            == await document(running, "explain", "big-0")
            == await document(running, "explain", "uid-a/big-0")
        )
        assert by_name["state"] == "PENDING"
        assert {name: verdict["feasible"] for name, verdict in by_name["machines"].items()} == {
            "m1": False,
            "m2": False,
        }
        assert by_name["machines"]["m1"]["reasons"] == ["Insufficient cpu"]
        assert set(by_name["machines"]["m1"]["models"]) == {"cpu_mem", "kubernetes"}
        table = (await asked(running, "explain", "a/web-0")).splitlines()
        assert table[0].startswith("Task a/web-0 is ASSUMED on m")
        assert table[2].split()[:5] == ["MACHINE", "FEASIBLE", "COST", "CPU_MEM", "KUBERNETES"]
        assert {line.split()[0] for line in table[3:]} == {"m1", "m2"}


async def test_a_name_must_mean_one_task():
    async with running_server() as running:
        await placed(running)
        assert await refused(running, "explain", "web-0") == (
            "task 'web-0' is ambiguous in cluster 'c': a/web-0, b/web-0; name one in full"
        )
        assert "task 'nobody' is not known in cluster 'c'" in await refused(running, "explain", "nobody")


async def test_the_last_network_is_exported(tmp_path):
    async with running_server() as running:
        await running.driving(*WORLD)
        assert "nothing has been solved in cluster 'c' yet" in await refused(running, "export-network")
        await placed(running, "d")
        text = await asked(running, "export-network", "--cluster", "d")
        assert any(line.startswith("p min ") for line in text.splitlines())
        file = tmp_path / "network.dimacs"
        done = await firmament(
            "export-network", "--cluster", "d", "-o", str(file), "--target", str(running.address)
        )
        assert (done.exit_code, done.stdout) == (0, "")
        assert file.read_text() == text
        assert done.stderr == f"network of round 1 written to {file}\n"
        nowhere = tmp_path / "missing" / "file"
        assert await refused(running, "export-network", "--cluster", "d", "-o", str(nowhere), status=2) == (
            f"{nowhere}: cannot be written: No such file or directory; name another file"
        )


async def test_nobody_answers():
    done = await firmament("get", "clusters", "--target", "127.0.0.1:1")
    assert done.exit_code == 1
    assert done.stderr == (
        "127.0.0.1:1: no solver answers there; start one with `firmament serve`, or name another with --target\n"
    )
    done = await firmament("get", "tasks", "--target", "nowhere")
    assert (done.exit_code, done.stderr) == (2, "--target: 'nowhere' is not an address; write HOST:PORT\n")
