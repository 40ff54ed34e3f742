"""Runs of hostile inputs: nothing raises, what is refused changes nothing, decent tenants do not notice.

Each run is told by its seed. ``timing`` takes how long each input takes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from firmament.configuration import document as solver
from poseidon.configuration import document as bridge
from poseidon.embedding import load_configuration
from poseidon.kube.api.kinds import BY_NAME
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.live.cluster import read_cluster
from poseidon.manifests.loader import ManifestError, Manifests, load_manifests
from poseidon.offline.audit.make_audit import find_cures_of_pods
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.evictability import list_running_pods
from poseidon.offline.plan import schedule_pods
from poseidon.rescheduling.objectives import Objective, ObjectiveOptions
from poseidon.rescheduling.planning import plan_moves
from protos.configuration.file import ConfigurationError
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.hostile import documents
from tests.programs.hostile.batches import Forger
from tests.programs.hostile.house import House
from tests.programs.hostile.known import Known
from tests.programs.hostile.live_cluster import beside, hostile, pod_of, serving
from tests.programs.hostile.objects import COMMONS, Mallory
from tests.programs.hostile.server_side import REQUESTS, Tenants
from tests.programs.hostile.timing import Timing
from tests.programs.hostile.wire_bytes import broken

OBJECTS_AT_A_TIME, BATCHES_AT_A_TIME = 40, 20
STAY = 120
"""So many hostile objects are there at most; a cluster's quota would say so too."""
LARGEST_STATE = 2_000_000
"""Bytes; half of them are the history of use of as many machines as there is room for from the start."""
LONGEST_LINE = 2_000
"""Characters of a fault that people are told of."""


