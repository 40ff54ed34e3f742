"""`poseidon top`: figures between two looks at metrics, and a running pair."""

from __future__ import annotations

import asyncio
import io
import json
import math

import pytest
from click.testing import CliRunner
from rich.console import Console

from poseidon.cli import main
from poseidon.live.figures import compute_figures, parse_metrics
from poseidon.live.top import make_screen
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import free_port, names, scene
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")


def page(bound: int, buckets: tuple[int, int, int], rounds: int = 0, solve: float = 0.0) -> str:
    return f"""
# TYPE poseidon_nodes gauge
poseidon_nodes 12.0
# TYPE poseidon_leader gauge
poseidon_leader 1.0
# TYPE poseidon_solver_connected gauge
poseidon_solver_connected 1.0
# TYPE poseidon_queue_pods gauge
poseidon_queue_pods{{queue="active"}} 3.0
poseidon_queue_pods{{queue="unschedulable"}} 2.0
# TYPE poseidon_pods_bound counter
poseidon_pods_bound_total {bound}
# TYPE poseidon_bind_duration_seconds histogram
poseidon_bind_duration_seconds_bucket{{le="0.1",result="bound"}} {buckets[0]}
poseidon_bind_duration_seconds_bucket{{le="0.5",result="bound"}} {buckets[1]}
poseidon_bind_duration_seconds_bucket{{le="+Inf",result="bound"}} {buckets[2]}
# TYPE firmament_round_duration_seconds histogram
firmament_round_duration_seconds_count{{stage="total"}} {rounds}
firmament_round_duration_seconds_sum{{stage="solve"}} {solve}
"""


def test_rates_and_times_are_of_what_came_between():
    before, now = (
        parse_metrics(page(100, (0, 0, 0), 10, 1.0)),
        parse_metrics(page(150, (50, 100, 100), 14, 1.2)),
    )
    found = compute_figures(now, before, 2.0)
    assert (found.bound, found.bound_in_all, found.nodes) == (25.0, 150, 12)
    assert (found.queues, found.leads, found.connected) == ({"active": 3, "unschedulable": 2}, True, True)
    assert found.binding.median == pytest.approx(0.1)
    assert found.binding.most == pytest.approx(0.492)
    assert found.rounds == 2.0
    assert found.stages["solve"] == pytest.approx(0.05)


def test_a_program_that_began_anew_counts_from_nothing():
    found = compute_figures(parse_metrics(page(7, (7, 7, 7))), parse_metrics(page(100, (90, 95, 100))), 1.0)
    assert found.bound == 7.0
    assert found.binding.most == pytest.approx(0.099)


def test_what_is_beyond_all_buckets_is_at_least_the_last_edge():
    assert compute_figures(parse_metrics(page(0, (0, 0, 10))), None, 0.0).binding.median == 0.5


def test_where_nothing_was_there_is_no_figure():
    found = compute_figures(parse_metrics(page(5, (5, 5, 5))), parse_metrics(page(5, (5, 5, 5))), 1.0)
    assert math.isnan(found.binding.median)
    assert found.as_json()["seconds"]["binding"] == {"p50": None, "p99": None}
    assert found.as_json()["stages"]["solve"] is None


def test_what_people_see():
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123 - nothing is written
    console.print(
        make_screen(
            compute_figures(
                parse_metrics(page(150, (50, 100, 100))), parse_metrics(page(100, (0, 0, 0))), 2.0
            )
        )
    )
    shown = console.export_text()
    assert "12 nodes   bridge leads   solver connected   25.0 pods bound per second, 150 in all" in shown
    assert "no node is right" in shown
    assert "100.0 ms" in shown


async def test_a_running_pair(tmp_path):
    async with scene(tmp_path) as s:
        bridge, solver = free_port(), free_port()
        s.stack = type(s.stack)(
            type(s.stack._options)(
                tmp_path,
                kubeconfig=tmp_path / "kubeconfig",
                cluster_name=tmp_path.name,
                more_for_bridge=("--metrics", f"127.0.0.1:{bridge}"),
                more_for_solver=("--metrics", f"127.0.0.1:{solver}"),
            )
        )
        await s.nodes(3, [NodeShape("four", cpu="4", memory="16Gi")])
        async with s.stack:
            await s.start(own_solver=True)
            await s.pods(names("p", 5))
            await s.until_bound(5)
            words = [
                "top",
                "--bridge",
                f"http://127.0.0.1:{bridge}",
                "--solver",
                f"http://127.0.0.1:{solver}",
            ]
            more = ["--once", "--interval", "100ms", "-o", "json"]

            async def look():
                result = await asyncio.to_thread(CliRunner().invoke, main, [*words, *more])
                assert result.exit_code == 0, result.output
                found = json.loads(result.stdout)
                return (found["nodes"], found["bound"], found["leads"], found["solver"]["connected"])

            async def shows_all():  # the API server has answered before the bridge has heard it
                return await look() == (3, 5, True, True)

            await until(shows_all)
            table = await asyncio.to_thread(CliRunner().invoke, main, [*words, *more[:3]])
            assert "3 nodes   bridge leads   solver connected" in table.stdout


@pytest.mark.parametrize(
    ("line", "queues"),
    [
        ('poseidon_queue_pods{queue="active"} NaN', {}),
        ("poseidon_queue_pods 3", {}),
        ('poseidon_queue_pods{queue="[/red]"} 3', {"[/red]": 3}),
        ("poseidon_nodes +Inf", {}),
        ("poseidon_bind_duration_seconds_bucket 3", {}),
        ('poseidon_bind_duration_seconds_bucket{le="x"} 3', {}),
        ("firmament_network_arcs NaN", {}),
    ],
)
def test_odd_samples_are_left_out(line, queues):
    found = compute_figures(parse_metrics(f"{line}\n"), None, 0.0)
    assert (found.nodes, found.arcs, found.queues) == (0, 0, queues)
    assert math.isnan(found.binding.median)
    Console(file=io.StringIO()).print(make_screen(found))


@pytest.mark.parametrize("page", ["{}", "poseidon_nodes{", "poseidon_nodes", "<html>", "\ufffd\ufffd x 1"])
def test_what_is_no_page_of_metrics_is_one_error(page):
    with pytest.raises(ValueError, match=r"^the answer is no page of metrics \(.+\)$"):
        parse_metrics(f"{page}\n")


def test_without_an_answer_it_is_one_line():
    result = CliRunner().invoke(main, ["top", "--once", "--bridge", f"http://127.0.0.1:{free_port()}"])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "start it with --metrics" in result.stderr
    wrong = CliRunner().invoke(main, ["top", "--bridge", "127.0.0.1:9092"])
    assert (wrong.exit_code, "is no address" in wrong.stderr) == (2, True)
