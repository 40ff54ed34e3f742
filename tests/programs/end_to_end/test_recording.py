"""What a running bridge has recorded is decided again, pod for pod."""

from __future__ import annotations

from poseidon.recording.segments import read_recording
from poseidon.simulate.recorded.again import decide_again
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.support.waiting import until

SECRET = "hunter2-not-for-others"


async def test_a_recording_gives_the_decisions_that_were_made(tmp_path):
    folder = tmp_path / "recorded"
    more = ("--record", str(folder))
    async with scene(tmp_path, more_for_bridge=more) as s:
        await s.nodes(12, [NodeShape("small", cpu="4", memory="16Gi")])
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 12)
        env = [{"name": "main", "image": "work", "env": [{"name": "PASSWORD", "value": SECRET}]}]
        await s.pods(names("secret", 1), containers=env)
        for wave, cpu in enumerate(("100m", "500m", "1500m")):
            await s.pods(names(f"wave{wave}", 10), cpu=cpu)
        await s.until_bound(31)
        for number in range(5):  # one after another: rounds without a network
            await s.pods([f"alone-{number}"], cpu="250m")
            await s.until_bound(32 + number)
        await s.pods(names("big", 20), cpu="3")
        await until(lambda: len(s.events("FailedScheduling")) > 0, within=SECONDS)
        bound = s.count_bound()
        s.operations.delete(PODS, "default", "wave2-0000")
        s.operations.delete(PODS, "default", "wave2-0001")
        await s.nodes(2, [NodeShape("large", cpu="16")], prefix="more")
        await s.until_bound(bound + 5)
        await s.stack.bridge.stop(15.0)
        await s.stack.start_bridge()
        held = await s.solver_counts()
        await s.nodes(1, [NodeShape("large", cpu="16")], prefix="last")
        await s.until_solver(lambda counts: counts.machines == held.machines + 1 and not counts.assumed)
        placed = len(s.placed())
        await s.pods(names("late", 5), cpu="100m")
        await s.until_bound(placed + 5)
        await s.stack.bridge.stop(15.0)
        made = s.count_bound()
        assert s.stack.bridge.alive is False

    found = decide_again(read_recording(folder))
    assert found.first == []
    assert (found.streams, found.partial, found.refused) == (2, 0, 0)
    assert found.same == found.decisions >= made
    assert found.rounds > 7
    for entry in read_recording(folder):
        assert SECRET not in str(entry)
