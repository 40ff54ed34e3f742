"""NodeUnschedulable: cordoned machines take only tasks that tolerate it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.taints import CORDON_TAINT, is_tolerated
from firmament.core.state.machines import MachineTable


class NodeUnschedulable(NodeRule):
    """A cordon keeps tasks from coming, and not from staying."""

    name = "NodeUnschedulable"
    reasons = (Reason.CORDONED,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("unschedulable",)
    for_machines_with = ("unschedulable",)
    binds_running = False

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the cordoned machines."""
        if not is_tolerated(shape.tolerations, CORDON_TAINT):
            yield MachineRefusal(Cause(Reason.CORDONED), machines.cordoned)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the machine uncordoned."""
        machine = self.as_new(standing.machine)
        step = CureChange(CureKind.UNCORDON, machine=machine.name)
        yield CureProposal((step,), TrialChange(standing.content, machine))

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine uncordoned."""
        return replace(machine, unschedulable=False)
