"""A process that stands for election ends when it loses its Lease, whatever its bridge is doing."""

from __future__ import annotations

import asyncio
import time
from random import Random

import pytest

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import BridgeProcess
from poseidon.bridge.supervisor import Supervisor
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.leadership.election import Role
from poseidon.leadership.elector import LeadershipLostError
from poseidon.lifecycle.phases import Stories
from tests.poseidon.bridge.test_bridge import QUICK, api, cluster
from tests.support.time_limits import stretch

__all__ = ["api", "cluster"]  # fixtures


class LostLease:
    """A Lease that is lost at once."""

    role = Role.STANDBY

    async def run(self) -> None:
        await asyncio.sleep(0)
        raise LeadershipLostError("another has it")


async def test_a_lost_lease_ends_the_process_though_no_solver_has_answered(cluster):
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
        supervisor = Supervisor(
            BridgeProcess(
                Environment(transport, random=Random(1)),
                Stories(time.monotonic),
                leadership=LostLease(),  # type: ignore[arg-type]
            ),
            BridgeOptions(("127.0.0.1:9",), session=QUICK),
            "default.needs",
            ask_seconds=stretch(600),
        )
        with pytest.raises(LeadershipLostError, match="another has it"):
            await asyncio.wait_for(supervisor.run(asyncio.Event()), stretch(5))
