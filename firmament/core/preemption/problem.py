"""What a round needs to know about the tasks on machines in order to evict some of them, and how long it may look."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.ruleset import RuleSet
from firmament.core.ranks import counting

NOBODY = -(2**62)
"""Stands for the priority of no task."""

LOWEST_WEIGHT = 2**31
"""What a task of priority 0 adds to the weight of those that go. As in kube-scheduler, which adds it to every priority
before it sums them up: no weight is negative, so that more tasks of a negative priority never count as less."""


@dataclass(frozen=True, slots=True)
class PreemptionProblem:
    """Tasks that may be evicted or leave anyway, beside a ``PlacementProblem``; never written to after it is built.

    C classes and M machines of the round, V tasks on machines, H kinds of them, K resources, B budgets:

    * ``priority``: int64[C], as given (not rank-compressed); ``may``: bool[C], classes whose tasks may evict others;
    * ``machine``: int64[V], ascending; on a machine tasks come in the order in which they would go: the lowest
      priority first, of equals the one that started latest;
    * ``victim_priority``: int64[V]; ``started``: float64[V], seconds since the epoch; ``weight``: int64[V], the task's
      own priority plus ``LOWEST_WEIGHT``, which sums of priorities are made of;
    * ``leaving``: bool[V], tasks that are on their way out already: they take room, but not for long;
    * ``kind``: int64[V], row into ``requests``: int64[H, K]; tasks of one class are of several kinds where budgets have
      counted some of them as gone already;
    * ``budgets``: per kind the disruption budgets that it costs something; ``allowed``: int64[B], how many tasks each
      lets go; ``granted``: bool[V], tasks that some budget has counted as gone;
    * ``gang``: int64[V], the gang of each task, -1 for none; ``spare``: int64[G], how many tasks each gang can lose and
      still be whole; ``together``: bool[G], gangs all of whose tasks that hold a place are among these, so that they
      could go as a whole; ``own``: int64[C], the gang that the tasks of a class belong to, -1 for none;
    * ``returning``: those of the problem's blocks of joint rows of which tasks that go give back something;
      ``returns``: int64[V, J], how much of each; ``occupied``: bool[S, M], machines that are not feasible for a shape
      for nothing but what tasks there have taken of those; None: there are none;
    * ``rules``: the rules of the round with kinds as further classes, kind h as class C + h; None: rules between tasks
      bind nobody who may evict;
    * ``row``, ``sequence``: int64[V], what the core knows the tasks by.
    """

    priority: Int64
    may: Bool
    machine: Int64
    victim_priority: Int64
    started: Float64
    weight: Int64
    leaving: Bool
    kind: Int64
    requests: Int64
    budgets: tuple[tuple[int, ...], ...]
    allowed: Int64
    row: Int64
    sequence: Int64
    rules: RuleSet | None = None
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    spare: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    together: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    own: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    granted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    returning: tuple[int, ...] = ()
    returns: Int64 = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    occupied: Bool | None = None

    @property
    def victims(self) -> int:
        """V, the number of tasks on machines that take part."""
        return len(self.machine)


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """One task of class ``cls`` gets a place on ``machine`` (rows of the round's problem) once others are gone.

    ``evicts``: tasks (indices of the ``PreemptionProblem``) that are told to go for it, on other machines as well where
    a gang goes as a whole; ``awaits``: all tasks that must be gone before it may come: those, others that are told to
    go on that machine or with somebody there, and some that leave anyway. ``beyond``: those of ``evicts`` that no
    budget allows, or whose eviction some budget has counted before: it would refuse to count it again.
    """

    cls: int
    machine: int
    evicts: tuple[int, ...]
    awaits: tuple[int, ...]
    beyond: frozenset[int] = frozenset()


class VictimGangs:
    """The members of gangs that are not on their way out when a round begins. Never changes.

    A gang loses no more than it can and still be whole, or it goes as a whole. Half a gang is never left behind.

    ``top``: int64[G], the highest priority among the members of each gang.
    """

    def __init__(self, preemption: PreemptionProblem) -> None:
        gangs = len(preemption.spare)
        gang = np.where(preemption.leaving, -1, preemption.gang) if gangs else preemption.gang
        self._tasks = np.argsort(gang, kind="stable")[np.count_nonzero(gang < 0) :]
        self._first = np.searchsorted(gang[self._tasks], np.arange(gangs + 1))
        self.top: Int64 = np.full(gangs, NOBODY, dtype=np.int64)
        np.maximum.at(self.top, gang[self._tasks], preemption.victim_priority[self._tasks])

    def members(self, gang: int) -> Int64:
        """The tasks of a gang."""
        return self._tasks[self._first[gang] : self._first[gang + 1]]

    def expand(self, gangs: Int64) -> tuple[Int64, Int64]:
        """All tasks of several gangs: place in ``gangs``, and task."""
        first = self._first[gangs]
        count = self._first[gangs + 1] - first
        place = np.repeat(np.arange(len(gangs)), count)
        return place, self._tasks[first[place] + counting(count)]


@dataclass(frozen=True, slots=True)
class PreemptionTuning:
    """Handed down with ``Prospect``."""

    most_paired: int = 256
    """Classes of tasks that belong to pairs which are tried in a round, the most important first."""
    most_gangs: int = 64
    """Gangs of one priority that are tried in a round; each is tried by itself."""
    attempts: int = 32
    """Other sets of victims that are tried in a round."""
    few_tasks: int = 32
    """Tasks that have found places up to which other sets are tried ..."""
    few_machines: int = 128
    """... on as many machines at most. There bundles are chosen one after another, too."""
    most_passes: int = 5_000
    """Passes of a round; each gives at least one task a place."""
    chunk: int = 4_096
    """Machines on which bundles are looked for together; bounds memory."""
    most_found: int = 32
    """Machines beyond the number of tasks that wait on which bundles are looked for, per class and pass, where that
    takes questions to ledgers."""
    most_questions: int = 20_000
    """Questions to ledgers in a round, and to models for one group: some tenths of a second to seconds."""
    spare_arcs: int = 64
    """Machines per class beyond twice its tasks that enter the network which chooses among bundles."""
    most_moves: int = 2_000
    """Places that are looked at again per priority, for room that has become free elsewhere."""
    group_calls: int = 64
    """Times that the places of one group are shared out over the tree."""
