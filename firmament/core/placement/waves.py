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
from types import MappingProxyType

import numpy as np

from firmament.core.flow.problem import Assignments, Residual
from firmament.core.placement.domain_planning import Dealer, coarse_topologies
from firmament.core.placement.greedy import open_machines, place_leftovers
from firmament.core.placement.outcome import Figures, Means, Placed
from firmament.core.placement.passes import propose
from firmament.core.placement.sequential_admission import replay
from firmament.core.placement.subclasses import Part, Wave, derive
from firmament.core.rules.counters import RuleState
from firmament.core.rules.preferences import soft_cost
from firmament.solvers.base import SolverTimeoutError


def place_in_waves(residual: Residual, state: RuleState, means: Means) -> Placed:
    """Place as much as possible, book it in ``residual`` and ``state``, and return it in the order of admission.

    Afterwards no remaining task fits any machine that it may use. Raises ``SolverError`` if the solver fails for
    another reason than time.
    """

    def plan(first: bool) -> Wave | None:
        return plan_wave(residual, state, means.tuning.pinned_up_to, first=first)

    def admit(proposed: Assignments) -> Assignments:
        return replay(residual, state, proposed)

    placed = solve_waves(residual, plan, admit, means)
    watch = means.stopwatch()
    return placed.also(place_leftovers(residual, state), watch.seconds())


def solve_waves(
    residual: Residual,
    plan: Callable[[bool], Wave | None],
    admit: Callable[[Assignments], Assignments],
    means: Means,
) -> Placed:
    """Solve waves one after another, as long as they place enough.

    ``plan`` states the problem of the next wave (told whether it is the first), None if no task may go anywhere;
    ``admit`` books in ``residual`` what holds of a wave's flow, and returns that.
    """
    parts: list[Placed] = []
    for number in range(means.options.max_waves):
        watch = means.stopwatch()
        wave = plan(number == 0)
        parts.append(Placed(figures=Figures(network_seconds=watch.seconds())))
        if wave is None:
            break
        try:
            proposed = propose(wave.residual, means, classes=wave.stands_for())
        except SolverTimeoutError:
            parts.append(Placed(figures=Figures(time_limited=True)))
            break
        if proposed.last is None:
            parts.append(proposed)
            break
        watch = means.stopwatch()
        before = int(residual.remaining.sum())
        admitted = admit(wave.in_round(proposed.assignments))
        parts.append(proposed.admitted(admitted, watch.seconds()))
        parts.append(Placed(figures=Figures(waves=1)))
        if not residual.remaining.any() or int(admitted.count.sum()) * means.tuning.worth_a_wave < before:
            break
    return Placed.joined(parts)


def plan_wave(
    residual: Residual,
    state: RuleState,
    pinned_up_to: int,
    *,
    first: bool,
    decided: Mapping[int, Sequence[Part]] = MappingProxyType({}),
) -> Wave | None:
    """The problem of the next wave; None if no task may go anywhere at present. ``decided``: parts of some classes."""
    dealer = Dealer(residual, state)
    parts: list[Part] = []
    for cls in residual.by_importance():
        if cls in decided:
            parts += decided[cls]
        elif cls in state.rules.of:
            parts += _parts_of(residual, state, dealer, cls, first=first)
        else:
            parts.append(Part(cls, int(residual.remaining[cls].sum())))
    return derive(residual, parts, pinned_up_to) if parts else None


def _parts_of(residual: Residual, state: RuleState, dealer: Dealer, cls: int, *, first: bool) -> list[Part]:
    """A class's parts in a wave; none if its rules let it go nowhere now."""
    rules = state.rules.rules(cls)
    waiting = int(residual.remaining[cls].sum())
    if not (rules.binding or rules.soft):
        return [Part(cls, waiting)]
    open_to = open_machines(residual, state, cls)
    if not open_to.any():
        return []
    soft = soft_cost(state, cls, open_to)
    points = soft.points if soft is not None else None
    topologies = coarse_topologies(rules, state.rules)
    shares = dealer.deal(cls, open_to, topologies)
    parts = []
    for share in shares:
        allowed = None
        if rules.binding or len(share.machines) < np.count_nonzero(open_to):
            allowed = np.zeros(residual.problem.machines, dtype=np.bool_)
            allowed[share.machines] = True
        most = most_per_machine(state, cls, share.count, len(share.machines), first=first)
        parts.append(Part(cls, share.count, allowed, points, most))
    return parts


def most_per_machine(state: RuleState, cls: int, tasks: int, machines: int, *, first: bool) -> int:
    """Tasks of a class that one machine should get in a wave, 0 for no limit.

    One where tasks of the class keep each other away. Where they spread over single machines, as many as an even
    distribution needs, plus what the rule allows; where they only prefer to, the first wave tries the same.
    """
    rules = state.rules.rules(cls)
    if rules.excludes_itself():
        return 1
    even = -(-tasks // max(1, machines))
    counters = state.rules.counters
    fine = [each for each in rules.spreadings if each.own and not counters[each.counter].coarse]
    if fine:
        return even + min(each.max_skew for each in fine) - 1
    wishes = [each.counter for each in rules.soft_spreadings]
    wishes += [each.counter for each in rules.inclinations if each.weight < 0]
    if first and any(number in rules.adds and not counters[number].coarse for number in wishes):
        return even
    return 0
