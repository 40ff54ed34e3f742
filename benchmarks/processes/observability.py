"""Measures the cost of metrics and traces: the same run with both and with neither, in turn.

With them both programs send traces to a collector on this machine, and their metrics are read once a second. Rounds are
those of the solver's process over gRPC; end to end is both processes against the simulated cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from benchmarks.environment import environment
from benchmarks.processes.end_to_end import EndToEndOptions, run_end_to_end
from benchmarks.processes.grpc_stage import run_grpc, solver_process
from benchmarks.processes.parts.collector import collecting
from benchmarks.processes.parts.free_ports import free_ports
from benchmarks.scenario import Scenario, machine_events

_SCRAPE_SECONDS = 1.0
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ObservabilityOptions:
    """Options: ``pairs`` of rounds, ``end_to_end`` pairs of runs of both processes."""

    nodes: int = 10_000
    tasks: int = 10_000
    classes: int = 100
    pairs: int = 20
    end_to_end: int = 5
    seed: int = 1


def measure_observability(options: ObservabilityOptions, *, progress: Progress) -> dict[str, object]:
    """Measure both; returns what ``-o json`` prints. Ratios are of pairs, 1.0 for no difference."""
    with _collector() as url:
        result: dict[str, object] = {
            "kind": "observability",
            "environment": environment(),
            "options": asdict(options),
            "rounds": _rounds(options, url, progress),
        }
        if options.end_to_end:
            result["endToEnd"] = _end_to_end(options, url, progress)
    return result


def _rounds(options: ObservabilityOptions, url: str, progress: Progress) -> dict[str, object]:
    scenario = Scenario(options.nodes, options.tasks, options.classes, seed=options.seed)
    machines = machine_events(scenario)
    (port,) = free_ports(1)
    watched = (f"--metrics=127.0.0.1:{port}", f"--traces={url}")
    with solver_process() as without, solver_process(more=watched) as with_both, _scraping([port]):

        def run(target: str, number: int) -> float:
            return run_grpc(scenario, target, number, machines).seconds

        pairs = []
        for number in range(1, options.pairs + 2):
            progress(f"rounds, pair {number - 1} of {options.pairs}")
            # The first of a pair alternates, so that other work of the machine affects both alike.
            if number % 2:
                pair = run(without, number), run(with_both, number)
            else:
                second = run(with_both, number)
                pair = run(without, number), second
            pairs.append(pair)
    return _compare(pairs[1:])


def _end_to_end(options: ObservabilityOptions, url: str, progress: Progress) -> dict[str, object]:
    plain = EndToEndOptions(options.nodes, options.tasks, 10, waiting=True, seed=options.seed)

    def run(*, watched: bool) -> float:
        if not watched:
            return float(run_end_to_end(plain)["seconds"])
        solver, bridge = free_ports(2)
        with _scraping([solver, bridge]):
            traced = f"--traces={url}"
            more = ((f"--metrics=127.0.0.1:{solver}", traced), (f"--metrics=127.0.0.1:{bridge}", traced))
            return float(run_end_to_end(plain, more=more)["seconds"])

    pairs = []
    for number in range(options.end_to_end):
        progress(f"end to end, pair {number + 1} of {options.end_to_end}")
        if number % 2:
            pairs.append((run(watched=False), run(watched=True)))
        else:
            second = run(watched=True)
            pairs.append((run(watched=False), second))
    return _compare(pairs)


def _compare(pairs: list[tuple[float, float]]) -> dict[str, object]:
    return {
        "secondsWithout": statistics.median(without for without, _ in pairs),
        "secondsWith": statistics.median(watched for _, watched in pairs),
        "ratio": statistics.median(watched / without for without, watched in pairs),
        "pairs": pairs,
    }


@contextlib.contextmanager
def _collector() -> Iterator[str]:
    """Run a collector in a thread of its own; yield its address."""
    ready: list[str] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def collect() -> None:
        async with collecting() as collector:
            ready.append(collector.address)
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(collect(),), daemon=True)
    thread.start()
    while not ready:
        time.sleep(0.01)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@contextlib.contextmanager
def _scraping(ports: list[int]) -> Iterator[None]:
    """Read the metrics at these ports once a second, as soon as they are served."""
    done = threading.Event()

    def scrape() -> None:
        while not done.wait(_SCRAPE_SECONDS):
            for port in ports:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read()

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
