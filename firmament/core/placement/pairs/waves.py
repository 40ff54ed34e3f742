"""Rounds with pairs of tasks: domains are planned for whole applications, then waves are solved within them.

Each wave plans the domains of what remains (see `domain_planning`), solves one network in which every class may use the
machines of its domains only, and admits what the network proposes. What admission leaves is planned again with the room
that is left. The last few are placed one by one.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.placement.greedy import open_machines, place_leftovers, place_one_by_one
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.pairs.domain_planning import DomainPlan, paired_classes
from firmament.core.placement.pairs.local_search import improve_applications
from firmament.core.placement.sequential_admission import replay
from firmament.core.placement.subclasses import Part, Wave
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.placement.waves import most_per_machine, plan_wave, solve_waves
from firmament.core.rules.counters import RuleState
from firmament.core.rules.pairs import PairState
from firmament.core.rules.preferences import soft_cost


def place_pairs(residual: Residual, state: RuleState, pairs: PairState, means: Means) -> Placed:
    """Place as much as possible, book it everywhere, and return it in the order of admission.

    Raises ``SolverError`` if the solver fails for another reason than time.
    """

    def plan(first: bool) -> Wave | None:
        return _plan_wave(residual, state, pairs, means.tuning, first=first)

    def admit(proposed: Assignments) -> Assignments:
        admitted = replay(residual, state, proposed)
        pairs.add_all(admitted.cls, admitted.machine, admitted.count)
        return admitted

    waves = solve_waves(residual, plan, admit, means)
    watch = means.stopwatch()
    placed = Assignments.joined([waves.assignments, place_last(residual, state, pairs)])
    if pairs.terms.improve and pairs.terms.steers:
        placed = improve_applications(
            residual, pairs, placed, frozenset(state.rules.of), means.tuning.applications
        )
        if residual.remaining.any():  # what moved may have made room
            placed = Assignments.joined([placed, place_last(residual, state, pairs)])
    fix_pairs(pairs, placed)
    return waves.admitted(placed, watch.seconds())


def fix_pairs(pairs: PairState, placed: Assignments) -> None:
    """Take what has been placed, and counted, for tasks that stay."""
    tasks = placed.tasks()
    pairs.fix(tasks.cls, tasks.machine)


def open_to_pairs(residual: Residual, state: RuleState, pairs: PairState, cls: int) -> Bool:
    """bool[M]: machines that may take, and have room for, one more task of a class, limits of pairs included."""
    fits = open_machines(residual, state, cls)
    for _, refused in pairs.refusals(cls):
        fits &= ~refused
    return fits


def _plan_wave(
    residual: Residual, state: RuleState, pairs: PairState, tuning: PlacementTuning, *, first: bool
) -> Wave | None:
    """The problem of the next wave; None if no task may go anywhere at present."""
    plan = DomainPlan(residual, state, pairs, tuning.applications)
    inside = [pairs.terms.domain == domain for domain in range(pairs.terms.domains)]
    decided = {
        cls: _within_domains(residual, state, cls, counts, inside, first=first)
        for cls, counts in zip(plan.classes.tolist(), plan.counts.tolist(), strict=True)
    }
    return plan_wave(residual, state, tuning.pinned_up_to, first=first, decided=decided)


def _within_domains(
    residual: Residual,
    state: RuleState,
    cls: int,
    counts: list[int],
    inside: list[Bool],
    *,
    first: bool,
) -> list[Part]:
    """A class's parts, one per domain of the plan. ``counts``: how many tasks go to each domain."""
    rules = state.rules.rules(cls)
    planned = [(domain, count) for domain, count in enumerate(counts) if count]
    if not (rules.binding or rules.soft):
        return [Part(cls, count, inside[domain]) for domain, count in planned]
    open_to = open_machines(residual, state, cls)
    soft = soft_cost(state, cls, open_to)
    found = []
    for domain, count in planned:
        allowed = open_to & inside[domain]
        machines = int(np.count_nonzero(allowed))
        if machines:
            most = most_per_machine(state, cls, count, machines, first=first)
            found.append(Part(cls, count, allowed, None if soft is None else soft.points, most))
    return found


def place_last(residual: Residual, state: RuleState, pairs: PairState) -> Assignments:
    """Place what waves have left one by one: tasks of applications where limits let them, then all others."""
    placed = place_one_by_one(residual, state, paired_classes(residual, pairs).tolist(), pairs)
    kept = paired_classes(residual, pairs)
    held_back = residual.remaining[kept].copy()
    residual.remaining[kept] = 0
    others = place_leftovers(residual, state)
    residual.remaining[kept] = held_back
    return Assignments.joined([placed, others])
