"""A solver may have pods evicted for the quota that they use where policies of the queue say so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.lifecycle.actions import Evict
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_known_queues import Stage, queued


def ranked(name: str, priority: int, *, on: str = ""):
    made = queued(name)
    return replace(made, spec=replace(made.spec, priority=priority, node_name=on))


@pytest.mark.parametrize(("preemptor", "victim", "evicted"), [(9, 5, ["victim"]), (5, 5, []), (5, 9, [])])
def test_within_a_queue_only_less_important_pods_go_for_its_quota(
    preemptor: int, victim: int, evicted: list[str]
):
    """The preemptor comes to another node, so that nothing but quota is a reason."""
    stage = Stage().tell(
        flavor(),
        cluster_queue("team", quotas(cpu=1), preemption={"withinClusterQueue": "LowerPriority"}),
        local_queue("users", "team"),
    )
    stage.state.nodes_changed([present(node("n1")), present(node("n2"))])
    stage.add(ranked("preemptor", preemptor), ranked("victim", victim, on="n1"))
    stage.state.snapshot()
    stage.state.take_actions()
    deltas = [
        pb.Delta(kind=pb.Delta.PREEMPT, task="pod-victim", machine="n1"),
        pb.Delta(kind=pb.Delta.PLACE, task="pod-preemptor", machine="n2", depends_on=["pod-victim"]),
    ]
    stage.state.on_round(pb.RoundResult(round=1, deltas=deltas))
    actions = stage.state.take_actions()
    assert [each.pod.name for each in actions if isinstance(each, Evict)] == evicted
