"""Chooses bundles of victims on all machines at once, by kube-scheduler's rules for one machine.

At first, all tasks that may leave are victims. One task after another is then tried as one that stays, as long as the
other victims suffice, on all machines in parallel. Tasks whose budget is used up come first, then the most important
tasks; of equally important ones, the task that started first. If tasks also started together, a second attempt keeps
those first that give back least, which leaves few large victims.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import NOBODY
from firmament.core.preemption.victims.covering import CoverProblem
from firmament.core.ranks import rank


def bundles(now: PreemptionState, problem: CoverProblem) -> Bundles:
    """Return the best bundle found for each machine of a covering problem; machines without a bundle are left out."""
    found = [_bundles(now, choice) for choice in list_choices(now, problem)]
    if now.gangs.nested:
        found = [each.select(_find_unsplit(now, problem, each)) for each in found]
    return Bundles.best(found, now.preemption.victims)


def _find_unsplit(now: PreemptionState, problem: CoverProblem, found: Bundles) -> Bool:
    """Return bundles that make no gang leave as a whole, and no group in a gang, unless it may: bool[R]."""
    gang = np.where(found.victims, np.append(now.preemption.gang, -1)[found.slots], -1)
    return np.array(
        [bool(problem.whole[now.gangs.find_broken(row, now.spare)].all()) for row in gang.tolist()],
        dtype=np.bool_,
    )


def _bundles(now: PreemptionState, problem: CoverProblem) -> Bundles:
    """Return a bundle of victims for each machine, as if there were no gangs."""
    important = _reprieve(now, problem, np.arange(problem.slots.shape[1]))
    several = important.count > 1
    alike = now.alike[problem.slots]
    if not (several & _ties(problem, alike)).any():
        return important
    helpful = problem.most_helpful_first()
    turn = np.argsort(np.take_along_axis(alike, helpful, axis=1), axis=1, kind="stable")
    return important.or_better(_reprieve(now, problem, np.take_along_axis(helpful, turn, axis=1)))


def _ties(problem: CoverProblem, alike: Int64) -> Bool:
    """Return machines where equal tasks may leave: bool[R]; ``alike``: int64[R, J], equal for equal tasks."""
    equal = (alike[:, 1:] == alike[:, :-1]) & problem.open[:, 1:] & problem.open[:, :-1]
    tied: Bool = equal.any(axis=1)
    return tied


def describe(now: PreemptionState, problem: CoverProblem, victims: Bool) -> Bundles:
    """Return the bundles of ``victims`` (bool[R, J]); gang members that must leave other machines count as well."""
    preemption = now.preemption
    priority = np.append(preemption.victim_priority, 0)[problem.slots]
    started = np.append(preemption.started, 0.0)[problem.slots]
    top = np.where(victims, priority, NOBODY).max(axis=1, initial=NOBODY)
    weight = np.append(preemption.weight, 0)
    total = np.where(victims, weight[problem.slots], 0).sum(axis=1)
    count = victims.sum(axis=1)
    others = find_companion_evictions(now, problem, victims)
    np.maximum.at(top, others.row, preemption.victim_priority[others.task])
    np.add.at(total, others.row, weight[others.task])
    np.add.at(count, others.row, 1)
    foremost = victims & (priority == top[:, None])
    first = np.where(foremost, started, np.inf).min(axis=1, initial=np.inf)
    also = preemption.victim_priority[others.task] == top[others.row]
    np.minimum.at(first, others.row[also], preemption.started[others.task[also]])
    return Bundles(
        rows=problem.rows,
        slots=problem.slots,
        victims=victims,
        over=_count_over(now, problem, victims, others),
        top=top,
        total=total,
        count=count,
        age=-first,
    )


def _count_over(
    now: PreemptionState, problem: CoverProblem, victims: Bool, others: CompanionEvictions
) -> Int64:
    """Return how many victims of each bundle exceed a budget, as by ``PreemptionState.count_beyond``: int64[R]."""
    rows, budgets = len(problem.rows), len(now.allowed)
    if not budgets:
        return np.zeros(rows, dtype=np.int64)
    row = np.concatenate([np.nonzero(victims)[0], others.row])
    kind = now.preemption.kind[np.concatenate([problem.slots[victims], others.task])]
    covered_by = _budgets_of_kinds(now)[kind]
    entry, place = np.nonzero(covered_by >= 0)
    budget = covered_by[entry, place]
    exceeded = rank(row[entry] * budgets + budget) >= np.maximum(now.allowed, 0)[budget]
    beyond: Bool = np.zeros(len(row), dtype=np.bool_)
    beyond[entry[exceeded]] = True
    return np.bincount(row[beyond], minlength=rows)


def _budgets_of_kinds(now: PreemptionState) -> Int64:
    """Return the budgets that cover each kind of task, padded with -1: int64[H + 1, P].

    The last row is for tasks without a kind.
    """
    budgets = (*now.preemption.budgets, ())
    most = max(map(len, budgets))
    return np.array([[*each, *([-1] * (most - len(each)))] for each in budgets], dtype=np.int64)


def _find_protected(now: PreemptionState, problem: CoverProblem, going: Int64) -> Bool:
    """Return which tasks budgets protect once the tasks before them in the order of ``going`` have left: bool[R, J].

    The protection only decides which tasks are tried early as ones that stay; the evictions by which a bundle exceeds
    budgets are counted at the end.
    """
    if not len(now.allowed):
        return np.zeros(problem.slots.shape, dtype=np.bool_)
    kind = np.append(now.preemption.kind, -1)[problem.slots]
    budget = np.where(problem.open[:, :, None], _budgets_of_kinds(now)[kind], -1)
    rows, slots, most = budget.shape
    budget = budget.reshape(rows, slots * most)
    left = np.append(np.maximum(now.allowed, 0), 2**31)[budget]
    turn = (going[:, :, None] * most + np.arange(most)).reshape(budget.shape) if going.ndim > 1 else None
    exceeded: Bool = nth_of_its_kind(budget, turn) >= left
    return np.logical_or.reduce(exceeded.reshape(rows, slots, most), axis=2)


def reprieve_order(now: PreemptionState, problem: CoverProblem, going: Int64) -> Int64:
    """Return the order in which victims are tried as ones that stay: positions, in the shape of ``going``.

    Protected tasks come first; otherwise the order is that of ``going``, reversed.
    """
    protected = _find_protected(now, problem, going)
    backwards = going[..., ::-1]
    if not protected.any():
        return backwards
    each = np.broadcast_to(backwards, protected.shape)
    first = np.argsort(~np.take_along_axis(protected, each, axis=1), axis=1, kind="stable")
    return np.take_along_axis(each, first, axis=1)


def _reprieve(now: PreemptionState, problem: CoverProblem, going: Int64) -> Bundles:
    """Return the bundles without the tasks that can stay.

    In the reverse order of leaving, each task stays if the other victims suffice.

    ``going``: places in the order in which tasks would leave, int64[R, J], or int64[J] if equal for all machines. The
    function works column by column (over the places in that order), as there are few columns and many machines.
    """
    order = reprieve_order(now, problem, going)
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
    return describe(now, problem, victims | problem.forced)


# --- Gangs on a machine: each loses only members that it can spare, or leaves as a whole.
#
# Evicting one task of a gang that can spare no member evicts all of the gang, on all machines. On a machine with
# gangs, several covering problems are therefore solved. In one problem, no gang loses more than it can spare. One
# problem for each gang that could leave as a whole evicts that gang. If several gangs could leave, a last problem
# evicts all of them. In a tree of groups, groups that may leave by themselves count as gangs of their own, and so do
# the groups that contain them.


def list_choices(now: PreemptionState, problem: CoverProblem) -> list[CoverProblem]:
    """Return the covering problems into which gangs split a problem; a machine may occur in several of them."""
    if not len(now.spare):
        return [problem]
    gang = _gang_of(now, problem, problem.open)
    spare = np.append(now.spare, 0)[gang]
    tied = (gang >= 0) & (nth_of_its_kind(gang) >= spare)
    if not tied.any():
        return [problem]
    every = np.arange(len(problem.rows))
    nobody = np.zeros_like(tied)
    found = [problem.narrow(every, problem.open & ~tied, nobody)]
    # A gang may lose other members than its first ones, and these may free more.
    if (tied & (spare > 0)).any():
        also_tied = (gang >= 0) & (nth_of_its_kind(gang, problem.most_helpful_first()) >= spare)
        found.append(problem.narrow(every, problem.open & ~also_tied, nobody))
    row, number = _could_go(now, problem, gang, tied)
    forced = _is_in(now, gang[row], number)
    found.append(problem.narrow(row, problem.open[row] & ~tied[row] & ~forced, forced))
    several = np.flatnonzero(np.bincount(row, minlength=len(every)) > 1)
    if len(several):
        leaves = np.zeros(tied.shape, dtype=np.bool_)
        np.logical_or.at(leaves, row, forced)
        found.append(
            problem.narrow(several, (problem.open & ~tied & ~leaves)[several], leaves[several]),
        )
    return [each for each in found if len(each.rows)] or found[:1]


def _gang_of(now: PreemptionState, problem: CoverProblem, where: Bool) -> Int64:
    """Return the gang of each task for which ``where`` holds, -1 for tasks without a gang: int64[R, J]."""
    return np.where(where, np.append(now.preemption.gang, -1)[problem.slots], -1)


def _is_in(now: PreemptionState, gang: Int64, number: Int64) -> Bool:
    """Return where ``gang`` (int64[N, J]) is the row's gang ``number`` (int64[N]), or a group in it: bool[N, J]."""
    inside: Bool = (gang >= number[:, None]) & (gang < now.gangs.end[number][:, None])
    return inside


