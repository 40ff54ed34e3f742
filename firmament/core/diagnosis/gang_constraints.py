"""Finds the constraints that keep a gang from being placed as a whole, although each machine could take its tasks.

Each constraint between its tasks, and each resource that they request, is dropped in turn, then several of them
together. After each change, the gang is tried again in what the round has left. The quota that the gang draws on is
dropped before all other constraints. Only few and small gangs of a round are examined; for all other gangs, messages
name no constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.ruleset import ClassRules
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.model import TaskClass
from firmament.core.placement.gang_trial import GangTrial, weigh_rules
from firmament.core.placement.placing import WAYS_OF_PLACING
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.rules.registry import constraint_behind, name_constraints_of_gang

_PLENTY = 2**40

MOST_CELLS = 4_000_000
"""Limit on tasks times machines that are tried in one round, which takes some tenths of a second."""

_TUNING = PlacementTuning(gang_search_cells=200_000)


@dataclass(slots=True)
class GangConstraints:
    """Examines the gangs of a round that found no place.

    ``placed``: what the round placed; ``resources``: names of the columns; ``content_of``: returns the content of a
    class by its index; ``jobs``: ids of the gangs.
    """

    problem: PlacementProblem
    placed: Assignments
    resources: Sequence[str]
    content_of: Callable[[int], TaskClass]
    jobs: Sequence[str]
    cells: int = MOST_CELLS

    def describe_lack(self, gang: int) -> str:
        """Return what the gang lacks: one of several constraints, or several together; "" if that is not known."""
        problem = self.problem
        members = np.flatnonzero(problem.gang == gang)
        quota = self._find_quota(members)
        if quota and self._afford(int(problem.counts[members].sum()) * problem.machines):
            without = replace(problem, quotas=self._without_draws(members))
            if self._is_placed(without, gang):
                return quota
        constraints: Sequence[str | int] = sorted(
            {kind for cls in members.tolist() for kind in _kinds(self._rules(cls))}
        )
        if not constraints:
            return ""
        asked: Sequence[str | int] = np.flatnonzero(
            problem.requests[problem.shape[members]].any(axis=0)
        ).tolist()
        every = [*constraints, *asked]
        cells = int(problem.counts[members].sum()) * problem.machines * weigh_rules(Board(problem), members)
        if not self._afford(3 * len(every) * cells):
            return ""
        alone = [[each] for each in every if self._fits(gang, members, [each])]
        together = next(
            (some for some in (constraints, asked, every) if not alone and self._fits(gang, members, some)),
            (),
        )
        for each in together:  # Leave out those constraints that need not be dropped.
            rest = [other for other in together if other != each]
            if self._fits(gang, members, rest):
                together = rest
        called = name_constraints_of_gang(map(self.content_of, members.tolist()), self.jobs[gang])
        return " or ".join(_words(some, self.resources, called) for some in [*alone, together] if some)

    def _afford(self, cells: int) -> bool:
        if cells > self.cells:
            return False
        self.cells -= cells
        return True

    def _rules(self, cls: int) -> ClassRules:
        return self.problem.rules.rules(cls)

    def _fits(self, gang: int, members: Int64, dropped: Sequence[str | int]) -> bool:
        """Return whether the whole gang is placed without the rules, and with plenty of the resources, ``dropped``."""
        kinds = {each for each in dropped if isinstance(each, str)}
        resources = [each for each in dropped if isinstance(each, int)]
        problem = self.problem
        if kinds:
            of = dict(problem.rules.of)
            of |= {cls: _drop_rules(self._rules(cls), kinds) for cls in members.tolist()}
            problem = replace(problem, rules=replace(problem.rules, of=of))
        if resources:
            free = problem.free.copy()
            free[:, resources] = _PLENTY
            problem = replace(problem, free=free)
        return self._is_placed(problem, gang)

    def _find_quota(self, members: Int64) -> str:
        """Return a message's words for the quotas on which the members draw, "" if they draw on none."""
        quotas = self.problem.quotas
        if quotas is None:
            return ""
        nodes = np.unique(quotas.find_nodes(self.problem.shape[members])).tolist()
        return " and ".join(f"the quota of {quotas.names[node]}" for node in nodes if node >= 0)

    def _without_draws(self, members: Int64) -> QuotaTerms | None:
        """Return a copy of the quotas on which the shapes of the members do not draw."""
        quotas = self.problem.quotas
        if quotas is None:
            return None
        draw = quotas.draw.copy()
        draw[self.problem.shape[members]] = -1
        return replace(quotas, draw=draw)

    def _is_placed(self, problem: PlacementProblem, gang: int) -> bool:
        """Return whether the whole gang finds places in a changed problem, besides the tasks that the round placed."""
        state = Board(problem)
        state.book(self.placed)
        found = GangTrial(state, _TUNING, WAYS_OF_PLACING).place_gangs(np.array([gang], dtype=np.int64))
        return bool(len(found.count))


def _kinds(rules: ClassRules) -> set[str]:
    return {words for reason in rules.reasons() if (words := constraint_behind(reason))}


def _drop_rules(rules: ClassRules, kinds: set[str]) -> ClassRules:
    return rules.drop_reasons([reason for reason in rules.reasons() if constraint_behind(reason) in kinds])


def _words(dropped: Sequence[str | int], resources: Sequence[str], called: Mapping[str, str]) -> str:
    return " and ".join(
        called.get(each, each) if isinstance(each, str) else resources[each] for each in dropped
    )
