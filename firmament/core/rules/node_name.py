"""NodeName and names in NodeAffinity: tasks that name the machines which they may use.

kube-scheduler looks at these machines alone. What many classes differ in, the one machine that each of them names, is
no part of their shape: see `pins`.
"""

from __future__ import annotations

from collections.abc import Iterator

from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.labels import list_singled_out
from firmament.core.state.machines import MachineTable


class NodeName(NodeRule):
    """A machine must be among those that every term of the required node affinity names."""

    name = "NodeName"
    reasons = (Reason.NOT_NAMED, Reason.WRONG_NAME)
    reads_of_task = ("required",)
    reads_of_machine = ("name",)
    for_tasks_with = ("required",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that are not named, if any are."""
        named = list_singled_out(shape.required)
        if named is not None:
            yield MachineRefusal(Cause(Reason.NOT_NAMED), ~machines.find_named(named))
