"""Tries several ways of finding victims where the first one may not be the best.

Tasks choose their victims one after another, by what each needs. What is best for one may use up a budget or a gang
that others could have made better use of. So where budgets were exceeded, or more go than come, the stages are run
again from the beginning under some restriction, and the best outcome counts: more tasks placed, budgets exceeded by
less, fewer victims, less important ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.stages import Stages


class AttemptOutcome(NamedTuple):
    """What attempts compare by; the less, the better. ``left``: tasks without a place."""

    left: int
    over: int
    victims: int
    top: int
    total: int


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

    def best(self, prospect: Prospect, classes: Int64) -> Prospect:
        """A copy of a prospect on which some classes of one priority have got what places can be found for them."""
        best, way = prospect.copy(), Way()
        self._stages.run(best, classes)
        if not (self._worth_more(prospect, best, classes) and self._small(prospect, best)):
            return best
        best, way = self._better(prospect, best, way, classes, _with_a_gang_gone(prospect, best, classes))
        while self._attempts > 0 and self._worth_more(prospect, best, classes):
            better, way = self._better(prospect, best, way, classes, _without_one_more(prospect, best, way))
            if better is best:
                break
            best = better
        return best

    def _better(
        self, before: Prospect, best: Prospect, way: Way, classes: Int64, ways: Iterator[Way]
    ) -> tuple[Prospect, Way]:
        """The best of ``best``, found in some ``way``, and of what comes of ``ways`` to go on from ``before``."""
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

    def _worth_more(self, before: Prospect, after: Prospect, classes: Int64) -> bool:
        """Whether another attempt might do better."""
        placed = len(after.taken) - len(before.taken)
        worth = _outcome(before, after, classes)
        return placed > 1 and (worth.over > 0 or worth.victims > placed)

    def _small(self, before: Prospect, after: Prospect) -> bool:
        placed = len(after.taken) - len(before.taken)
        return placed <= before.tuning.few_tasks and before.problem.machines <= before.tuning.few_machines


def _outcome(before: Prospect, after: Prospect, classes: Int64) -> AttemptOutcome:
    priority = before.preemption.victim_priority[after.gone & ~before.gone]
    beyond = np.maximum(-after.allowed, 0) - np.maximum(-before.allowed, 0)
    return AttemptOutcome(
        left=int(after.remaining[classes].sum()),
        over=int(beyond.sum()),
        victims=len(priority),
        top=int(priority.max(initial=0)),
        total=int(priority.sum()),
    )


def _with_a_gang_gone(before: Prospect, after: Prospect, classes: Int64) -> Iterator[Way]:
    """With one more gang that goes at once."""
    if len(before.spare):
        for gang in np.flatnonzero(before.whole(int(classes[0])) & (after.spare >= 0)).tolist():
            members = before.gangs.members(gang)
            yield Way(first=tuple(members[~before.gone[members]].tolist()))


def _without_one_more(before: Prospect, after: Prospect, way: Way) -> Iterator[Way]:
    """Without one more of the tasks that were chosen."""
    for victim in np.flatnonzero(after.gone & ~before.gone).tolist():
        if victim not in way.first:
            yield Way(way.first, (*way.without, victim))
