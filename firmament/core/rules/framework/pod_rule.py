"""The base of rules between tasks: where one may go depends on where others are.

Such a rule is compiled, for the classes of a round, into conditions on counters: how many tasks of which classes are in
each domain. The engine of `constraints` knows counters, and no rule.
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
    """A rule between tasks."""

    name: ClassVar[str]
    """What kube-scheduler calls the plugin."""

    called: ClassVar[Mapping[Reason, str]]
    """The reasons that the rule has, each with what people call the constraint behind it."""

    stated_in: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass` in which a class states it."""

    @abstractmethod
    def compile(self, compilation: Compilation) -> None:
        """Add what the rule means for the classes that wait: as they state it, and as others do that select them."""

    def awaits(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return whose coming or going may open a machine to a class, wherever that is, as the class states them.

        A task that goes also opens its own machine; that is looked at anyway, so such tasks are not listed.
        """
        return ()

    def keeps_off(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return selectors of tasks that a class may keep off machines elsewhere: when one of its tasks goes, these may
        come."""
        return ()

    @abstractmethod
    def count_looks(self, content: TaskClass) -> int:
        """Return how often a round looks at each machine for what a class states; an estimate, see `work`."""

    def count_pairing(self, content: TaskClass) -> int:  # noqa: ARG002  # for those who need it
        """Return how many terms a class has that are more work for each class that waits and is selected by them."""
        return 0

    def prefers(self, content: TaskClass) -> bool:  # noqa: ARG002  # for those who need it
        """Return whether a class would rather be where certain others are, or are not."""
        return False

    @abstractmethod
    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield the task with one constraint of the rule wider, or less."""
