"""Chooses bundles of victims on all machines at once: few and unimportant tasks whose going makes room.

From all that may go, tasks are reprieved one by one as long as the rest still suffices, all machines side by side, in
two orders: the most important first, and those that give least of what is lacking first, which leaves few large ones.
Of the two the better bundle counts. Tasks whose budget is used up are reprieved before all others.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.preemption.bundles import NOBODY, Bundles
from firmament.preemption.covering import Covering
from firmament.preemption.prospect import Prospect


def bundles(prospect: Prospect, problem: Covering) -> Bundles:
    """A bundle for each machine of a covering problem."""
    protected = _protected(prospect, problem)
    important = _reprieved(prospect, problem, protected, _important_first(problem, protected))
    if not (important.count > 1).any():
        return important
    least = _reprieved(prospect, problem, protected, _least_helpful_first(problem, protected))
    return important.or_better(least)


def describe(prospect: Prospect, problem: Covering, victims: Bool, protected: Bool) -> Bundles:
    """The bundles that ``victims`` (bool[R, J]) stand for."""
    preemption = prospect.preemption
    priority = np.append(preemption.victim_priority, 0)[problem.slots]
    started = np.append(preemption.started, 0.0)[problem.slots]
    top = np.where(victims, priority, NOBODY).max(axis=1, initial=NOBODY)
    foremost = victims & (priority == top[:, None])
    age = -np.where(foremost, started, np.inf).min(axis=1, initial=np.inf)
    return Bundles(
        rows=problem.rows,
        slots=problem.slots,
        victims=victims,
        over=(victims & protected).sum(axis=1),
        count=victims.sum(axis=1),
        top=top,
        total=np.where(victims, priority, 0).sum(axis=1),
        age=age,
    )


def _protected(prospect: Prospect, problem: Covering) -> Bool:
    """bool[R, J]: tasks that their budgets do not allow to go, if those before them on the machine go.

    Exact where a task has one budget; with several, a task is allowed if each of them allows it by itself.
    """
    budgets = prospect.preemption.budgets
    protected: Bool = np.zeros(problem.slots.shape, dtype=np.bool_)
    if not len(prospect.allowed):
        return protected
    kind = np.append(prospect.preemption.kind, -1)[problem.slots]
    for kinds_of in range(max((len(each) for each in budgets), default=0)):
        # The budgets that come first, second, ... in their kinds' lists are looked at side by side.
        nth = np.array([each[kinds_of] if kinds_of < len(each) else -1 for each in (*budgets, ())])
        budget = np.where(problem.open, nth[kind], -1)
        left = np.append(np.maximum(prospect.allowed, 0), 2**31)[budget]
        protected |= _nth_of_its_kind(budget) >= left
    return protected


def _nth_of_its_kind(group: Int64) -> Int64:
    """int64[R, J]: how many entries of the same row before each one are equal to it."""
    order = np.argsort(group, axis=1, kind="stable")
    ordered = np.take_along_axis(group, order, axis=1)
    place = np.broadcast_to(np.arange(group.shape[1]), group.shape)
    new = np.ones(group.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    nth = np.empty_like(group)
    np.put_along_axis(nth, order, place - first, axis=1)
    return nth


def _important_first(problem: Covering, protected: Bool) -> Int64:
    """int64[R, J]: places in order of reprieve: what budgets protect, then the most important and oldest."""
    width = problem.slots.shape[1]
    backwards = np.arange(width)[::-1]
    if not protected.any():
        return np.broadcast_to(backwards, problem.slots.shape)
    order = np.argsort(~protected[:, ::-1], axis=1, kind="stable")
    return backwards[order]


def _least_helpful_first(problem: Covering, protected: Bool) -> Int64:
    """int64[R, J]: places in order of reprieve: what budgets protect, then what gives least of what is lacking."""
    lacking = np.maximum(problem.deficit, 0)
    given = np.minimum(problem.size, lacking[:, None, :]) / np.maximum(lacking, 1)[:, None, :]
    help_ = np.where(protected, -1.0, given.sum(axis=2))[:, ::-1]
    order = np.argsort(help_, axis=1, kind="stable")
    return np.arange(problem.slots.shape[1])[::-1][order]


def _reprieved(prospect: Prospect, problem: Covering, protected: Bool, order: Int64) -> Bundles:
    """What is left after reprieving in ``order`` as long as the others suffice."""
    surplus = problem.size.sum(axis=1) - np.maximum(problem.deficit, 0)
    size = np.take_along_axis(problem.size, order[:, :, None], axis=1)
    open_to = np.take_along_axis(problem.open, order, axis=1)
    goes = np.zeros(order.shape, dtype=np.bool_)
    for place in range(order.shape[1]):
        stays = (size[:, place] <= surplus).all(axis=1)
        surplus -= size[:, place] * stays[:, None]
        goes[:, place] = open_to[:, place] & ~stays
    victims = np.zeros_like(goes)
    np.put_along_axis(victims, order, goes, axis=1)
    return describe(prospect, problem, victims, protected)
