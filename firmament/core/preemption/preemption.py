"""Preemption: tasks that found no place get one where less important tasks are told to go.

Priority by priority from the top; of each, gangs come first, each as a whole or not at all. How places are found is in
``stages``, and what is tried beside it in ``attempts``; for groups with rules over a tree, in ``tree_groups``.
"""

from __future__ import annotations

from collections.abc import MutableMapping

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.preemption.attempts import Attempts
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem
from firmament.core.preemption.reprieve import evictions
from firmament.core.preemption.stages import Stages
from firmament.core.preemption.tree_groups.groups import preempt_for_group, waiting_together
from firmament.core.preemption.tuning import PreemptionTuning
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
    """Places for tasks that ``placed`` leaves without one, in order of decision; the longest waiting of a class first.

    ``shortages``: by gang, why groups found no place; what evicting would not change is added to that.
    Deterministic for equal arguments. Raises ``SolverError``; after a time-out what has been decided stands.
    """
    prospect = Prospect(problem, preemption, placed, tuning)
    able = (prospect.remaining > 0) & preemption.may
    if problem.pairs is not None:  # of applications only some: each workload is a class of its own
        paired = np.flatnonzero(able & (problem.pairs.kind >= 0))
        first = np.lexsort((paired, -preemption.priority[paired]))
        able[paired[first][tuning.most_paired :]] = False
    gang, need = _whole_gangs(problem, placed)
    attempts = Attempts(Stages(prospect, solver, time_limit), tuning.attempts)
    for priority in np.unique(preemption.priority[able])[::-1].tolist():
        band = able & (preemption.priority == priority)
        in_vain: set[bytes] = set()
        for number in np.unique(gang[band & (gang >= 0)])[: tuning.most_gangs].tolist():
            members = np.flatnonzero(band & (gang == number))
            if problem.topology is not None and number in problem.topology.groups:
                if len(members) == np.count_nonzero(gang == number):
                    found = preempt_for_group(prospect, problem.topology, number, solver)
                    if not isinstance(found, str):
                        prospect = found
                    elif found not in shortages.get(number, ""):
                        shortages[number] += f"; without less important pods: {found}"
                continue
            alike = np.append(problem.shape[members], [*prospect.remaining[members], need[number]]).tobytes()
            if alike in in_vain and prospect.state is None:  # with rules, equal shapes do not say all
                continue
            trial = attempts.best(prospect, members)
            if len(trial.taken) - len(prospect.taken) >= need[number]:
                prospect = trial
            else:
                in_vain.add(alike)
        prospect = attempts.best(prospect, np.flatnonzero(band & (gang < 0)))
    return waiting_together(problem, evictions(prospect))


def _whole_gangs(problem: PlacementProblem, placed: Assignments) -> tuple[Int64, Int64]:
    """int64[C]: the gang of each class whose tasks must find places together, -1 for none; int64[G]: how many.

    Further members of gangs that have got what they need are tasks like others.
    """
    if not len(problem.gang_need):
        return np.full(problem.classes, -1, dtype=np.int64), problem.gang_need
    members = problem.gang >= 0
    placed_of = placed.per_class(problem.classes)[members]
    got = np.bincount(problem.gang[members], placed_of, minlength=len(problem.gang_need))
    whole = np.append(got >= problem.gang_need, False)
    return np.where(whole[problem.gang], -1, problem.gang), problem.gang_need
