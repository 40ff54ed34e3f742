"""Two that need the same node, decided in different rounds, with both processes: who waits gets none of the room."""

from __future__ import annotations

from tests.programs.end_to_end.test_gangs import stage


async def test_each_of_two_preemptors_gets_the_room_of_its_victim(tmp_path):
    async with stage(tmp_path, nodes=1) as on:
        for name, stop in (("low-a", "10"), ("low-b", "20")):
            on.pod(name, cpu="2", stop=stop, priorityClassName="low", terminationGracePeriodSeconds=60)
        await on.until(lambda: len(on.scene.placed()) == 2)
        on.pod("waits", cpu="2", priorityClassName="low")
        on.pod("a", cpu="2", priorityClassName="high")
        await on.until(lambda: on.pods()["a"]["status"].get("nominatedNodeName"), "the first is decided")
        [first] = leaving(on)
        on.pod("b", cpu="2", priorityClassName="high")
        await on.until(lambda: len(leaving(on)) == 2, "the second has a victim of its own")
        for on.now, left in ((10.0, 1), (20.0, 0)):
            await on.until(lambda left=left: len(set(on.pods()) & {"low-a", "low-b"}) == left)
        await on.until(lambda: {"a", "b"} <= on.scene.placed().keys(), "both are bound")
        assert first in ("low-a", "low-b")
        assert set(on.scene.placed()) == {"a", "b"}
        assert set(on.pods()) == {"a", "b", "waits"}
        assert set(on.scene.events("Preempted")) <= {"low-a", "low-b"}
        assert all(status == 201 for _, status in on.scene.bindings)
        on.scene.check_sound()


def leaving(on):
    return [name for name, each in on.pods().items() if "deletionTimestamp" in each["metadata"]]
