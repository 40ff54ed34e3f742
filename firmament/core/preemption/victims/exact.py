"""The best bundle of one machine by bounded search: branch and bound over kinds of equal tasks.

Minimises, in this order: tasks beyond their budgets, tasks that go, the highest priority among them, the sum of their
priorities, how long the most important of them have run. Complete if ``nodes`` suffices; then nothing better exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = tuple[int, int, int, int, float]
_Kind: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that may go: what it gives back, its priority, when it started, its budgets, and its gang, -1 for none."""

    task: int
    size: tuple[int, ...]
    priority: int
    started: float
    budgets: tuple[int, ...] = ()
    gang: int = -1


class BundleSearch:
    """One search. ``allowed``: what each budget still lets go; ``spare``: what each gang can lose; ``forced``: who goes
    in any case, on this machine or elsewhere; ``spent``: nodes visited so far.
    """

    def __init__(
        self,
        deficit: Sequence[int],
        candidates: Sequence[Candidate],
        allowed: Sequence[int],
        nodes: int,
        *,
        spare: Sequence[int] = (),
        forced: Sequence[Candidate] = (),
    ) -> None:
        given = [sum(each.size[column] for each in forced) for column in range(len(deficit))]
        self._columns = [column for column, lacking in enumerate(deficit) if lacking > given[column]]
        self._deficit = [deficit[column] - given[column] for column in self._columns]
        self._kinds = self._sorted(candidates)
        self._allowed = allowed
        self._spare = spare
        self._forced = forced
        self._used: dict[int, int] = {}
        for each in forced:
            for budget in each.budgets:
                self._used[budget] = self._used.get(budget, 0) + 1
        self._nodes = nodes
        self.spent = 0
        self._largest, self._left = self._suffixes()
        self._best: tuple[Value, tuple[int, ...]] | None = None
        self._chosen: list[int] = []

    def _sorted(self, candidates: Sequence[Candidate]) -> list[tuple[_Kind, list[Candidate]]]:
        """Candidates by kind, the least important first."""
        kinds: dict[_Kind, list[Candidate]] = {}
        for each in sorted(candidates, key=lambda each: (each.priority, -each.started, each.task)):
            size = tuple(each.size[column] for column in self._columns)
            kinds.setdefault((each.priority, size, each.budgets, each.gang), []).append(each)
        return list(kinds.items())

    def best(self) -> tuple[int, ...] | None:
        """The tasks of the best bundle found, None if the search ended without any."""
        if not self._deficit:
            return tuple(each.task for each in self._forced)
        for strict in (True, False):
            if strict and any(count > max(0, self._allowed[budget]) for budget, count in self._used.items()):
                continue
            for count in range(1, (self._left[0] if self._left else 0) + 1):
                self._descend(0, count, [0] * len(self._deficit), strict=strict)
                if self._best is not None and strict:
                    return self._best[1]
                if self.spent > self._nodes:
                    break
            if self._best is not None or self.spent > self._nodes:
                break
        return None if self._best is None else self._best[1]

    def _suffixes(self) -> tuple[list[list[int]], list[int]]:
        """Per kind and column the largest size from that kind on, and how many tasks there are from it on."""
        width = len(self._deficit)
        largest = [[0] * width for _ in range(len(self._kinds) + 1)]
        left = [0] * (len(self._kinds) + 1)
        for index in range(len(self._kinds) - 1, -1, -1):
            (_, size, _, _), tasks = self._kinds[index]
            largest[index] = [max(a, b) for a, b in zip(largest[index + 1], size, strict=True)]
            left[index] = left[index + 1] + len(tasks)
        return largest, left

    def _descend(self, index: int, count: int, covered: list[int], *, strict: bool) -> None:
        """Choose ``count`` more tasks among the kinds from ``index`` on."""
        self.spent += 1
        if self.spent > self._nodes:
            return
        if count == 0:
            if all(have >= lacking for have, lacking in zip(covered, self._deficit, strict=True)):
                self._offer()
            return
        if self._left[index] < count or any(
            have + count * most < lacking
            for have, most, lacking in zip(covered, self._largest[index], self._deficit, strict=True)
        ):
            return
        (priority, size, budgets, gang), tasks = self._kinds[index]
        if strict and self._best is not None and priority > self._best[0][2]:
            return
        for number in range(min(count, len(tasks), self._spared(gang)), -1, -1):
            if strict and number and not self._allows(budgets, number):
                continue
            self._chosen.append(number)
            more = [have + number * each for have, each in zip(covered, size, strict=True)]
            self._descend(index + 1, count - number, more, strict=strict)
            self._chosen.pop()

    def _spared(self, gang: int) -> int:
        """How many more tasks a gang can lose, after those chosen."""
        if gang < 0:
            return sum(self._left[:1])
        chosen = zip(self._chosen, self._kinds, strict=False)
        return self._spare[gang] - sum(count for count, ((_, _, _, theirs), _) in chosen if theirs == gang)

    def _allows(self, budgets: tuple[int, ...], number: int) -> bool:
        """Whether ``number`` more tasks may go, after those chosen."""
        for budget in budgets:
            used = self._used.get(budget, 0) + sum(
                count
                for count, ((_, _, theirs, _), _) in zip(self._chosen, self._kinds, strict=False)
                if budget in theirs
            )
            if used + number > max(0, self._allowed[budget]):
                return False
        return True

    def _offer(self) -> None:
        """Keep what is chosen if it is the best so far."""
        tasks = [*self._forced]
        tasks += [
            each
            for number, (_, kind) in zip(self._chosen, self._kinds, strict=False)
            for each in kind[:number]
        ]
        value = self._value(tasks)
        if self._best is None or value < self._best[0]:
            self._best = value, tuple(each.task for each in tasks)

    def _value(self, tasks: list[Candidate]) -> Value:
        wanted: dict[int, int] = {}
        for each in tasks:
            for budget in each.budgets:
                wanted[budget] = wanted.get(budget, 0) + 1
        over = sum(max(0, count - max(0, self._allowed[budget])) for budget, count in wanted.items())
        top = max(each.priority for each in tasks)
        return (
            over,
            len(tasks),
            top,
            sum(each.priority for each in tasks),
            -min(each.started for each in tasks if each.priority == top),
        )
