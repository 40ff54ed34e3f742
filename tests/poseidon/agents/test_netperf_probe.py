"""The prober: round trips over loopback, pairs of nodes, and what the ConfigMap says afterwards."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import combinations, count

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from poseidon.agents.netperf_probe import NetperfProbe, ProbeOptions, entries, node_pairs
from poseidon.agents.round_trip import (
    Latency,
    MeasureError,
    RoundTripServer,
    ask,
    measure,
    percentiles,
)
from poseidon.app_network.spec.keys import Domain
from poseidon.app_network.spec.netperf import read_measurements
from poseidon.cli import main
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.support.cluster import running_cluster
from tests.support.time_limits import stretch

LABELS = {"app": "netperf"}


def server(host="127.0.0.1", port=0, **options):
    return RoundTripServer(host, port, clock=time.perf_counter, **options)


class TestPercentiles:
    def test_nearest_ranks(self):
        assert percentiles(range(1, 101)) == Latency(50, 90, 99)
        assert percentiles([7.0]) == Latency(7.0, 7.0, 7.0)

    @given(st.lists(st.floats(0, 1e6), min_size=1))
    def test_so_many_are_not_slower(self, samples):
        found = percentiles(samples)
        for rank, value in ((50, found.p50), (90, found.p90), (99, found.p99)):
            assert value in samples
            assert 100 * sum(each <= value for each in samples) >= rank * len(samples)
            assert 100 * sum(each < value for each in samples) < rank * len(samples)


class TestRoundTrips:
    async def test_the_delay_of_the_way_is_what_is_measured(self):
        async with server() as near:
            quick = await measure("127.0.0.1", near.port, seconds=5, samples=20, clock=time.perf_counter)
            async with delayed(near.port, 0.02) as far:
                slow = await measure("127.0.0.1", far, seconds=5, samples=5, clock=time.perf_counter)
        assert 0 < quick.p50 <= quick.p90 <= quick.p99
        assert slow.p50 >= 20_000 > quick.p50

    async def test_one_round_trip_at_least(self):
        async with server() as near:
            found = await measure("127.0.0.1", near.port, seconds=0, samples=1, clock=time.perf_counter)
        assert found.p50 > 0

    @pytest.mark.parametrize(
        ("seconds", "samples", "readings"), [(0, 9, 4), (3, 9, 4), (4, 9, 7), (7, 9, 10), (99, 2, 6)]
    )
    async def test_it_ends_with_its_time_or_its_samples(self, seconds, samples, readings):
        """The clock is read for the end, twice for each trip, and before each but the first if samples are left."""
        ticks = count()
        async with server() as near:
            await measure("127.0.0.1", near.port, seconds=seconds, samples=samples, clock=lambda: next(ticks))
        assert next(ticks) == readings

    async def test_a_server_measures_the_way_to_another(self):
        async with AsyncExitStack() as stack:
            one = await stack.enter_async_context(server("127.0.0.2"))
            await stack.enter_async_context(server("127.0.0.3", one.port))
            found = await ask("127.0.0.2", one.port, "127.0.0.3", seconds=0.2, samples=10)
            assert found.p50 > 0
            with pytest.raises(MeasureError, match=r"127.0.0.2.*127.0.0.4"):
                await ask("127.0.0.2", one.port, "127.0.0.4", seconds=0.2, samples=10)

    @pytest.mark.parametrize(
        "line", [b"nonsense\n", b"{}\n", b'{"measure": "x", "seconds": 900, "samples": 1}\n']
    )
    async def test_odd_orders_are_answered_and_harm_nobody(self, line):
        async with server() as near:
            reader, writer = await asyncio.open_connection("127.0.0.1", near.port)
            writer.write(line)
            assert "error" in msgspec.json.decode(await reader.readline())
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", near.port)
            writer.write(b"x" * 5000)
            assert await asyncio.wait_for(_all(reader), stretch(5)) == b""
            writer.close()
            await measure("127.0.0.1", near.port, seconds=0, samples=1, clock=time.perf_counter)

    async def test_nobody_there(self):
        async with server() as near:
            port = near.port
        with pytest.raises(MeasureError, match=f"127.0.0.1:{port}"):
            await measure("127.0.0.1", port, seconds=0, samples=1, clock=time.perf_counter)

    async def test_silence_ends(self):
        async def hold(reader, writer):
            await reader.read()
            writer.close()

        silent = await asyncio.start_server(hold, "127.0.0.1", 0)
        async with silent:
            port = silent.sockets[0].getsockname()[1]
            with pytest.raises(MeasureError, match="timed out"):
                await measure("127.0.0.1", port, seconds=0, samples=1, clock=time.perf_counter, patience=0.05)

    async def test_too_many_clients_are_turned_away(self):
        async with server(most_clients=1) as near:
            reader, writer = await asyncio.open_connection("127.0.0.1", near.port)
            writer.write(b"echo\n" + b"\0" * 32)
            await reader.readexactly(1024)
            with pytest.raises(MeasureError):
                await measure("127.0.0.1", near.port, seconds=0, samples=1, clock=time.perf_counter)
            writer.close()


async def _all(reader):
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@asynccontextmanager
async def delayed(port, seconds):
    """Stand between clients and a server, and hold each request back for a while."""

    async def pump(reader, writer):
        there, onward = await asyncio.open_connection("127.0.0.1", port)

        async def requests():
            onward.write(await reader.readline())
            while data := await reader.read(4096):
                await asyncio.sleep(seconds)
                onward.write(data)
            onward.close()

        forwarding = asyncio.create_task(requests())
        try:
            while data := await there.read(4096):
                writer.write(data)
        finally:
            forwarding.cancel()
            onward.close()
            writer.close()

    relay = await asyncio.start_server(pump, "127.0.0.1", 0)
    async with relay:
        yield relay.sockets[0].getsockname()[1]


DOMAINS = st.builds(Domain, st.sampled_from(["", "r1", "r2", "r3"]), st.sampled_from(["", "z1", "z2", "z3"]))


class TestPairs:
    def test_one_pair_per_two_zones_of_a_region_and_per_two_regions(self):
        domains = {
            "a": Domain("west", "z1"),
            "b": Domain("west", "z1"),
            "c": Domain("west", "z2"),
            "d": Domain("east", "z3"),
            "e": Domain("east", "z4"),
        }
        assert sorted(node_pairs(domains)) == sorted(
            [("a", "d"), ("d", "a"), ("a", "c"), ("c", "a"), ("d", "e"), ("e", "d")]
        )

    @given(st.dictionaries(st.text("abc", min_size=1, max_size=3), DOMAINS, max_size=12))
    def test_every_link_is_covered_once_in_each_direction(self, domains):
        expected: set[object] = set()
        for one, other in combinations(domains.values(), 2):
            if one.region != other.region and one.region and other.region:
                expected.add(frozenset((one.region, other.region)))
            if one.region == other.region and one.zone != other.zone and one.zone and other.zone:
                expected.add((one.region, frozenset((one.zone, other.zone))))
        found = [
            frozenset((domains[a].region, domains[b].region))
            if domains[a].region != domains[b].region
            else (domains[a].region, frozenset((domains[a].zone, domains[b].zone)))
            for a, b in node_pairs(domains)
        ]
        assert Counter(found) == Counter(dict.fromkeys(expected, 2))


class TestEntries:
    def test_both_forms_rounded_up(self):
        data = entries({("a", "b"): Latency(900.2, 2000, 2000.1)})
        assert data["netperf_p50_latency_microseconds.origin.a.destination.b"] == "901"
        assert data["netperf.p50.latency.milliseconds.origin.a.destination.b"] == "1"
        assert data["netperf.p99.latency.milliseconds.origin.a.destination.b"] == "3"
        assert [read_measurements(data, each) for each in ("p50", "p90", "p99")] == [
            ({("a", "b"): value}, ()) for value in (1, 2, 3)
        ]

    def test_names_too_long_for_a_key_are_left_out(self):
        assert entries({("a" * 200, "b" * 200): Latency(1, 1, 1)}) == {}


class Stage:
    """Nodes whose servers answer on loopback addresses of their own, all at one port."""

    def __init__(self, cluster, transport, port):
        self.cluster = cluster
        self.transport = transport
        self.options = ProbeOptions("default", LABELS, port, seconds=0.1, samples=5)

    async def create(self, path, obj):
        await self.transport.post(path, msgspec.json.encode(obj))

    async def node(self, name, region, zone, address="", labels=LABELS, phase="Running"):
        where = {"topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone}
        metadata = {"name": name, "labels": where}
        await self.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        if address:
            spec = {"nodeName": name, "containers": [{"name": "c", "image": "none"}]}
            pods = "/api/v1/namespaces/default/pods"
            metadata = {"name": f"netperf-{name}", "labels": labels}
            await self.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
            status = {"status": {"phase": phase, "podIP": address}}
            await self.transport.patch(f"{pods}/netperf-{name}/status", msgspec.json.encode(status))

    async def data(self, name="netperf-metrics"):
        raw = await self.transport.get(f"/api/v1/namespaces/default/configmaps/{name}")
        return msgspec.json.decode(raw)["data"]

    async def measured(self):
        return set(read_measurements(await self.data())[0])


@asynccontextmanager
async def stage(*addresses):
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(running_cluster())
        transport = Transport(ConnectionSettings(cluster.url), clock=time.monotonic)
        await stack.enter_async_context(transport)
        port = 0
        for address in addresses:
            port = (await stack.enter_async_context(server(address, port))).port
        yield Stage(cluster, transport, port)


async def test_the_config_map_is_written_and_kept():
    async with stage("127.0.0.2", "127.0.0.3", "127.0.0.4") as made:
        await made.node("w1", "west", "z1", "127.0.0.2")
        await made.node("w2", "west", "z2", "127.0.0.3")
        await made.node("e1", "east", "z3", "127.0.0.4")
        await made.node("bare", "north", "z9")
        await made.node("other", "south", "z8", "127.0.0.9", labels={"app": "else"})
        await made.node("pending", "isle", "z7", "127.0.0.9", phase="Pending")
        old = {
            "netperf.p90.latency.milliseconds.origin.gone.destination.w1": "5",
            "netperf.p90.latency.milliseconds.origin.w2.destination.e1": "6",
            "netperf.p90.latency.milliseconds.origin.bare.destination.e1": "7",
            "note": "kept",
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "netperf-metrics"}, "data": old}
        await made.create("/api/v1/namespaces/default/configmaps", body)
        found = await NetperfProbe(made.transport, made.options).probe()
        pairs = {("w1", "w2"), ("w2", "w1"), ("w1", "e1"), ("e1", "w1")}
        assert set(found) == pairs
        # w2-e1 joins the same regions as w1-e1 does now; nobody has measured north again.
        assert await made.measured() == pairs | {("bare", "e1")}
        assert (await made.data())["note"] == "kept"


async def test_a_pair_that_cannot_be_measured_leaves_what_was_known():
    async with stage("127.0.0.2", "127.0.0.3") as made:
        await made.node("w1", "west", "z1", "127.0.0.2")
        await made.node("w2", "west", "z2", "127.0.0.3")
        await made.node("e1", "east", "z3", "127.0.0.5")
        probe = NetperfProbe(made.transport, made.options)
        assert set(await probe.probe()) == {("w1", "w2"), ("w2", "w1")}
        known = "netperf.p90.latency.milliseconds.origin.w1.destination.e1"
        await made.transport.patch(
            "/api/v1/namespaces/default/configmaps/netperf-metrics",
            msgspec.json.encode({"data": {known: "9"}}),
        )
        await probe.probe()
        assert (await made.data())[known] == "9"


@pytest.mark.parametrize(("code", "raised"), [(409, False), (403, True)])
async def test_a_write_that_came_too_late_is_made_again_and_a_forbidden_one_is_not(code, raised):
    async with stage("127.0.0.2", "127.0.0.3") as made:
        await made.node("w1", "west", "z1", "127.0.0.2")
        await made.node("w2", "west", "z2", "127.0.0.3")
        fault = Fault(".*/configmaps.*", "POST", times=1, code=code)
        made.cluster.faults.add(fault)
        probe = NetperfProbe(made.transport, made.options)
        if raised:
            with pytest.raises(ApiError):
                await probe.probe()
        else:
            await probe.probe()
            assert await made.measured() == {("w1", "w2"), ("w2", "w1")}
        assert fault.hits == 1


async def test_the_command_measures_once(tmp_path):
    async with stage("127.0.0.2", "127.0.0.3") as made:
        await made.node("w1", "west", "z1", "127.0.0.2")
        await made.node("e1", "east", "z3", "127.0.0.3")
        kubeconfig = tmp_path / "kubeconfig"
        write_kubeconfig(kubeconfig, made.cluster.url)
        arguments = [
            "netperf-probe", "--kubeconfig", str(kubeconfig), "--once", "--port", str(made.options.port),
            "--label", "app=netperf", "--seconds", "0.1", "--samples", "5", "--config-map", "mine",
        ]  # fmt: skip
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
        assert result.exit_code == 0, result.output
        assert set(read_measurements(await made.data("mine"))[0]) == {("w1", "e1"), ("e1", "w1")}
