"""Checks capacity as VolumeBinding does: a machine must reach storage for the volumes to be created for a task."""

from __future__ import annotations

from collections.abc import Iterator

from cost_models.interface import Bool
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule, cost_of_score
from firmament.core.state.machines import MachineTable

WEIGHT = 1
"""kube-scheduler's default weight of the plugin's score."""


class StorageCapacity(NodeRule):
    """Requires that a machine reaches free storage for the largest new volume of each storage class.

    The answers do not last, as free storage changes.
    """

    name = "VolumeBinding (capacity)"
    reasons = (Reason.NO_STORAGE,)
    reads_of_task = ("new_storage",)
    reads_of_machine = ("storage",)
    for_tasks_with = ("new_storage",)
    scores_tasks_with = ("new_storage",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines without enough storage."""
        lacking = machines.storage.find_refused(shape.new_storage, len(machines))
        yield MachineRefusal(Cause(Reason.NO_STORAGE), lacking)

    def count_looks(self, content: TaskClass) -> int:
        """Return one look for each storage class of a class's new volumes."""
        return len(content.new_storage)

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return the cost by the share of stated capacities that would be used; None if no capacity is stated."""
        unused = machines.storage.scores(shape.new_storage, len(machines))
        return None if unused is None else cost_of_score(WEIGHT, unused, unused)
