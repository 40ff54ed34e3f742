"""Compiles rules between tasks: into counters for the round, and into each waiting class's conditions on them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from cost_models.interface import Bool
from firmament.core.constraints.ruleset import (
    Attraction,
    ClassRules,
    Exclusion,
    Inclination,
    PreferredSpread,
    RequiredSpread,
    RuleSet,
)
from firmament.core.model import TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.framework.rule_counters import ResidentTasks, RuleCounters
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import DomainsByKey


class Compilation:
    """Collects the rules of the waiting classes; each kind of rule adds its part.

    ``waiting``: class row -> the classes of the problem with this class row. ``waits``: bool[rows], the rows in
    ``waiting``. ``ruled``: rows of the classes, waiting or with tasks on machines, that state some rule.
    """

    def __init__(
        self, cluster: Cluster, waiting: Sequence[int], residents: ResidentTasks, ruled: list[int]
    ) -> None:
        self.cluster = cluster
        self.rows = cluster.classes.rows
        self.selector = cluster.selector()
        self.residents = residents
        self.domains_by_key = DomainsByKey(cluster.machines)
        self.ruled = ruled
        self.waiting: dict[int, list[int]] = {}
        for cls, row in enumerate(waiting):
            self.waiting.setdefault(row, []).append(cls)
        self.waits: Bool = np.zeros(len(self.rows), dtype=np.bool_)
        self.waits[list(self.waiting)] = True
        self.counters = RuleCounters(residents, self.selector, self.domains_by_key, self.waiting)
        #: By key, bool[M]: the machines that meet a condition, so that rules with equal conditions evaluate
        #: it once.
        self.answers: dict[Hashable, Bool] = {}
        self._exclusions: dict[int, dict[int, Exclusion]] = {}
        self._exclusion_of: dict[int, Exclusion] = {}
        self._inclinations: dict[int, dict[int, int]] = {}
        self._attractions: dict[int, Attraction] = {}
        self._spreadings: dict[int, tuple[RequiredSpread, ...]] = {}
        self._soft_spreadings: dict[int, tuple[PreferredSpread, ...]] = {}
        self._unsettled: dict[tuple[int, int], str] = {}

    def stating(self) -> Iterator[tuple[int, TaskClass]]:
        """Yield (row, content) of each waiting class that states some rule."""
        for row in self.ruled:
            if row in self.waiting:
                yield row, self.rows[row].content

    def exclude(self, row: int, counter: int, reason: Reason, *, by_others: bool = False) -> None:
        """Keep tasks of a class (row) out of domains in which a counter counts some task.

        The same counter may exclude a class twice: by the class's own terms, and by those of other classes
        (``by_others``).
        """
        key = counter if by_others else ~counter  # With many thousands of keys, integers are the fastest.
        exclusion = self._exclusion_of.get(key)
        if exclusion is None:
            exclusion = self._exclusion_of[key] = Exclusion(counter, reason)
        self._exclusions.setdefault(row, {})[key] = exclusion

    def exclude_on_machines(self, found: set[tuple[tuple[int, ...], int]], reason: Reason) -> None:
        """Keep tasks of classes off machines with tasks of other classes.

        ``found``: pairs of the rows of the other classes, and the row of the class that those classes keep off.
        """
        machines = self.domains_by_key.single
        for others, row in sorted(found):
            self.exclude(
                row, self.counters.counter((reason, others), others, machines, machines.domain), reason
            )

    def incline(self, row: int, counter: int, weight: int) -> None:
        """Add ``weight`` per counted task to a class's preference for a domain; weights for one counter are summed."""
        inclinations = self._inclinations.setdefault(row, {})
        inclinations[counter] = inclinations.get(counter, 0) + weight

    def attract(self, row: int, attraction: Attraction) -> None:
        """Allow tasks of a class only in domains with tasks that the ``attraction`` counts."""
        self._attractions[row] = attraction

    def spread(
        self, row: int, required: tuple[RequiredSpread, ...], preferred: tuple[PreferredSpread, ...]
    ) -> None:
        """Set the topology spread rules of a class."""
        self._spreadings[row], self._soft_spreadings[row] = required, preferred

    def note_unsettled(self, counter: int, domain: int, uid: str) -> None:
        """Record a task that is not bound yet, and without which no task in the domain would attract others."""
        self._unsettled.setdefault((counter, domain), uid)

    def finish(self) -> RuleSet:
        """Return the rules of the waiting classes that have rules, or whose tasks some counter counts."""
        of: dict[int, ClassRules] = {}
        for row, classes in self.waiting.items():
            rules = ClassRules(
                adds=tuple(self.counters.adds.get(row, ())),
                exclusions=tuple(self._exclusions.get(row, {}).values()),
                attraction=self._attractions.get(row),
                spreadings=self._spreadings.get(row, ()),
                inclinations=tuple(Inclination(*each) for each in self._inclinations.get(row, {}).items()),
                soft_spreadings=self._soft_spreadings.get(row, ()),
            )
            if rules.adds or rules.binding or rules.soft:
                of.update(dict.fromkeys(classes, rules))
        return RuleSet(self.counters.counters, of, self._unsettled)
