"""Defines the input of preemption: tasks on machines that may be evicted, and limits on the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.ruleset import NO_RULES, RuleSet

NOBODY = -(2**62)
"""Priority that stands for "no task"."""

NO_ORIGINS: Mapping[int, Mapping[int, Int64]] = MappingProxyType({})
"""Value for rounds in which no class has tasks that lost their places through evictions."""

LOWEST_WEIGHT = 2**31
"""Weight of a victim of priority 0. As in kube-scheduler, it is added to every priority before priorities are summed.
So no weight is negative, and more victims of a negative priority never weigh less.
"""


@dataclass(frozen=True, slots=True)
class PreemptionProblem:
    """Tasks that may be evicted or leave anyway, in addition to a ``PlacementProblem``; immutable.

    Sizes: C classes and M machines of the round, V tasks on machines, H kinds of these tasks, K resources, B disruption
    budgets, G gangs.
    """

    priority: Int64
    """int64[C], priority of each class as Kubernetes states it (not compressed to ranks)."""
    may: Bool
    """bool[C], whether a class's tasks may evict others."""
    machine: Int64
    """int64[V], machine of each task, ascending.
    Tasks of one machine are in the order of leaving: lowest priority first, then latest start.
    """
    victim_priority: Int64
    """int64[V], priority of each task on a machine."""
    started: Float64
    """float64[V], when each task started, in seconds since the epoch."""
    weight: Int64
    """int64[V], each task's priority plus ``LOWEST_WEIGHT``, for sums of priorities."""
    leaving: Bool
    """bool[V], tasks that leave anyway: they still use capacity, but not for long."""
    kind: Int64
    """int64[V], row of each task in ``requests``.

    Tasks of one class form several kinds if budgets count some of the tasks as gone.
    """
    requests: Int64
    """int64[H, K], requests of each kind."""
    budgets: tuple[tuple[int, ...], ...]
    """For each kind, the disruption budgets that cover it."""
    allowed: Int64
    """int64[B], number of evictions that each budget allows."""
    row: Int64
    """int64[V], row of each task in the core's table of tasks."""
    sequence: Int64
    """int64[V], sequence number of each task in the core's table of tasks."""
    rules: RuleSet = NO_RULES
    """The round's rules between tasks, with kind h as class C + h; empty if no class that may evict has rules."""
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], the gang of each task, or the group in a tree of groups; -1 for none."""
    spare: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], how many members (tasks or groups) each gang can lose and still have enough."""
    above: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], the gang that contains each group of a tree, -1 for none; the groups in a gang follow it directly."""
    counted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[G], whether the gang above loses one of the members that it can spare when this group leaves."""
    together: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[G], gangs that could leave as a whole, because all of their placed tasks are in this list."""
    own: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], the gang of each class, -1 for none."""
    granted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[V], tasks whose eviction a disruption budget has already granted."""
    returning: tuple[int, ...] = ()
    """Numbers of the blocks of joint rows to which evicted tasks give capacity back."""
    returns: Int64 = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    """int64[V, J], how much each task gives back to each of these blocks."""
    occupied: Bool | None = None
    """bool[S, M], machines that refuse a shape only because tasks use up those blocks; None if there are none."""

    draw: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], each task's draw on quotas (index in the problem's quota terms), -1 for none. Empty without quotas."""
    reclaims: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[C], whether a class's tasks may evict others for quota. Empty without quotas."""
    since: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], position of each class's first task in the order of ``age``. Empty without quotas."""
    age: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], each task's position in the order in which tasks were created, then arrived. Empty without quotas."""

    origins: Mapping[int, Mapping[int, Int64]] = field(default_factory=lambda: NO_ORIGINS)
    """By class, and by a task's position in the class: tasks on machines that must not be evicted for that task.

    A task must not leave if the evictions through which this task lost its place began with it.
    """

    @property
    def victims(self) -> int:
        """The number of tasks on machines that take part."""
        return len(self.machine)


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """A task of class ``cls`` gets a place on ``machine`` (rows of the round's problem) once other tasks are gone.

    ``evicts``: tasks (indices of the ``PreemptionProblem``) evicted for this task, also on other machines if a gang
    leaves as a whole. ``awaits``: all tasks that must be gone before the task may come: tasks of ``evicts`` on its
    machine, victims there that another decision names, and tasks that leave anyway. ``beyond``: tasks of ``evicts``
    that no budget allows, or that a budget has counted before and would refuse to count again.
    """

    cls: int
    machine: int
    evicts: tuple[int, ...]
    awaits: tuple[int, ...]
    beyond: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PreemptionTuning:
    """Limits on the work of preemption; ``PreemptionState`` passes them on."""

    most_paired: int = 256
    """Most classes in pairs that a round tries; the most important ones are tried."""
    most_gangs: int = 64
    """Most gangs of one priority that a round tries; each is tried by itself."""
    attempts: int = 32
    """Most alternative sets of victims that a round tries."""
    few_tasks: int = 32
    """Alternative sets of victims are tried for at most this many tasks on at most ``few_machines`` machines."""
    few_machines: int = 128
    """See ``few_tasks``; below both limits, bundles are also chosen one after another."""
    most_passes: int = 5_000
    """Most passes of a round; each places at least one task."""
    chunk: int = 4_096
    """Number of machines whose bundles are computed together, which limits memory."""
    most_found: int = 32
    """Machines beyond the waiting tasks for which bundles are sought, per class and pass, if ledgers must be asked."""
    most_questions: int = 20_000
    """Most questions to ledgers in a round, and to models for one group.
    This many questions take some tenths of a second to seconds.
    """
    spare_arcs: int = 64
    """Number of machines per class beyond twice its tasks that enter the network which chooses among bundles."""
    most_moves: int = 2_000
    """Most places per priority for which the search checks again whether capacity elsewhere has become free."""
    group_calls: int = 64
    """Most times that the places of one group are distributed over the tree."""
