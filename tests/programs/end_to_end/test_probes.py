"""Both programs say beside their metrics whether they are ready, and what they go by."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.error
import urllib.request
from dataclasses import replace

import yaml

from tests.programs.end_to_end.scene import scene
from tests.support.time_limits import stretch
from tests.support.waiting import until

FIGURES = (
    "poseidon_pod_scheduling_sli_duration_seconds_count 1.0",
    "poseidon_solver_answer_duration_seconds_count 1.0",
    'poseidon_queue_pods{queue="active"} 0.0',
    'poseidon_status_write_queue_length{kind="event"}',
    "process_resident_memory_bytes",
)
"""What the bridge's metrics say once it has bound a pod."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=stretch(5)) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


async def test_a_bridge_is_ready_while_it_knows_the_cluster_and_a_solver_answers(tmp_path):
    bridge, solver = free_port(), free_port()

    async def status(port: int, path: str = "/readyz") -> tuple[int, str]:
        return await asyncio.to_thread(get, port, path)

    async def until_status(port: int, code: int) -> str:
        async def answered() -> str:
            found, text = await status(port)
            return text if found == code else ""

        return str(await until(answered, within=40))

    async with scene(tmp_path) as s:
        s.stack._options = replace(
            s.stack._options,
            more_for_bridge=("--metrics", f"127.0.0.1:{bridge}"),
            more_for_solver=("--metrics", f"127.0.0.1:{solver}"),
        )
        await s.nodes(1)
        await s.stack.start_solver()
        assert await status(solver) == (200, "ok\n")
        assert (await status(solver, "/livez"))[0] == 200
        await s.stack.start_bridge()
        await until_status(bridge, 200)
        await s.pods(["one"])
        await s.until_bound(1)

        async def is_counted() -> bool:
            figures = (await status(bridge, "/metrics"))[1]
            return all(each in figures for each in FIGURES)

        await until(is_counted)  # the API server has answered before the bridge has heard it

        round_page = await status(bridge, "/debug/round/1")
        assert json.loads(round_page[1])["first"][0]["node"] == s.placed()["one"]
        assert (await status(bridge, "/debug/round/99"))[0] == 404
        for port in (bridge, solver):
            document = yaml.safe_load((await status(port, "/configz"))[1])
            assert document["policy"]["name"] == "cpu_mem"

        await s.stack.solver.stop(10)
        assert "no stream to a solver" in await until_status(bridge, 503)
        assert (await status(bridge, "/livez"))[0] == 200
        await s.stack.start_solver()
        await until_status(bridge, 200)
