"""The base of rules about machines: everything about one rule is in one file, and the registry asks for it.

A rule judges all machines at once for a shape, the part of a task class that tasks of many classes have in common. All
else follows from what it declares: how long its answers hold, which shapes share them, what drivers have to send, when
a waiting task is tried again, whether evictions or moves could help, and which changes of task or machine would.
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
    """The machines to which a cause applies: bool[M]."""

    cause: Cause
    refused: Bool


class NodeRule(ABC):
    """A rule that refuses machines to tasks, whatever runs there.

    The class says what the rule reads; a rule that reads anything else gives stale answers. Its answers are columns
    over all machines, and depend on nothing but what it reads.
    """

    name: ClassVar[str]
    """What kube-scheduler calls the plugin; in words of our own where it has none."""

    reasons: ClassVar[tuple[AnyReason, ...]]
    """What it refuses machines for. Their severity says whether evictions may help, and what cures them whether moves
    of other tasks do."""

    reads_of_task: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass`: tasks that are equal in these get the same answer. Only what shapes have is there."""

    reads_of_machine: ClassVar[tuple[str, ...]]
    """Fields of `Machine`. Answers are kept until one of these fields changes, if the table of machines counts their
    changes (`VERSIONED_FIELDS`); else the rule is asked each time. ``allocatable`` stands for which resources some
    machine offers."""

    for_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of the task; for tasks without any of them the rule refuses nothing. (): the rule is asked for every
    task."""

    for_machines_with: ClassVar[tuple[str, ...]] = ()
    """Fields of machines; the rule is not asked while no machine has any of them."""

    scores_tasks_with: ClassVar[tuple[str, ...]] = ()
    """Fields of the task; for tasks without any of them the rule scores nothing. (): the rule, if it scores at all,
    scores every task."""

    needs: ClassVar[Needs] = Needs()
    """What drivers tell only on request, as for cost models: annotations of machines, namespaces of tasks, ..."""

    binds_running: ClassVar[bool] = True
    """Whether a task that runs on a machine which is refused to it now breaks the rule."""

    def __init_subclass__(cls) -> None:
        """Raise ``TypeError`` if the rule declares what cannot be."""
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
        """Return the part of a shape that the answer depends on, if that is less than the fields that the rule reads.

        None: it is these fields. Shapes with one key share an answer.
        """
        return None

    @abstractmethod
    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterable[MachineRefusal]:
        """Yield the machines that the rule refuses to a shape, cause by cause; of several, a machine's first counts."""

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return what machines cost a shape by the preferred half of the rule; None: nothing.

        ``feasible``: bool[M], the machines over which scores are scaled. It is asked in each round.
        """
        return None

    def find_malformed(self, content: TaskClass) -> str:  # noqa: ARG002
        """Return what is wrong with what a class states; "" for nothing. Drivers are told, and nothing is applied."""
        return ""

    def count_looks(self, content: TaskClass) -> int:  # noqa: ARG002
        """Return how often a round looks at each machine for the rule; it is asked of classes that state what it reads.

        An estimate (see `work`): what a namespace asks for beyond its budget waits for rounds of its own.
        """
        return 0

    def count_common_looks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return the same of several classes, int64[C]: thousands arrive with a burst."""
        return np.fromiter(map(self.count_looks, contents), dtype=np.int64, count=len(contents))

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal] | None:  # noqa: ARG002
        """Yield what could be changed about a task or a machine that it refuses, the smallest change first.

        None: nothing about the rule itself. One constraint of the task about others less may open another machine.
        """
        return None

    def as_new(self, machine: Machine) -> Machine:
        """Return a machine as one more like it would be, as far as the rule is concerned."""
        return machine


MODEL_NAME = "kubernetes"
"""What explanations call the model that a task's own preferences make up."""


def cost_of_score(weight: int, score: Float64, raw: Float64) -> SoftCost:
    """Return the cost of a score of 0 to 100: what it leaves of 100, times the ``weight`` of the rule.

    ``raw``: what the score is made of. Both are float64[M].
    """
    return SoftCost(weight * (100.0 - score), raw, weight)
