"""The base class of rules between tasks: rules by which a task's machine depends on where other tasks are.

A rule between tasks is compiled, for the classes of a round, into conditions on counters: how many tasks of some
classes are in each domain. The package `constraints` evaluates counters and knows no rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from firmament.core.changes import ChangedMachine, CureProposal
from firmament.core.model import TaskClass, TaskSelector
from firmament.core.reasons import Reason
from firmament.core.rules.framework.compilation import Compilation


class PodRule(ABC):
    """A rule about where tasks are relative to other tasks."""

    name: ClassVar[str]
    """kube-scheduler's name of the plugin."""

    called: ClassVar[Mapping[Reason, str]]
    """The reasons for which the rule refuses machines, each with the name that messages give the constraint behind
    it."""

    stated_in: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass` in which a class states the rule."""

    @abstractmethod
    def compile(self, compilation: Compilation) -> None:
        """Add the rule's conditions for the waiting classes: those they state, and those that other classes state."""

    def select_awaited_tasks(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return selectors of the tasks whose arrival or departure may make any machine acceptable to a class.

        A task that leaves may always make its own machine acceptable; callers assume this without a selector.
        """
        return ()

    def select_excluded_tasks(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return selectors of the tasks that may not share a domain, such as a machine, with tasks of a class.

        When the tasks of the class leave, the selected tasks may be placed.
        """
        return ()

    @abstractmethod
    def count_checks(self, content: TaskClass) -> int:
        """Return an estimate of how often a round evaluates, for each machine, what a class states.

        `work` defines the unit.
        """

    def count_pairing(self, content: TaskClass) -> int:  # noqa: ARG002  # for those who need it
        """Return how many terms of a class need extra work for each waiting class that they select."""
        return 0

    def states_preference(self, content: TaskClass) -> bool:  # noqa: ARG002  # for those who need it
        """Return whether a class states the rule as a preference."""
        return False

    @abstractmethod
    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures: the task with one constraint of the rule widened or dropped."""
