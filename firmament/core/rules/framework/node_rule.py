"""The base class of rules about machines.

One file contains everything about a rule on machines, and the registry calls it. A rule judges all machines at once
for a shape, that is, for all task classes with this shape. All else follows from what a rule declares: how long its
answers hold, which shapes share them, what drivers must send, when a waiting task is tried again, whether evictions
or moves could help, and which changes of task or machine would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import ClassVar, NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64, Needs
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

    A rule declares which fields it reads. A rule's answers, arrays over all machines, may depend on no other fields
    than it declares: otherwise cached answers would be outdated.
    """

    name: ClassVar[str]
    """kube-scheduler's name of the plugin, or a name of this project if kube-scheduler has no such plugin."""

    reasons: ClassVar[tuple[AnyReason, ...]]
    """The reasons for which the rule refuses machines. The severity of a reason says whether evictions may help, and
    the cure of a reason says whether moves of other tasks help."""

    reads_of_task: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass` that the rule reads: tasks that are equal in these fields get the same answer. Only
    fields that are part of shapes may be declared.
    """

    reads_of_machine: ClassVar[tuple[str, ...]]
    """Fields of `Machine` that the rule reads.

    If the machine table counts changes of these fields (`VERSIONED_FIELDS`), the rule's answers are kept until a
    field changes; otherwise the rule is asked each time. ``allocatable`` means only which resources some machine
    offers, not the amounts.
    """

    for_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of tasks: the rule refuses no machine to a task that states none of these fields.

    With an empty tuple, the rule is asked for every task.
    """

    for_machines_with: ClassVar[tuple[str, ...]] = ()
    """Fields of machines: the rule is not asked while no machine states any of these fields."""

    scores_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of tasks: the rule does not score a task that states none of these fields.

    With an empty tuple, a rule that scores scores every task.
    """

    needs: ClassVar[Needs] = Needs()
    """Facts that drivers send only if a rule or cost model asks for them: annotations of machines, namespaces of
    tasks, ..."""

    binds_running: ClassVar[bool] = True
    """Whether a refusal also concerns tasks that already run on the machine."""

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
        """Return whether answers hold as long as the machines' ``static_version`` stays the same."""
        return VERSIONED_FIELDS.issuperset(self.reads_of_machine)

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:  # noqa: ARG002  # for those who need it
        """Return the part of a shape on which the answer depends, if it is less than all fields that the rule reads.

        Return None if the answer depends on all fields in ``reads_of_task``. Shapes with equal keys share an answer.
        """
        return None

    @abstractmethod
    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterable[MachineRefusal]:
        """Yield the machines that the rule refuses to a shape, cause by cause; a machine's first cause counts."""

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return the cost of each machine for a shape by what the rule prefers; None if all machines cost nothing.

        ``feasible``: bool[M], the machines over which scores are scaled. The method is called in every round.
        """
        return None

    def find_malformed(self, content: TaskClass) -> str:  # noqa: ARG002
        """Return what is wrong with the fields of a class that the rule reads; "" if nothing is.

        The driver gets the text as an error, and the class is not applied.
        """
        return ""

    def count_checks(self, content: TaskClass) -> int:  # noqa: ARG002
        """Return an estimate of how many checks of each machine this rule takes for a class.

        A check is one comparison of a class with a machine.

        Budgets of namespaces use the estimate (see `work`). The method is called only for classes that state a field
        of the rule.
        """
        return 0

    def count_common_checks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return ``count_checks`` of many classes, of which there may be thousands at once: int64[C]."""
        return np.fromiter(map(self.count_checks, contents), dtype=np.int64, count=len(contents))

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal] | None:  # noqa: ARG002
        """Yield changes of a task, or of a refused machine, that would cure the refusal; the smallest change first.

        A rule that yields nothing has no cure of its own. Dropping a constraint about other tasks may still make
        another machine acceptable.
        """
        return None

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine as if it had just been added: without those parts of its state that the rule reads."""
        return machine


MODEL_NAME = "kubernetes"
"""The name that explanations use for a task's own preferences, as if a cost model stated them."""
