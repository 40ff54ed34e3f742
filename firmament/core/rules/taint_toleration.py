"""TaintToleration: keeps tasks off machines with a NoSchedule or NoExecute taint that the tasks do not tolerate.

An untolerated taint with the effect PreferNoSchedule adds to the cost of a machine. Neither the solver nor the bridge
evicts a running pod for a NoExecute taint: Kubernetes' taint eviction controller does that, after the pod's
``tolerationSeconds``.
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
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.taints import COMPARING, HARD_EFFECTS, is_tolerated, parse_compared_integer
from firmament.core.state.machines import MachineTable

_TOLERATIONS_PER_CHECK = 4


WEIGHT = 3
"""kube-scheduler's default weight of the plugin's score."""


class TaintToleration(NodeRule):
    """Requires that a task tolerates every hard taint of the machine.

    The reason names the first taint that the task does not tolerate.
    """

    name = "TaintToleration"
    reasons = (Reason.UNTOLERATED,)
    reads_of_task = ("tolerations",)
    reads_of_machine = ("taints",)
    for_machines_with = ("taints",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines with an untolerated taint, grouped by the first such taint."""
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
        """Return the cost by the scaled number of untolerated PreferNoSchedule taints.

        Return None if no feasible machine has an untolerated PreferNoSchedule taint.
        """
        if not machines.taints.soft:
            return None
        unwanted = machines.taints.count_untolerated_preferences(shape.tolerations, len(machines)).astype(
            np.float64
        )
        most = unwanted[feasible].max(initial=0.0)
        if most <= 0:
            return None
        score = 100.0 - np.floor(100.0 * unwanted / most)
        return SoftCost.from_score(WEIGHT, np.maximum(score, 0.0), -unwanted)

    def find_malformed(self, content: TaskClass) -> str:
        """Return which toleration compares with a value that is no integer; "" if none does."""
        for each in content.tolerations:
            if each.operator in COMPARING and parse_compared_integer(each.value) is None:
                return f"toleration of {each.key!r} compares with {each.value!r}, which is no integer"
        return ""

    def count_checks(self, content: TaskClass) -> int:
        """Return one check for every four tolerations."""
        return len(content.tolerations) // _TOLERATIONS_PER_CHECK

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the cure that makes the task tolerate every hard taint of the machine."""
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
    """Return the machines with only such hard taints as a class tolerates: bool[M]."""
    first, _ = machines.taints.first_untolerated(content.tolerations, len(machines))
    tolerated: Bool = first < 0
    return tolerated


def mark_tolerated(content: TaskClass) -> Hashable:
    """Return the parts of a class that ``find_tolerated`` reads, as a key for caches."""
    return content.tolerations


def tolerates(content: TaskClass, taint: Taint) -> bool:
    """Return whether a class tolerates a taint."""
    return is_tolerated(content.tolerations, taint)


def add_taint(machine: Machine, taint: Taint) -> Machine:
    """Return a machine with a taint added, unless it has the taint already."""
    return machine if taint in machine.taints else replace(machine, taints=(*machine.taints, taint))


def _format_taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
