"""Plans moves that lower costs, in the way that suits the cost models of each task's profile.

Tasks whose models look at devices move one by one (`plan_single_moves`), all others by the network of moves
(`plan_moves`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firmament.core.rescheduling.plan_moves import MovePlan, PlanOptions, plan_moves
from firmament.core.rescheduling.rehearsal import move
from firmament.core.rescheduling.single_moves import plan_single_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver


def plan_cheaper_moves(
    scheduler: Scheduler, prices: Mapping[str, float], options: PlanOptions, solver: Solver
) -> MovePlan:
    """Return the moves that lower costs most, of bound tasks that have ``prices`` (uid -> points for moving it).

    ``scheduler``: a trial scheduler; afterwards its tasks are back where they were. Tasks whose models look at devices
    move after the others. ``options`` hold for both kinds of tasks together. Raises ``SolverError``.
    """
    single, together = scheduler.divide_by_devices(sorted(prices))
    if not single:
        return plan_moves(scheduler, prices, options, solver)
    own = {uid: prices[uid] for uid in single}
    if not together:
        return plan_single_moves(scheduler, own, options)
    first = plan_moves(scheduler, {uid: prices[uid] for uid in together}, options, solver)
    for each in first.moves:
        move(scheduler, each.uid, each.target)
    left = options.most_moves - len(first.moves)
    second = plan_single_moves(scheduler, own, replace(options, most_moves=left))
    for each in reversed(first.moves):
        move(scheduler, each.uid, each.source)
    return MovePlan(
        first.moves + second.moves,
        first.cost_before + second.cost_before,
        first.cost_after + second.cost_after,
        first.bound + second.bound,
    )
