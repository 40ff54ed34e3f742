"""Keeps the machines as they will be once all victims have left; each decision of preemption updates them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.constraint import Constraints
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.preemption.models_room import MachinesNeedingLedgerCheck, list_amount_columns
from firmament.core.preemption.problem import PreemptionProblem, PreemptionTuning
from firmament.core.preemption.quota_users import QuotaUser, find_covered
from firmament.core.preemption.victim_gangs import VictimGangs


class PreemptionState:
    """The state of a round after its placements, and after the evictions chosen so far.

    * ``room``: int64[M, K], free once the tasks in ``gone`` have left (bool[V]: leaving anyway, or chosen as victims);
      ``requests``: int64[S, K], request of a task of each shape; ``heeded``: bool[S, K], columns in which a machine
      must have the request free; ``sizes``: int64[V + 1, K], what each victim gives back, the last row for no task. The
      K columns are resources, and joint rows to which evictions give back (see ``models_room``);
    * ``remaining``: int64[C], tasks without a place; ``waiting``: int64[C, WAIT_BUCKETS], tasks without a place at the
      beginning;
    * ``alike``: int64[V + 1], a number that tasks of one machine share if they have equal priority and start;
    * ``taken``: (class, machine) of each place given, in order; ``preemptors``: by machine, the classes that got places
      there;
    * ``chosen``: by machine, the tasks chosen to leave;
    * ``allowed``: int64[B], evictions that budgets still allow, negative where exceeded; ``spare``: int64[G], how many
      members each gang can still lose, negative if it leaves as a whole; ``gangs``: the members of gangs;
    * ``limits``: the other joint rows; ``quotas``: quotas as they are before any victim leaves; ``ledgers``: the
      models' ledgers as in ``Residual``; ``ledger_closed``: machines on which some ledger must be asked first;
    * ``constraints``: rules between tasks (``state``) and limits of pairs (``pairs``). Pairs count victims as still
      there: their limits may seem tighter than they will be, never wider.
    """

    def __init__(
        self,
        problem: PlacementProblem,
        preemption: PreemptionProblem,
        placed: Assignments,
        tuning: PreemptionTuning,
    ) -> None:
        self.problem = problem
        self.preemption = preemption
        self.tuning = tuning
        residual = Residual(problem)
        residual.book_assignments(placed)
        self.remaining: Int64 = residual.remaining.sum(axis=1)
        self.waiting = residual.remaining
        self.limits = [each for n, each in enumerate(residual.joint) if n not in preemption.returning]
        self.quotas = residual.quotas
        terms = problem.quotas if len(preemption.draw) else None
        nothing = np.empty(0, dtype=np.int64)
        self.drawn: Int64 = nothing if terms is None else terms.find_nodes_of(preemption.draw)
        """int64[V], the quota node that each task draws on, -1 for none; empty if quotas protect no task."""
        self.contested: Bool = nothing > 0 if terms is None else terms.find_contested()
        """bool[N], quota nodes in whose tree some queue may evict for quota; empty if ``drawn`` is."""
        self.confined: dict[int, Bool] = {}
        """By class: bool[M], the only machines to which its tasks may go at present."""
        self.root: Int64 = nothing if terms is None else terms.find_roots()
        """int64[N], the root of each quota node's tree; empty if ``drawn`` is."""
        self.covered: list[Bool] = []
        """At most one bool[V]: victims that their own queues' quotas cover, and victims in queues with fair shares.
        The list is filled on first use, and copies of the state share it.
        """
        self.ledgers = residual.ledgers
        self.ledger_closed = MachinesNeedingLedgerCheck(problem, preemption, placed)
        self.requests, self.heeded, self.sizes, self.room = list_amount_columns(problem, preemption, residual)
        self.alike = _alike(preemption)
        self.gone = preemption.leaving.copy()
        np.add.at(self.room, preemption.machine[self.gone], self.sizes[:-1][self.gone])
        self.allowed = preemption.allowed.copy()
        self.spare = preemption.spare.copy()
        self.gangs = VictimGangs(preemption)
        self.taken: list[tuple[int, int]] = []
        self.preemptors: dict[int, list[int]] = {}
        self.chosen: dict[int, list[int]] = {}
        self.elsewhere: dict[int, tuple[int, ...]] = {}
        """By index in ``taken``: the victims, on any machine, whose eviction frees the quota for that place."""
        self.first = np.searchsorted(preemption.machine, np.arange(problem.machines + 1))
        """int64[M + 1]: tasks ``first[m]`` to ``first[m + 1] - 1`` are those of machine m."""
        self.state = RuleState(preemption.rules)
        self.pairs = problem.pairs.begin(counting=problem.pairs.closes)
        self.constraints = Constraints([self.pairs, self.state])
        if self.coupled:
            for cls, machine, count in placed.entries():
                self.constraints.add(cls, machine, count)
            for victim in np.flatnonzero(self.gone).tolist():
                self._count(victim, -1)

    def copy(self) -> PreemptionState:
        """Return an independent copy."""
        twin = copy(self)
        for name in ("remaining", "room", "gone", "allowed", "spare"):
            setattr(twin, name, getattr(self, name).copy())
        twin.limits = [limit.copy() for limit in self.limits]
        twin.quotas = None if self.quotas is None else self.quotas.copy()
        twin.ledgers = [ledger.copy() for ledger in self.ledgers]
        twin.ledger_closed = self.ledger_closed.copy()
        twin.taken = list(self.taken)
        twin.preemptors = {machine: list(classes) for machine, classes in self.preemptors.items()}
        twin.chosen = {machine: list(victims) for machine, victims in self.chosen.items()}
        twin.elsewhere = dict(self.elsewhere)
        twin.state = self.state.copy()
        twin.pairs = self.pairs.copy()
        twin.constraints = Constraints([twin.pairs, twin.state])
        return twin

    def copy_without(self, places: Iterable[tuple[int, int]]) -> PreemptionState:
        """Return a copy without some places, (class, machine), that existed when the stage began."""
        twin = self.copy()
        for cls, machine in places:
            twin.take_back(cls, machine)
        return twin

    # --- questions about the state -------------------------------------------------------------------------------

    def request(self, cls: int) -> Int64:
        """Return what a task of a class requests: int64[K]."""
        request: Int64 = self.requests[self.problem.shape[cls]]
        return request

    def heeds(self, cls: int) -> Bool:
        """Return columns in which a machine must have the class's request free, even if the request is 0: bool[K]."""
        heeded: Bool = self.heeded[self.problem.shape[cls]]
        return heeded

    def rules(self, cls: int) -> ClassRules:
        """Return the rules of a class; empty rules if it has none."""
        return self.state.rules.rules(cls)

    def usable(self, cls: int) -> Bool:
        """Return machines that a class may use by filters, pins and models' limits: bool[M].

        Evictions do not change these limits of models. Machines that tasks must reach in a certain order, by some
        ledger, are left out; see ``openable``.
        """
        problem = self.problem
        shape = int(problem.shape[cls])
        occupied = self.preemption.occupied
        feasible = problem.feasible[shape]
        usable = self._drop_closed(cls, feasible.copy() if occupied is None else feasible | occupied[shape])
        known_as = problem.map_to_ledgers(np.full(problem.machines, shape))
        for ledger in self.ledgers:
            usable &= ledger.count_room(int(known_as[0])) > 0
            usable &= ~ledger.find_ordered(known_as, np.arange(problem.machines))
        return usable

    def openable(self, cls: int) -> Bool:
        """Return machines that a class may use if tasks leave, and about which a ledger must be asked: bool[M]."""
        return self._drop_closed(cls, self.ledger_closed.openable(cls))

    def _drop_closed(self, cls: int, usable: Bool) -> Bool:
        """Return ``usable`` (bool[M]) without machines that pins, joint rows, quotas or pairs close to a class."""
        problem = self.problem
        shape = int(problem.shape[cls])
        usable = problem.limit_to_pins(cls, usable)
        if cls in self.confined:
            usable = usable & self.confined[cls]
        for limit in self.limits:
            limit.close_full(usable, shape)
        if self.quotas is not None:
            self.quotas.close_full(usable, shape)
        for _, refused in self.pairs.refusals(cls):
            usable &= ~refused
        return usable

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether a machine accepts a task of a class by models' limits, quotas and rules, resources aside."""
        problem = self.problem
        shape = int(problem.shape[cls])
        if not all(limit.fits(shape, machine) for limit in self.limits):
            return False
        if self.quotas is not None and not self.quotas.lets_in(shape, machine):
            return False
        at = np.array([machine])
        known_as = problem.map_to_ledgers(np.array([shape]))
        closing = self.ledger_closed.list_closing(cls, machine)
        for ledger, closes in zip(self.ledgers, closing, strict=True):
            if not closes and int(ledger.room_at(known_as, at)[0]) <= 0:
                return False
        asked = any(closing) or self.ledger_closed.meets_preemptors(cls, machine)
        if asked and not self.ledger_closed.admits(cls, machine, self.list_gone(machine)):
            return False
        return self.constraints.allows(cls, machine)

    def list_gone(self, machine: int) -> list[int]:
        """Return the tasks that leave a machine: those that preemption has chosen, and those that leave anyway."""
        first = int(self.first[machine])
        there = np.flatnonzero(self.gone[first : int(self.first[machine + 1])])
        return (there + first).tolist()

    def fits(self, cls: int, machine: int) -> bool:
        """Return whether a machine has the free resources for one more task of a class."""
        return bool((self.room[machine] >= self.request(cls))[self.heeds(cls)].all())

    def count_beyond(self, victims: Iterable[int]) -> int:
        """Return how many of ``victims`` would exceed a disruption budget.

        The victims count in this order, after the tasks that are chosen already.
        """
        beyond = 0
        left: dict[int, int] = {}
        for victim in victims:
            budgets = self.preemption.budgets[self.preemption.kind[victim]]
            for budget in budgets:
                left[budget] = left.get(budget, max(0, int(self.allowed[budget]))) - 1
            beyond += any(left[budget] < 0 for budget in budgets)
        return beyond

    def find_whole_gangs(self, cls: int) -> Bool:
        """Return which gangs may leave as a whole for a class: less important gangs, not its own: bool[G]."""
        whole = self.gangs.find_whole(self.spare, int(self.preemption.priority[cls]))
        whole[self._find_own(cls)] = False
        origins = self.preemption.gang[self.find_origins(cls)]
        whole[origins[origins >= 0]] = False
        return whole

    def find_origins(self, cls: int, count: int | None = None) -> Int64:
        """Return the tasks that must not leave for the next ``count`` tasks of a class that get places: int64.

        The evictions through which these tasks of the class lost their places began with the tasks returned. ``count``
        None: for any of the class's tasks.
        """
        by_place = self.preemption.origins.get(cls)
        if by_place is None:
            return np.empty(0, dtype=np.int64)
        first = int(self.problem.counts[cls].sum() - self.remaining[cls])
        last = first + count if count is not None else max(by_place) + 1
        found = [by_place[place] for place in by_place if first <= place < last]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)

    def _find_own(self, cls: int) -> slice:
        """Return the numbers of the class's own gang and of the groups in that gang, as a slice."""
        own = int(self.preemption.own[cls]) if len(self.preemption.own) else -1
        return slice(own, int(self.gangs.end[own])) if own >= 0 else slice(0)

    def may_go(self, cls: int) -> Bool:
        """Return which tasks may leave for a class, by themselves or with their whole gang: bool[V]."""
        preemption = self.preemption
        may_go: Bool = ~self.gone & (preemption.victim_priority < preemption.priority[cls])
        if len(self.spare):
            open_to = np.append((self.spare > 0) | self.find_whole_gangs(cls), True)
            open_to[self._find_own(cls)] = False
            may_go &= open_to[preemption.gang]
        may_go[self.find_origins(cls)] = False
        return may_go & ~self._find_protected_by_quotas(cls) if may_go.any() else may_go

    def _find_protected_by_quotas(self, cls: int) -> Bool:
        """Return tasks of other queues in the class's quota tree that must not leave only to free capacity: bool[V].

        A task must not leave if its own queue's quotas cover it, or if its queue has fair shares. After an eviction
        for the class, the queue of the evicted task could evict the class's tasks in turn.
        """
        preemption, quotas, terms = self.preemption, self.quotas, self.problem.quotas
        number = int(terms.draw[self.problem.shape[cls]]) if terms is not None else -1
        own = terms.draws[number].node if terms is not None and number >= 0 else -1
        node = self.drawn
        if quotas is None or terms is None or own < 0 or not len(node) or not self.contested[own]:
            return np.zeros(preemption.victims, dtype=np.bool_)
        if not self.covered:
            drawing = np.flatnonzero(node >= 0)
            users = [
                QuotaUser(
                    (int(preemption.victim_priority[victim]), -int(preemption.age[victim])),
                    int(preemption.draw[victim]),
                    int(preemption.machine[victim]),
                    victim,
                )
                for victim in drawing.tolist()
            ]
            kept = np.zeros(preemption.victims, dtype=np.bool_)
            kept[sorted(find_covered(quotas, users))] = True
            kept[drawing] |= terms.fair[node[drawing]]
            self.covered.append(kept)
        beside = (node >= 0) & (node != own) & (self.root[node] == self.root[own])
        return np.asarray(beside & self.covered[0])

    def add_gangs(self, victims: Iterable[int]) -> list[int]:
        """Return the ``victims`` that are not chosen yet, and all members of gangs that would become incomplete."""
        going = [victim for victim in victims if not self.gone[victim]]
        if not len(self.spare):
            return going
        for gang in self.gangs.find_broken(self.preemption.gang[going].tolist(), self.spare):
            members = self.gangs.members(gang)
            there = set(going)
            going += [member for member in members[~self.gone[members]].tolist() if member not in there]
        return going

    def splits(self, cls: int, victims: Iterable[int]) -> bool:
        """Return whether evicting ``victims`` for a class would leave a gang with some members but too few."""
        if not len(self.spare):
            return False
        broken = self.gangs.find_broken(self.preemption.gang[list(victims)].tolist(), self.spare)
        return bool(broken) and not self.find_whole_gangs(cls)[broken].all()

    def few(self, tasks: int) -> bool:
        """Return whether there are so few tasks and machines that a more thorough search pays."""
        return tasks <= self.tuning.few_tasks and self.problem.machines <= self.tuning.few_machines

    @property
    def ruled(self) -> bool:
        """Whether any class has rules about other tasks."""
        return bool(self.state.rules.of)

    @property
    def coupled(self) -> bool:
        """Whether placing a task may open machines to further tasks, or close machines to them."""
        return self.ruled or self.problem.pairs.closes

    # --- changes of the state ------------------------------------------------------------------------------------

    def evict(self, victims: Iterable[int]) -> None:
        """Choose tasks to leave, and count what they use as free."""
        for victim in victims:
            machine = int(self.preemption.machine[victim])
            self.gone[victim] = True
            self.chosen.setdefault(machine, []).append(victim)
            self.room[machine] += self.sizes[victim]
            self._book_victim(victim, -1)

    def spare_victim(self, victim: int) -> None:
        """Let a task stay after all that was chosen to leave."""
        machine = int(self.preemption.machine[victim])
        self.gone[victim] = False
        self.chosen[machine].remove(victim)
        self.room[machine] -= self.sizes[victim]
        self._book_victim(victim, 1)

    def put(self, cls: int, machine: int) -> None:
        """Place a task of a class on a machine, without checking that the machine takes it."""
        self._book_preemptor(cls, machine, 1)
        self.taken.append((cls, machine))
        self.preemptors.setdefault(machine, []).append(cls)
        if self.ledger_closed.closes(cls, machine):
            self.ledger_closed.add_preemptor(cls, machine)
            return
        if self.ledger_closed.shares(cls):
            self.ledger_closed.add_preemptor(cls, machine)
        for ledger in self.ledgers:
            shapes = self.problem.map_to_ledgers(self.problem.shape[cls : cls + 1])
            ledger.book(shapes, np.array([machine]), np.ones(1, dtype=np.int64))

    def withdraw(self, cls: int, machine: int) -> None:
        """Undo a placement of this stage; not possible with ledgers, which cannot release anything."""
        self._book_preemptor(cls, machine, -1)
        self.taken.remove((cls, machine))
        self.preemptors[machine].remove(cls)

    def take_back(self, cls: int, machine: int) -> None:
        """Undo a placement that existed when the stage began; not possible with ledgers."""
        self._book_preemptor(cls, machine, -1)

    def _book_preemptor(self, cls: int, machine: int, count: int) -> None:
        self.room[machine] -= self.request(cls) * count
        self.remaining[cls] -= count
        for limit in self.limits:
            limit.add(int(self.problem.shape[cls]), machine, count)
        if self.quotas is not None:
            self.quotas.add(int(self.problem.shape[cls]), machine, count)
        self.constraints.add(cls, machine, count)

    def _book_victim(self, victim: int, count: int) -> None:
        """Count a task as back (1) or gone (-1) in budgets, gangs and rules between tasks."""
        kind = self.preemption.kind[victim]
        for budget in self.preemption.budgets[kind]:
            self.allowed[budget] += count
        if len(self.spare) and self.preemption.gang[victim] >= 0:
            self.gangs.book(self.spare, int(self.preemption.gang[victim]), count)
        self._count(victim, count)

    def _count(self, victim: int, count: int) -> None:
        cls = self.problem.classes + int(self.preemption.kind[victim])
        self.state.add(cls, int(self.preemption.machine[victim]), count)


def _alike(preemption: PreemptionProblem) -> Int64:
    """Return ``PreemptionState.alike``; the numbers ascend, and the last one stands for no task."""
    new = np.ones(preemption.victims + 1, dtype=np.bool_)
    columns = (preemption.machine, preemption.victim_priority, preemption.started)
    new[1:-1] = np.logical_or.reduce([each[1:] != each[:-1] for each in columns])
    return np.cumsum(new)
