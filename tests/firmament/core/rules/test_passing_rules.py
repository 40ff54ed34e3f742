"""Rules whose answers do not last are asked each time, about the tasks that they concern."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from firmament.core.intake.events import apply_events
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Stage, StatedReason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.registry import NodeRules
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable
from tests.support.core import machine, task_class

FOR_ALL = StatedReason("node(s) were closed to all", Stage.NODE)
FOR_SOME = StatedReason("node(s) were closed to some", Stage.NODE)


class _Closed(NodeRule):
    reads_of_task = ("namespace",)
    reads_of_machine = ("storage",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        yield MachineRefusal(Cause(self.reasons[0]), np.ones(len(machines), dtype=np.bool_))


class ClosedToAll(_Closed):
    name = "ClosedToAll"
    reasons = (FOR_ALL,)


class ClosedToSome(_Closed):
    name = "ClosedToSome"
    reasons = (FOR_SOME,)
    for_tasks_with = ("namespace",)


@pytest.mark.parametrize(
    ("rules", "namespace", "said"),
    [
        ([ClosedToAll(), ClosedToSome()], "", [FOR_ALL]),
        ([ClosedToAll(), ClosedToSome()], "shop", [FOR_ALL, FOR_SOME]),
        ([ClosedToSome()], "", []),
        ([ClosedToSome()], "shop", [FOR_SOME]),
        ([ClosedToAll()], "", [FOR_ALL]),
    ],
)
def test_each_rule_is_asked_about_the_tasks_that_it_concerns(rules, namespace, said):
    cluster = Cluster()
    apply_events(cluster, [machine("m")], 0.0)
    refused = NodeRules(rules).passing_refusals(cluster.machines, task_class(namespace=namespace))
    assert [each.cause.reason for each in refused] == said
