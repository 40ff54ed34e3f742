"""Keeps the state of a round's machines: says which tasks may go where, and records the tasks placed there."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.constraint import Constraints
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.model_limits import ModelLimits
from firmament.core.constraints.pairs import PairState
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.reasons import AnyReason


class Board:
    """The machines of a round with the tasks that have been placed on them.

    All code that places tasks, tries places or removes tasks works on a board, so there is one answer to where one
    more task may go. A caller may ask about one machine (``fits``), about all machines (``find_fitting``) or
    about some (``count_fitting``). The answers always follow the same rules in the same order: filters and pins,
    resources, limits of models, rules between tasks, pairs of tasks.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        #: Waiting tasks, and what machines have left of resources and of models' limits.
        self.residual = Residual(problem)
        #: Whether the places of some tasks matter to other tasks.
        self.ruled = problem.interdependent

    @cached_property
    def rules(self) -> RuleState:
        """The state of rules between tasks; created on first access, as most problems have no rules between tasks."""
        return RuleState(self.problem.rules)

    @cached_property
    def pairs(self) -> PairState:
        """The state of pairs of tasks, as far as pairs restrict where tasks go; created on first access."""
        return self.problem.pairs.begin(counting=self.problem.pairs.steers)

    def copy(self) -> Board:
        """Return an independent copy."""
        return self.for_problem(self.problem)

    def for_problem(self, problem: PlacementProblem) -> Board:
        """Return an independent copy for a problem that differs in pins only."""
        twin = copy(self)
        twin.problem = problem
        twin.residual, twin.rules = self.residual.from_problem(problem), self.rules.copy()
        twin.pairs = self.pairs.copy()
        return twin

    def rules_of(self, cls: int) -> ClassRules:
        """Return the rules of a class; if the class has none, the result is an empty set of rules."""
        return self.rules.rules.rules(cls)

    # --- where one more task may go ------------------------------------------------------------------------------

    def fits(self, cls: int, machine: int, *, paired: bool = True) -> bool:
        """Return whether one more task of a class may go to a machine.

        ``paired``: whether limits of pairs count; they do not for tasks that have been planned as a whole within these
        limits.
        """
        shape = int(self.problem.shape[cls])
        return (
            bool(self.problem.feasible[shape, machine])
            and self.problem.pins_allow(cls, machine)
            and self.residual.has_room_on(shape, machine)
            and self.rules.allows(cls, machine)
            and (not paired or self.pairs.allows(cls, machine))
        )

    def find_fitting(self, cls: int, *, paired: bool = True) -> Bool:
        """Return on which machines ``fits`` holds for a class: bool[M]. ``paired``: as there."""
        fits = self.residual.find_fitting(int(self.problem.shape[cls]))
        allowed = self.rules.find_allowed(cls)
        if allowed is not None:
            fits &= allowed
        fits = self.problem.limit_to_pins(cls, fits)
        if paired:
            for _, refused in self.pairs.refusals(cls):
                fits &= ~refused
        return fits

    def count_fitting(
        self, cls: int, machines: Int64, *, together: bool = False, requests: bool = True
    ) -> Int64:
        """Return how many tasks of a class each of ``machines`` takes if the other machines take none: int64[A].

        Free amounts and limits of models are exact. Rules and pairs only close a machine or leave it open. If two
        tasks of the class exclude each other, a machine takes one; other rules between the counted tasks are ignored.
        ``together``: whether tasks of other classes are placed on the machines in the same step. For a class alone,
        only rules by which tasks exclude each other count; rules that attract or spread tasks are checked once all
        tasks are placed. ``requests``: whether requests of resources count.
        """
        problem, shape = self.problem, int(self.problem.shape[cls])
        units = self.residual.count_fitting(np.full(len(machines), shape), machines, requests=requests)
        open_to: Bool = problem.feasible[shape, machines].copy()
        if cls in problem.pins:
            open_to &= np.isin(machines, problem.pins[cls])
        rules = self.rules
        closed = (
            rules.list_excluded(cls, machines)
            if together
            else [each for _, each in rules.refusals(cls, machines)]
        )
        for refused in closed:
            open_to &= ~refused
        if self.rules_of(cls).excludes_itself():
            units = np.minimum(units, 1)
        for _, refused in self.pairs.refusals(cls, machines):
            open_to &= ~refused
        return np.where(open_to, units, 0)

    def refusals(self, cls: int) -> list[tuple[AnyReason, Bool]]:
        """Return the reasons of rules, limits and pairs, each with the machines that refuse a task of a class."""
        return [*self.rules.refusals(cls), *self.limit_refusals(cls)]

    def limit_refusals(self, cls: int) -> list[tuple[AnyReason, Bool]]:
        """Return the reasons of models' limits and of pairs alone, each with the machines that refuse one more task."""
        residual = self.residual
        limits = ModelLimits.sharing(residual.joint, residual.quotas, residual.ledgers, self.problem.shape)
        return Constraints([limits, self.pairs]).refusals(cls)

    # --- tasks of one class --------------------------------------------------------------------------------------

    def place(self, cls: int, machine: int, count: int = 1, *, paired: bool = True) -> None:
        """Place tasks on a machine, whether or not they fit; they may still move. Waiting tasks are not changed.

        ``paired``: whether the tasks also count for pairs.
        """
        self._add(cls, machine, count, paired=paired)

    def give_back(self, cls: int, machine: int, count: int = 1, *, paired: bool = True) -> None:
        """Remove tasks from a machine; raises ``ValueError`` if the problem has ledgers, as ledgers release nothing."""
        self._add(cls, machine, -count, paired=paired)

    def _add(self, cls: int, machine: int, count: int, *, paired: bool) -> None:
        self.residual.add(int(self.problem.shape[cls]), machine, count)
        self.rules.add(cls, machine, count)
        if paired:
            self.pairs.add(cls, machine, count)

    # --- many tasks at once --------------------------------------------------------------------------------------

    def book(self, placed: Assignments) -> None:
        """Place waiting tasks on machines for good; the tasks then no longer count as waiting."""
        self.residual.book_assignments(placed)
        if self.ruled:
            for cls, machine, count in placed.entries():
                self.rules.add(cls, machine, count)
            self.count_pairs(placed)
            self.fix_pairs(placed)

    def remaining_problem(self, counts: Int64) -> PlacementProblem:
        """Return the problem of placing ``counts`` tasks (int64[C, WAIT_BUCKETS]) in the capacity left on the board.

        The pairs of the problem are those of the board's problem, without tasks placed since.
        """
        residual = self.residual
        return replace(
            self.problem,
            counts=counts,
            free=residual.free.T.copy(),
            joint=tuple(joint.as_limit() for joint in residual.joint),
            quotas=None if residual.quotas is None else residual.quotas.as_terms(),
            ledgers=tuple(ledger.copy() for ledger in residual.ledgers),
            rules=self._rules_now(),
        )

    def _rules_now(self) -> RuleSet:
        """Return the rules between tasks, with their present counts as the counts at the beginning."""
        state, rules = self.rules, self.problem.rules
        counters = [
            replace(counter, start=counts.copy())
            for counter, counts in zip(rules.counters, state.counts, strict=True)
        ]
        return replace(rules, counters=counters, modelled=tuple(each.copy() for each in state.modelled))

    def count_pairs(self, placed: Assignments) -> None:
        """Count placed tasks for pairs; the tasks may still move."""
        self.pairs.add_all(placed.cls, placed.machine, placed.count)

    def fix_pairs(self, placed: Assignments) -> None:
        """Mark placed and counted tasks as staying where they are, for pairs."""
        tasks = placed.tasks()
        self.pairs.fix(tasks.cls, tasks.machine)


