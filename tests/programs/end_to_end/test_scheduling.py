"""Both processes schedule a cluster; everything is judged by what the API server holds and was asked."""

from __future__ import annotations

from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.books import condition, overcommitted
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.support.waiting import until


async def test_a_thousand_pods_are_bound_once_each(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(200)
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 200)
        for group, cpu in enumerate(("100m", "250m", "500m", "1", "1500m")):
            await s.pods(names(f"p{group}", 200), cpu=cpu)
        await s.until_bound(1000)
        await until(lambda: len(s.events("Scheduled")) == 1000, within=SECONDS)
        s.check_sound()
        assert s.conflicts() == 0
        assert set(s.events("Scheduled").values()) == {1}
        counts = await s.until_solver(lambda counts: counts.bound == 1000)
        assert (counts.pending, counts.assumed) == (0, 0)


async def test_pods_that_fit_nowhere_are_told_once_and_cost_nothing_until_a_node_suits_them(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(5, [NodeShape("small", cpu="4")])
        await s.pods(names("big", 1000), cpu="20")
        await s.start()
        await until(lambda: len(s.events("FailedScheduling")) == 1000, within=SECONDS)
        told = (
            "0/5 nodes are available: 5 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/5 nodes are available: 5 Preemption is not helpful for scheduling."
        )

        def conditions():
            return [condition(pod, "PodScheduled") for pod in s.listed(PODS)]

        await until(lambda: all(conditions()), within=SECONDS)
        assert {(c["status"], c["reason"], c["message"]) for c in conditions()} == {
            ("False", "Unschedulable", told)
        }
        assert set(s.events("FailedScheduling").values()) == {1}
        rounds = (await s.until_solver(lambda counts: counts.pending == 1000)).rounds
        writes, revision = s.writes, s.operations.store.revision
        # Things happen that help nobody. When the solver has heard of the last of them, it has dealt with the others.
        for index in range(20):
            await s.pods([f"foreign-{index}"], schedulerName="other", nodeName="node-00000", cpu="1m")
            await s.until_solver_has_bound(index + 1)
        assert s.writes == writes
        assert s.operations.store.revision == revision + 20
        assert (await s.solver_counts()).rounds == rounds

        await s.nodes(1, [NodeShape("huge", cpu="100")], prefix="huge")
        await s.until_bound(5)
        await s.until_solver(lambda counts: counts.bound == 25 and not counts.assumed)
        assert {node for name, node in s.placed().items() if name.startswith("big")} == {"huge-00000"}
        assert len(s.placed()) == 25
        s.check_sound()


async def test_pods_of_other_schedulers_count_where_they_run(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(4, [NodeShape("small", cpu="4")])
        await s.pods(["theirs-0"], schedulerName="other", nodeName="node-00000", cpu="3500m")
        await s.pods(["theirs-1", "theirs-2"], schedulerName="other", cpu="3500m")
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 4 and counts.bound == 1)
        for index in (1, 2):
            await s.bind(f"theirs-{index}", f"node-0000{index}")
        await s.until_solver(lambda counts: counts.bound == 3)
        await s.pods(names("ours", 8), cpu="1")
        await until(lambda: len(s.events("FailedScheduling")) == 4, within=SECONDS)

        def nodes_of_ours():
            return [node for name, node in s.placed().items() if name.startswith("ours")]

        await until(lambda: len(nodes_of_ours()) == 4, within=SECONDS)
        assert set(nodes_of_ours()) == {"node-00003"}
        s.check_sound()


async def test_room_that_deleted_pods_leave_is_used_at_once(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(2, [NodeShape("small", cpu="4", pods=20)])
        await s.start()
        await s.pods(names("first", 40), cpu="100m")
        await s.until_bound(40)
        await s.pods(names("second", 40), cpu="100m")
        await until(lambda: len(s.events("FailedScheduling")) == 40, within=SECONDS)
        for name in names("first", 40):
            s.operations.delete(PODS, "default", name)
        await until(lambda: len(s.placed()) == 40, within=SECONDS)
        assert all(name.startswith("second") for name in s.placed())
        assert overcommitted(s.listed(NODES), s.listed(PODS)) == []
