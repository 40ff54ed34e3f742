"""Compiles rules between tasks: into the counters of a round, and what each waiting class requires of them."""

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
    """Gathers what the rules mean for the classes that wait: each rule adds its part.

    ``rows``: the class table; ``ruled``: rows of the classes, waiting or with tasks on machines, that state some rule;
    ``waiting``: by row, the classes of the problem; ``waits``: bool[rows], which these are.
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
        #: bool[M] by mark, for rules that ask the same of machines again
        self.answers: dict[Hashable, Bool] = {}
        self._exclusions: dict[int, dict[int, Exclusion]] = {}
        self._exclusion_of: dict[int, Exclusion] = {}
        self._inclinations: dict[int, dict[int, int]] = {}
        self._attractions: dict[int, Attraction] = {}
        self._spreadings: dict[int, tuple[RequiredSpread, ...]] = {}
        self._soft_spreadings: dict[int, tuple[PreferredSpread, ...]] = {}
        self._unsettled: dict[tuple[int, int], str] = {}

    def stating(self) -> Iterator[tuple[int, TaskClass]]:
        """Yield the waiting classes that state some rule, by row."""
        for row in self.ruled:
            if row in self.waiting:
                yield row, self.rows[row].content

    def exclude(self, row: int, counter: int, reason: Reason, *, by_others: bool = False) -> None:
        """Let no task of a class into domains in which a counter counts somebody.

        Of a counter once for the class's own terms, and once for those of others (``by_others``).
        """
        key = counter if by_others else ~counter  # of many thousands, numbers are found fastest
        exclusion = self._exclusion_of.get(key)
        if exclusion is None:
            exclusion = self._exclusion_of[key] = Exclusion(counter, reason)
        self._exclusions.setdefault(row, {})[key] = exclusion

    def exclude_on_machines(self, found: set[tuple[tuple[int, ...], int]], reason: Reason) -> None:
        """Keep the tasks of a class off machines with tasks of some other classes. ``found``: pairs of the rows of
        these and the row of the class.
        """
        machines = self.domains_by_key.single
        for others, row in sorted(found):
            self.exclude(
                row, self.counters.counter((reason, others), others, machines, machines.domain), reason
            )

    def incline(self, row: int, counter: int, weight: int) -> None:
        """Let what a counter counts make its domains better, or worse; several reasons for it add up."""
        inclinations = self._inclinations.setdefault(row, {})
        inclinations[counter] = inclinations.get(counter, 0) + weight

    def attract(self, row: int, attraction: Attraction) -> None:
        """Let tasks of a class only into domains that draw them."""
        self._attractions[row] = attraction

    def spread(
        self, row: int, required: tuple[RequiredSpread, ...], preferred: tuple[PreferredSpread, ...]
    ) -> None:
        """Spread tasks of a class."""
        self._spreadings[row], self._soft_spreadings[row] = required, preferred

    def note_unsettled(self, counter: int, domain: int, uid: str) -> None:
        """Name a task that is about to be bound, and is all that draws others into a domain."""
        self._unsettled.setdefault((counter, domain), uid)

    def finish(self) -> RuleSet:
        """Return the rules of the waiting classes that have some, or that the rules of others count."""
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
