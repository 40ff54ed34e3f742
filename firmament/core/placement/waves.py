"""Rounds with rules between tasks: joint solves in sequence, each of which sees the ones before it.

A wave takes every task that waits and whose rules let it go somewhere now. Which machines those are is a mask; how many
go to which domain is dealt out beforehand (see `domain_planning`); at most so many per machine is a bound on arcs. The
network of all that is solved at once, and what it proposes is admitted one by one by the rules themselves (see
`sequential_admission`).
Tasks that want to be near others that are still to come, and those that lost a race, are left for the next wave. The
last few are placed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from firmament.core.placement.admission import replay
from firmament.core.placement.domain_planning import Dealer, coarse_topologies
from firmament.core.placement.greedy import place_leftovers
from firmament.core.placement.outcome import Means, Placed, PlacementState, StageFigures
from firmament.core.placement.passes import propose, solved_in_turn
from firmament.core.placement.subclasses import ClassPart, Wave, derive
from firmament.core.rules.counters import RuleState
from firmament.core.rules.preferences import soft_cost


def place_in_waves(state: PlacementState, means: Means) -> Placed:
    """Place as much as possible, book it in ``state``, and return it in the order of admission.

    Afterwards no remaining task fits any machine that it may use. Raises ``SolverError`` if the solver fails for
    another reason than time.
    """
    pinned_up_to = means.tuning.pinned_up_to
    placed = solve_waves(state, lambda first: plan_wave(state, pinned_up_to, first=first), means)
    watch = means.stopwatch()
    return placed.also(place_leftovers(state), watch.seconds())


def solve_waves(state: PlacementState, plan: Callable[[bool], Wave | None], means: Means) -> Placed:
    """Solve waves one after another, as long as they place enough, and book what holds of their flows.

    ``plan`` states the problem of the next wave (told whether it is the first), None if no task may go anywhere.
    """

    def propose_wave(first: bool) -> Placed:
        watch = means.stopwatch()
        wave = plan(first)
        planned = StageFigures(network_seconds=watch.seconds())
        if wave is None:
            return Placed(figures=planned)
        proposed = propose(wave.residual, means, classes=wave.stands_for())
        solved = StageFigures(waves=int(proposed.last is not None))
        figures = planned + proposed.figures + solved
        return replace(proposed, assignments=wave.in_round(proposed.assignments), figures=figures)

    return Placed.joined(
        solved_in_turn(
            state.residual,
            propose_wave,
            lambda proposed: replay(state, proposed),
            means,
            most=means.options.max_waves,
            worth=means.tuning.worth_a_wave,
        )
    )


def plan_wave(
    state: PlacementState,
    pinned_up_to: int,
    *,
    first: bool,
    decided: Mapping[int, Sequence[ClassPart]] = MappingProxyType({}),
) -> Wave | None:
    """The problem of the next wave; None if no task may go anywhere at present. ``decided``: parts of some classes."""
    residual, dealer = state.residual, Dealer(state)
    parts: list[ClassPart] = []
    for cls in residual.by_importance():
        if cls in decided:
            parts += decided[cls]
        elif cls in state.rules.rules.of:
            parts += _parts_of(state, dealer, cls, first=first)
        else:
            parts.append(ClassPart(cls, int(residual.remaining[cls].sum())))
    return derive(residual, parts, pinned_up_to) if parts else None


def _parts_of(state: PlacementState, dealer: Dealer, cls: int, *, first: bool) -> list[ClassPart]:
    """A class's parts in a wave; none if its rules let it go nowhere now."""
    residual, rules = state.residual, state.rules_of(cls)
    waiting = int(residual.remaining[cls].sum())
    if not (rules.binding or rules.soft):
        return [ClassPart(cls, waiting)]
    open_to = state.open_to(cls)
    if not open_to.any():
        return []
    soft = soft_cost(state.rules, cls, open_to)
    points = soft.points if soft is not None else None
    shares = dealer.deal(cls, open_to, coarse_topologies(rules, state.rules.rules))
    parts = []
    for share in shares:
        allowed = None
        if rules.binding or len(share.machines) < np.count_nonzero(open_to):
            allowed = np.zeros(residual.problem.machines, dtype=np.bool_)
            allowed[share.machines] = True
        most = most_per_machine(state.rules, cls, share.count, len(share.machines), first=first)
        parts.append(ClassPart(cls, share.count, allowed, points, most))
    return parts


def most_per_machine(state: RuleState, cls: int, tasks: int, machines: int, *, first: bool) -> int:
    """Tasks of a class that one machine should get in a wave, 0 for no limit.

    One where tasks of the class keep each other away. Where they spread over single machines, as many as an even
    distribution needs, plus what the rule allows; where they only prefer to, the first wave tries the same.
    """
    rules, counters = state.rules.rules(cls), state.rules.counters
    if rules.excludes_itself():
        return 1
    even = -(-tasks // max(1, machines))
    fine = [each for each in rules.spreadings if each.own and not counters[each.counter].coarse]
    if fine:
        return even + min(each.max_skew for each in fine) - 1
    wishes = [each.counter for each in rules.soft_spreadings]
    wishes += [each.counter for each in rules.inclinations if each.weight < 0]
    if first and any(number in rules.adds and not counters[number].coarse for number in wishes):
        return even
    return 0
