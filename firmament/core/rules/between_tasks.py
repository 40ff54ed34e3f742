"""Compiles what task classes say about each other into the rules of a round.

Rules look both ways: a waiting class obeys its own terms, and the terms of every class, waiting or on a machine and
whoever placed it, that select it. Terms with equal content share their counters; what ports and disks exclude is in
``rule_counters``, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.constraints.ruleset import (
    Attraction,
    ClassRules,
    Exclusion,
    Inclination,
    PreferredSpread,
    RequiredSpread,
    RuleSet,
)
from firmament.core.model import SpreadRule, TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.models import model_constraints
from firmament.core.rules.rule_counters import (
    Inhabitants,
    RuleCounters,
    disk_exclusions,
    port_exclusions,
)
from firmament.core.rules.standing_terms import StandingTerms
from firmament.core.state.class_selectors import HeldTerm, own_selector
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import Domains, DomainsByKey


def compile_rules(cluster: Cluster, waiting: Sequence[int], *, without: int = -1) -> RuleSet | None:
    """Rules of a round for the waiting classes (``waiting[c]``: class row of problem class c); None if there are none.

    ``without``: row of a task that is not to be counted where it is.
    """
    if not len(cluster.machines):
        return None
    modelled = model_constraints(cluster, waiting, without=without)
    rules = _counted(cluster, waiting, without)
    if not modelled:
        return rules
    rules = rules or RuleSet([])
    of = dict(rules.of)
    for cls in range(len(waiting)):
        if any(each.involves(cls) for each in modelled):
            of[cls] = replace(rules.rules(cls), modelled=True)
    return replace(rules, of=of, modelled=modelled)


def _counted(cluster: Cluster, waiting: Sequence[int], without: int) -> RuleSet | None:
    """The rules that Kubernetes knows, which are all about counters."""
    if not cluster.classes.ruled:
        return None
    inhabitants = Inhabitants(cluster, without=without)
    present = {*waiting, *inhabitants.classes.tolist()}
    ruled = [row for row in cluster.classes.ruled if row in present]
    if not ruled:
        return None
    rules = _Compiler(cluster, waiting, inhabitants, ruled).compiled()
    return rules if rules.of else None


class _Compiler:
    """Gathers counters, then the rules of each waiting class."""

    def __init__(
        self, cluster: Cluster, waiting: Sequence[int], inhabitants: Inhabitants, ruled: list[int]
    ) -> None:
        self._uids = cluster.tasks.uid
        self._on_machine = cluster.tasks.machine
        self._rows = cluster.classes.rows
        self._selector = cluster.selector()
        self._inhabitants = inhabitants
        self._domains_by_key = DomainsByKey(cluster.machines)
        self._machine_count = len(cluster.machines)
        self._ruled = ruled
        self._problem_classes: dict[int, list[int]] = {}
        for cls, row in enumerate(waiting):
            self._problem_classes.setdefault(row, []).append(cls)
        self._waits = np.zeros(len(self._rows), dtype=np.bool_)
        self._waits[list(self._problem_classes)] = True
        self._counters = RuleCounters(
            inhabitants, self._selector, self._domains_by_key, self._problem_classes
        )
        self._exclusions: dict[int, dict[Exclusion, None]] = {}
        self._inclinations: dict[int, dict[int, int]] = {}
        self._unsettled: dict[tuple[int, int], str] = {}
        self._standing = StandingTerms()

    def compiled(self) -> RuleSet:
        """The rules of all waiting classes that have any, or that count for those of others."""
        for term, holders in self._terms_of_all().items():
            self._look_back(term, holders)
        self._look_back_on_staying()
        own = {row: self._own(row) for row in self._ruled if row in self._problem_classes}
        for exclusions in (port_exclusions, disk_exclusions):
            for row, exclusion in exclusions(self._counters, self._rows, self._ruled):
                self._exclusions.setdefault(row, {})[exclusion] = None
        of: dict[int, ClassRules] = {}
        for row, classes in self._problem_classes.items():
            rules = replace(
                own.get(row, ClassRules()),
                adds=tuple(self._counters.adds.get(row, ())),
                exclusions=tuple(self._exclusions.get(row, ())),
                inclinations=tuple(Inclination(*each) for each in self._inclinations.get(row, {}).items()),
            )
            if rules.adds or rules.binding or rules.soft:
                of.update(dict.fromkeys(classes, rules))
        return RuleSet(self._counters.counters, of, self._unsettled)

    # --- terms of others that select waiting classes --------------------------------------------------------------

    def _terms_of_all(self) -> dict[HeldTerm, list[int]]:
        """Every distinct affinity term of the round, with the classes (rows) that hold it."""
        found: dict[HeldTerm, list[int]] = {}
        for row in self._ruled:
            for term in self._selector.held_terms(row):
                found.setdefault(term, []).append(row)
        return found

    def _look_back(self, term: HeldTerm, holders: list[int]) -> None:
        """What a term means for the waiting classes that it selects."""
        matching = self._selector.selected_by(term)
        selected = matching[self._waits[matching]]
        if not len(selected):
            return
        staying = [row for row in holders if row not in self._problem_classes]
        if staying:
            self._standing.add(term.topology_key, term.weight, staying, selected)
            holders = [row for row in holders if row in self._problem_classes]
        if not holders:
            return
        number = self._counters.of_classes(holders, term.topology_key)
        for row in selected.tolist():
            if term.weight:
                self._incline(row, number, term.weight)
            else:
                self._exclusions.setdefault(row, {})[Exclusion(number, Reason.KEPT_OFF)] = None

    def _look_back_on_staying(self) -> None:
        """The same for all terms of those who neither come nor go in the round, put together."""
        for row, number in self._standing.exclusions(self._counters):
            self._exclusions.setdefault(row, {})[Exclusion(number, Reason.KEPT_OFF)] = None
        for row, number, sign in self._standing.inclinations(self._counters):
            self._incline(row, number, sign)

    def _incline(self, row: int, number: int, weight: int) -> None:
        """What a counter counts makes its domains better or worse; several reasons for it add up."""
        inclinations = self._inclinations.setdefault(row, {})
        inclinations[number] = inclinations.get(number, 0) + weight

    # --- a class's own rules ---------------------------------------------------------------------------------------

    def _own(self, row: int) -> ClassRules:
        """Affinity and spread as the class itself states them; exclusions and inclinations are gathered aside."""
        content = self._rows[row].content
        own: dict[Exclusion, None] = {}
        for term in content.anti_affinity:
            number = self._counters.selected([own_selector(term.selector, content)], term.topology_key)
            own[Exclusion(number, Reason.TOO_NEAR)] = None
        if own:
            self._exclusions[row] = own | self._exclusions.get(row, {})
        for terms, sign in ((content.preferred_affinity, 1), (content.preferred_anti_affinity, -1)):
            for term in terms:
                number = self._counters.selected([own_selector(term.selector, content)], term.topology_key)
                self._incline(row, number, sign * term.weight)
        return ClassRules(
            attraction=self._attraction(row, content),
            spreadings=self._required_spread(row),
            soft_spreadings=self._preferred_spread(row),
        )

    def _attraction(self, row: int, content: TaskClass) -> Attraction | None:
        if not content.affinity:
            return None
        selectors = tuple(dict.fromkeys(own_selector(term.selector, content) for term in content.affinity))
        matching = self._counters.matching_all(selectors).tolist()  # the same for all terms: looked for once
        keys = dict.fromkeys(term.topology_key for term in content.affinity)
        numbers = tuple(self._counters.of_classes(matching, key) for key in keys)
        for number in numbers:
            self._note_unsettled(number, matching)
        return Attraction(counters=numbers, own=row in matching)

    def _note_unsettled(self, number: int, matching: list[int]) -> None:
        """Name a task in each domain in which only tasks that are about to be bound draw others.

        ``matching``: rows of the classes that the counter counts.
        """
        counter = self._counters.counters[number]
        lone = (counter.start > 0) & (counter.settled == 0)
        if not lone.any():
            return
        for task in self._inhabitants.tasks(matching).tolist():
            domain = int(counter.domain[self._on_machine[task]])
            if domain >= 0 and lone[domain]:
                self._unsettled.setdefault((number, domain), self._uids[task])

    # --- topology spread: over which machines a rule counts, and what it compares ----------------------------------

    def _required_spread(self, row: int) -> tuple[RequiredSpread, ...]:
        """The ``DoNotSchedule`` rules of a class."""
        content = self._rows[row].content
        hard = [rule for rule in content.spread if rule.required]
        return tuple(self._spreading(row, content, rule, hard) for rule in hard)

    def _preferred_spread(self, row: int) -> tuple[PreferredSpread, ...]:
        """The ``ScheduleAnyway`` rules of a class."""
        content = self._rows[row].content
        soft = [rule for rule in content.spread if not rule.required]
        return tuple(self._soft_spreading(content, rule, soft) for rule in soft)

    def _spread_counter(
        self, content: TaskClass, rule: SpreadRule, together: list[SpreadRule]
    ) -> tuple[int, Domains]:
        """Counter of a spread rule over the machines that count for it; ``together``: rules whose keys all count."""
        topology = self._domains_by_key.of(rule.topology_key)
        mark, eligible = self._domains_by_key.eligible(
            content,
            [each.topology_key for each in together],
            by_affinity=not rule.ignore_node_affinity,
            by_taints=rule.honor_taints,
        )
        selector = own_selector(rule.selector, content)
        rows = [
            row
            for row in self._selector.matching(selector).tolist()
            if not self._rows[row].content.terminating
        ]
        domain = np.where(eligible, topology.domain, -1)
        mark = ("spread", selector, rule.topology_key, mark)
        return self._counters.counter(mark, rows, topology, domain), topology

    def _spreading(
        self, row: int, content: TaskClass, rule: SpreadRule, hard: list[SpreadRule]
    ) -> RequiredSpread:
        number, topology = self._spread_counter(content, rule, hard)
        domain = self._counters.counters[number].domain
        counted = np.zeros(topology.count, dtype=np.bool_)
        counted[domain[domain >= 0]] = True
        return RequiredSpread(
            counter=number,
            key_domain=topology.domain,
            counted=counted,
            max_skew=rule.max_skew,
            min_domains=rule.min_domains,
            own=int(self._selector.matches(own_selector(rule.selector, content), row)),
        )

    def _soft_spreading(
        self, content: TaskClass, rule: SpreadRule, soft: list[SpreadRule]
    ) -> PreferredSpread:
        number, topology = self._spread_counter(content, rule, soft)
        domain = self._counters.counters[number].domain
        domains = len(np.unique(domain[domain >= 0]))
        every = np.ones(self._machine_count, dtype=np.bool_)
        for each in soft:
            every &= self._domains_by_key.of(each.topology_key).domain >= 0
        return PreferredSpread(
            counter=number,
            key_domain=np.where(every, topology.domain, -1),
            factor=float(np.log(domains + 2)),
            max_skew=rule.max_skew,
        )
