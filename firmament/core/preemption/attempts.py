"""Preemption: gives places to tasks that found none, by evicting less important ones.

Priority by priority from the top; of each, gangs come first, each as a whole or not at all. How places are found is in
``stages``; for groups with rules over a tree, in ``tree_groups``.

Tasks choose their victims one after another, by what each needs. What is best for one may use up a budget or a gang
that others could have made better use of. So where budgets were exceeded, or more go than come, the stages are run
again from the beginning under some restriction, and the best outcome counts: more tasks placed, budgets exceeded by
less, less important victims, fewer of them.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import NOBODY, PreemptionDecision, PreemptionProblem, PreemptionTuning
from firmament.core.preemption.quota_reclaim import QuotaReclaim
from firmament.core.preemption.reprieve import evictions
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
) -> tuple[PreemptionDecision, ...]:
    """Return places for tasks that ``placed`` leaves without one, in order of decision; the longest waiting
    of a class first.

    ``shortages``: by gang, why groups found no place; what evicting would not change is added to that.
    Deterministic for equal arguments. Raises ``SolverError``; after a time-out what has been decided stands.
    """
    now = PreemptionState(problem, preemption, placed, tuning)
    able = (now.remaining > 0) & preemption.may
    # Of applications only some take part: each workload is a class of its own.
    paired = np.flatnonzero(able & problem.pairs.find_paired(problem.classes))
    first = np.lexsort((paired, -preemption.priority[paired]))
    able[paired[first][tuning.most_paired :]] = False
    gang, need = _whole_gangs(problem, placed)
    served = {*problem.gang[placed.cls].tolist()} if len(problem.gang) else set()
    attempts = Attempts(Stages(now, solver, time_limit), tuning.attempts)
    for priority in np.unique(preemption.priority[able])[::-1].tolist():
        band = able & (preemption.priority == priority)
        in_vain: set[bytes] = set()
        for number in np.unique(gang[band & (gang >= 0)])[: tuning.most_gangs].tolist():
            members = np.flatnonzero(band & (gang == number))
            if number in problem.topology.every:
                # Who has got some places this round tries for more in the next one, from where it is then.
                if len(members) == np.count_nonzero(gang == number) and number not in served:
                    found = preempt_for_group(now, problem.topology, number, solver)
                    if not isinstance(found, str):
                        now = found
                    elif number in shortages and found not in shortages[number]:
                        shortages[number] += f"; without less important pods: {found}"
                continue
            alike = np.append(problem.shape[members], [*now.remaining[members], need[number]]).tobytes()
            if alike in in_vain and not now.ruled:  # with rules, equal shapes do not say all
                continue
            trial = attempts.best(now, members)
            if len(trial.taken) - len(now.taken) >= need[number]:
                now = trial
            else:
                in_vain.add(alike)
        now = attempts.best(now, np.flatnonzero(band & (gang < 0)))
    if preemption.reclaims.any():
        # It sees no domains, so trees of groups are left out.
        now = QuotaReclaim(now).run(preemption.reclaims & ~_find_in_trees(problem), gang, need)
    return waiting_together(problem, evictions(now))


def _whole_gangs(problem: PlacementProblem, placed: Assignments) -> tuple[Int64, Int64]:
    """Return int64[C]: the gang of each class whose tasks must find places together, -1 for none; int64[G]:
    how many.

    Further members of gangs that have got what they need are tasks like others, but for those of trees of groups, which
    have a domain to stay in: they try again as a tree.
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
    """Return bool[C]: classes whose tasks are in a tree of groups."""
    nested = problem.topology.nested
    if not nested:
        return np.zeros(problem.classes, dtype=np.bool_)
    return np.isin(problem.gang, list(nested))


class AttemptOutcome(NamedTuple):
    """What attempts compare by; the less, the better, as with bundles.

    ``left``: tasks without a place; ``tops``: of each machine that somebody has to leave the highest priority of those,
    the highest first.
    """

    left: int
    over: int
    tops: tuple[int, ...]
    total: int
    victims: int


@dataclass(frozen=True, slots=True)
class Way:
    """``first``: tasks that go before anybody chooses; ``without``: tasks that must not go."""

    first: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


class Attempts:
    """Finds places with ``stages``; what may be spent is counted over a whole round."""

    def __init__(self, stages: Stages, attempts: int) -> None:
        self._stages = stages
        self._attempts = attempts

    def best(self, now: PreemptionState, classes: Int64) -> PreemptionState:
        """Return a copy of a now on which some classes of one priority have got what places can be found
        for them.
        """
        best, way = now.copy(), Way()
        self._stages.run(best, classes, closely=True)
        few = now.few(len(best.taken) - len(now.taken))
        if not (few and self._worth_more(now, best, classes)):
            return best
        best, way = self._better(now, best, way, classes, _add_gang(now, best, classes))
        while self._attempts > 0 and self._worth_more(now, best, classes):
            better, way = self._better(now, best, way, classes, _drop_one(now, best, way))
            if better is best:
                break
            best = better
        return best

    def _better(
        self, before: PreemptionState, best: PreemptionState, way: Way, classes: Int64, ways: Iterator[Way]
    ) -> tuple[PreemptionState, Way]:
        """Return the best of ``best``, found in some ``way``, and of what comes of ``ways`` to go on from
        ``before``.
        """
        worth = _outcome(before, best, classes)
        for other in ways:
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
                best, way, worth = trial, other, outcome
        return best, way

    def _worth_more(self, before: PreemptionState, after: PreemptionState, classes: Int64) -> bool:
        """Return whether another attempt might do better."""
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


def _add_gang(before: PreemptionState, after: PreemptionState, classes: Int64) -> Iterator[Way]:
    """Yield choices with one more gang that leaves at once."""
    if len(before.spare):
        for gang in np.flatnonzero(before.find_whole_gangs(int(classes[0])) & (after.spare >= 0)).tolist():
            members = before.gangs.members(gang)
            yield Way(first=tuple(members[~before.gone[members]].tolist()))


def _drop_one(before: PreemptionState, after: PreemptionState, way: Way) -> Iterator[Way]:
    """Yield without one more of the tasks that were chosen."""
    for victim in np.flatnonzero(after.gone & ~before.gone).tolist():
        if victim not in way.first:
            yield Way(way.first, (*way.without, victim))
