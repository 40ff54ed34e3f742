"""Counts a round's tasks for the rules between them, as the round places one task after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.ruleset import Attraction, Exclusion, RequiredSpread, RuleSet
from firmament.core.constraints.topology_spread_skew import find_highest_count
from firmament.core.reasons import AnyReason, Stage


class RuleState:
    """How many tasks each counter counts in each domain during a round, and what the rules allow at these numbers.

    ``counts``: one int64[D] per counter. ``totals``: the sum of each counter over all domains. The object answers the
    questions of kube-scheduler's filters NodePorts, VolumeRestrictions, PodTopologySpread and InterPodAffinity about
    the next task of a class, and then those of models' constraints.
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.counts = [counter.start.copy() for counter in rules.counters]
        self.totals = [int(counter.start.sum()) for counter in rules.counters]
        self.modelled = [each.copy() for each in rules.modelled]

    def copy(self) -> RuleState:
        """Return an independent copy."""
        twin = copy(self)
        twin.counts = [counts.copy() for counts in self.counts]
        twin.totals = list(self.totals)
        twin.modelled = [each.copy() for each in self.modelled]
        return twin

    def involves(self, cls: int) -> bool:
        """Return whether a class has rules, or its tasks count in the rules of other classes."""
        return cls in self.rules.of

    def add(self, cls: int, machine: int, count: int = 1, *, coarse_only: bool = False) -> None:
        """Count tasks of a class on a machine; a negative ``count`` removes them."""
        for number in self.rules.rules(cls).adds:
            counter = self.rules.counters[number]
            domain = counter.domain[machine]
            if domain >= 0 and (counter.coarse or not coarse_only):
                self.counts[number][domain] += count
                self.totals[number] += count
        if not coarse_only:
            for each in self.modelled:
                each.add(cls, machine, count)

    # --- questions about one machine -----------------------------------------------------------------------------

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether the rules allow one more task of the class on the machine."""
        rules = self.rules.rules(cls)
        for exclusion in rules.exclusions:
            domain = self.rules.counters[exclusion.counter].domain[machine]
            if domain >= 0 and self.counts[exclusion.counter][domain] > 0:
                return False
        if rules.attraction is not None and not self._attracts(rules.attraction, machine):
            return False
        return all(self._allows_skew(spreading, machine) for spreading in rules.spreadings) and all(
            each.allows(cls, machine) for each in self.modelled
        )

    def _attracts(self, attraction: Attraction, machine: int) -> bool:
        found = True
        for number in attraction.counters:
            domain = self.rules.counters[number].domain[machine]
            if domain < 0:
                return False
            found = found and bool(self.counts[number][domain] > 0)
        return found or self.starts(attraction)

    def starts(self, attraction: Attraction) -> bool:
        """Return whether a task may be the first that the affinity attracts, because it matches the affinity itself."""
        return attraction.own and not any(self.totals[number] for number in attraction.counters)

    def _allows_skew(self, spreading: RequiredSpread, machine: int) -> bool:
        domain = spreading.key_domain[machine]
        if domain < 0:
            return False
        counts = self.counts[spreading.counter]
        return bool(counts[domain] <= find_highest_count(spreading, counts))

    # --- questions about many machines ---------------------------------------------------------------------------

    def find_allowed(self, cls: int, at: Int64 | None = None) -> Bool | None:
        """Return which machines may take one more task of the class: bool[M], or bool[A] for the machines ``at``.

        None if all machines may take it.
        """
        rules = self.rules.rules(cls)
        refused = [each for spreading in rules.spreadings for _, each in self._uneven(spreading, at)]
        if rules.attraction is not None:
            refused.append(~self.find_attracted(rules.attraction, at))
        if rules.exclusions:
            refused += self._list_excluded(rules.exclusions, at)
        refused += [each for model in self.modelled for _, each in model.refusals(cls, at)]
        return ~np.logical_or.reduce(refused) if refused else None

    def _list_excluded(self, exclusions: Sequence[Exclusion], at: Int64 | None) -> list[Bool]:
        """Return, per topology, the machines in domains where some exclusion counts a task: bool[M] or bool[A]."""
        by_domain: dict[int, tuple[int, list[Bool]]] = {}
        for each in exclusions:
            if self.totals[each.counter]:
                domain = self.rules.counters[each.counter].domain
                occupied = self.counts[each.counter] > 0
                by_domain.setdefault(id(domain), (each.counter, []))[1].append(occupied)
        return [
            np.append(np.logical_or.reduce(occupied), False)[self._domain(number, at)]
            for number, occupied in by_domain.values()
        ]

    def list_excluded(self, cls: int, at: Int64 | None = None) -> list[Bool]:
        """Return, per exclusion, the machines that it closes to a class: bool[M] or bool[A] each.

        Exclusions are rules such as anti-affinity.
        """
        return self._list_excluded(self.rules.rules(cls).exclusions, at)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return reasons, each with the machines that it refuses, in the order of kube-scheduler's filters.

        ``at``: the machines to consider; None: all.
        """
        rules = self.rules.rules(cls)
        first = [each for each in rules.exclusions if each.reason.stage < Stage.RULES]
        others = [each for each in rules.exclusions if each.reason.stage >= Stage.RULES]
        found: list[tuple[AnyReason, Bool]] = list(self._iter_excluded_by_reason(first, at))
        for spreading in rules.spreadings:
            found += self._uneven(spreading, at)
        if rules.attraction is not None:
            found.append((rules.attraction.reason, ~self.find_attracted(rules.attraction, at)))
        found += self._iter_excluded_by_reason(others, at)
        return found + [refusal for each in self.modelled for refusal in each.refusals(cls, at)]

    def _iter_excluded_by_reason(
        self, exclusions: Sequence[Exclusion], at: Int64 | None
    ) -> Iterator[tuple[AnyReason, Bool]]:
        """Yield each reason of ``exclusions`` once, with the machines of all exclusions that have this reason."""
        by_reason: dict[str, list[Exclusion]] = {}
        for each in exclusions:
            by_reason.setdefault(each.reason.name, []).append(each)
        for some in by_reason.values():
            refused = np.zeros(len(self._domain(some[0].counter, at)), dtype=np.bool_)
            for closed in self._list_excluded(some, at):
                refused |= closed
            yield some[0].reason, refused

    def find_occupied(self, number: int, at: Int64 | None = None) -> Bool:
        """Return the machines in domains where a counter counts a task: bool[M] or bool[A]."""
        if not self.totals[number]:
            return np.zeros(len(self._domain(number, at)), dtype=np.bool_)
        return np.append(self.counts[number] > 0, False)[self._domain(number, at)]

    def _domain(self, number: int, at: Int64 | None) -> Int64:
        domain = self.rules.counters[number].domain
        return domain if at is None else domain[at]

    def find_attracted(self, attraction: Attraction, at: Int64 | None = None) -> Bool:
        """Return the machines in domains that satisfy the affinity of a class: bool[M] or bool[A]."""
        if self.starts(attraction):
            where = [self._domain(number, at) >= 0 for number in attraction.counters]
        else:
            where = [self.find_occupied(number, at) for number in attraction.counters]
        result: Bool = np.logical_and.reduce(where)
        return result

    def _uneven(self, spreading: RequiredSpread, at: Int64 | None) -> list[tuple[AnyReason, Bool]]:
        domain = spreading.key_domain if at is None else spreading.key_domain[at]
        lacking = domain < 0
        counts = self.counts[spreading.counter]
        full = np.append(counts > find_highest_count(spreading, counts), False)[domain]
        return [(spreading.lacking, lacking)] * bool(lacking.any()) + [(spreading.reason, full)]
