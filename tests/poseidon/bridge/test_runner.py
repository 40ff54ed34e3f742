"""What a bridge does with rounds, with time and at its end, without a cluster or with one that answers at once."""

from __future__ import annotations

import asyncio
import json
import time
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.readiness import explain_unready
from poseidon.bridge.round_history import RoundHistory
from poseidon.bridge.runner import Bridge, BridgeProcess, RewoundError
from poseidon.bridge.solver_stream.session_interface import DistrustedError
from poseidon.bridge.solver_stream.stream import NeedsChangedError
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.binder import Binder
from poseidon.leadership.election import Role
from poseidon.lifecycle.kept_places import MoveOptions
from poseidon.lifecycle.placements import PART_DELTAS
from poseidon.lifecycle.refused_deltas import ROUNDS, SECONDS
from protos.configuration.shared_sections import GangSection
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import QUICK, Api, api, cluster
from tests.poseidon.bridge.test_needs import TIER
from tests.poseidon.devices.objects import allocation, pod_of_template
from tests.poseidon.devices.objects import claim as device_claim
from tests.poseidon.lifecycle.test_kept_places import START, moving
from tests.poseidon.lifecycle.test_restart_room import member
from tests.poseidon.volumes.objects import claim, storage_class
from tests.support.needs import words_of
from tests.support.time_limits import stretch
from tests.support.waiting import until

__all__ = ["api", "cluster"]  # fixtures


class Lease:
    """A leadership that changes when a test says so, and notes when it is given back."""

    def __init__(self, role: Role = Role.LEADER) -> None:
        self.role = role
        self.fencing = 77
        self.released: list[float] = []
        self.elected = asyncio.Event()
        if role is Role.LEADER:
            self.elected.set()

    def may_write(self) -> bool:
        return self.role is Role.LEADER

    def elect(self) -> None:
        self.role = Role.LEADER
        self.elected.set()

    async def wait_elected(self) -> None:
        await self.elected.wait()

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def release(self) -> None:
        self.released.append(time.monotonic())


class Arrivals:
    """Notes which rounds are traced."""

    def __init__(self) -> None:
        self.rounds: list[int] = []

    def round_arrived(self, result: pb.RoundResult) -> None:
        self.rounds.append(result.round)


class Quiet:
    """A bridge that does not run: only what it decides about rounds is seen."""

    def __init__(self, *, process: dict[str, Any] | None = None, **options: Any) -> None:
        self.now = START
        self.registry = CollectorRegistry()
        no_transport: Any = None
        environment = Environment(
            no_transport, random=Random(1), clock=lambda: self.now, wall=lambda: self.now
        )
        self.bridge = Bridge(
            BridgeProcess(environment, **(process or {})),
            BridgeOptions(("127.0.0.1:1",), **options),
            self.registry,
        )
        self.state = self.bridge.state
        self.state.nodes_changed([present(node(name, cpu="800")) for name in ("n1", "n2")])

    def pods(self, *changes: Any) -> None:
        self.state.pods_changed(changes)
        list(self.bridge.take_events())

    def count(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"poseidon_{name}", labels)


def round_of(number: int, *deltas: tuple[Any, str, str], unscheduled: str = "") -> pb.RoundResult:
    result = pb.RoundResult(round=number)
    for kind, task, machine in deltas:
        result.deltas.add(kind=kind, task=task, machine=machine)
    if unscheduled:
        result.unscheduled.add(tasks=[unscheduled], message="no room")
    return result


PLACE, PREEMPT = pb.Delta.PLACE, pb.Delta.PREEMPT


# --- rounds -----------------------------------------------------------------------------------------------------------


async def test_each_round_is_kept_traced_and_counted_with_its_deltas():
    history, traces = RoundHistory(lambda: 5.0), Arrivals()
    scene = Quiet(process={"rounds": history, "traces": traces})
    await scene.bridge.on_round(round_of(7, (PLACE, "a", "n1"), (PLACE, "b", "n1"), (PREEMPT, "c", "n2")))
    await scene.bridge.on_round(round_of(8))
    assert traces.rounds == [7, 8]
    assert json.loads(history.page("7"))["deltas"] == 3
    assert scene.count("rounds_total") == 2
    kinds = {kind: scene.count("deltas_total", kind=kind) for kind in ("PLACE", "PREEMPT")}
    assert kinds == {"PLACE": 2, "PREEMPT": 1}
    refused = {
        kind: scene.count("deltas_refused_total", kind=kind, reason="gone")
        for kind in ("binding", "eviction")
    }
    assert refused == {"binding": 2, "eviction": 1}, "nobody knows these pods"


async def test_a_bridge_that_keeps_no_history_and_traces_nothing_counts_all_the_same():
    scene = Quiet()
    await scene.bridge.on_round(round_of(7, (PLACE, "a", "n1")))
    assert (scene.count("rounds_total"), scene.count("deltas_total", kind="PLACE")) == (1, 1)


