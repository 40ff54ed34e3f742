"""What becomes of gangs on a machine: they lose what they can spare, or go as a whole, each being a choice of its own.

Evicting one task of a gang that can spare nobody makes all of it go, on all machines. So a covering problem becomes
several: one in which gangs lose no more than they can spare, one for each gang on the machine that could go, and, where
there are several of those, one in which all of them go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.preemption.gang_victims import nth_of_its_kind, pairs_of
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
    row, number, _ = pairs_of(gang, tied)
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
    row, number, count = pairs_of(gang, gang >= 0)
    broken = count > prospect.spare[number]
    place, task = prospect.gangs.expanded(number[broken])
    row = row[broken][place]
    elsewhere = ~prospect.gone[task] & (prospect.preemption.machine[task] != problem.rows[row])
    return Dragged(row[elsewhere], task[elsewhere])
