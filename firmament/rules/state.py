"""Where the tasks of a round stand with respect to the rules between them, placement by placement."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.rules.ruleset import (
    NO_DOMAIN,
    NOT_NEAR,
    PORTS_TAKEN,
    SKEWED,
    Attraction,
    ClassRules,
    RuleSet,
    Spreading,
)


class RuleState:
    """Counts of all counters after some placements.

    The questions are those of kube-scheduler's filters NodePorts, PodTopologySpread and InterPodAffinity, for one
    task of a class as the next to be placed.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.counts = [counter.start.copy() for counter in rules.counters]
        self.totals = [int(counter.start.sum()) for counter in rules.counters]

    def copy(self) -> RuleState:
        """An independent copy."""
        twin = RuleState.__new__(RuleState)
        twin.rules = self.rules
        twin.counts = [counts.copy() for counts in self.counts]
        twin.totals = list(self.totals)
        return twin

    # --- changes -------------------------------------------------------------------------------------------------

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count ``count`` (negative to take back) tasks of a class on a machine."""
        for number in self.rules.rules(cls).adds:
            domain = self.rules.counters[number].domain[machine]
            if domain >= 0:
                self.counts[number][domain] += count
                self.totals[number] += count

    def add_all(self, cls: Int64, machine: Int64, count: Int64) -> None:
        """Count many at once: int64[A] each. Entries of classes without rules are passed over."""
        for number, entries in self._entries_by_counter(cls).items():
            counter = self.rules.counters[number]
            domain = counter.domain[machine[entries]]
            inside = domain >= 0
            np.add.at(self.counts[number], domain[inside], count[entries][inside])
            self.totals[number] += int(count[entries][inside].sum())

    def _entries_by_counter(self, cls: Int64) -> dict[int, Int64]:
        by_counter: dict[int, list[Int64]] = {}
        order = np.argsort(cls, kind="stable")
        present, first = np.unique(cls[order], return_index=True)
        for each, entries in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            for number in self.rules.rules(each).adds:
                by_counter.setdefault(number, []).append(entries)
        return {number: np.concatenate(parts) for number, parts in by_counter.items()}

    # --- one machine ---------------------------------------------------------------------------------------------

    def allows(self, cls: int, machine: int) -> bool:
        """Whether the rules let one more task of the class onto the machine."""
        rules = self.rules.rules(cls)
        for exclusion in rules.exclusions:
            domain = self.rules.counters[exclusion.counter].domain[machine]
            if domain >= 0 and self.counts[exclusion.counter][domain] > 0:
                return False
        if rules.attraction is not None and not self._attracts(rules.attraction, machine):
            return False
        return all(self._levels(spreading, machine) for spreading in rules.spreadings)

    def _attracts(self, attraction: Attraction, machine: int) -> bool:
        found = True
        for number in attraction.counters:
            domain = self.rules.counters[number].domain[machine]
            if domain < 0:
                return False
            found = found and self.counts[number][domain] > 0
        return bool(found or self._starts(attraction))

    def _starts(self, attraction: Attraction) -> bool:
        """Whether a task may be the first of its group."""
        return attraction.own and not any(self.totals[number] for number in attraction.counters)

    def _levels(self, spreading: Spreading, machine: int) -> bool:
        domain = spreading.key_domain[machine]
        if domain < 0:
            return False
        count = self.counts[spreading.counter][domain]
        return bool(count + spreading.own - self.emptiest(spreading) <= spreading.max_skew)

    def emptiest(self, spreading: Spreading) -> int:
        """Tasks in the emptiest domain that counts; 0 if there are too few domains."""
        counted = self.counts[spreading.counter][spreading.counted]
        if len(counted) < spreading.min_domains:
            return 0
        return int(counted.min()) if len(counted) else _UNLIMITED

    # --- all machines --------------------------------------------------------------------------------------------

    def allowed(self, cls: int) -> Bool | None:
        """bool[M]: machines that the rules let one more task of the class onto; None: all of them."""
        allowed: Bool | None = None
        for _, refused in self.refusals(cls):
            allowed = ~refused if allowed is None else allowed & ~refused
        return allowed

    def refusals(self, cls: int) -> list[tuple[str, Bool]]:
        """Reasons with the machines, bool[M], to which each applies, in kube-scheduler's order of filters."""
        rules = self.rules.rules(cls)
        ports = [(each.reason, each.counter) for each in rules.exclusions if each.reason == PORTS_TAKEN]
        others = [(each.reason, each.counter) for each in rules.exclusions if each.reason != PORTS_TAKEN]
        found = [(reason, self.occupied(number)) for reason, number in ports]
        for spreading in rules.spreadings:
            found += self._uneven(spreading)
        if rules.attraction is not None:
            found.append((NOT_NEAR, ~self._attracted(rules.attraction)))
        found += [(reason, self.occupied(number)) for reason, number in others]
        return found

    def occupied(self, number: int) -> Bool:
        """bool[M]: machines in a domain in which a counter counts somebody."""
        domain = self.rules.counters[number].domain
        return np.append(self.counts[number] > 0, False)[domain]

    def _attracted(self, attraction: Attraction) -> Bool:
        starts = self._starts(attraction)
        inside = [self.rules.counters[number].domain >= 0 for number in attraction.counters]
        where = inside if starts else [self.occupied(number) for number in attraction.counters]
        result: Bool = np.logical_and.reduce(where)
        return result

    def _uneven(self, spreading: Spreading) -> list[tuple[str, Bool]]:
        lacking = spreading.key_domain < 0
        limit = spreading.max_skew - spreading.own + self.emptiest(spreading)
        full = np.append(self.counts[spreading.counter] > limit, False)[spreading.key_domain]
        return [(NO_DOMAIN, lacking), (SKEWED, full)] if lacking.any() else [(SKEWED, full)]


_UNLIMITED = 2**31


def untouched(rules: ClassRules) -> bool:
    """Whether a class neither obeys rules nor is counted by any."""
    return not (rules.adds or rules.binding or rules.soft)
