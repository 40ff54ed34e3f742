"""Rounds with pairs of tasks: domains are planned for whole applications, then waves are solved within them.

Each wave plans the domains of what remains (see `domain_planning`), solves one network in which every class may use the
machines of its domains only, and admits what the network proposes. What admission leaves is planned again with the room
that is left. The last few are placed one by one.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.problem import Assignments
from firmament.core.placement.greedy import place_leftovers, place_one_by_one
from firmament.core.placement.outcome import Means, Placed, PlacementState
from firmament.core.placement.pairs.domain_planning import DomainPlan, paired_classes
from firmament.core.placement.pairs.local_search import improve_applications
from firmament.core.placement.subclasses import ClassPart, Wave
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.placement.waves import most_per_machine, plan_wave, solve_waves
from firmament.core.rules.pairs import PairState
from firmament.core.rules.preferences import soft_cost


def place_pairs(state: PlacementState, pairs: PairState, means: Means) -> Placed:
    """Place as much as possible, book it everywhere, and return it in the order of admission.

    ``pairs``: those of ``state``. Raises ``SolverError`` if the solver fails for another reason than time.
    """
    waves = solve_waves(state, lambda first: _plan_wave(state, pairs, means.tuning, first=first), means)
    watch = means.stopwatch()
    placed = Assignments.joined([waves.assignments, place_last(state, pairs)])
    if pairs.terms.improve and pairs.terms.steers:
        placed = improve_applications(state, pairs, placed, means.tuning.applications)
        if state.residual.remaining.any():  # what moved may have made room
            placed = Assignments.joined([placed, place_last(state, pairs)])
    state.fix_pairs(placed)
    return waves.admitted(placed, watch.seconds())


def _plan_wave(
    state: PlacementState, pairs: PairState, tuning: PlacementTuning, *, first: bool
) -> Wave | None:
    """The problem of the next wave; None if no task may go anywhere at present."""
    plan = DomainPlan(state, pairs, tuning.applications)
    inside = [pairs.terms.domain == domain for domain in range(pairs.terms.domains)]
    decided = {
        cls: _within_domains(state, cls, counts, inside, first=first)
        for cls, counts in zip(plan.classes.tolist(), plan.counts.tolist(), strict=True)
    }
    return plan_wave(state, tuning.pinned_up_to, first=first, decided=decided)


def _within_domains(
    state: PlacementState, cls: int, counts: list[int], inside: list[Bool], *, first: bool
) -> list[ClassPart]:
    """A class's parts, one per domain of the plan. ``counts``: how many tasks go to each domain."""
    rules = state.rules_of(cls)
    planned = [(domain, count) for domain, count in enumerate(counts) if count]
    if not (rules.binding or rules.soft):
        return [ClassPart(cls, count, inside[domain]) for domain, count in planned]
    open_to = state.open_to(cls)
    soft = soft_cost(state.rules, cls, open_to)
    found = []
    for domain, count in planned:
        allowed = open_to & inside[domain]
        machines = int(np.count_nonzero(allowed))
        if machines:
            most = most_per_machine(state.rules, cls, count, machines, first=first)
            found.append(ClassPart(cls, count, allowed, None if soft is None else soft.points, most))
    return found


def place_last(state: PlacementState, pairs: PairState) -> Assignments:
    """Place what waves have left one by one: tasks of applications where limits let them, then all others."""
    residual = state.residual
    placed = place_one_by_one(state, paired_classes(residual, pairs).tolist(), paired=True)
    kept = paired_classes(residual, pairs)
    held_back = residual.remaining[kept].copy()
    residual.remaining[kept] = 0
    others = place_leftovers(state)
    residual.remaining[kept] = held_back
    return Assignments.joined([placed, others])
