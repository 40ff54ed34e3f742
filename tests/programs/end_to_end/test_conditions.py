"""Conditions of pods that stay pending, which autoscalers wait for, while bindings are under way all the time."""

from __future__ import annotations

from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import scene
from tests.support.waiting import until

SECONDS = 10.0
"""Half of what other writes wait for bindings at most, and several times what conditions do."""


async def test_a_condition_is_written_although_bindings_never_pause(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(2)
        await s.start()
        held = s.cluster.faults.add(Fault(".*/pods/slow/binding", "POST", hold=True))
        await s.pods(["slow"])
        await until(lambda: held.hits == 1)
        await s.pods(["huge"], cpu="1000")

        def reason():
            [huge] = [each for each in s.listed(PODS) if each["metadata"]["name"] == "huge"]
            found = {each["type"]: each for each in huge["status"].get("conditions", ())}
            return found.get("PodScheduled", {}).get("reason")

        await until(lambda: reason() == "Unschedulable", within=SECONDS)
        held.release()
        await s.until_bound(1)
