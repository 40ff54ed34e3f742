"""The base of rules about amounts: how much tasks may take together, of a machine, of several or of the
cluster.

Such a rule states joint rows for a round: a row has a limit, machines have a row, and each task takes of the row of its
machine. The flow, admission, preemption, explanations and the check at the end of a round all keep to them. A limit of
the whole cluster is one row that all machines share. Limits that form a tree, and give back what tasks took, are stated
as `find_quotas` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from cost_models.interface import Int64, JointRows, Ledger, Needs
from firmament.core.constraints.quota_room import QuotaTerms
from firmament.core.model import ClaimAllocation, TaskClass, TaskSelector
from firmament.core.state.cluster import Cluster


class RoundDemand(NamedTuple):
    """The shapes of a round: ``shapes``, rows of the shape table; ``counts``: int64[S], how many tasks of each wait;
    ``requests``: int64[S, K], what one asks for. ``without``: row of a task that is not counted where it is; -1: none.
    """

    shapes: Sequence[int]
    counts: Int64
    requests: Int64
    without: int = -1


class PlacedTask(NamedTuple):
    """A task that comes to a machine as a round takes effect: its uid, its shape and the machine as rows of their
    tables. ``leaving``: uids of tasks that leave before it comes, so that their devices are free for others.
    """

    uid: str
    shape: int
    machine: int
    leaving: frozenset[str] = frozenset()


class LimitRule(ABC):
    """A rule about amounts that tasks take together.

    Where rows cannot say how much that is, because what is left depends on which of several things a task has got, the
    rule keeps a ledger for a round, and settles what the round's tasks get when the round takes effect.
    """

    name: ClassVar[str]
    """What kube-scheduler calls the plugin; in words of our own where it has none."""

    for_tasks_with: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass`: the rule is asked only in rounds in which some shape states one of them."""

    needs: ClassVar[Needs] = Needs()
    """What drivers tell only on request, as for rules about machines."""

    asked_again: ClassVar[bool] = True
    """Whether its rows are made anew when a round is closed after something has changed; False where ``spare``, which
    is asked then too, says all."""

    @abstractmethod
    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, Sequence[JointRows]]:
        """Return what machines offer, and the rows that limit it. Offers are int64[M, K]: ``free``, with columns of the
        rule's own if it has any.
        """

    def spare(self, cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:  # noqa: ARG002
        """Return what a task of a shape need not ask of machines (rows) after all; None: nothing.

        int64[len(rows), K]
        """
        return None

    def find_quotas(self, cluster: Cluster, demand: RoundDemand) -> QuotaTerms | None:  # noqa: ARG002
        """Return amounts that tasks share wherever they are, and give back when they end; None: there are none.

        The flow, admission, preemption, explanations and the check at the end of a round keep to them as to rows.
        """
        return None

    def get_pool(self, cluster: Cluster, content: TaskClass) -> str:  # noqa: ARG002
        """Return a name for what tasks of a class share wherever they are, "" for nothing.

        A task that ends may let in another one of the same pool, on any machine.
        """
        return ""

    def awaits(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return whose going may open a machine to a class, wherever it is."""
        return ()

    def keep_ledger(self, cluster: Cluster, demand: RoundDemand) -> Ledger | None:  # noqa: ARG002
        """Return a ledger for the shapes of a round, which go by their places in ``demand``; None: none is needed."""
        return None

    def hand_out(
        self,
        cluster: Cluster,  # noqa: ARG002
        placed: Sequence[PlacedTask],
    ) -> Sequence[tuple[ClaimAllocation, ...] | None]:
        """Return what tasks get, and let them hold it; None for each placement that does not hold after all.

        Called under the lock, for tasks that come to machines in this order, and state any of ``for_tasks_with``.
        """
        return [()] * len(placed)
