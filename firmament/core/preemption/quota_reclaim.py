"""Gives places to tasks that lack quota, by evicting others that draw on the same tree of quotas, wherever these are.

Whom a task may evict for quota is a matter of its queue: less important ones, or newer ones of equal importance, of the
same queue; and of other queues of the tree tasks of those that borrow. Fewest go, of equal numbers the least important;
no disruption budget is exceeded if that can be helped. A gang that waits comes as a whole or not at all, and one that
goes goes as a whole.

Nothing is decided that does not raise the *potential* of the tree, so however often tasks evict each other, they never
do so in a circle. Of each quota it tells which tasks what it brings in is for: each, the most important first, as long
as there is enough; a task that is protected so is worth more than all less important ones. The lowest quotas count
first, then those above them, then which tasks have places at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import list_amounts, list_columns
from firmament.core.constraints.quota_room import QuotaRoom
from firmament.core.preemption.node_state import PreemptionState

FEW = 12
"""Tasks that could go up to which all sets of them are looked at."""
MOST_CANDIDATES = 256
"""Tasks that are looked at for one that waits."""
MOST_TRIALS = 1_000
"""Sets of tasks that are looked at in a round."""

Importance = tuple[int, int]
"""Standing, and age: who came first is more important."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Tasks that come together: one, or a gang; ``members``: classes and how many of each."""

    members: tuple[tuple[int, int], ...]
    importance: Importance