async def test_bindings_of_a_bridge_that_does_not_lead_yet_wait():
    scene = Quiet()
    scene.pods(present(pod("a")))
    await scene.bridge.on_round(round_of(1, (PLACE, "pod-a", "n1")))
    assert scene.state.node_of("default", "a") == "n1"
    assert scene.state.take_actions() == [], "they are kept elsewhere until it leads"
    assert not scene.bridge.has_plenty_to_do()


async def test_how_kept_places_and_kept_room_ended_is_counted_by_outcome():
    configuration = BridgeConfiguration(
        moves=MoveOptions(keep_places=True), gangs=GangSection(keep_room=60.0, keep_room_at_most=60.0)
    )
    scene = Quiet(configuration=configuration)
    await scene.bridge.on_round(round_of(1))
    assert scene.count("kept_places_total", outcome="refused") is None
    scene.pods(present(moving(pod("old", node="n1", owner="web"), "n2", START + 60.0)))
    scene.pods(gone(pod("old", owner="web")), present(pod("new", owner="web")))
    scene.pods(present(member("m", node="n1")))
    scene.pods(gone(member("m")))
    await scene.bridge.on_round(round_of(2, unscheduled="pod-new"))
    assert scene.count("kept_places_total", outcome="refused") == 1
    scene.now += 60.0
    scene.state.expire()
    await scene.bridge.on_round(round_of(3))
    await scene.bridge.on_round(round_of(4))
    assert scene.count("kept_places_total", outcome="refused") == 1, "each is counted once"
    assert scene.count("restart_rooms_total", outcome="lapsed") == 1


async def test_kept_room_is_counted_although_no_places_are_kept():
    scene = Quiet(
        configuration=BridgeConfiguration(gangs=GangSection(keep_room=60.0, keep_room_at_most=60.0))
    )
    scene.pods(present(member("m", node="n1")))
    scene.pods(gone(member("m")))
    scene.now += 60.0
    scene.state.expire()
    await scene.bridge.on_round(round_of(1))
    assert scene.count("restart_rooms_total", outcome="lapsed") == 1


async def test_a_solver_that_asks_for_the_impossible_is_distrusted_and_then_gets_another_chance():
    scene = Quiet()
    scene.pods(present(pod("a", node="n1")))
    bad = round_of(1, (PREEMPT, "pod-a", "n1"))

    async def suspect(times: int) -> None:
        for _ in range(times):
            await scene.bridge.on_round(bad)

    await suspect(ROUNDS - 1)
    await scene.bridge.on_round(round_of(2))
    with pytest.raises(DistrustedError, match=f"in {ROUNDS} rounds within 60 s"):
        await suspect(1)
    await suspect(ROUNDS - 1)
    scene.now += SECONDS
    await suspect(ROUNDS - 1)
    with pytest.raises(DistrustedError):
        await suspect(1)
    assert scene.state.node_of("default", "a") == "n1"


async def test_others_get_their_turn_between_the_parts_of_a_large_round():
    scene, turns = Quiet(), 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(take_turns())
    await scene.bridge.on_round(round_of(1, *((PLACE, f"u{each}", "n1") for each in range(3 * PART_DELTAS))))
    beside.cancel()
    assert turns >= 3


# --- what a bridge is made with ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dry_run", "given_up"), [(False, ["gpu", "disk"]), (True, [])])
async def test_claims_are_waited_for_without_end_only_where_nothing_is_written(dry_run, given_up):
    scene = Quiet(dry_run=dry_run)
    scene.state.handlers[kinds.STORAGE_CLASS]([storage_class()])
    scene.state.handlers[kinds.CLAIM]([claim("data")])
    scene.state.device_claims_changed([present(device_claim("gpu-gpu", owner="gpu"))])
    mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
    made = pod("disk")
    scene.pods(
        present(msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, volumes=(mounted,)))),
        present(pod_of_template("gpu")),
    )
    result = round_of(1, (PLACE, "pod-gpu", "n1"), (PLACE, "pod-disk", "n1"))
    result.deltas[0].allocations.add(name="gpu", allocation=json.dumps(allocation("d0")))
    await scene.bridge.on_round(result)
    assert [scene.state.node_of("default", name) for name in ("gpu", "disk")] == ["n1", "n1"]
    scene.now += 1e6
    scene.state.expire()
    assert sorted(given_up) == sorted(
        name for name in ("gpu", "disk") if not scene.state.node_of("default", name)
    )


@pytest.mark.parametrize(("under_way", "plenty"), [(0, False), (500, False), (501, True)])
def test_the_next_round_may_wait_beyond_500_bindings_under_way(monkeypatch, under_way, plenty):
    monkeypatch.setattr(Binder, "unfinished", under_way)
    assert Quiet().bridge.has_plenty_to_do() is plenty


def test_a_bridge_that_knows_no_cluster_says_so():
    assert explain_unready(Quiet().bridge.readiness) == "the cluster is not known yet"


def test_how_many_nodes_and_pods_there_are_is_a_metric():
    scene = Quiet(process={"leadership": Lease(Role.STANDBY)})
    scene.pods(present(pod("a")), present(pod("b", node="n1")))
    assert (scene.count("nodes"), scene.count("pending_pods"), scene.count("leader")) == (2, 1, 0)
    assert scene.count("queue_pods", queue="active") == 1


