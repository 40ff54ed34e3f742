"""Gives places to tasks that found none, by evicting less important tasks (preemption).

Priorities are handled from the highest to the lowest. Within a priority, gangs come first, each as a whole or not at
all. `stages` finds the places; for groups with rules over a tree, `tree_groups` finds them.

Tasks choose their victims one after another. The best choice for one task may use up a disruption budget or a gang
that later tasks need more. If the victims exceed a budget, or if more tasks leave than come, the stages therefore run
again from the beginning under a restriction (`VictimConstraint`). The best outcome counts: more tasks placed, budgets
exceeded by less, less important victims, fewer victims.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.remaining_quota import ENDLESS
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.pod_sets import list_confinements, pin_pod_sets
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import NOBODY, PreemptionDecision, PreemptionProblem, PreemptionTuning
from firmament.core.preemption.quotas.flavors import FlavorChoice, drop_places
from firmament.core.preemption.quotas.hindsight import spare_needless_victims
from firmament.core.preemption.quotas.reclaim import QuotaReclaim
from firmament.core.preemption.quotas.strict_order import find_behind
from firmament.core.preemption.reprieve import list_decisions
from firmament.core.preemption.stages import Stages
from firmament.core.preemption.tree_groups.groups import preempt_for_group, waiting_together
from firmament.solvers.base import Solver


def preempt(
    problem: PlacementProblem,
    preemption: PreemptionProblem,
    placed: Assignments,
    solver: Solver,
    time_limit: float | None,
    shortages: MutableMapping[int, str],
    tuning: PreemptionTuning,
) -> tuple[tuple[PreemptionDecision, ...], Assignments]:
    """Return which tasks without a place in ``placed`` evict others, in order of decision, and what ``placed`` keeps.

    A task leaves ``placed`` if evicting others in one flavor is better for it than its place in another flavor. Within
    a class, the task that has waited longest comes first.

    ``shortages``: by gang, why a group found no place; extended if preemption finds no place either. Equal arguments
    give equal results. Raises ``SolverError``; after a time-out, the decisions made so far are returned.
    """
    waiting = placed.count_per_class(problem.classes) < problem.counts.sum(axis=1)
    problem = pin_pod_sets(problem, placed, waiting=waiting)
    now = PreemptionState(problem, preemption, placed, tuning)
    able = (now.remaining > 0) & preemption.may
    # Only the most important classes in pairs are tried, as each workload of an application is a class of its own.
    paired = np.flatnonzero(able & problem.pairs.find_paired(problem.classes))
    first = np.lexsort((paired, -preemption.priority[paired]))
    able[paired[first][tuning.most_paired :]] = False
    gang, need = _whole_gangs(problem, placed)
    behind = find_behind(now, gang)
    able &= ~_find_without_quota(now, gang, need) & ~behind
    served = {*problem.gang[placed.cls].tolist()} if len(problem.gang) else set()
    attempts = AttemptSearch(Stages(now, solver, time_limit), tuning.attempts)
    for priority in np.unique(preemption.priority[able])[::-1].tolist():
        band = able & (preemption.priority == priority)
        in_vain: set[bytes] = set()
        for number in np.unique(gang[band & (gang >= 0)])[: tuning.most_gangs].tolist():
            members = np.flatnonzero(band & (gang == number))
            if number in problem.topology.every:
                # If a group got some places in this round, it tries for the remaining tasks in the next round.
                if len(members) == np.count_nonzero(gang == number) and number not in served:
                    found = preempt_for_group(now, problem.topology, number, solver)
                    if not isinstance(found, str):
                        now = found
                    elif number in shortages and found not in shortages[number]:
                        shortages[number] += f"; without less important pods: {found}"
                continue
            alike = np.append(problem.shape[members], [*now.remaining[members], need[number]]).tobytes()
            if alike in in_vain and not now.ruled:  # with rules, classes of equal shape may differ
                continue
            trial = attempts.find_whole(now, members, int(need[number]))
            if trial is None:
                in_vain.add(alike)
            else:
                now = trial
        now = attempts.find_best(now, np.flatnonzero(band & (gang < 0)))
    if preemption.reclaims.any():
        now, placed = _reclaim_quota(now, preemption.reclaims & ~behind, placed, solver, gang, need)
    return waiting_together(problem, list_decisions(now)), placed


def _reclaim_quota(
    now: PreemptionState, reclaims: Bool, placed: Assignments, solver: Solver, gang: Int64, need: Int64
) -> tuple[PreemptionState, Assignments]:
    """Return the state after tasks were evicted for quota, and what is left of ``placed``.

    ``reclaims``: bool[C], classes whose tasks may evict for quota. ``gang``, ``need``: as `_whole_gangs` returns
    them. If a tree of groups has got some places in this round, it keeps them, and tries for the others in the next
    round.
    """
    reclaim, in_trees = QuotaReclaim(now, solver), _find_in_trees(now.problem)
    begin = reclaim.state
    if given_up := FlavorChoice(reclaim, placed).trade_places_for_evictions(reclaims & ~in_trees, gang, need):
        placed = drop_places(placed, given_up)
    served = np.append(placed.cls, np.array([cls for cls, _ in now.taken], dtype=np.int64))
    begun = in_trees & np.isin(gang, gang[served])
    reclaim.run(reclaims & ~begun, gang, need)
    spare_needless_victims(reclaim, begin)
    return reclaim.state, placed


def _whole_gangs(problem: PlacementProblem, placed: Assignments) -> tuple[Int64, Int64]:
    """Return the gang of each class whose tasks must be placed together, and how many tasks each gang needs.

    The function returns int64[C], the gang of each class (-1 for none), and int64[G], how many tasks each gang needs.
    Once a gang has what it needs, its further members count as single tasks. Trees of groups are an exception: their
    members must stay in a domain, so further members try again as a tree.
    """
    if not len(problem.gang_need):
        return np.full(problem.classes, -1, dtype=np.int64), problem.gang_need
    members = problem.gang >= 0
    placed_of = placed.count_per_class(problem.classes)[members]
    got = np.bincount(problem.gang[members], placed_of, minlength=len(problem.gang_need))
    whole = np.append(got >= problem.gang_need, False)
    single = whole[problem.gang] & ~_find_in_trees(problem)
    return np.where(single, -1, problem.gang), problem.gang_need


def _find_in_trees(problem: PlacementProblem) -> Bool:
    """Return which classes have their tasks in a tree of groups: bool[C]."""
    nested = problem.topology.nested
    if not nested:
        return np.zeros(problem.classes, dtype=np.bool_)
    return np.isin(problem.gang, list(nested))


def _find_without_quota(now: PreemptionState, gang: Int64, need: Int64) -> Bool:
    """Return classes, with their whole gangs, for which too little quota is left: bool[C].

    The stages choose victims only to free capacity of machines, so their evictions free no quota for these classes.
    ``gang``, ``need``: as returned by ``_whole_gangs``.
    """
    quotas, without = now.quotas, np.zeros(len(gang), dtype=np.bool_)
    if quotas is None:
        return without
    draw = quotas.terms.draw[now.problem.shape]
    waiting = np.flatnonzero(now.remaining > 0)
    units = {
        number: quotas.count_units(number) for number in np.unique(draw[waiting]).tolist() if number >= 0
    }
    left = np.array([units.get(number, ENDLESS) for number in draw.tolist()], dtype=np.int64)
    without[waiting] = left[waiting] <= 0
    members = np.flatnonzero(gang >= 0)
    # Classes of a gang that take from the same quota are each counted as if they had all of it: an upper bound.
    most = np.bincount(
        gang[members], weights=np.minimum(left, np.maximum(now.remaining, 0))[members], minlength=len(need)
    )
    without[members] = (most < need)[gang[members]]
    return without


class AttemptOutcome(NamedTuple):
    """How good an attempt is; attempts are compared by these fields in order, and smaller is better.

    ``left``: tasks without a place; ``over``: number of evictions beyond disruption budgets; ``tops``: the highest
    priority among the victims of each machine, in descending order; ``total``: the sum of the victims' weights;
    ``victims``: number of victims.
    """

    left: int
    over: int
    tops: tuple[int, ...]
    total: int
    victims: int


@dataclass(frozen=True, slots=True)
class VictimConstraint:
    """A restriction on victims: ``first`` are evicted before any victim is chosen; ``without`` must stay."""

    first: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


class AttemptSearch:
    """Runs ``stages`` several times, each with another restriction on victims; ``attempts``: most runs per round."""

    def __init__(self, stages: Stages, attempts: int) -> None:
        self._stages = stages
        self._attempts = attempts

    def find_best(self, now: PreemptionState, classes: Int64) -> PreemptionState:
        """Return a copy of ``now`` in which tasks of some classes of one priority have places, if that is possible."""
        best, rule = now.copy(), VictimConstraint()
        self._stages.run(best, classes, gradually=True)
        few = now.few(len(best.taken) - len(now.taken))
        if not (few and self._worth_more(now, best, classes)):
            return best
        best, rule = self._better(now, best, rule, classes, _add_gang(now, best, classes))
        while self._attempts > 0 and self._worth_more(now, best, classes):
            better, rule = self._better(now, best, rule, classes, _drop_one(now, best, rule))
            if better is best:
                break
            best = better
        return best

    def find_whole(self, now: PreemptionState, members: Int64, need: int) -> PreemptionState | None:
        """Return a copy of ``now`` in which at least ``need`` tasks of a gang's classes have places, or None.

        The gang's pod sets are tried in each choice of flavors, first choices first.
        """
        for confined in list_confinements(now.problem, members.tolist()):
            now.confined = confined
            trial = self.find_best(now, members)
            now.confined = trial.confined = {}
            if len(trial.taken) - len(now.taken) >= need:
                return trial
        return None

    def _better(
        self,
        before: PreemptionState,
        best: PreemptionState,
        rule: VictimConstraint,
        classes: Int64,
        others: Iterator[VictimConstraint],
    ) -> tuple[PreemptionState, VictimConstraint]:
        """Return the better state with its restriction: ``best`` with ``rule``, or one found under ``others``."""
        worth = _outcome(before, best, classes)
        for other in others:
            if self._attempts <= 0:
                break
            self._attempts -= 1
            trial = before.copy()
            trial.evict(other.first)
            blocked: Bool = np.zeros(before.preemption.victims, dtype=np.bool_)
            blocked[list(other.without)] = True
            self._stages.run(trial, classes, blocked)
            outcome = _outcome(before, trial, classes)
            if outcome < worth:
                best, rule, worth = trial, other, outcome
        return best, rule

    def _worth_more(self, before: PreemptionState, after: PreemptionState, classes: Int64) -> bool:
        """Return whether another attempt could be better: budgets are exceeded, or more tasks leave than come."""
        placed = len(after.taken) - len(before.taken)
        worth = _outcome(before, after, classes)
        return placed > 1 and (worth.over > 0 or worth.victims > placed)


def _outcome(before: PreemptionState, after: PreemptionState, classes: Int64) -> AttemptOutcome:
    preemption = before.preemption
    gone = np.flatnonzero(after.gone & ~before.gone)
    top = np.full(before.problem.machines, NOBODY, dtype=np.int64)
    np.maximum.at(top, preemption.machine[gone], preemption.victim_priority[gone])
    beyond = np.maximum(-after.allowed, 0) - np.maximum(-before.allowed, 0)
    return AttemptOutcome(
        left=int(after.remaining[classes].sum()),
        over=int(beyond.sum()),
        tops=tuple(np.sort(top[top > NOBODY])[::-1].tolist()),
        total=int(preemption.weight[gone].sum()),
        victims=len(gone),
    )


def _add_gang(before: PreemptionState, after: PreemptionState, classes: Int64) -> Iterator[VictimConstraint]:
    """Yield restrictions that evict one gang first; each of these gangs may leave as a whole."""
    if len(before.spare):
        for gang in np.flatnonzero(before.find_whole_gangs(int(classes[0])) & (after.spare >= 0)).tolist():
            members = before.gangs.members(gang)
            yield VictimConstraint(first=tuple(before.add_gangs(members.tolist())))


def _drop_one(
    before: PreemptionState, after: PreemptionState, rule: VictimConstraint
) -> Iterator[VictimConstraint]:
    """Yield restrictions under which one of the victims chosen before has to stay."""
    for victim in np.flatnonzero(after.gone & ~before.gone).tolist():
        if victim not in rule.first:
            yield VictimConstraint(rule.first, (*rule.without, victim))
