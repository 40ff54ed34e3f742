"""Machines that are not ready take only tasks that tolerate it, whether or not the cluster has tainted them yet."""

from __future__ import annotations

from collections.abc import Iterator

from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.taints import NOT_READY_TAINT, is_tolerated
from firmament.core.state.machines import MachineTable


class NodeReady(NodeRule):
    """A machine that is not ready keeps tasks from coming, and not from staying."""

    name = "NodeReady"
    reasons = (Reason.NOT_READY,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("not_ready",)
    for_machines_with = ("not_ready",)
    binds_running = False

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that are not ready."""
        if not is_tolerated(shape.tolerations, NOT_READY_TAINT):
            yield MachineRefusal(Cause(Reason.NOT_READY), machines.not_ready)
