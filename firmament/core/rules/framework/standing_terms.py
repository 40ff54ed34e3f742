"""Compiles what the terms of placed tasks mean for the waiting classes, if no task of the placed tasks' class waits.

No task of a class without waiting tasks comes or goes in a round. It therefore makes no difference which term of a
placed task keeps a waiting class out of a domain, or attracts it. One counter per waiting class and topology key
stands for all terms of placed tasks, so thousands of terms cost a round as much as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.rules.framework.rule_counters import RuleCounters


class StandingTerms:
    """The terms of classes that do not wait, by topology key and by the classes that they select."""

    def __init__(self) -> None:
        self._weights: dict[tuple[int, str], dict[bytes, dict[int, int]]] = {}
        self._selected: dict[bytes, Int64] = {}

    def add(self, key: str, weight: int, holders: Sequence[int], selected: Int64) -> None:
        """Add a term over the label ``key``.

        The classes ``holders`` (rows) state the term, and it selects the classes ``selected``.

        ``weight``: what each task of a holder adds to the preference for its domain: negative for preferred
        anti-affinity, 0 for required anti-affinity.
        """
        # Rounds call this method for tens of thousands of terms, so it creates only objects that are kept.
        sign = (weight > 0) - (weight < 0)
        groups = self._weights.get((sign, key))
        if groups is None:
            groups = self._weights[sign, key] = {}
        mark = selected.tobytes()
        group = groups.get(mark)
        if group is None:
            group = groups[mark] = {}
            self._selected.setdefault(mark, selected)
        for row in holders:
            group[row] = group.get(row, 0) + (abs(weight) or 1)

    def exclusions(self, counters: RuleCounters) -> Iterator[tuple[int, int]]:
        """Yield (row of a selected class, counter of tasks whose domains exclude it), at most once per topology key."""
        for row, key, holders in self._sum_by_selected(0):
            yield row, counters.of_classes(sorted(holders), key)

    def inclinations(self, counters: RuleCounters) -> Iterator[tuple[int, int, int]]:
        """Yield (row of a selected class, counter of weights in each domain, sign of the weights).

        Attraction and repulsion have separate counters, which keeps them from cancelling each other out.
        """
        for sign in (1, -1):
            for row, key, holders in self._sum_by_selected(sign):
                yield row, counters.get_weighted_counter(holders, key), sign

    def _sum_by_selected(self, sign: int) -> Iterator[tuple[int, str, Mapping[int, int]]]:
        """Yield (row of a selected class, key, holder -> sum of weights) over all terms of one sign."""
        for (which, key), groups in self._weights.items():
            if which != sign:
                continue
            selected = [self._selected[mark] for mark in groups]
            rows = np.unique(np.concatenate(selected))
            holders = sorted(set().union(*groups.values()))
            place = {row: index for index, row in enumerate(holders)}
            of_group = np.zeros(
                (len(selected), len(holders))
                # The weights are whole numbers stored as floats, because numpy multiplies matrices of floats
                # fast.
            )
            for index, weights in enumerate(groups.values()):
                of_group[index, [place[row] for row in weights]] = list(weights.values())
            concerns = np.zeros((len(rows), len(selected)))
            for index, some in enumerate(selected):
                concerns[np.searchsorted(rows, some), index] = 1
            known: dict[bytes, Mapping[int, int]] = {}
            for row, sums in zip(rows.tolist(), (concerns @ of_group).astype(np.int64), strict=True):
                counted = sums if sign else (sums > 0).astype(np.int64)
                mark = counted.tobytes()
                if mark not in known:
                    found = np.flatnonzero(counted).tolist()
                    known[mark] = {holders[index]: int(counted[index]) for index in found}
                yield row, key, known[mark]
