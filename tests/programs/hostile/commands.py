"""The commands that read a live cluster, as people run them, against clusters full of hostile objects.

The solver that ``explain`` and ``shadow`` ask has been told of the same cluster, as far as it takes it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from aiohttp import web
from click.testing import CliRunner, Result
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from poseidon.cli import main
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.live.cluster import read_cluster
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.refused_objects import apply_events
from protos.conventions.logs import one_line
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import running_server
from tests.poseidon.kube.scripted_api import scripted
from tests.programs.hostile import values
from tests.programs.hostile.live_cluster import beside, hostile, kubeconfig, pod_of, serving
from tests.programs.hostile.objects import COMMONS
from tests.programs.hostile.timing import Timing

DECENT = (pod_of("large", cpu="9"), pod_of("fits"), pod_of("runs", node=COMMONS[0]))
CLUSTER = "hostile"
EXPLAINED = 12
"""Hostile pods of each cluster that are explained."""
_LONGEST_LINE = 2_000
_UNREADABLE = "cannot be read and is left out"


class _Asked(NamedTuple):
    """Words of a command, and with which statuses it may end."""

    words: tuple[str, ...]
    statuses: tuple[int, ...] = (0,)


def commands(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let each command read clusters of hostile objects: none ends by them, and what is set aside is named."""
    drawn = 0
    while drawn < count:
        found = hostile(seed * 1_000 + drawn, 150, 5)
        drawn += sum(map(len, found.values()))
        where = f"after {drawn} objects of seed {seed}"
        with timing.of(where.encode()):
            asyncio.run(_read_all(folder, beside(found, DECENT), Random(seed), where))


async def _read_all(folder: Path, objects: dict[str, list[bytes]], random: Random, where: str) -> None:
    names = _names(objects["/api/v1/pods"])
    page = _metrics(random)
    async with serving(objects) as url, running_server() as solver, scripted(_answering(page)) as (_, pages):
        for_solver, set_aside = await _told(url)
        driver = await solver.driving(*for_solver, cluster=CLUSTER)
        file = folder / "kubeconfig"
        file.write_text(kubeconfig(url))
        at = ("--kubeconfig", str(file))
        asks = (*at, "--firmament", str(solver.address), "--cluster-name", CLUSTER)
        for words, statuses in (
            *_of_the_cluster(folder, at, asks),
            *(
                _Asked(("explain", "--pod", name, *asks), (0, 1, 2))  # 2: it has ended
                for name in random.sample(names, min(EXPLAINED, len(names)))
            ),
            _Asked(("explain", "--pod", "decent/large", *asks)),
            _Asked(("top", "--once", "--interval", "1ms", "--bridge", pages, "--solver", pages), (0, 1)),
        ):
            outcome = await asyncio.to_thread(CliRunner().invoke, main, list(words))
            _judge(outcome, words, statuses, where)
            if words[0] in ("audit", "reschedule", "support-bundle"):
                read_whole = words[0] == "support-bundle"  # it keeps what is used in part as it is
                wanted = (each for each in set_aside if not read_whole or _UNREADABLE in each)
                unnamed = [line for line in wanted if one_line(line) not in outcome.stderr]
                assert not unnamed, f"{where}: {words[0]} does not name: {unnamed[0]}"
        driver.call.cancel()


def _of_the_cluster(folder: Path, at: tuple[str, ...], asks: tuple[str, ...]) -> Iterator[_Asked]:
    yield _Asked(("audit", "--tries", "1", "-o", "json", *at))
    yield _Asked(("reschedule", "--dry-run", *at))
    yield _Asked(("support-bundle", str(folder / "bundle.tar.gz"), *asks))
    yield _Asked(("doctor", *asks), (0, 1))
    for scheduler in ("poseidon", "default-scheduler"):
        yield _Asked(("shadow", "--for", "200ms", "--scheduler-name", scheduler, *asks))


def _judge(outcome: Result, words: tuple[str, ...], statuses: tuple[int, ...], where: str) -> None:
    said = f"{where}: {' '.join(words)}:"
    ending = outcome.exception
    assert ending is None or isinstance(ending, SystemExit), f"{said} {ending!r}"
    assert outcome.exit_code in statuses, f"{said} status {outcome.exit_code}: {outcome.output[-1000:]}"
    for line in outcome.stderr.splitlines():
        assert line.isprintable(), f"{said} {line!r}"
        assert len(line) < _LONGEST_LINE, f"{said} {line[:300]!r}"


async def _told(url: str) -> tuple[list[pb.Event], list[str]]:
    """Return what a bridge would tell a solver of a cluster, without what that refuses; and what cannot be read."""
    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        manifests = await read_cluster(transport)
    configuration = load_configuration(None)
    cluster = build_offline_cluster(manifests, configuration, time.time())
    events = list(cluster.state.snapshot())
    apply_events(EmbeddedScheduler(configuration, time.time), cluster.state, events, is_live=True)
    return list(cluster.state.event_stream.filter_refused(events)), list(manifests.set_aside)


def _names(pods: list[bytes]) -> list[str]:
    found = (re.search(rb'"namespace": "mallory", "uid": "m-(\d+)"', raw) for raw in pods)
    return [f"mallory/mallory-{each[1].decode()}" for each in found if each]


# --- pages of metrics -----------------------------------------------------------------------------------------------

_SAMPLES = ("poseidon_nodes", "poseidon_queue_pods", "poseidon_pods_bound_total", "poseidon_leader",
            "poseidon_bind_duration_seconds_bucket", "firmament_round_duration_seconds_count",
            "firmament_network_arcs", "firmament_round_duration_seconds_sum")  # fmt: skip
_VALUES = ("NaN", "+Inf", "-Inf", "1e400", "-1", "0", "7", "1e300", "x", "")


def _metrics(random: Random) -> bytes:
    """Draw a page of metrics with odd labels and figures, or one that is none."""
    registry = CollectorRegistry()
    gauge = Gauge("poseidon_queue_pods", "x", ["queue"], registry=registry)
    for _ in range(3):
        gauge.labels(values.text(random).encode(errors="replace").decode()).set(random.choice((1, 1e300)))
    page = generate_latest(registry)
    for name in random.sample(_SAMPLES, random.randint(0, len(_SAMPLES))):
        label = random.choice(("", '{le="0.5"}', '{le="x"}', '{queue="\\u202e"}', '{stage="total"}', "{"))
        page += f"{name}{label} {random.choice(_VALUES)}\n".encode()
    return random.choice(
        (page, page, page, page[: len(page) // 2], b"\xff\xfe" + page, json.dumps({}).encode())
    )


def _answering(page: bytes):
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=page)

    return answer
