"""The bandwidth program: what the kernel says of interfaces, and what the node advertises then."""

from __future__ import annotations

import asyncio
import time
from random import Random

import msgspec
import pytest
from click.testing import CliRunner

from poseidon.agents.bandwidth_agent import BandwidthAgent, LinkSpeedError, default_interface, link_speed
from poseidon.cli import main
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.support.cluster import cluster_in_thread, running_cluster
from tests.support.waiting import until

BANDWIDTH = "network.aware.com/bandwidth"
HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def interface(folder, name, speed):
    (folder / name).mkdir()
    (folder / name / "speed").write_text(speed)


class TestLinkSpeed:
    def test_bits_per_second(self, tmp_path):
        interface(tmp_path, "eth0", "25000\n")
        assert link_speed("eth0", tmp_path) == 25_000_000_000

    @pytest.mark.parametrize("speed", ["-1\n", "0", "", "fast"])
    def test_no_speed(self, tmp_path, speed):
        interface(tmp_path, "veth", speed)
        with pytest.raises(LinkSpeedError, match=r"is not a speed.*--speed"):
            link_speed("veth", tmp_path)

    def test_no_interface(self, tmp_path):
        with pytest.raises(LinkSpeedError, match="no such interface; name another one with --interface"):
            link_speed("eth9", tmp_path)

    def test_the_default_route_with_the_lowest_metric(self, tmp_path):
        file = tmp_path / "route"
        file.write_text(
            HEADER
            + "eth2\t0000FEA9\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
            + "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t1000\t00000000\t0\t0\t0\n"
            + "eth1\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
        )
        assert default_interface(file) == "eth1"

    def test_no_default_route(self, tmp_path):
        file = tmp_path / "route"
        file.write_text(HEADER)
        with pytest.raises(LinkSpeedError, match="no default route; name the interface"):
            default_interface(file)


async def create_node(transport, status):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}
    await transport.post("/api/v1/nodes", msgspec.json.encode(body))


async def read_node(transport):
    return msgspec.json.decode(await transport.get("/api/v1/nodes/n1"))


@pytest.mark.parametrize("status", [{}, {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}])
async def test_the_node_advertises_what_the_kernel_says(status):
    speed = 10_000_000_000
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        await create_node(transport, status)
        agent = BandwidthAgent(transport, "n1", lambda: speed, random=Random(1), interval=0.01)
        assert await agent.advertise() is True
        found = (await read_node(transport))["status"]
        for part in ("capacity", "allocatable"):
            assert found[part] == {**status.get(part, {}), BANDWIDTH: "10000000000"}
        version = (await read_node(transport))["metadata"]["resourceVersion"]
        assert await agent.advertise() is False
        assert (await read_node(transport))["metadata"]["resourceVersion"] == version

        running = asyncio.create_task(agent.run())
        try:
            forget = msgspec.json.encode(
                {"status": {"capacity": {BANDWIDTH: None}, "allocatable": {BANDWIDTH: "10G"}}}
            )
            await transport.patch("/api/v1/nodes/n1/status", forget, MERGE_PATCH)

            async def again():
                return (await read_node(transport))["status"]["capacity"].get(BANDWIDTH) == "10000000000"

            await until(again)
        finally:
            running.cancel()
        # Equal amounts may be written in many ways; what is right is left alone.
        assert (await read_node(transport))["status"]["allocatable"][BANDWIDTH] == "10G"


async def test_an_interface_without_speed_changes_nothing_until_it_has_one():
    speeds = iter([LinkSpeedError("no link")])

    def speed():
        for error in speeds:
            raise error
        return 1_000_000_000

    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        await create_node(transport, {"capacity": {BANDWIDTH: "5"}})
        agent = BandwidthAgent(transport, "n1", speed, random=Random(1), interval=0.01)
        with pytest.raises(LinkSpeedError):
            await agent.advertise()
        assert (await read_node(transport))["status"]["capacity"] == {BANDWIDTH: "5"}
        running = asyncio.create_task(agent.run())
        try:

            async def advertised():
                return (await read_node(transport))["status"]["capacity"][BANDWIDTH] == "1000000000"

            await until(advertised)
        finally:
            running.cancel()


def test_the_command(tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    interface(folder, "eth0", "1000")
    with cluster_in_thread() as cluster:
        kubeconfig = tmp_path / "kubeconfig"
        write_kubeconfig(kubeconfig, cluster.url)

        async def prepare():
            async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
                await create_node(transport, {})

        asyncio.run(prepare())
        common = ["bandwidth-agent", "--kubeconfig", str(kubeconfig), "--once", "--sysfs", str(folder)]
        missing = CliRunner().invoke(main, [*common, "--node", "n9", "--interface", "eth0"])
        assert missing.exit_code == 1
        assert "node n9: 404" in missing.stderr
        wrong = CliRunner().invoke(main, [*common, "--node", "n1", "--interface", "eth7"])
        assert wrong.exit_code == 1
        assert "there is no such interface" in wrong.stderr
        done = CliRunner().invoke(main, [*common, "--interface", "eth0"], env={"NODE_NAME": "n1"})
        assert done.exit_code == 0, done.stderr
        faster = CliRunner().invoke(main, [*common, "--node", "n1", "--speed", "2500"])
        assert faster.exit_code == 0, faster.stderr

        async def look():
            async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
                return await read_node(transport)

        assert asyncio.run(look())["status"]["capacity"][BANDWIDTH] == "2500000000"