def objects(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let the bridge's watches bring hostile objects of all kinds, beside decent pods."""
    random = Random(seed)
    house, mallory = House(folder), Mallory(random)
    house.settle_in()
    kinds = sorted(house.reflectors, key=lambda kind: kind.__name__)
    present: list[tuple[type, str, str]] = []
    drawn = 0

    def bring(kind: type, word: str, raw: bytes) -> None:
        with timing.of(raw):
            house.watch(kind, (word, raw))

    while drawn < count:
        for _ in range(OBJECTS_AT_A_TIME):
            drawn += 1
            kind = random.choice((Pod, Pod, Pod, Pod, Pod, *kinds))
            old = [each for each in present if each[0] is kind]
            if old and random.random() < 0.3:
                _, name, uid = random.choice(old)
                bring(kind, "MODIFIED", mallory.raw(kind, name, uid)[1])
                continue
            name = f"mallory-node-{random.randint(0, 5)}" if kind is Node else f"mallory-{drawn % 50}"
            uid, raw = mallory.raw(kind, name)
            bring(kind, "ADDED", raw)
            present.append((kind, name, uid))
        while len(present) > STAY:
            kind, name, uid = present.pop(random.randrange(len(present)))
            house.watch(kind, ("DELETED", mallory.raw(kind, name, uid, spoil=False)[1]))
        for uid in [*house.pods][: max(0, len(house.pods) - 8)]:
            house.delete(uid)
        house.create(f"decent-{drawn}", labels={"app": random.choice("ab")})
        if random.random() < 0.1:
            house.start_anew()
        house.turn(seconds=random.choice((1.0, 30.0, 100.0)))
        assert not house.complaints(), f"after {drawn} objects of seed {seed}"
        assert not [*house.quarantine], f"after {drawn} objects of seed {seed}"
    for kind, name, uid in present:
        house.watch(kind, ("DELETED", mallory.raw(kind, name, uid, spoil=False)[1]))
    house.turn()
    assert not house.complaints()
    assert house.placed > drawn / 400, "some have to be placed, so that rounds see them"
    assert house.rejected() < count / 2, "most of what is drawn has to be read"
    assert len(house.state.tasks) == len(house.pods)
    assert not [*house.state.gangs.groups], "nothing is kept of what is gone"
    assert not len(house.state.custom_records)
    assert not len(house.quarantine)


def live(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let commands read clusters full of hostile objects: all is read or named, and moves and cures are planned."""
    configuration = load_configuration(None)
    drawn = 0
    while drawn < count:
        found = hostile(seed * 1_000 + drawn, 150, 5)
        drawn += sum(map(len, found.values()))
        decent = [pod_of("large", cpu="9"), pod_of("fits"), pod_of("runs", node=COMMONS[0])]
        manifests = asyncio.run(_read(beside(found, decent)))
        with timing.of(f"seed {seed}, {drawn} objects".encode()):
            now = time.time()
            for objective in Objective:
                plan_moves(manifests, configuration, now, ObjectiveOptions(objective), 10)
            cluster = build_offline_cluster(manifests, configuration, now)
            known = tuple(cluster.state.snapshot())
            plan, running = schedule_pods(cluster, manifests), list_running_pods(cluster, manifests)
            find_cures_of_pods(manifests, configuration, now, known, running, plan, ["decent/large"])
        placed = {each.pod for each in plan.bindings}
        assert "decent/fits" in placed, f"after {drawn} objects of seed {seed}"
        assert not [*cluster.state.quarantine], f"after {drawn} objects of seed {seed}"


async def _read(objects: dict[str, list[bytes]]) -> Manifests:
    async with serving(objects) as url, Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        return await read_cluster(transport)


def batches(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let a driver send the solver hostile batches, well-formed or not, beside decent tasks."""
    random = Random(seed)
    tenants = Tenants(folder, solver.BASE_POLICIES[seed % len(solver.BASE_POLICIES)])
    known = Known()
    forger = Forger(random, known)
    drawn = 0

    def report(placed: list[tuple[str, str]]) -> bytes:
        return pb.ClientMessage(reports=forger.reports(placed)).SerializeToString()

    while drawn < count:
        for _ in range(BATCHES_AT_A_TIME):
            drawn += 1
            raw = pb.ClientMessage(events=forger.batch()).SerializeToString()
            if random.random() < 0.25:
                raw = broken(random, raw)
            with timing.of(raw):
                taken = tenants.receive(raw, compare=random.random() < 0.05)
            if taken is not None:
                known.took(taken.events)
        tenants.send(ended := known.surplus(random))
        known.took(pb.EventBatch(events=ended))
        for uid in [*tenants.kinds][: max(0, len(tenants.kinds) - 8)]:
            tenants.delete(uid)
        kind = random.choice([*REQUESTS])
        for index in range(2 if kind == "gang" else 1):
            tenants.create(f"decent-{drawn}-{index}", kind)
        tenants.turn(random.choice((1.0, 30.0, 100.0)), report)
        assert not tenants.complaints(), f"after {drawn} batches of seed {seed}"
        if random.random() < 0.1:
            tenants.ask(random.choice([*known.tasks, "decent-0"]))
        if random.random() < 0.02:
            tenants.begin_anew()
            known.forget()
    assert tenants.placed > drawn / 200, "some have to be placed, so that rounds see them"
    assert sum(tenants.refused.values()) < 0.7 * drawn, "most of what is drawn has to be applied"
    tenants.send(known.removals())
    tenants.turn(1_000.0, report)
    tenants.forget_classes()
    assert not tenants.complaints()
    assert len(tenants.state()) < LARGEST_STATE, "nothing is kept of what is gone"


def configurations(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let both programs read hostile configuration files: each is used, or refused with a line per fault."""
    random = Random(seed)
    forger = documents.Forger(random)
    path = folder / "configuration.yaml"
    used = 0
    for number in range(count):
        raw = forger.document()
        path.write_bytes(raw)
        for load in (solver.load, bridge.load):
            with timing.of(raw):
                faults = _faults(load, path)
            used += not faults
            for line in faults:
                assert line.isprintable(), f"document {number} of seed {seed}: {line!r}"
                assert len(line) < LONGEST_LINE, f"document {number} of seed {seed}: {line[:200]!r}"
    assert used > count / 20, "some have to be sound"


def manifests(folder: Path, seed: int, count: int, timing: Timing) -> None:
    """Let files hold hostile objects of all kinds that are read: they are used, or refused with a line per fault."""
    random = Random(seed)
    mallory = Mallory(random, wrong=0.05)
    forger = documents.Forger(random)
    kinds = {named: kind.struct for named, kind in BY_NAME.items()}
    path, used = folder / "input.json", 0
    for number in range(count):
        found: list[Any] = []
        for _ in range(random.choice((1, 2, 5))):
            if random.random() < 0.5:
                group, kind = random.choice([*kinds])
                value = json.loads(mallory.raw(kinds[group, kind], spoil=False)[1])
            else:
                (group, kind), value = forger.workload()
            found.append({**value, "apiVersion": f"{group}/v1" if group else "v1", "kind": kind})
        raw = "\n".join(map(json.dumps, found)).encode()
        path.write_bytes(raw)
        lines: tuple[str, ...] = ()
        with timing.of(raw):
            try:
                load_manifests([str(path)])
                used += 1
            except ManifestError as error:
                lines = error.lines or ("nothing is said",)
        assert "nothing is said" not in lines, f"file {number} of seed {seed}"
    assert used > count / 20, "some have to be sound"


def _faults(load: Callable[[Path], object], path: Path) -> tuple[str, ...]:
    try:
        load(path)
    except ConfigurationError as error:
        return error.lines or ("nothing is said",)
    return ()
