"""Gangs: tasks of which so many must be placed in this round, or none.

All is placed together first; while there is room for everybody, that is the end of it. If some gang is left
incomplete, gangs are tried one after another on a copy, by priority, then by age: one that fits as a whole keeps its
places, one that does not gives them back before anybody else is tried, and the tasks without a gang follow within each
priority. That *trial* says which gangs are placed. The joint solve is then repeated with those gangs alone; if it
places all of them and no fewer tasks, it stands, as it is the cheaper one, else the trial does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.problem import Assignments, PlacementProblem
from firmament.rounds.bands import Standing, place_by_priority
from firmament.rounds.greedy import place_greedily
from firmament.rounds.leftovers import place_leftovers
from firmament.rounds.passes import PassLog, PassOptions
from firmament.solvers.base import Solver


def place_whole_gangs(
    problem: PlacementProblem, solver: Solver, options: PassOptions, log: PassLog
) -> Assignments:
    """Place a problem so that each gang gets at least as many places as it needs, or none; in order of admission.

    Raises what the solver raises.
    """
    placed, _ = place_by_priority(problem, solver, options, log)
    if not _incomplete(problem, placed).any():
        return placed
    trial = _Trial(problem, solver, options, log).placed()
    chosen = _gang_counts(problem, trial) > 0
    joint, _ = place_by_priority(without_gangs(problem, ~chosen), solver, options, log)
    if _incomplete(problem, joint)[chosen].any() or _value(problem, joint) < _value(problem, trial):
        return trial
    return joint


def without_gangs(problem: PlacementProblem, rejected: Bool) -> PlacementProblem:
    """The problem without the tasks of the gangs for which ``rejected`` (bool[G]) holds."""
    counts = problem.counts.copy()
    counts[(problem.gang >= 0) & np.append(rejected, False)[problem.gang]] = 0
    return replace(problem, counts=counts)


def _gang_counts(problem: PlacementProblem, placed: Assignments) -> Int64:
    """int64[G]: tasks placed of each gang."""
    gang = problem.gang[placed.cls]
    members = gang >= 0
    return np.bincount(gang[members], weights=placed.count[members], minlength=len(problem.gang_need)).astype(
        np.int64
    )


def _incomplete(problem: PlacementProblem, placed: Assignments) -> Bool:
    """bool[G]: gangs with fewer places than they need."""
    incomplete: Bool = _gang_counts(problem, placed) < problem.gang_need
    return incomplete


def _value(problem: PlacementProblem, placed: Assignments) -> tuple[int, ...]:
    """Tasks placed per priority, the highest first."""
    ranks = int(problem.priority.max(initial=0)) + 1
    counts = np.bincount(problem.priority[placed.cls], weights=placed.count, minlength=ranks)
    return tuple(counts[::-1].astype(np.int64).tolist())


class _Trial:
    """Places gangs one by one, the other tasks of a priority after its gangs."""

    def __init__(self, problem: PlacementProblem, solver: Solver, options: PassOptions, log: PassLog) -> None:
        self._problem = problem
        self._solver = solver
        self._options = options
        self._log = log
        self._standing = Standing(problem)
        self._waiting = self._standing.residual.remaining

    def placed(self) -> Assignments:
        """The trial placement, in order of admission."""
        problem = self._problem
        parts = []
        for rank in np.unique(problem.priority)[::-1].tolist():
            for gang in range(len(problem.gang_need)):
                members = np.flatnonzero(problem.gang == gang)
                if problem.priority[members].max(initial=-1) == rank:
                    parts.append(self._try(gang, members))
            parts.append(self._others(rank))
        if self._standing.state is not None:
            self._only((problem.gang < 0) & (self._waiting.sum(axis=1) > 0))
            parts.append(place_leftovers(self._standing.residual, self._standing.state))
        return Assignments.joined(parts)

    def _try(self, gang: int, members: Int64) -> Assignments:
        """Place a gang if it fits as a whole; else leave everything as it was."""
        before = self._standing
        self._standing = before.copy()
        chosen = np.zeros(self._problem.classes, dtype=np.bool_)
        chosen[members] = True
        self._only(chosen)
        residual, state = self._standing.residual, self._standing.state
        placed = place_greedily(residual) if state is None else place_leftovers(residual, state)
        if int(placed.count.sum()) < self._problem.gang_need[gang]:
            self._standing = before
            return Assignments.empty()
        self._waiting[members] = 0
        return placed

    def _others(self, rank: int) -> Assignments:
        """Place the tasks of a priority that belong to no gang."""
        chosen = (self._problem.gang < 0) & (self._problem.priority == rank)
        self._only(chosen)
        placed = self._standing.place(self._solver, self._options, self._log)
        self._waiting[chosen] = self._standing.residual.remaining[chosen]
        return placed

    def _only(self, chosen: Bool) -> None:
        """Let nobody wait but the classes in ``chosen``."""
        self._standing.residual.remaining = np.where(chosen[:, None], self._waiting, 0)
