"""The input of preemption: tasks on machines that may be evicted, and how long the search may take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.ranks import counting

NOBODY = -(2**62)
"""Stands for the priority of no task."""

LOWEST_WEIGHT = 2**31
"""What a task of priority 0 adds to the weight of those that go. As in kube-scheduler, which adds it to every priority
before it sums them up: no weight is negative, so that more tasks of a negative priority never count as less."""


@dataclass(frozen=True, slots=True)
class PreemptionProblem:
    """Tasks that may be evicted or leave anyway, beside a ``PlacementProblem``; never written to after it is
    built.

    C classes and M machines of the round, V tasks on machines, H kinds of them, K resources, B budgets, G
    gangs.
    """

    priority: Int64
    """int64[C], as given (not rank-compressed)."""
    may: Bool
    """bool[C], whether a class's tasks may evict others."""
    machine: Int64
    """int64[V], ascending. On a machine, tasks come in the order of leaving: lowest priority first, of equals
    the one that started latest.
    """
    victim_priority: Int64
    """int64[V]."""
    started: Float64
    """float64[V], seconds since the epoch."""
    weight: Int64
    """int64[V], the task's own priority plus ``LOWEST_WEIGHT``, for sums of priorities."""
    leaving: Bool
    """bool[V], tasks that leave already: they take room, but not for long."""
    kind: Int64
    """int64[V], row of ``requests``. Tasks of one class are of several kinds if budgets count some of them as
    gone.
    """
    requests: Int64
    """int64[H, K]."""
    budgets: tuple[tuple[int, ...], ...]
    """Disruption budgets that each kind uses."""
    allowed: Int64
    """int64[B], how many tasks each budget lets go."""
    row: Int64
    """int64[V], rows of the tasks in the core's table."""
    sequence: Int64
    """int64[V], sequence numbers of the tasks in the core's table."""
    rules: RuleSet = NO_RULES
    """The round's rules, with kind h as class C + h; none if rules between tasks bind no class that may
    evict.
    """
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], gang of each task, -1 for none."""
    spare: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], how many tasks each gang can lose and still be whole."""
    together: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[G], gangs of which all placed tasks are listed, so that they could leave as a whole."""
    own: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], gang of a class's tasks, -1 for none."""
    granted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[V], tasks that some budget counts as gone."""
    returning: tuple[int, ...] = ()
    """Blocks of joint rows of which leaving tasks give something back."""
    returns: Int64 = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    """int64[V, J], how much of each block."""
    occupied: Bool | None = None
    """bool[S, M], machines that refuse a shape only for what tasks have taken of those blocks; None for none.
    """

    draw: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], what each task takes of quotas, by number of the problem's draws; -1: nothing. Empty without."""
    reclaims: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[C], whether a class's tasks may evict others for quota. Empty without."""
    since: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], sequence number of the first task of each class. Empty without quotas."""

    @property
    def victims(self) -> int:
        """V, the number of tasks on machines that take part."""
        return len(self.machine)


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """One task of class ``cls`` gets a place on ``machine`` (rows of the round's problem) once others are gone.

    ``evicts``: tasks (indices of the ``PreemptionProblem``) that are evicted for it; if a gang goes as a whole, also on
    other machines. ``awaits``: all tasks that must be gone before it may come. Besides those of ``evicts`` on its
    machine these are evicted tasks there that another decision names, and tasks that leave anyway. ``beyond``: those of
    ``evicts`` that no budget allows, or whose eviction some budget has counted before: it would refuse to count it
    again.
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
        """Return the tasks of a gang."""
        return self._tasks[self._first[gang] : self._first[gang + 1]]

    def expand(self, gangs: Int64) -> tuple[Int64, Int64]:
        """Return all tasks of several gangs: place in ``gangs``, and task."""
        first = self._first[gangs]
        count = self._first[gangs + 1] - first
        place = np.repeat(np.arange(len(gangs)), count)
        return place, self._tasks[first[place] + counting(count)]


@dataclass(frozen=True, slots=True)
class PreemptionTuning:
    """Handed down with ``PreemptionState``."""

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
