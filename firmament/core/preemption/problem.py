"""The input of preemption: tasks on machines that may be evicted, and how long the search may take."""

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
"""Of tasks that were not evicted, or of which nobody that began it is left."""

LOWEST_WEIGHT = 2**31
"""Weight of a victim of priority 0. As in kube-scheduler, it is added to every priority before they are summed: no
weight is negative, so more victims of a negative priority never weigh less."""


@dataclass(frozen=True, slots=True)
class PreemptionProblem:
    """Tasks that may be evicted or leave anyway, in addition to a ``PlacementProblem``; immutable.

    C classes and M machines of the round, V tasks on machines, H kinds of them, K resources, B budgets, G
    gangs.
    """

    priority: Int64
    """int64[C], priority of each class as Kubernetes gives it (not compressed to ranks)."""
    may: Bool
    """bool[C], whether a class's tasks may evict others."""
    machine: Int64
    """int64[V], ascending. Tasks of one machine are in the order of leaving: lowest priority first, then latest start.
    """
    victim_priority: Int64
    """int64[V], priority of each task on a machine."""
    started: Float64
    """float64[V], seconds since the epoch."""
    weight: Int64
    """int64[V], the task's own priority plus ``LOWEST_WEIGHT``, for sums of priorities."""
    leaving: Bool
    """bool[V], tasks that leave anyway: they use room, but not for long."""
    kind: Int64
    """int64[V], row of ``requests``. Tasks of one class have several kinds if budgets count some of them as gone."""
    requests: Int64
    """int64[H, K], requests of each kind."""
    budgets: tuple[tuple[int, ...], ...]
    """The disruption budgets that cover each kind."""
    allowed: Int64
    """int64[B], how many evictions each budget allows."""
    row: Int64
    """int64[V], rows of the tasks in the core's table."""
    sequence: Int64
    """int64[V], sequence numbers of the tasks in the core's table."""
    rules: RuleSet = NO_RULES
    """The round's rules, with kind h as class C + h; empty if rules constrain no class that may evict."""
    gang: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], the gang of each task, or the group in its tree, -1 for none."""
    spare: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], how many members, or groups in it, each gang can lose and still be whole."""
    above: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[G], the gang that contains each as a group of its tree, -1 for none; those in a gang follow it directly."""
    counted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[G], whether the gang that contains each loses one of what it can spare when this one leaves."""
    together: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[G], gangs all of whose placed tasks are listed, so that they could leave as a whole."""
    own: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], the gang of each class, -1 for none."""
    granted: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[V], tasks whose eviction a budget has already granted."""
    returning: tuple[int, ...] = ()
    """Numbers of the blocks of joint rows to which evicted tasks give something back."""
    returns: Int64 = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    """int64[V, J], how much each task gives back to each of these blocks."""
    occupied: Bool | None = None
    """bool[S, M], machines that refuse a shape only because tasks use up those blocks; None for none."""

    draw: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], each task's draw (index in the problem's quota terms), -1 for none. Empty without quotas."""
    reclaims: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """bool[C], whether a class's tasks may evict others for quota. Empty without quotas."""
    since: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[C], place of each class's first task in the order of ``age``. Empty without quotas."""
    age: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[V], each task's place in the order in which tasks were created, then arrived. Empty without quotas."""

    origins: Mapping[int, Mapping[int, Int64]] = field(default_factory=lambda: NO_ORIGINS)
    """By class, and by place of a task among those of the class: tasks on machines that must not leave for it, because
    the evictions through which it lost its place began with them.
    """

    @property
    def victims(self) -> int:
        """V, the number of tasks on machines that take part."""
        return len(self.machine)


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """A task of class ``cls`` gets a place on ``machine`` (rows of the round's problem) once other tasks are gone.

    ``evicts``: tasks (indices of the ``PreemptionProblem``) evicted for it, also on other machines if a gang leaves as
    a whole. ``awaits``: all tasks that must be gone before the task may come: those of ``evicts`` on its machine,
    victims there that another decision names, and tasks that leave anyway. ``beyond``: tasks of ``evicts`` that no
    budget allows, or whose eviction a budget has counted before and would refuse to count again.
    """

    cls: int
    machine: int
    evicts: tuple[int, ...]
    awaits: tuple[int, ...]
    beyond: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PreemptionTuning:
    """Limits on the work of preemption; handed down with ``PreemptionState``."""

    most_paired: int = 256
    """Classes in pairs that a round tries, the most important first."""
    most_gangs: int = 64
    """Gangs of one priority that a round tries; each is tried by itself."""
    attempts: int = 32
    """Alternative sets of victims that a round tries."""
    few_tasks: int = 32
    """The largest number of placed tasks for which alternative sets are tried ..."""
    few_machines: int = 128
    """... and the largest number of machines. Below both, bundles are also chosen one after another."""
    most_passes: int = 5_000
    """Passes of a round; each places at least one task."""
    chunk: int = 4_096
    """Machines whose bundles are computed together; bounds memory."""
    most_found: int = 32
    """For how many more machines than waiting tasks bundles are sought, per class and pass, if ledgers must be
    asked.
    """
    most_questions: int = 20_000
    """Questions to ledgers in a round, and to models for one group: together they take some tenths of a second to
    seconds."""
    spare_arcs: int = 64
    """Machines per class beyond twice its tasks that enter the network which chooses among bundles."""
    most_moves: int = 2_000
    """Places per priority that are checked again for room that has become free elsewhere."""
    group_calls: int = 64
    """How often the places of one group are distributed over the tree."""
