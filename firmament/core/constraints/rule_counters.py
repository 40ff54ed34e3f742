"""The counters of a round's rules: how many tasks of which classes are in each domain; equal ones are shared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.running_tasks import Inhabitants
from firmament.core.model import TaskSelector
from firmament.core.rules.ruleset import Counter
from firmament.core.state.class_selectors import ClassSelector
from firmament.core.state.domains import Domains, DomainsByKey


class RuleCounters:
    """Counters in the order in which they are first asked for.

    ``waiting``: rows of the classes that wait; ``adds``: by such a row, the counters that its tasks count for.
    """

    def __init__(
        self,
        inhabitants: Inhabitants,
        selector: ClassSelector,
        topologies: DomainsByKey,
        waiting: Collection[int],
    ) -> None:
        self._inhabitants = inhabitants
        self._selector = selector
        self._topologies = topologies
        self._waiting = waiting
        self._number: dict[tuple[object, ...], int] = {}
        self.counters: list[Counter] = []
        self.adds: dict[int, list[int]] = {}

    def counter(self, mark: tuple[object, ...], rows: Sequence[int], topology: Domains, domain: Int64) -> int:
        """Number of the counter of tasks of ``rows``; ``mark`` is equal for equal counters.

        ``domain``: int64[M], the topology's, or -1 where tasks do not count.
        """
        number = self._number.get(mark)
        if number is None:
            number = self._number[mark] = len(self.counters)
            start = _per_domain(self._inhabitants.machines(rows), topology, domain)
            settled = start
            if start.any():
                settled = _per_domain(self._inhabitants.machines(rows, settled=True), topology, domain)
            self.counters.append(Counter(domain, start, settled, topology.coarse))
            for row in rows:
                if row in self._waiting:
                    self.adds.setdefault(row, []).append(number)
        return number

    def selected(self, selectors: Iterable[TaskSelector], key: str) -> int:
        """Number of the counter of the tasks that all of ``selectors`` match, by the label ``key``."""
        return self.of_classes(self.matching_all(tuple(dict.fromkeys(selectors))).tolist(), key)

    def of_classes(self, rows: Sequence[int], key: str) -> int:
        """Number of the counter of the tasks of the classes in ``rows``, by the label ``key``: one for all who ask."""
        topology = self._topologies.of(key)
        return self.counter(("classes", tuple(rows), key), rows, topology, topology.domain)

    def matching_all(self, selectors: Sequence[TaskSelector]) -> Int64:
        """Rows of the classes that all of ``selectors`` match."""
        rows = self._selector.matching(selectors[0])
        for selector in selectors[1:]:
            rows = np.intersect1d(rows, self._selector.matching(selector))
        return rows


def _per_domain(machines: Int64, topology: Domains, domain: Int64) -> Int64:
    where = domain[machines]
    return np.bincount(where[where >= 0], minlength=topology.count).astype(np.int64)
