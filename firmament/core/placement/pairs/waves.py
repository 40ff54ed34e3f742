"""Rounds with pairs of tasks: domains are planned for whole applications, then waves are solved within them.

Each wave plans the domains of what remains (see `pair_planning`), solves one network in which every class may use the
machines of its domains only, and admits what the network proposes. What admission leaves is planned again with the room
that is left. The last few are placed one by one.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, Residual
from firmament.core.placement.domain_planning import Dealer
from firmament.core.placement.fallback.greedy_fallback import open_machines, place_leftovers, put
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.pairs.domain_planning import DomainPlan, paired_classes
from firmament.core.placement.pairs.local_search import improve_applications
from firmament.core.placement.sequential_admission import replay
from firmament.core.placement.subclasses import Part, Wave, derive
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.placement.waves import most_per_machine, parts_of, solve_waves
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
    kind = np.repeat(pairs.rules.kind[placed.cls], placed.count)
    machine = np.repeat(placed.machine, placed.count)
    pairs.fix(kind[kind >= 0], machine[kind >= 0])


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
    planned: dict[int, list[tuple[int, int]]] = {cls: [] for cls in plan.classes.tolist()}
    rows, domains = np.nonzero(plan.counts)
    counts = plan.counts[rows, domains]
    for cls, domain, count in zip(
        plan.classes[rows].tolist(), domains.tolist(), counts.tolist(), strict=True
    ):
        planned[cls].append((domain, count))
    inside = [pairs.terms.domain == domain for domain in range(pairs.terms.domains)]
    problem = residual.problem
    active = residual.active()
    oldest = np.argmax(residual.remaining > 0, axis=1)
    dealer = Dealer(residual, state)
    parts: list[Part] = []
    for cls in active[np.lexsort((active, oldest[active], -problem.priority[active]))].tolist():
        if cls in planned:
            parts += _within_domains(residual, state, cls, planned[cls], inside, first=first)
        elif cls in state.rules.of:
            parts += parts_of(residual, state, dealer, cls, first=first)
        else:
            parts.append(Part(cls, int(residual.remaining[cls].sum())))
    return derive(residual, parts, tuning.pinned_up_to) if parts else None


def _within_domains(
    residual: Residual,
    state: RuleState,
    cls: int,
    planned: list[tuple[int, int]],
    inside: list[Bool],
    *,
    first: bool,
) -> list[Part]:
    """A class's parts, one per domain of the plan. ``planned``: domains, and how many tasks go there."""
    rules = state.rules.rules(cls)
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
    parts: list[Assignments] = []
    moved = True
    while moved:
        moved = False
        for cls in paired_classes(residual, pairs).tolist():
            while residual.remaining[cls].any():
                machine = _cheapest(residual, state, pairs, cls)
                if machine is None:
                    break
                parts.append(put(residual, state, cls, machine))
                pairs.add(cls, machine)
                moved = True
    kept = paired_classes(residual, pairs)
    held_back = residual.remaining[kept].copy()
    residual.remaining[kept] = 0
    parts.append(place_leftovers(residual, state))
    residual.remaining[kept] = held_back
    return Assignments.joined(parts)


def _cheapest(residual: Residual, state: RuleState, pairs: PairState, cls: int) -> int | None:
    """The machine on which one more task of an application costs least; None for no place."""
    problem = residual.problem
    view = pairs.view(pairs.rules.kind[[cls]])
    domain = pairs.terms.domain
    machines = np.flatnonzero(open_machines(residual, state, cls) & view.allowed[0][domain])
    if len(machines) == 0:
        return None
    cost = problem.cost[problem.shape[cls], machines] + view.cost[0][domain[machines]]
    cost = cost + crowding_cost(residual, machines, np.zeros_like(machines))
    soft = soft_cost(state, cls, np.ones(len(machines), dtype=np.bool_), machines)
    if soft is not None:
        cost = cost + soft.points * COST_UNITS_PER_POINT
    return int(machines[np.argmin(cost)])
