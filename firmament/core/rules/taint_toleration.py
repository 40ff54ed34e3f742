"""TaintToleration: taints with the effect NoSchedule or NoExecute keep tasks off that do not tolerate them; those with
PreferNoSchedule cost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import Machine, Taint, TaskClass, Toleration
from firmament.core.reasons import Reason, explain_untolerated
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule, cost_of_score
from firmament.core.selectors.taints import COMPARING, HARD_EFFECTS, decimal, is_tolerated
from firmament.core.state.machines import MachineTable

_TOLERATIONS_PER_LOOK = 4


WEIGHT = 3
"""kube-scheduler's default weight of the plugin's score."""


class TaintToleration(NodeRule):
    """Every hard taint of the machine must be tolerated; the first that is not is told."""

    name = "TaintToleration"
    reasons = (Reason.UNTOLERATED,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("taints",)
    for_machines_with = ("taints",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines by the first taint of each that is not tolerated."""
        key = shape.tolerations, len(machines)
        known = machines.taints.answers.get(key)
        if known is None:
            first, taints = machines.taints.first_untolerated(*key)
            refusals = (
                MachineRefusal(explain_untolerated(each), first == at) for at, each in enumerate(taints)
            )
            known = machines.taints.keep(key, tuple(refusals))
        yield from known

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:
        """Return what taints with the effect PreferNoSchedule cost: their number, scaled and inverted."""
        if not machines.taints.soft:
            return None
        unwanted = machines.taints.count_untolerated_preferences(shape.tolerations, len(machines)).astype(
            np.float64
        )
        most = unwanted[feasible].max(initial=0.0)
        if most <= 0:
            return None
        score = 100.0 - np.floor(100.0 * unwanted / most)
        return cost_of_score(WEIGHT, np.maximum(score, 0.0), -unwanted)

    def find_malformed(self, content: TaskClass) -> str:
        """Return which toleration compares with something that is no integer."""
        for each in content.tolerations:
            if each.operator in COMPARING and decimal(each.value) is None:
                return f"toleration of {each.key!r} compares with {each.value!r}, which is no integer"
        return ""

    def count_looks(self, content: TaskClass) -> int:
        """Return one for some tolerations."""
        return len(content.tolerations) // _TOLERATIONS_PER_LOOK

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the task with all taints tolerated that keep it away."""
        content = standing.content
        hard = [
            taint
            for taint in standing.machine.taints
            if taint.effect in HARD_EFFECTS and not is_tolerated(content.tolerations, taint)
        ]
        if not hard:
            return
        more = tuple(
            Toleration(taint.key, "Equal" if taint.value else "Exists", taint.value, taint.effect)
            for taint in hard
        )
        steps = tuple(CureChange(CureKind.TOLERATE, _format_taint(taint)) for taint in hard)
        changed = replace(content, tolerations=(*content.tolerations, *more))
        yield CureProposal(steps, TrialChange(changed, standing.machine))


def find_tolerated(machines: MachineTable, content: TaskClass) -> Bool:
    """Return bool[M]: machines of which a class tolerates every hard taint."""
    first, _ = machines.taints.first_untolerated(content.tolerations, len(machines))
    tolerated: Bool = first < 0
    return tolerated


def mark_tolerated(content: TaskClass) -> Hashable:
    """Return what of a class ``find_tolerated`` depends on."""
    return content.tolerations


def tolerates(content: TaskClass, taint: Taint) -> bool:
    """Return whether a class tolerates a taint."""
    return is_tolerated(content.tolerations, taint)


def add_taint(machine: Machine, taint: Taint) -> Machine:
    """Return a machine with one more taint, if it has not got it."""
    return machine if taint in machine.taints else replace(machine, taints=(*machine.taints, taint))


def _format_taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
