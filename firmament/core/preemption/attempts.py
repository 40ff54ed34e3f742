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
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.stages import Phase, Stages

MOST_ATTEMPTS = 64
"""Further attempts of a round."""

FEW_TASKS, FEW_MACHINES = 32, 128
"""With more than these, only what exceeds budgets is worth another attempt, and one at that."""


class Outcome(NamedTuple):
    """What attempts compare by; the less, the better. ``left``: tasks without a place."""

    left: int
    over: int
    victims: int
    top: int
    total: int


@dataclass(frozen=True, slots=True)
class Way:
    """``first``: tasks that go before anybody chooses; ``phases``: of the stages, their own if none."""

    first: tuple[int, ...] = ()
    phases: tuple[Phase, ...] = ()


class Attempts:
    """Finds places with ``stages``; what may be spent is counted over a whole round."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._attempts = MOST_ATTEMPTS

    def best(self, prospect: Prospect, classes: Int64) -> Prospect:
        """A copy of a prospect on which some classes of one priority have got what places can be found for them."""
        best = prospect.copy()
        known = _known(prospect)
        self._stages.run(best, classes, known=known)
        if not self._worth_more(prospect, best, classes):
            return best
        if not self._small(prospect, best):
            exceeds = _outcome(prospect, best, classes).over > 0
            return self._better(prospect, best, classes, _careful(prospect), known) if exceeds else best
        best = self._better(prospect, best, classes, _ways(prospect, best, classes), known)
        while self._attempts > 0 and self._worth_more(prospect, best, classes):
            better = self._better(prospect, best, classes, _without_each(prospect, best), known)
            if better is best:
                break
            best = better
        return best

    def _better(
        self,
        before: Prospect,
        best: Prospect,
        classes: Int64,
        ways: Iterator[Way],
        known: dict[int, Bundles] | None,
    ) -> Prospect:
        """The best outcome among ``best`` and what comes of some ways to go on from ``before``.

        ``known``: bundles there, see ``Stages.run``.
        """
        worth = _outcome(before, best, classes)
        for way in ways:
            if self._attempts <= 0:
                break
            self._attempts -= 1
            trial = before.copy()
            trial.evict(way.first)
            self._stages.run(trial, classes, way.phases, None if way.first else known)
            outcome = _outcome(before, trial, classes)
            if outcome < worth:
                best, worth = trial, outcome
        return best

    def _worth_more(self, before: Prospect, after: Prospect, classes: Int64) -> bool:
        """Whether another attempt might do better."""
        placed = len(after.taken) - len(before.taken)
        worth = _outcome(before, after, classes)
        return placed > 1 and (worth.over > 0 or worth.victims > placed)

    def _small(self, before: Prospect, after: Prospect) -> bool:
        placed = len(after.taken) - len(before.taken)
        return placed <= FEW_TASKS and before.problem.machines <= FEW_MACHINES


def _known(prospect: Prospect) -> dict[int, Bundles] | None:
    """Where to keep bundles from which attempts begin; None where that is not worth it, or they are not independent.

    With ledgers, not only the machine of a task that must not go has other bundles: openings are limited in number.
    """
    few = prospect.problem.machines <= FEW_MACHINES
    return {} if few and not prospect.ledgers else None


def _outcome(before: Prospect, after: Prospect, classes: Int64) -> Outcome:
    priority = before.preemption.victim_priority[after.gone & ~before.gone]
    beyond = np.maximum(-after.allowed, 0) - np.maximum(-before.allowed, 0)
    return Outcome(
        left=int(after.remaining[classes].sum()),
        over=int(beyond.sum()),
        victims=len(priority),
        top=int(priority.max(initial=0)),
        total=int(priority.sum()),
    )


def _careful(before: Prospect) -> Iterator[Way]:
    """Without tasks under budgets for as long as that goes."""
    preemption = before.preemption
    covered = np.array([bool(each) for each in preemption.budgets], dtype=np.bool_)[preemption.kind]
    nobody: Bool = np.zeros(preemption.victims, dtype=np.bool_)
    if covered.any():
        phases = Phase(covered, lenient=False), Phase(nobody, lenient=False), Phase(nobody, lenient=True)
        yield Way(phases=phases)


def _ways(before: Prospect, after: Prospect, classes: Int64) -> Iterator[Way]:
    """With care about budgets; with one more gang that goes at once."""
    yield from _careful(before)
    if len(before.spare):
        for gang in np.flatnonzero(before.whole(int(classes[0])) & (after.spare >= 0)).tolist():
            members = before.gangs.members(gang)
            yield Way(first=tuple(members[~before.gone[members]].tolist()))


def _without_each(before: Prospect, after: Prospect) -> Iterator[Way]:
    """Without one of the tasks that were chosen."""
    for victim in np.flatnonzero(after.gone & ~before.gone).tolist():
        without: Bool = np.zeros(before.preemption.victims, dtype=np.bool_)
        without[victim] = True
        yield Way(phases=(Phase(without, lenient=False), Phase(without, lenient=True)))
