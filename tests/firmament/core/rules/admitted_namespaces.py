"""A rule that the scheduler does not have, as one who adds it would write it: one file, and a line of registration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cost_models.interface import Needs
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, CuredBy, Stage, StatedReason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.state.machines import MachineTable

KEY = "example.com/namespaces"
"""Annotation of machines: the namespaces whose tasks they take, separated by commas; all, if it is not there."""

NOT_ADMITTED = StatedReason("node(s) didn't admit the pod's namespace", Stage.NODE, cured_by=CuredBy.CHANGE)


class AdmittedNamespaces(NodeRule):
    """A machine takes tasks of the namespaces that it lists."""

    name = "AdmittedNamespaces"
    reasons = (NOT_ADMITTED,)
    reads_of_task = ("namespace",)
    reads_of_machine = ("annotations",)
    for_machines_with = ("annotations",)
    needs = Needs(namespaces=True, machine_annotations=(KEY,))

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that list other namespaces."""
        lists = [annotations.get(KEY) for annotations in machines.describe().annotations]
        refused = [listed is not None and shape.namespace not in listed.split(",") for listed in lists]
        yield MachineRefusal(Cause(NOT_ADMITTED), np.array(refused, dtype=np.bool_))

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the machine with the namespace in its list."""
        machine, namespace = standing.machine, standing.content.namespace
        listed = ",".join(filter(None, (machine.annotations.get(KEY, ""), namespace)))
        changed = replace(machine, annotations={**machine.annotations, KEY: listed})
        step = CureChange(CureKind.ANNOTATE_MACHINE, KEY, machine.name, machine.annotations.get(KEY), listed)
        yield CureProposal((step,), TrialChange(standing.content, changed))
