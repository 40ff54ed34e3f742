"""NodeUnschedulable: machines that are cordoned or not ready take only tasks that tolerate this state.

Rules know no time: the bridge (``poseidon/nodes/machines.py``) handles the delay before a cordon counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cost_models.interface import Bool
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.taint_toleration import add_taint, tolerates
from firmament.core.selectors.taints import CORDON_TAINT, NOT_READY_TAINT
from firmament.core.state.machines import MachineTable


class NodeUnschedulable(NodeRule):
    """Refuses new tasks on a cordoned machine; tasks that already run there may stay."""

    name = "NodeUnschedulable"
    reasons = (Reason.CORDONED,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("unschedulable",)
    for_machines_with = ("unschedulable",)
    binds_running = False

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the cordoned machines."""
        if not tolerates(shape, CORDON_TAINT):
            yield MachineRefusal(Cause(Reason.CORDONED), machines.cordoned)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the cure that uncordons the machine."""
        machine = self.as_new(standing.machine)
        step = CureChange(CureKind.UNCORDON, machine=machine.name)
        yield CureProposal((step,), TrialChange(standing.content, machine))

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine as it is when not cordoned."""
        return replace(machine, unschedulable=False)


class NodeReady(NodeRule):
    """Refuses new tasks on a machine that is not ready, whether or not it has the taint yet; running tasks may stay."""

    name = "NodeReady"
    reasons = (Reason.NOT_READY,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("not_ready",)
    for_machines_with = ("not_ready",)
    binds_running = False

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that are not ready."""
        if not tolerates(shape, NOT_READY_TAINT):
            yield MachineRefusal(Cause(Reason.NOT_READY), machines.not_ready)


def cordon(machine: Machine) -> Machine:
    """Return a machine as it is after a cordon: unschedulable, and with the taint that Kubernetes adds."""
    return replace(add_taint(machine, CORDON_TAINT), unschedulable=True)


def find_open(machines: MachineTable) -> Bool:
    """Return which machines are ready and not cordoned: bool[M]."""
    return ~(machines.cordoned | machines.not_ready)
