"""A pod that waits for others to leave takes room that becomes free meanwhile, with both processes."""

from __future__ import annotations

from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.objects.resources import NODES
from tests.programs.end_to_end.scene import SECONDS
from tests.programs.end_to_end.test_gangs import SHAPE, stage
from tests.support.waiting import until


async def test_a_new_node_is_taken_and_evictions_that_nobody_has_carried_out_are_withdrawn(tmp_path):
    async with stage(tmp_path, nodes=1) as on:
        [old] = {each["metadata"]["name"] for each in on.scene.listed(NODES)}
        for name in ("asked", "spared"):
            on.pod(name, cpu="2", stop="30", priorityClassName="low", terminationGracePeriodSeconds=60)
        await on.until(lambda: len(on.scene.placed()) == 2)
        busy = Fault(".*/pods/spared/eviction", "POST", code=429, reason="TooManyRequests")
        on.scene.cluster.faults.add(busy)
        on.pod("high", cpu="4", priorityClassName="high")
        await on.until(lambda: "deletionTimestamp" in on.pods()["asked"]["metadata"], "one victim leaves")
        await on.until(lambda: on.pods()["high"]["status"].get("nominatedNodeName") == old)
        await on.until(lambda: busy.hits > 0, "the other one has been asked in vain")
        [new] = await on.scene.nodes(1, [SHAPE], prefix="new")
        await on.until(lambda: on.scene.placed().get("high") == new, "it takes the new node")
        await on.until(lambda: not on.pods()["high"]["status"].get("nominatedNodeName"))
        on.scene.cluster.faults.clear()
        on.now = 30.0
        await on.until(lambda: "asked" not in on.pods(), "who was asked goes")
        on.pod("late", cpu="2")
        await on.until(lambda: on.scene.placed().get("late") == old, "its room is there for others")
        assert on.scene.placed() == {"high": new, "spared": old, "late": old}
        assert "deletionTimestamp" not in on.pods()["spared"]["metadata"]
        await on.scene.until_solver(
            lambda counts: (counts.bound, counts.pending, counts.assumed) == (3, 0, 0)
        )
        await until(lambda: on.scene.events("Preempted") == {"asked": 1}, within=SECONDS)
        on.scene.check_sound()
