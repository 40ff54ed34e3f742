"""Puts together what the terms of classes that only stand on machines mean for the classes that wait.

Such tasks neither come nor go in a round, so it makes no difference which term of which of them keeps a waiting class
out of a domain, or draws it there. One counter per waiting class and topology stands for all of them: thousands of
terms that others have written cost a round as much as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cost_models.interface import Int64
from firmament.core.rules.rule_counters import RuleCounters


class StandingTerms:
    """The terms, by topology key and by whom they select."""

    def __init__(self) -> None:
        self._weights: dict[tuple[int, str], dict[bytes, Counter[int]]] = {}
        self._selected: dict[bytes, Int64] = {}

    def add(self, key: str, weight: int, holders: Sequence[int], selected: Int64) -> None:
        """Take a term of ``holders`` (class rows) over the label ``key`` that selects the classes ``selected``.

        ``weight``: what each holder adds to the domain that it is in, below 0 for terms that rather keep off; 0 for
        terms that keep off altogether.
        """
        sign = (weight > 0) - (weight < 0)
        mark = selected.tobytes()
        self._selected[mark] = selected
        group = self._weights.setdefault((sign, key), {}).setdefault(mark, Counter())
        for row in holders:
            group[row] += abs(weight) or 1

    def exclusions(self, counters: RuleCounters) -> Iterator[tuple[int, int]]:
        """Yield (row of a selected class, counter of those who keep it out of their domains), one per topology key."""
        for row, key, holders in self._by_selected(0):
            yield row, counters.of_classes(sorted(holders), key)

    def inclinations(self, counters: RuleCounters) -> Iterator[tuple[int, int, int]]:
        """Yield (row of a selected class, counter of the weights in each domain, what to multiply them by).

        What draws and what keeps off have counters of their own, so that no sum of them is mistaken for nothing.
        """
        for sign in (1, -1):
            for row, key, holders in self._by_selected(sign):
                yield row, counters.get_weighted_counter(holders, key), sign

    def _by_selected(self, sign: int) -> Iterator[tuple[int, str, Mapping[int, int]]]:
        """Yield (row, key, holders with the sum of their weights) of all terms of a sign."""
        for (which, key), groups in self._weights.items():
            if which != sign:
                continue
            by_row: dict[int, list[bytes]] = {}
            for mark in groups:
                for row in self._selected[mark].tolist():
                    by_row.setdefault(row, []).append(mark)
            together: dict[tuple[bytes, ...], Counter[int]] = {}
            for row, terms in sorted(by_row.items()):
                every = tuple(terms)
                if every not in together:
                    together[every] = Counter()
                    for each in every:
                        together[every].update(groups[each])
                yield row, key, together[every]
