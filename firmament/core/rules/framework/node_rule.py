"""The base of rules about machines. Everything about one rule is in one file, and the registry calls it.

A rule judges all machines at once for a shape, the part that many task classes have in common. From what a rule
declares follows everything else: how long its answers hold, which shapes share them, what drivers have to send, when a
waiting task is tried again, whether evictions or moves could help, and which changes of task or machine would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import ClassVar, NamedTuple

import numpy as np

from cost_models.interface import Bool, Float64, Int64, Needs
from firmament.core.changes import ChangedMachine, CureProposal
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import AnyReason, Cause
from firmament.core.state.classes import SHAPE_FIELDS
from firmament.core.state.machines import STATED_FIELDS, VERSIONED_FIELDS, MachineTable


class MachineRefusal(NamedTuple):
    """The machines that are refused for one cause; ``refused``: bool[M]."""

    cause: Cause
    refused: Bool


class NodeRule(ABC):
    """A rule that refuses machines to tasks, whatever runs on the machines.

    A rule declares which fields it reads, and its answers, arrays over all machines, may depend on nothing else:
    otherwise answers that are kept would be stale.
    """

    name: ClassVar[str]
    """What kube-scheduler calls the plugin; in words of our own where it has none."""

    reasons: ClassVar[tuple[AnyReason, ...]]
    """The reasons for which the rule refuses machines. A reason's severity says whether evictions may help, and its
    cure
    whether moves of other tasks do."""

    reads_of_task: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass` that the rule reads: tasks that are equal in these get the same answer. Only fields of
    shapes.
    """

    reads_of_machine: ClassVar[tuple[str, ...]]
    """Fields of `Machine`. Answers are kept until one of these fields changes, if the table of machines counts their
    changes (`VERSIONED_FIELDS`); else the rule is asked each time. ``allocatable`` stands for which resources some
    machine offers."""

    for_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of tasks; the rule refuses no machine to tasks without any of them. (): the rule is asked for
    every task.
    """

    for_machines_with: ClassVar[tuple[str, ...]] = ()
    """Fields of machines; the rule is not asked while no machine states any of them."""

    scores_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of tasks; the rule does not score tasks without any of them. (): if the rule scores, it scores
    every task.
    """

    needs: ClassVar[Needs] = Needs()
    """Facts that drivers send only on request, as for cost models: annotations of machines, namespaces of tasks, ..."""

    binds_running: ClassVar[bool] = True
    """Whether a refusal also concerns tasks that run on the machine already."""

    def __init_subclass__(cls) -> None:
        """Raise ``TypeError`` if the rule declares fields that do not exist, or that it may not declare."""
        known = {
            "reads_of_task": frozenset(SHAPE_FIELDS),
            "reads_of_machine": frozenset(each.name for each in fields(Machine)),
        }
        for declared, names in known.items():
            unknown = set(getattr(cls, declared, ())) - names
            if unknown:
                raise TypeError(f"{cls.__name__}.{declared}: there is no {', '.join(sorted(unknown))}")
        missing = set(cls.scores_tasks_with) - known["reads_of_task"]
        if missing:
            raise TypeError(f"{cls.__name__}.scores_tasks_with: there is no {', '.join(sorted(missing))}")
        narrowing = {
            "for_tasks_with": frozenset(cls.reads_of_task),
            "for_machines_with": STATED_FIELDS.intersection(cls.reads_of_machine),
        }
        for declared, names in narrowing.items():
            others = set(getattr(cls, declared)) - names
            if others:
                raise TypeError(f"{cls.__name__}.{declared}: {', '.join(sorted(others))} cannot be asked for")

    @property
    def lasting(self) -> bool:
        """Whether answers hold as long as the ``static_version`` of the machines."""
        return VERSIONED_FIELDS.issuperset(self.reads_of_machine)

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:  # noqa: ARG002  # for those who need it
        """Return the part of a shape on which the answer depends, if the answer depends on less than the fields read.

        None: the fields read are the key. Shapes with equal keys share an answer.
        """
        return None

    @abstractmethod
    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterable[MachineRefusal]:
        """Yield the machines that the rule refuses to a shape, cause by cause; the first cause of a machine counts."""

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return the cost of each machine for a shape by what the rule prefers; None if all cost nothing.

        ``feasible``: bool[M], the machines over which scores are scaled. Called in every round.
        """
        return None

    def find_malformed(self, content: TaskClass) -> str:  # noqa: ARG002
        """Return the fault in what a class states; "" for none. The driver gets it as an error, and the class is not
        applied.
        """
        return ""

    def count_looks(self, content: TaskClass) -> int:  # noqa: ARG002
        """Return an estimate of the evaluations per machine that a class's part of this rule costs a round.

        An estimate (see `work`) for budgets of namespaces. Called only for classes that state a field of the rule.
        """
        return 0

    def count_common_looks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return ``count_looks`` of many classes, as a burst may bring them: int64[C]."""
        return np.fromiter(map(self.count_looks, contents), dtype=np.int64, count=len(contents))

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal] | None:  # noqa: ARG002
        """Yield changes of a task, or of a machine that the rule refuses, that would cure the refusal; the smallest
        first.

        None: the rule has no cure of its own. Dropping a constraint about other tasks may still open another machine.
        """
        return None

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine without what this rule reads of its state, as if it had just been added."""
        return machine


MODEL_NAME = "kubernetes"
"""The name, in explanations, of the model that consists of a task's own preferences."""


def cost_of_score(weight: int, score: Float64, raw: Float64) -> SoftCost:
    """Return the cost of a score from 0 to 100: 100 less the score, times the ``weight`` of the rule.

    ``raw``: the figure that was scaled to the score. Both are float64[M].
    """
    return SoftCost(weight * (100.0 - score), raw, weight)