# --- a bridge that runs -----------------------------------------------------------------------------------------------


class Running:
    """A bridge that runs against a simulated cluster and a scripted solver, with a leadership of the test's own."""

    def __init__(self, transport: Transport, port: int, lease: Lease, **options: Any) -> None:
        self.environment = Environment(transport, random=Random(1))
        self.registry = CollectorRegistry()
        process = BridgeProcess(self.environment, leadership=lease)  # type: ignore[arg-type]
        self.bridge = Bridge(
            process, BridgeOptions((f"127.0.0.1:{port}",), session=QUICK, **options), self.registry
        )
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.bridge.run(self.stop))

    async def end(self) -> None:
        """Wait until it has ended; raise its error."""
        await asyncio.wait_for(self.task, stretch(20))


@pytest.fixture
async def transport(cluster: Any) -> Any:
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as made:
        yield made


async def test_leadership_is_given_back_at_the_end_after_all_is_written(transport: Transport, api: Api):
    solver, lease = ScriptedSolver(), Lease()
    solver.place_all = True
    await api.pod("a")
    async with running_solver(solver) as port:
        running = Running(transport, port, lease)
        await until(lambda: solver.synced)
        assert solver.hellos[0].fencing == 77, "the number of the Lease, not that of the options"
        assert explain_unready(running.bridge.readiness) == ""
        await until(lambda: solver.reports)
        running.stop.set()
        await running.end()
        assert len(lease.released) == 1
        assert solver.ended_cleanly == 1
    assert len(await api.items("/api/v1/events")) == 1


async def test_a_bridge_that_begins_anew_for_other_needs_keeps_leading(transport: Transport, api: Api):
    solver, lease = ScriptedSolver(), Lease()
    solver.needs = TIER
    async with running_solver(solver) as port:
        running = Running(transport, port, lease)
        with pytest.raises(NeedsChangedError) as raised:
            await running.end()
    assert raised.value.needs == TIER
    assert lease.released == []


async def test_a_bridge_ends_at_once_when_the_api_server_is_older_than_before(transport: Transport, api: Api):
    solver, lease = ScriptedSolver(), Lease()
    async with running_solver(solver) as port:
        running = Running(transport, port, lease)
        await until(lambda: solver.synced)
        running.environment.rewinds.note()
        with pytest.raises(RewoundError):
            await running.end()
    assert lease.released == [], "the next bridge of this process leads on"


async def test_a_standby_is_ready_without_a_solver_and_does_what_it_kept_once_it_leads(
    transport: Transport, api: Api
):
    """It says nothing of pods, and nothing to a solver, until then."""
    solver, lease = ScriptedSolver(), Lease(Role.STANDBY)
    await api.pod("a")
    async with running_solver(solver) as port:
        running = Running(transport, port, lease)
        bridge = running.bridge
        await until(lambda: explain_unready(bridge.readiness) == "")
        assert bridge.state.pending_count() == 1
        assert solver.hellos == []
        lease.elect()
        await until(lambda: solver.synced and explain_unready(bridge.readiness) == "")
        [record] = bridge.state.records()
        assert list(solver.states()) == [record.task.uid]
        await api.pod("b")
        await until(lambda: len(solver.states()) == 2)
        solver.abort()
        running.stop.set()
        await running.end()


async def test_a_leader_without_a_stream_to_a_solver_is_not_ready(transport: Transport, api: Api):
    running = Running(transport, 9, Lease())
    await until(lambda: explain_unready(running.bridge.readiness) == "no stream to a solver")
    running.stop.set()
    await running.end()


@pytest.mark.parametrize(("needs", "parts"), [((), 0), (("network_overhead",), 1)])
async def test_applications_are_followed_if_a_model_reads_them(transport: Transport, api: Api, needs, parts):
    solver = ScriptedSolver()
    solver.needs = words_of(*needs)
    async with running_solver(solver) as port:
        running = Running(transport, port, Lease(), needs=solver.needs)
        await until(lambda: solver.synced)
        names = [each.get_name() for each in asyncio.all_tasks()]
        assert names.count("applications") == parts
        running.stop.set()
        await running.end()


async def test_a_pod_that_waits_for_the_size_of_its_owner_is_placed_once_the_owner_is_read(
    transport: Transport, api: Api
):
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {}},
    }
    made = await api.create("/apis/apps/v1/namespaces/default/replicasets", owner)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    metadata = {
        "name": "a",
        "annotations": {"firmament-gang-scheduling": "100"},
        "ownerReferences": [{**reference, "uid": made["metadata"]["uid"]}],
    }
    spec = {"schedulerName": "poseidon", "containers": [{"name": "main", "image": "none"}]}
    await api.create(
        "/api/v1/namespaces/default/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
    )
    solver = ScriptedSolver()
    async with running_solver(solver) as port:
        running = Running(transport, port, Lease())
        await until(lambda: len(solver.states()) == 1)
        running.stop.set()
        await running.end()
