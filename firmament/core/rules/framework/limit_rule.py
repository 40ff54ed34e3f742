"""The base class of rules about amounts that tasks may take together.

The limit may be that of a machine, of several machines or of the cluster.

A rule about amounts states joint rows for a round. Each machine belongs to a row, each row has a limit, and each task
takes an amount of the row of its machine. All stages of a round keep to the limits: the flow, joint admission,
preemption, explanations and the final check. A limit of the whole cluster is one row that all machines share.
`find_quotas` states limits that form a tree, and whose amounts tasks give back when they end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from cost_models.api.arrays import Arrays, MalformedArraysError
from cost_models.interface import Int64, JointRows, Ledger, Needs
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.model import ClaimAllocation, TaskClass, TaskSelector
from firmament.core.state.cluster import Cluster


class RoundDemand(NamedTuple):
    """The shapes of a round's waiting tasks, for which rules state limits.

    ``shapes``: rows of the shape table; ``counts``: int64[S], how many tasks of each shape wait; ``requests``:
    int64[S, K], what a task of each shape requests; ``without``: row of a task that is not counted on its machine; -1:
    none.
    """

    shapes: Sequence[int]
    counts: Int64
    requests: Int64
    without: int = -1


class PlacedTask(NamedTuple):
    """A task that a round places on a machine: its uid, and the rows of its shape and of the machine.

    ``leaving``: uids of the tasks that leave the machine first, which frees their devices.
    """

    uid: str
    shape: int
    machine: int
    leaving: frozenset[str] = frozenset()


class LimitRule(ABC):
    """A rule about amounts that tasks take together.

    Joint rows cannot express amounts that depend on which of several things a task gets, such as one of many devices.
    For amounts that joint rows cannot express, the rule keeps a ledger during a round, and decides what tasks get
    when the round takes effect.
    """

    name: ClassVar[str]
    """kube-scheduler's name of the plugin; a name of this project if kube-scheduler has no such plugin."""

    for_tasks_with: ClassVar[tuple[str, ...]]
    """Fields of `TaskClass`: the rule is asked only in rounds in which some shape states one of these fields."""

    needs: ClassVar[Needs] = Needs()
    """Facts that drivers send only on request; see `NodeRule.needs`."""

    asked_again: ClassVar[bool] = True
    """Whether the rule's joint rows are built again when a round is closed after changes; False if ``spare``, which
    is always asked again, suffices."""

    @abstractmethod
    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, Sequence[JointRows]]:
        """Return what machines offer, int64[M, K], and the joint rows that limit it.

        Machines offer ``free``, with further columns if the rule has resources of its own.
        """

    def find_waived_requests(self, cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:  # noqa: ARG002
        """Return which part of its requests a task of a shape need not make on ``rows``: int64[len(rows), K].

        Return None if the task must make all its requests on every machine.
        """
        return None

    def find_quotas(self, cluster: Cluster, demand: RoundDemand) -> QuotaTerms | None:  # noqa: ARG002
        """Return quotas: amounts that tasks share on any machine, and give back when they end; None: there are none.

        All stages of a round keep to quotas as they keep to joint rows: the flow, joint admission, preemption,
        explanations and the final check.
        """
        return None

    def get_pool(self, cluster: Cluster, content: TaskClass) -> str:  # noqa: ARG002
        """Return the name of the pool from which tasks of a class take amounts, whatever their machine; "" for none.

        When a task ends, another task that draws on the same pool may fit, on any machine.
        """
        return ""

    def select_awaited_tasks(self, content: TaskClass) -> Iterable[TaskSelector]:  # noqa: ARG002  # for those who need it
        """Return selectors of the tasks whose end may make any machine acceptable to a class."""
        return ()

    def keep_ledger(self, cluster: Cluster, demand: RoundDemand) -> Ledger | None:  # noqa: ARG002
        """Return a ledger for the shapes of a round, numbered as in ``demand``; None if no ledger is needed."""
        return None

    def restore_ledger(self, arrays: Arrays, shapes: int, machines: int) -> Ledger:  # noqa: ARG002
        """Return the ledger that was saved for a round with ``shapes`` shapes and ``machines`` machines.

        Raise ``KeyError`` for a missing array, ``MalformedArraysError`` for invalid content.
        """
        raise MalformedArraysError(f"{self.name} keeps no ledger")

    def allocate(
        self,
        cluster: Cluster,  # noqa: ARG002
        placed: Sequence[PlacedTask],
    ) -> Sequence[tuple[ClaimAllocation, ...] | None]:
        """Return what each placed task is allocated, which the task then holds; None for a placement that fails.

        The caller holds the lock, and passes tasks that state any of ``for_tasks_with``, in the order in which they
        are placed.
        """
        return [()] * len(placed)