def _could_go(now: PreemptionState, problem: CoverProblem, gang: Int64, tied: Bool) -> tuple[Int64, Int64]:
    """Return which gangs must leave as a whole, and can: index of the row, and gang.

    A gang cannot leave if one of its tasks on the machine has to stay.
    """
    row, number, _ = _pairs_of(gang, tied)
    if now.gangs.nested:
        around = {
            (at, each)
            for at, inner in zip(row.tolist(), number.tolist(), strict=True)
            for each in now.gangs.list_chain(now.gangs.find_taken_along(inner, now.spare))
        }
        row, number = np.array(sorted(around), dtype=np.int64).reshape(-1, 2).T
    there = np.append(~now.gone, False)[problem.slots]
    stays = _gang_of(now, problem, there & ~problem.open)
    could = problem.whole[number] & ~_is_in(now, stays[row], number).any(axis=1)
    return row[could], number[could]


@dataclass(frozen=True, slots=True)
class CompanionEvictions:
    """Tasks on other machines that leave with a bundle, because their gang would be incomplete.

    ``row``, ``task``: int64[N], index of the bundle, and task.
    """

    row: Int64
    task: Int64


def find_companion_evictions(
    now: PreemptionState, problem: CoverProblem, victims: Bool
) -> CompanionEvictions:
    """Return the tasks on other machines that leave because of ``victims`` (bool[R, J])."""
    none: Int64 = np.empty(0, dtype=np.int64)
    if not len(now.spare):
        return CompanionEvictions(none, none)
    gang = _gang_of(now, problem, victims)
    row, number, count = _pairs_of(gang, gang >= 0)
    if now.gangs.nested:
        where = np.unique(row).tolist()
        broken_in = [now.gangs.find_broken(gang[each].tolist(), now.spare) for each in where]
        row = np.repeat(np.array(where, dtype=np.int64), list(map(len, broken_in)))
        number = np.fromiter(chain.from_iterable(broken_in), dtype=np.int64)
    else:
        broken = count > now.spare[number]
        row, number = row[broken], number[broken]
    place, task = now.gangs.expand(number)
    row = row[place]
    elsewhere = ~now.gone[task] & (now.preemption.machine[task] != problem.rows[row])
    return CompanionEvictions(row[elsewhere], task[elsewhere])


def nth_of_its_kind(kind: Int64, turn: Int64 | None = None) -> Int64:
    """Return how many entries before each entry in its row are equal to it: int64[R, J].

    ``turn``: int64[R, J], indices in the order in which entries are counted; None: from left to right.
    """
    if turn is not None:
        nth = np.empty_like(kind)
        np.put_along_axis(nth, turn, nth_of_its_kind(np.take_along_axis(kind, turn, axis=1)), axis=1)
        return nth
    order = np.argsort(kind, axis=1, kind="stable")
    ordered = np.take_along_axis(kind, order, axis=1)
    place = np.broadcast_to(np.arange(kind.shape[1]), kind.shape)
    new = np.ones(kind.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    nth = np.empty_like(kind)
    np.put_along_axis(nth, order, place - first, axis=1)
    return nth


def _pairs_of(kind: Int64, where: Bool) -> tuple[Int64, Int64, Int64]:
    """Return row, kind and count of the entries of ``kind`` (int64[R, J], not negative) that ``where`` selects."""
    row, slot = np.nonzero(where)
    width = int(kind.max(initial=0)) + 1
    key, count = np.unique(row * width + kind[row, slot], return_counts=True)
    return key // width, key % width, count