def is_displaced(problem: PlacementProblem, waiting: Int64, placed: Assignments, among: Bool) -> bool:
    """Return whether a task of the classes ``waiting`` would fit somewhere without the round's less important tasks.

    ``among``: bool[C]; at least one of the less important tasks has to be of these classes. Less important tasks of
    queues other than that of the waiting task keep their quota.
    """
    for rank in np.unique(problem.priority[waiting])[::-1].tolist():
        lower = problem.priority[placed.cls] < rank
        if not (lower & among[placed.cls]).any():
            continue
        asked = waiting[problem.priority[waiting] == rank]
        without = Board(problem)
        without.book(placed.select(~lower))
        quotas = without.residual.quotas
        if quotas is None:
            if any(without.find_fitting(cls).any() for cls in asked.tolist()):
                return True
            continue
        # Tasks of two queues are compared by more than importance; tasks of one queue, by importance alone.
        less = placed.select(lower)
        quotas.book(problem.shape[less.cls], less.machine, less.count)
        queue, queue_of_less = (quotas.terms.find_nodes(problem.shape[cls]) for cls in (asked, less.cls))
        same = (queue >= 0) & np.isin(queue, queue_of_less)
        others = asked[~same]
        draw = quotas.terms.draw[problem.shape[others]]
        others = others[
            (draw < 0) | quotas.find_open()[draw]
        ]  # there may be thousands of queues with nothing left
        if any(without.find_fitting(cls).any() for cls in others.tolist()):
            return True
        for node in np.unique(queue[same]).tolist():
            own = less.select(queue_of_less == node)
            quotas.book(problem.shape[own.cls], own.machine, -own.count)
            if any(without.find_fitting(cls).any() for cls in asked[queue == node].tolist()):
                return True
            quotas.book(problem.shape[own.cls], own.machine, own.count)
    return False
