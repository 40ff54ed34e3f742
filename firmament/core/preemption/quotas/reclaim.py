"""Places tasks that lack quota by evicting tasks that draw on the same tree of quotas, whatever machines these use.

The queue of a task decides which tasks it may evict for quota (`quotas/victims`). As few workloads (gangs or single
tasks) as possible are evicted. Among sets of the same size, fair shares decide which workloads leave if queues use
them; otherwise the least important tasks leave. Evictions exceed disruption budgets only if there is no other way. A
waiting gang is placed as a whole or not at all, and an evicted gang leaves as a whole. Quota that tasks release
because they leave anyway is used first.

After the evictions, quotas must cover more important tasks than before (`quotas/coverage`). A task that lost its place
through a chain of evictions never evicts the task with which the chain began (`state/eviction_chains`), so evictions
never form a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaOrder, QuotaShares
from firmament.core.constraints.quota_terms import list_columns
from firmament.core.placement.pod_sets import list_confinements
from firmament.core.placement.tree_groups.alike_groups import describe_needs
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.bounds import (
    BorrowingBound,
    FreedBound,
    QuotaBound,
    RoomBound,
    give_back,
    list_within_reach,
)
from firmament.core.preemption.quotas.coverage import QuotaCoverage, importance_of
from firmament.core.preemption.quotas.share_turns import ShareTurns
from firmament.core.preemption.quotas.undone_evictions import is_taken_back
from firmament.core.preemption.quotas.units import (
    QuotaUnit,
    confine_unit,
    find_drawn_at,
    list_units,
    may_evict,
    put_unit,
)
from firmament.core.preemption.quotas.victim_sets import (
    Reclaimed,
    VictimChoice,
    add_companions,
    count_workloads,
    keeps_gangs,
    list_victim_sets,
)
from firmament.core.preemption.quotas.victims import (
    are_borrowing,
    find_candidates,
    find_while_borrowing,
    iterate_parts,
    stays_within,
)
from firmament.solvers.base import Solver

FEW = 12
"""Up to this number of possible victims, all sets of victims are tried."""
MOST_CANDIDATES = 256
"""Most possible victims that are considered for one waiting task."""
MOST_TRIALS = 1_000
"""Most sets of victims that a round tries."""
NOWHERE = 1_000
"""Height (levels up the tree of quotas) above every height to which a unit can borrow."""
TREE_TRIALS = 10
"""One trial for a tree of groups counts as this many trials, because it takes a search."""


class QuotaReclaim:
    """Finds victims for tasks that lack quota; ``state`` advances as tasks get places."""

    def __init__(self, state: PreemptionState, solver: Solver) -> None:
        """``solver``: the solver that places the tasks of trees of groups."""
        self.state, self._solver = state, solver
        self._trials = MOST_TRIALS
        self._went: list[int] = []
        self.steps: list[Reclaimed] = []
        """Victims and resulting state of each unit that got places, in order."""
        terms, quotas = state.problem.quotas, state.quotas
        assert terms is not None
        assert quotas is not None
        self._node = state.drawn
        self._coverage = QuotaCoverage(state, self._node)
        self._turns = ShareTurns(QuotaShares(terms), self._node)
        self._in_vain: set[tuple[object, ...]] = set()
        self._needs: dict[int, tuple[object, ...]] = {}
        """Keys of what trees of groups need, by gang."""
        self.present = quotas.copy()
        """The quotas before any task leaves, even those that leave anyway."""
        self._drawing = np.zeros((len(terms.columns), len(terms.draws) + 1), dtype=np.bool_)
        """bool[J, D + 1]: whether tasks of a draw may use a column of quota.

        The last row of draws is for tasks that draw on no quota.
        """
        for number, draw in enumerate(terms.draws):
            self._drawing[list_columns(draw), number] = True
        leaving = np.flatnonzero(state.preemption.leaving & (self._node >= 0)).tolist()
        give_back(quotas, state.preemption, leaving)
        self._leaving = leaving

    def run(self, able: Bool, gang: Int64, need: Int64) -> PreemptionState:
        """Place tasks of the classes ``able`` (bool[C]) that still wait by evictions; return the state after that.

        ``gang``: int64[C], the gang of each class, -1 for none; ``need``: int64[G], how many tasks each gang needs.
        """
        for unit in list_units(self.state, able, gang, need):
            while self._trials > 0 and self._reclaim(unit):
                if not self.may_repeat(unit):
                    break
        return self.state

    def may_repeat(self, unit: QuotaUnit) -> bool:
        """Return whether more tasks wait that are equal to a unit (a single task) that has got its place."""
        (cls, count), *others = unit.members
        return not others and count == 1 and bool(self.state.remaining[cls] > 0)

    # --- one unit ------------------------------------------------------------------------------------------------

    def _reclaim(self, unit: QuotaUnit) -> bool:
        """Place a unit if victims can be found for it; return whether it got places."""
        looks = self.describe(unit)
        if looks in self._in_vain:
            return False
        found = self._choose_flavor(unit)
        if found is None:
            self._in_vain.add(looks)
            return False
        self.accept(found)
        return True

    def _choose_flavor(self, unit: QuotaUnit) -> Reclaimed | None:
        """Return what ``choose`` returns, with all tasks of a pod set in the same flavors if queues ask for that.

        Flavors in which no task of the unit's own queue leaves come first. Of several choices, the function takes those
        in which the unit borrows least, then the first, as in Kueue (``pkg/scheduler/flavorassigner``,
        ``isPreferred``). See `pod_sets`.
        """
        best, least = None, (True, NOWHERE)
        for confined in list_confinements(self.state.problem, [cls for cls, _ in unit.members], alone=True):
            self.state.confined = confined
            found = self.choose(self._narrow(unit, confined))
            self.state.confined = {}
            if found is None:
                continue
            found.state.confined = {}
            found = found._replace(confined=confined)
            own = bool((self._node[found.victims] == unit.preemptor.node).any())
            worth = own, self._find_height(unit, found) if confined else 0
            if worth == (False, 0):
                return found
            if worth < least:
                best, least = found, worth
        return best

    def _find_height(self, unit: QuotaUnit, found: Reclaimed) -> int:
        """Return how many levels up in the tree a unit borrows at the places found for it, 0 if it does not."""
        room = found.state.quotas
        assert room is not None
        drawn = find_drawn_at(found.state, found.state.taken[len(self.state.taken) :])
        return QuotaOrder(room).find_height(unit.preemptor.node, drawn)

    def _narrow(self, unit: QuotaUnit, confined: Mapping[int, Bool]) -> QuotaUnit:
        """Return a unit with the quotas that it uses if its classes must use machines in ``confined`` (by class)."""
        terms = self.state.problem.quotas
        assert terms is not None
        if len(confined) < len(unit.members):
            return unit
        kinds = [
            (cls, kind) for cls, left in confined.items() for kind in np.unique(terms.kind[left]).tolist()
        ]
        return confine_unit(self.state, unit, kinds)

    def describe(self, unit: QuotaUnit) -> tuple[object, ...]:
        """Return a key that is equal for units for which the same victims would be evicted."""
        looks = tuple((int(self.state.problem.shape[cls]), count) for cls, count in unit.members)
        tree = self._describe_tree(unit) if unit.tree >= 0 else ()
        return looks, tree, unit.preemptor.importance[0], *self._list_origins(unit)

    def _describe_tree(self, unit: QuotaUnit) -> tuple[object, ...]:
        """Return a key that is equal for trees of groups that find the same places while no other task gets one."""
        problem = self.state.problem
        needs = self._needs.get(unit.tree)
        if needs is None:
            needs = self._needs[unit.tree] = describe_needs(problem, problem.topology.every[unit.tree])
        return len(self.state.taken), unit.preemptor.own, needs

    def _list_origins(self, unit: QuotaUnit) -> list[int]:
        """Return the tasks that began the chains of evictions in which a unit's tasks lost their places."""
        return [each for cls, count in unit.members for each in self.state.find_origins(cls, count).tolist()]

    def accept(self, found: Reclaimed) -> None:
        """Continue from the state in which a unit's victims have left and the unit has places."""
        victims, after = found.victims, found.state
        self._went += victims
        self._coverage.follow(after, victims)
        for place in range(len(self.state.taken), len(after.taken)):
            after.elsewhere[place] = (*self._went, *self._leaving)
        self.state = after
        self.steps.append(found)

    def begin_again(self, state: PreemptionState, steps: Sequence[Reclaimed]) -> None:
        """Go back to the state that some steps led to, and continue from there."""
        self.state, self.steps = state, [*steps]
        self._went = [victim for step in steps for victim in step.victims]
        self._coverage = QuotaCoverage(state, self._node)

    def repeat(self, step: Reclaimed, victims: list[int]) -> Reclaimed | None:
        """Return the step repeated now with these victims, or None if its unit finds no places then.

        The result is None, too, if a gang of the victims would be left incomplete.
        """
        before = self.state
        if victims and not keeps_gangs(before, victims):
            return None
        self.state = before.copy_without(step.given_up)
        self.state.confined = dict(step.confined)
        after = self._try(step.choice, victims) if victims else self._place_without(step.choice.unit)
        self.state = before
        if after is None:
            return None
        after.confined = {}
        return step._replace(victims=victims, state=after)

    def choose(self, unit: QuotaUnit) -> Reclaimed | None:
        """Return the best set of victims that suffices for a unit, and the state after it, or None."""
        terms = self.state.problem.quotas
        assert terms is not None
        if self._has_quota(unit):
            after = self._place(unit, [])
            if after is not None:
                return Reclaimed([], after, VictimChoice(unit))
        candidates = self.sort_candidates(unit)
        if not candidates:
            return None
        preemptor, node = unit.preemptor, unit.preemptor.node
        if not terms.fair[node]:
            if not may_evict(self.state, unit):
                return None
            everybody = add_companions(self.state, candidates, [])
            reach = list_within_reach(self.state, self._node, preemptor, unit.members, candidates, everybody)
            parts = iterate_parts(self.state, self._node, preemptor, list(reach), FEW)
            chosen = (self._choose_among(VictimChoice(unit, part)) for part in parts)
            return next(filter(None, chosen), None)
        strategies = terms.strategies[node] if terms.strategies else ()
        for lenient in (False, True)[: len(strategies)]:
            order = self._turns.list_candidates(self.state, unit, candidates, self._solver, lenient=lenient)
            if not order:
                continue
            choice = VictimChoice(unit, order, {victim: turn for turn, victim in enumerate(order)}, lenient)
            found = self._choose_among(choice)
            if found is not None:
                return found
        return None

    def _has_quota(self, unit: QuotaUnit) -> bool:
        """Return whether a unit has quota without further evictions, as earlier ones freed more than was needed."""
        quotas, shape = self.state.quotas, self.state.problem.shape
        assert quotas is not None
        draws = [(int(quotas.terms.draw[shape[cls]]), count) for cls, count in unit.members]
        return all(int(quotas.units_by_kind(draw).sum()) >= count for draw, count in draws if draw >= 0)

    def sort_candidates(self, unit: QuotaUnit) -> list[int]:
        """Return the possible victims of a unit: those of other queues first, then the least important first."""
        state, preemption = self.state, self.state.preemption
        drawing = np.asarray(self._drawing[list(unit.preemptor.columns)].any(axis=0))
        may_go = find_candidates(state, self._node, unit.preemptor) & drawing[preemption.draw]
        may_go[self._list_origins(unit)] = False
        found = np.flatnonzero(may_go)
        order = np.lexsort(
            (
                -preemption.age[found],
                preemption.victim_priority[found],
                self._node[found] == unit.preemptor.node,
            )
        )
        return found[order][:MOST_CANDIDATES].tolist()

    # --- sets of victims -----------------------------------------------------------------------------------------

    def _choose_among(self, choice: VictimChoice) -> Reclaimed | None:
        if len(choice.candidates) <= FEW:
            return self._choose_of_all(choice)
        going: list[int] = []
        enough, members = None, choice.unit.members
        quota, room = QuotaBound(self.state), RoomBound(self.state, members)
        borrowing = BorrowingBound(self.state, self._node, choice.unit.preemptor, members)
        for victim in choice.candidates:
            if victim not in going and not borrowing.is_covered(victim):
                more = add_companions(self.state, [victim], going)
                going += more
                for bound in (quota, room, borrowing):
                    bound.let_go(more)
                if room.is_enough() and quota.is_enough(members) and not borrowing.is_exceeded():
                    enough = self._try_enough(choice, going)
                if enough is not None:
                    break
        return None if enough is None else self._spare_needless(choice, going, enough)

    def _spare_needless(self, choice: VictimChoice, going: list[int], after: PreemptionState) -> Reclaimed:
        """Return ``going`` without the victims that are not needed, and the state then.

        The last victims are spared first.

        The function spares twice as many victims at once after each success, and a single victim after a failure.
        """
        place, run = len(going), 1
        while place > 0:
            first = max(0, place - run)
            fewer = going[:first] + going[place:]
            less = self._try(choice, fewer) if fewer and keeps_gangs(self.state, fewer) else None
            if less is not None:
                going, after, place, run = fewer, less, first, 2 * run
            elif place - first > 1:
                run = 1
            else:
                place = first
        return Reclaimed(going, after, choice)

    def _choose_of_all(self, choice: VictimChoice) -> Reclaimed | None:
        """Return the best sufficient set of victims, and the state after it, or None; tries all, the best first."""
        unit, candidates = choice.unit, choice.candidates
        everybody = add_companions(self.state, candidates, [])
        room = RoomBound(self.state, unit.members)
        room.let_go(everybody)
        if not room.is_enough() or not QuotaBound(self.state, everybody).is_enough(unit.members):
            return None
        suffices = FreedBound(self.state, unit.members).is_enough
        for going in list_victim_sets(self.state, candidates, self._weigh(choice), suffices):
            found = self._try(choice, going)
            if found is not None:
                return Reclaimed(going, found, choice)
        return None

    def _weigh(self, choice: VictimChoice) -> Callable[[list[int]], tuple[object, ...]]:
        def weigh(going: list[int]) -> tuple[object, ...]:
            least = sorted((importance_of(self.state, victim) for victim in going), reverse=True)
            turns = sorted(choice.rank.get(victim, 0) for victim in going) if choice.rank else []
            inside = [victim for victim in going if self._node[victim] == choice.unit.preemptor.node]
            own = 0 if choice.rank else count_workloads(self.state, inside)
            return self.state.count_beyond(going), count_workloads(self.state, going), own, turns, least

        return weigh

    def _try(self, choice: VictimChoice, victims: list[int]) -> PreemptionState | None:
        """Return the state after evicting victims and placing a unit, or None if that is impossible or forbidden."""
        if not QuotaBound(self.state, victims).is_enough(choice.unit.members):
            return None
        return self._try_enough(choice, victims)

    def _try_enough(self, choice: VictimChoice, victims: list[int]) -> PreemptionState | None:
        """Return what ``_try`` returns, for victims known to free enough quota for each class of the unit alone."""
        if self._trials <= 0 or not set(victims).isdisjoint(self._list_origins(choice.unit)):
            return None
        self._trials -= TREE_TRIALS if choice.unit.tree >= 0 else 1
        (node, _, importance, _), trial = choice.unit.preemptor, self._place(choice.unit, victims)
        if trial is None or not self._is_allowed(choice, trial, victims):
            return None
        if is_taken_back(trial, self._node, choice.unit.preemptor, victims):
            return None
        better = self._coverage.is_better(self.state, trial, node, importance, victims)
        return trial if better else None

    def _place_without(self, unit: QuotaUnit) -> PreemptionState | None:
        """Return the state after placing a unit without victims, or None if it finds no places."""
        if unit.tree >= 0:
            if self._trials <= 0:
                return None
            self._trials -= TREE_TRIALS
        return self._place(unit, [])

    def _place(self, unit: QuotaUnit, victims: list[int]) -> PreemptionState | None:
        """Return the state after evicting victims and placing a unit, or None if the unit finds no places."""
        trial = self.state.copy()
        assert trial.quotas is not None
        trial.evict(victims)
        give_back(trial.quotas, trial.preemption, victims)
        return None if put_unit(trial, unit, self._solver) is None else trial

    def _is_allowed(self, choice: VictimChoice, trial: PreemptionState, victims: list[int]) -> bool:
        """Return whether policies or fair shares allow evicting all ``victims`` for the unit placed in ``trial``."""
        preemptor, terms = choice.unit.preemptor, trial.problem.quotas
        assert terms is not None
        assert trial.quotas is not None
        places = trial.taken[len(self.state.taken) :]
        drawn = find_drawn_at(self.state, places)
        if not are_borrowing(self.state, self._node, preemptor._replace(columns=drawn), victims):
            return False
        if terms.fair[preemptor.node]:
            order = sorted(victims, key=lambda victim: choice.rank.get(victim, 0))
            groups = self._turns.order(self.state, choice.unit, places, order, lenient=choice.lenient)
            return sum(map(len, groups)) == len(victims)
        others = [victim for victim in victims if self._node[victim] != preemptor.node]
        free = find_while_borrowing(self.state, preemptor)
        bound = [int(self._node[victim]) for victim in others if not free[victim]]
        return not bound or stays_within(trial.quotas, preemptor._replace(columns=drawn), bound)