class QuotaReclaim:
    """Finds victims for those who lack quota; ``state`` moves on as places are given."""

    def __init__(self, state: PreemptionState) -> None:
        self.state = state
        self._trials = MOST_TRIALS
        self._went: list[int] = []
        terms = state.problem.quotas
        assert terms is not None
        #: int64[V], the quota that each task draws on, -1 for none
        self._node: Int64 = np.array([*(draw.node for draw in terms.draws), -1])[state.preemption.draw]
        self._in_vain: set[tuple[object, ...]] = set()

    def run(self, able: Bool, gang: Int64, need: Int64) -> PreemptionState:
        """Give places to those of the classes ``able`` (bool[C]) that are left; returns the state after it.

        ``gang``: int64[C], the gang of each class, -1 for none; ``need``: int64[G], what each needs.
        """
        for unit in self._list_units(able, gang, need):
            while self._trials > 0 and self._reclaim(unit):
                if len(unit.members) > 1 or unit.members[0][1] > 1:
                    break
                if self.state.remaining[unit.members[0][0]] <= 0:
                    break
        return self.state

    def _list_units(self, able: Bool, gang: Int64, need: Int64) -> Iterator[_Unit]:
        state, problem = self.state, self.state.problem
        quotas = problem.quotas
        assert quotas is not None
        drawing = able & (quotas.find_nodes(problem.shape) >= 0) & (state.remaining > 0)
        units = []
        for number in np.unique(gang[drawing]).tolist():
            members = np.flatnonzero(drawing & (gang == number))
            if number < 0:
                units += [_Unit(((cls, 1),), self._rank(cls)) for cls in members.tolist()]
                continue
            wanted, left = [], int(need[number])
            for cls in members.tolist():
                count = min(left, int(state.remaining[cls]))
                left -= count
                wanted += [(cls, count)] if count else []
            if not left:
                units.append(_Unit(tuple(wanted), max(self._rank(cls) for cls, _ in wanted)))
        yield from sorted(units, key=lambda unit: unit.importance, reverse=True)

    def _rank(self, cls: int) -> Importance:
        preemption = self.state.preemption
        return int(preemption.priority[cls]), -int(preemption.since[cls])

    def _importance(self, victim: int) -> Importance:
        preemption = self.state.preemption
        return int(preemption.victim_priority[victim]), -int(preemption.sequence[victim])

    # --- one unit ------------------------------------------------------------------------------------------------

    def _reclaim(self, unit: _Unit) -> bool:
        """Give a unit its places, if victims can be found for it; returns whether they could."""
        looks = tuple((int(self.state.problem.shape[cls]), count) for cls, count in unit.members)
        if (looks, unit.importance[0]) in self._in_vain:
            return False
        candidates = self._list_candidates(unit)
        found = self._choose(unit, candidates) if candidates else None
        if found is None:
            self._in_vain.add((looks, unit.importance[0]))
            return False
        victims, after = found
        self._went += victims
        for place in range(len(self.state.taken), len(after.taken)):
            after.elsewhere[place] = tuple(self._went)
        self.state = after
        return True

    def _list_candidates(self, unit: _Unit) -> list[int]:
        """Return who may go for a unit: of other queues first, then the least important first."""
        state, preemption = self.state, self.state.preemption
        quotas, terms = state.quotas, state.problem.quotas
        assert quotas is not None
        assert terms is not None
        cls = unit.members[0][0]
        draw = terms.draws[int(terms.draw[state.problem.shape[cls]])]
        root, columns = quotas.use.list_path(draw.node)[-1], sorted(set(list_columns(draw)))
        going = ~state.gone & ~preemption.leaving & (self._node >= 0)
        if len(preemption.own) and preemption.own[cls] >= 0:
            going &= preemption.gang != preemption.own[cls]
        may_go: Bool = np.zeros(len(going), dtype=np.bool_)
        for node in np.unique(self._node[going]).tolist():
            if quotas.use.list_path(node)[-1] == root:
                theirs = going & (self._node == node)
                if node == draw.node:
                    may_go |= theirs & self._find_within(unit, int(terms.within[node]))
                else:
                    may_go |= theirs & self._find_reclaimable(unit, draw.node, node, columns)
        found = np.flatnonzero(may_go & self._find_drawing(columns))
        order = np.lexsort(
            (-preemption.sequence[found], preemption.victim_priority[found], self._node[found] == draw.node)
        )
        return found[order][:MOST_CANDIDATES].tolist()

    def _find_drawing(self, columns: list[int]) -> Bool:
        """Return bool[V]: tasks that take of any of some columns."""
        terms, preemption = self.state.problem.quotas, self.state.preemption
        assert terms is not None
        takes = [not set(columns).isdisjoint(list_columns(draw)) for draw in terms.draws]
        return np.array([*takes, False], dtype=np.bool_)[preemption.draw]

    def _find_within(self, unit: _Unit, policy: int) -> Bool:
        """Return bool[V]: tasks that may go for one of the same queue."""
        preemption, (priority, age) = self.state.preemption, unit.importance
        less: Bool = preemption.victim_priority < priority
        if policy > 1:
            less = less | ((preemption.victim_priority == priority) & (-preemption.sequence < age))
        return less if policy else np.zeros_like(less)

    def _find_reclaimable(self, unit: _Unit, node: int, other: int, columns: list[int]) -> Bool:
        """Return bool[V]: tasks that may go, if they are of a queue ``other``, for one of the queue ``node``."""
        state = self.state
        quotas, terms = state.quotas, state.problem.quotas
        assert quotas is not None
        assert terms is not None
        less: Bool = state.preemption.victim_priority < unit.importance[0]
        _, theirs = _part_ways(quotas, node, other)
        if not any(quotas.use.get_own_left(theirs, column) < 0 for column in columns):
            return np.zeros_like(less)
        policy = int(terms.reclaim[node])
        found = np.ones_like(less) if policy > 1 else less & (policy > 0)
        if terms.borrows[node]:
            found = found | (less & (state.preemption.victim_priority <= terms.threshold[node]))
        return found

    # --- sets of victims -----------------------------------------------------------------------------------------

    def _choose(self, unit: _Unit, candidates: list[int]) -> tuple[list[int], PreemptionState] | None:
        """Return the best set of victims that is enough, and the state after it; None for none."""
        if len(candidates) <= FEW:
            return self._choose_of_all(unit, candidates)
        going: list[int] = []
        enough = None
        for victim in candidates:
            if victim not in going:
                going += self._add_companions([victim], going)
                enough = self._try(unit, going)
                if enough is not None:
                    break
        if enough is None:
            return None
        for victim in list(reversed(going)):
            fewer = [each for each in going if each != victim]
            if fewer and self._keeps_gangs(fewer):
                less = self._try(unit, fewer)
                if less is not None:
                    going, enough = fewer, less
        return going, enough

    def _choose_of_all(self, unit: _Unit, candidates: list[int]) -> tuple[list[int], PreemptionState] | None:
        """Return the same, with all sets looked at, from the smallest on."""
        seen: set[frozenset[int]] = set()
        sets: list[list[int]] = []
        for size in range(1, len(candidates) + 1):
            for chosen in combinations(candidates, size):
                going = self._add_companions(list(chosen), [])
                if frozenset(going) not in seen:
                    seen.add(frozenset(going))
                    sets.append(going)
        for going in sorted(sets, key=self._weigh):
            found = self._try(unit, going)
            if found is not None:
                return going, found
        return None

    def _weigh(self, going: list[int]) -> tuple[int, int, list[Importance]]:
        beyond = self.state.count_beyond(going)
        return beyond, len(going), sorted(map(self._importance, going), reverse=True)

    def _add_companions(self, victims: list[int], beside: list[int]) -> list[int]:
        """Return victims that are not among those ``beside``, with the rest of gangs that would not be whole."""
        every = self.state.add_gangs([*beside, *victims])
        return [victim for victim in every if victim not in beside]

    def _keeps_gangs(self, victims: list[int]) -> bool:
        return len(self.state.add_gangs(victims)) == len(victims)

    def _try(self, unit: _Unit, victims: list[int]) -> PreemptionState | None:
        """Return the state with a unit in its places once some are gone; None if it does not find them."""
        if self._trials <= 0 or not self._frees_enough(unit, victims):
            return None
        self._trials -= 1
        trial = self.state.copy()
        terms, quotas = trial.problem.quotas, trial.quotas
        assert terms is not None
        assert quotas is not None
        trial.evict(victims)
        for victim in victims:
            kind = int(terms.kind[trial.preemption.machine[victim]])
            quotas.draw_on(int(trial.preemption.draw[victim]), kind, -1)
        for cls, count in unit.members:
            for _ in range(count):
                machine = _find_machine(trial, cls)
                if machine is None:
                    return None
                trial.put(cls, machine)
        node = terms.find_nodes(trial.problem.shape[[unit.members[0][0]]])[0]
        if not self._may_borrow(trial, int(node), victims):
            return None
        return trial if self._raises_potential(trial, unit, victims) else None

    def _frees_enough(self, unit: _Unit, victims: list[int]) -> bool:
        """Return whether there is quota for the tasks of each class of a unit once some have gone, room aside."""
        problem, preemption = self.state.problem, self.state.preemption
        assert self.state.quotas is not None
        quotas = self.state.quotas.copy()
        for victim in victims:
            kind = int(quotas.terms.kind[preemption.machine[victim]])
            quotas.draw_on(int(preemption.draw[victim]), kind, -1)
        return all(
            int(quotas.units_by_kind(int(quotas.terms.draw[problem.shape[cls]])).sum()) >= count
            for cls, count in unit.members
            if quotas.terms.draw[problem.shape[cls]] >= 0
        )

    def _may_borrow(self, trial: PreemptionState, node: int, victims: list[int]) -> bool:
        """Return whether a queue is within its own quota, if somebody of another queue goes that policies protect
        from those who borrow.
        """
        terms, quotas = trial.problem.quotas, trial.quotas
        assert terms is not None
        assert quotas is not None
        ours = {
            _part_ways(quotas, node, other)[0]
            for victim in victims
            if (other := terms.draws[int(trial.preemption.draw[victim])].node) != node
        }
        if not ours or terms.borrows[node]:
            return True
        draws = (terms.draws[int(terms.draw[trial.problem.shape[cls]])] for cls, _ in trial.taken)
        columns = {column for draw in draws if draw.node == node for column in list_columns(draw)}
        return all(quotas.use.get_own_left(each, column) >= 0 for each in ours for column in columns)

    # --- the potential -------------------------------------------------------------------------------------------

    def _raises_potential(self, trial: PreemptionState, unit: _Unit, victims: list[int]) -> bool:
        """Return whether the potential of the tree is greater with a unit in its places and some gone."""
        terms = self.state.problem.quotas
        assert terms is not None
        queues = {terms.draws[int(self.state.preemption.draw[victim])].node for victim in victims}
        queues.update(terms.find_nodes(self.state.problem.shape[[cls for cls, _ in unit.members]]).tolist())
        depths: dict[int, set[int]] = {}
        for queue in queues:
            path = self._list_below_root(queue)
            for above, node in enumerate(reversed(path)):
                depths.setdefault(above, set()).add(node)
        concerned = set().union(*depths.values())
        below = {
            node for node in range(len(terms.names)) if not concerned.isdisjoint(self._list_below_root(node))
        }
        before, after = self._list_users(self.state, below), self._list_users(trial, below)
        for depth in sorted(depths, reverse=True):
            raised = False
            for node in sorted(depths[depth]):
                then, now = self._list_protected(before, node), self._list_protected(after, node)
                if now < then:
                    return False
                raised |= now > then
            if raised:
                return True
        return all(self._importance(victim) < unit.importance for victim in victims)

    def _list_below_root(self, queue: int) -> tuple[int, ...]:
        """Return a quota and those above it, the one at the top left out, unless it is the only one."""
        quotas = self.state.quotas
        assert quotas is not None
        path = quotas.use.list_path(queue)
        return path[:-1] or path

    def _list_users(self, state: PreemptionState, queues: set[int]) -> list[_User]:
        """Return the tasks of some queues that stay, or have got a place, the most important first."""
        preemption, terms = state.preemption, state.problem.quotas
        assert terms is not None
        users = [
            _User(self._importance(victim), int(preemption.draw[victim]), int(preemption.machine[victim]))
            for victim in np.flatnonzero(~state.gone & np.isin(self._node, sorted(queues))).tolist()
        ]
        for cls, machine in state.taken:
            draw = int(terms.draw[state.problem.shape[cls]])
            if draw >= 0 and terms.draws[draw].node in queues:
                users.append(_User(self._rank(cls), draw, machine))
        return sorted(users, key=lambda user: user.importance, reverse=True)

    def _list_protected(self, users: list[_User], node: int) -> list[Importance]:
        """Return the tasks that what a quota and those below it bring in is for: each, the most important first, as
        long as there is enough.
        """
        terms = self.state.problem.quotas
        assert terms is not None
        left = terms.tree.subtree[node].copy()
        found = []
        for user in users:
            draw = terms.draws[user.draw]
            if draw.node < 0 or node not in self._list_below_root(draw.node):
                continue
            asked = list_amounts(draw, terms.covers[terms.kind[user.machine]])
            if all(left[column] >= amount for column, amount in asked):
                for column, amount in asked:
                    left[column] -= amount
                found.append(user.importance)
        return found


class _User(NamedTuple):
    """A task that uses quota, on a machine."""

    importance: Importance
    draw: int
    machine: int


def _part_ways(quotas: QuotaRoom, node: int, other: int) -> tuple[int, int]:
    """Return the quotas, above two of one tree or they themselves, right below the first that is above both."""
    ours, theirs = quotas.use.list_path(node), quotas.use.list_path(other)
    below, beside = node, other
    for mine, its in zip(reversed(ours), reversed(theirs), strict=False):
        below, beside = mine, its
        if mine != its:
            break
    return below, beside


def _find_machine(state: PreemptionState, cls: int) -> int | None:
    """Return the cheapest machine that takes one more task of a class now; None for none."""
    wanted = np.flatnonzero(state.heeds(cls))
    roomy = np.flatnonzero((state.room[:, wanted] >= state.request(cls)[wanted]).all(axis=1))
    places = roomy[state.usable(cls)[roomy]]
    cost = state.problem.cost[state.problem.shape[cls], places]
    for machine in places[np.argsort(cost, kind="stable")].tolist():
        if state.takes(cls, machine):
            return int(machine)
    return None
