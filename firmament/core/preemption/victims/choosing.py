"""Chooses bundles of victims on all machines at once: few and unimportant tasks whose going makes room.

From all that may go, tasks are reprieved one by one as long as the rest still suffices, all machines side by side, in
two orders: the most important first, and those that give least of what is lacking first, which leaves few large ones.
Of the two the better bundle counts. Tasks whose budget is used up are reprieved before all others.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.problem import NOBODY
from firmament.core.preemption.victims.covering import Covering
from firmament.core.preemption.victims.gang_choices import Dragged, choices, dragged, nth_of_its_kind


def bundles(prospect: Prospect, problem: Covering) -> Bundles:
    """The best bundle found for each machine of a covering problem; machines without any are left out."""
    return Bundles.best(
        [_bundles(prospect, choice) for choice in choices(prospect, problem)], prospect.preemption.victims
    )


def _bundles(prospect: Prospect, problem: Covering) -> Bundles:
    """A bundle for each machine, whatever becomes of gangs."""
    important = _reprieved(prospect, problem, np.arange(problem.slots.shape[1]))
    if not (important.count > 1).any():
        return important
    return important.or_better(_reprieved(prospect, problem, problem.most_helpful_first()))


def describe(prospect: Prospect, problem: Covering, victims: Bool) -> Bundles:
    """The bundles that ``victims`` (bool[R, J]) stand for, with those who have to go elsewhere because of them."""
    preemption = prospect.preemption
    priority = np.append(preemption.victim_priority, 0)[problem.slots]
    started = np.append(preemption.started, 0.0)[problem.slots]
    top = np.where(victims, priority, NOBODY).max(axis=1, initial=NOBODY)
    total = np.where(victims, priority, 0).sum(axis=1)
    count = victims.sum(axis=1)
    others = dragged(prospect, problem, victims)
    np.maximum.at(top, others.row, preemption.victim_priority[others.task])
    np.add.at(total, others.row, preemption.victim_priority[others.task])
    np.add.at(count, others.row, 1)
    foremost = victims & (priority == top[:, None])
    first = np.where(foremost, started, np.inf).min(axis=1, initial=np.inf)
    also = preemption.victim_priority[others.task] == top[others.row]
    np.minimum.at(first, others.row[also], preemption.started[others.task[also]])
    return Bundles(
        rows=problem.rows,
        slots=problem.slots,
        victims=victims,
        over=_over(prospect, problem, victims, others),
        count=count,
        top=top,
        total=total,
        age=-first,
    )


def _over(prospect: Prospect, problem: Covering, victims: Bool, others: Dragged) -> Int64:
    """int64[R]: by how much all that go exceed the budgets, see ``Prospect.overdrawn``."""
    rows, budgets = len(problem.rows), len(prospect.allowed)
    if not budgets:
        return np.zeros(rows, dtype=np.int64)
    row = np.nonzero(victims)[0]
    row = np.concatenate([row, others.row])
    kind = prospect.preemption.kind[np.concatenate([problem.slots[victims], others.task])]
    keys = []
    for nth in _budgets_by_place(prospect):
        covered = nth[kind] >= 0
        keys.append(row[covered] * budgets + nth[kind[covered]])
    key, count = np.unique(np.concatenate(keys or [row[:0]]), return_counts=True)
    beyond = np.maximum(count - np.maximum(prospect.allowed[key % budgets], 0), 0)
    return np.bincount(key // budgets, weights=beyond, minlength=rows).astype(np.int64)


def _budgets_by_place(prospect: Prospect) -> list[Int64]:
    """Per place in the kinds' lists of budgets, int64[H + 1]: the budget there, -1 for none, and for no kind."""
    budgets = (*prospect.preemption.budgets, ())
    return [
        np.array([each[place] if place < len(each) else -1 for each in budgets], dtype=np.int64)
        for place in range(max(map(len, budgets)))
    ]


def _protected(prospect: Prospect, problem: Covering, going: Int64) -> Bool:
    """bool[R, J]: tasks that their budgets do not allow to go, if those before them in the order of ``going`` do.

    Who is better reprieved early, that is; what a bundle exceeds is counted in the end.

    Exact where a task has one budget; with several, a task is allowed if each of them allows it by itself.
    """
    protected: Bool = np.zeros(problem.slots.shape, dtype=np.bool_)
    if not len(prospect.allowed):
        return protected
    kind = np.append(prospect.preemption.kind, -1)[problem.slots]
    for nth in _budgets_by_place(prospect):
        budget = np.where(problem.open, nth[kind], -1)
        left = np.append(np.maximum(prospect.allowed, 0), 2**31)[budget]
        protected |= nth_of_its_kind(budget, going if going.ndim > 1 else None) >= left
    return protected


def _reprieve_order(going: Int64, protected: Bool) -> Int64:
    """Places in order of reprieve, as ``going``: what budgets protect, then from the end of that order on."""
    backwards = going[..., ::-1]
    if not protected.any():
        return backwards
    each = np.broadcast_to(backwards, protected.shape)
    first = np.argsort(~np.take_along_axis(protected, each, axis=1), axis=1, kind="stable")
    return np.take_along_axis(each, first, axis=1)


def _reprieved(prospect: Prospect, problem: Covering, going: Int64) -> Bundles:
    """What is left after reprieving those that would go last as long as the others suffice.

    ``going``: places in the order in which tasks would go, int64[R, J], or int64[J] where it is the same everywhere.
    Column by column, as there are few of them and many machines.
    """
    order = _reprieve_order(going, _protected(prospect, problem, going))
    columns = range(problem.deficit.shape[1])
    surplus = [problem.size[:, :, d].sum(axis=1) - np.maximum(problem.deficit[:, d], 0) for d in columns]
    victims = problem.open.copy()
    every = np.arange(len(problem.rows))
    for place in range(order.shape[-1]):
        at = (slice(None), order[place]) if order.ndim == 1 else (every, order[:, place])
        stays = np.ones(len(every), dtype=np.bool_)
        sizes = [problem.size[(*at, d)] for d in columns]
        for size, left in zip(sizes, surplus, strict=True):
            stays &= size <= left
        for d in columns:
            surplus[d] -= np.where(stays, sizes[d], 0)
        victims[at] &= ~stays
    return describe(prospect, problem, victims | problem.forced)
