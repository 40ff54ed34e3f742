"""What becomes of gangs on a machine: they lose what they can spare, or go as a whole, each being a choice of its own.

Evicting one task of a gang that can spare nobody makes all of it go, on all machines. So a covering problem becomes
several: one in which gangs lose no more than they can spare, one for each gang on the machine that could go, and, where
there are several of those, one in which all of them go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.victims.covering import Covering


def choices(prospect: Prospect, problem: Covering) -> list[Covering]:
    """The covering problems that a problem with gangs stands for; a machine may be in several."""
    if not len(prospect.spare):
        return [problem]
    gang = _gang_of(prospect, problem, problem.open)
    spare = np.append(prospect.spare, 0)[gang]
    tied = (gang >= 0) & (nth_of_its_kind(gang) >= spare)
    if not tied.any():
        return [problem]
    every = np.arange(len(problem.rows))
    nobody = np.zeros_like(tied)
    found = [problem.narrowed(every, problem.open & ~tied, nobody)]
    if (tied & (spare > 0)).any():  # others of a gang than those that would go first may be of more help
        also_tied = (gang >= 0) & (nth_of_its_kind(gang, problem.most_helpful_first()) >= spare)
        found.append(problem.narrowed(every, problem.open & ~also_tied, nobody))
    row, number = _could_go(prospect, problem, gang, tied)
    forced = gang[row] == number[:, None]
    found.append(problem.narrowed(row, problem.open[row] & ~tied[row] & ~forced, forced))
    several = np.flatnonzero(np.bincount(row, minlength=len(every)) > 1)
    if len(several):
        goes = np.zeros(tied.shape, dtype=np.bool_)
        np.logical_or.at(goes, row, forced)
        found.append(
            problem.narrowed(several, (problem.open & ~tied & ~goes)[several], goes[several]),
        )
    return [each for each in found if len(each.rows)] or found[:1]


def _gang_of(prospect: Prospect, problem: Covering, where: Bool) -> Int64:
    """int64[R, J]: the gang of each task for which ``where`` holds, -1 for none."""
    return np.where(where, np.append(prospect.preemption.gang, -1)[problem.slots], -1)


def _could_go(prospect: Prospect, problem: Covering, gang: Int64, tied: Bool) -> tuple[Int64, Int64]:
    """Machine (place) and gang of the gangs that would have to go as a whole, and could.

    A gang one of whose tasks on the machine has to stay cannot.
    """
    row, number, _ = _pairs_of(gang, tied)
    there = np.append(~prospect.gone, False)[problem.slots]
    stays = _gang_of(prospect, problem, there & ~problem.open)
    could = problem.whole[number] & ~(stays[row] == number[:, None]).any(axis=1)
    return row[could], number[could]


@dataclass(frozen=True, slots=True)
class Dragged:
    """Tasks on other machines that go with a bundle: ``row``, ``task``: int64[N], place of the bundle and task."""

    row: Int64
    task: Int64


def dragged(prospect: Prospect, problem: Covering, victims: Bool) -> Dragged:
    """Who goes elsewhere because of ``victims`` (bool[R, J])."""
    none: Int64 = np.empty(0, dtype=np.int64)
    if not len(prospect.spare):
        return Dragged(none, none)
    gang = _gang_of(prospect, problem, victims)
    row, number, count = _pairs_of(gang, gang >= 0)
    broken = count > prospect.spare[number]
    place, task = prospect.gangs.expanded(number[broken])
    row = row[broken][place]
    elsewhere = ~prospect.gone[task] & (prospect.preemption.machine[task] != problem.rows[row])
    return Dragged(row[elsewhere], task[elsewhere])


def nth_of_its_kind(kind: Int64, turn: Int64 | None = None) -> Int64:
    """int64[R, J]: how many entries of the same row before each one are equal to it.

    ``turn``: int64[R, J], places in the order in which entries are counted; None: from left to right.
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
    """Row, kind and number of the entries of ``kind`` (int64[R, J], not negative) for which ``where`` holds."""
    row, slot = np.nonzero(where)
    width = int(kind.max(initial=0)) + 1
    key, count = np.unique(row * width + kind[row, slot], return_counts=True)
    return key // width, key % width, count
