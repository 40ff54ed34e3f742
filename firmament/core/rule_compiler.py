"""Compiles what task classes say about each other into the rules of a round.

Rules look both ways: a waiting class obeys its own terms, and the terms of every class, waiting or on a machine and
whoever placed it, that select it. Terms with equal content share their counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.inhabitants import Inhabitants
from firmament.core.model import SpreadRule, TaskClass, TaskSelector, TaskTerm
from firmament.core.topologies import Topologies, Topology
from firmament.rules.ruleset import (
    KEPT_OFF,
    PORTS_TAKEN,
    TOO_NEAR,
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    RuleSet,
    SoftSpreading,
    Spreading,
)

HARD_AFFINITY_WEIGHT = 1
"""What a task on a machine adds, per required affinity term of its own, for tasks that the term selects
(kube-scheduler's hardPodAffinityWeight)."""


def compile_rules(cluster: Cluster, waiting: Sequence[int], *, without: int = -1) -> RuleSet | None:
    """Rules of a round for the waiting classes (``waiting[c]``: class row of problem class c); None if there are none.

    ``without``: row of a task that is not to be counted where it is.
    """
    if not cluster.classes.ruled or not len(cluster.machines):
        return None
    inhabitants = Inhabitants(cluster, without=without)
    present = {*waiting, *inhabitants.classes.tolist()}
    ruled = [row for row in cluster.classes.ruled if row in present]
    if not ruled:
        return None
    rules = _Compiler(cluster, waiting, inhabitants, ruled).compiled()
    return rules if rules.of else None


def own_selector(selector: TaskSelector, content: TaskClass) -> TaskSelector:
    """A class's selector, which without any namespace means the class's own."""
    if selector.namespaces or selector.namespace_labels is not None:
        return selector
    return replace(selector, namespaces=(content.namespace,))


@dataclass(slots=True)
class _Holders:
    """The classes of the round that have one and the same term; ``kind`` tells required from preferred."""

    kind: str
    term: TaskTerm
    rows: list[int]


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
        self._topologies = Topologies(cluster.machines)
        self._machines = len(cluster.machines)
        self._ruled = ruled
        self._problem_classes: dict[int, list[int]] = {}
        for cls, row in enumerate(waiting):
            self._problem_classes.setdefault(row, []).append(cls)
        self._counters: list[Counter] = []
        self._number: dict[tuple[object, ...], int] = {}
        self._adds: dict[int, list[int]] = {}
        self._exclusions: dict[int, list[Exclusion]] = {}
        self._inclinations: dict[int, list[Inclination]] = {}
        self._unsettled: dict[tuple[int, int], str] = {}

    def compiled(self) -> RuleSet:
        """The rules of all waiting classes that have any, or that count for those of others."""
        for holders in self._terms_of_all():
            self._look_back(holders)
        own = {row: self._own(row) for row in self._ruled if row in self._problem_classes}
        self._ports()
        of: dict[int, ClassRules] = {}
        for row, classes in self._problem_classes.items():
            rules = replace(
                own.get(row, ClassRules()),
                adds=tuple(self._adds.get(row, ())),
                exclusions=tuple(dict.fromkeys(self._exclusions.get(row, ()))),
                inclinations=tuple(self._inclinations.get(row, ())),
            )
            if rules.adds or rules.binding or rules.soft:
                of.update(dict.fromkeys(classes, rules))
        return RuleSet(self._counters, of, self._unsettled)

    # --- counters ------------------------------------------------------------------------------------------------

    def _counter(
        self, mark: tuple[object, ...], rows: Sequence[int], topology: Topology, domain: Int64
    ) -> int:
        """Number of the counter of tasks of ``rows``; ``mark`` is equal for equal counters."""
        number = self._number.get(mark)
        if number is None:
            number = self._number[mark] = len(self._counters)
            start = self._per_domain(self._inhabitants.machines(rows), topology, domain)
            settled = start
            if start.any():
                settled = self._per_domain(self._inhabitants.machines(rows, settled=True), topology, domain)
            self._counters.append(Counter(domain, start, settled, topology.coarse))
            for row in rows:
                if row in self._problem_classes:
                    self._adds.setdefault(row, []).append(number)
        return number

    @staticmethod
    def _per_domain(machines: Int64, topology: Topology, domain: Int64) -> Int64:
        where = domain[machines]
        return np.bincount(where[where >= 0], minlength=topology.count).astype(np.int64)

    def _selected(self, selectors: Iterable[TaskSelector], key: str) -> int:
        """Counter of the tasks that all of ``selectors`` match, by the label ``key``."""
        wanted = tuple(dict.fromkeys(selectors))
        rows = self._matching_all(wanted)
        topology = self._topologies.of(key)
        return self._counter(("selected", frozenset(wanted), key), rows.tolist(), topology, topology.domain)

    def _matching_all(self, selectors: Sequence[TaskSelector]) -> Int64:
        """Rows of the classes that all of ``selectors`` match."""
        rows = self._selector.matching(selectors[0])
        for selector in selectors[1:]:
            rows = np.intersect1d(rows, self._selector.matching(selector))
        return rows

    # --- terms of others that select waiting classes --------------------------------------------------------------

    def _terms_of_all(self) -> list[_Holders]:
        """Every distinct affinity term of the round, with the classes that hold it."""
        found: dict[tuple[str, TaskTerm], _Holders] = {}
        for row in self._ruled:
            content = self._rows[row].content
            for kind in ("affinity", "anti_affinity", "preferred_affinity", "preferred_anti_affinity"):
                for given in getattr(content, kind):
                    term = replace(given, selector=own_selector(given.selector, content))
                    holders = found.setdefault((kind, term), _Holders(kind, term, []))
                    if row not in holders.rows[-1:]:
                        holders.rows.append(row)
        return list(found.values())

    def _look_back(self, holders: _Holders) -> None:
        """What a term means for the waiting classes that it selects."""
        term = holders.term
        selected = [
            row for row in self._selector.matching(term.selector).tolist() if row in self._problem_classes
        ]
        if not selected:
            return
        topology = self._topologies.of(term.topology_key)
        mark = ("holders", holders.kind, term)
        number = self._counter(mark, holders.rows, topology, topology.domain)
        for row in selected:
            if holders.kind == "anti_affinity":
                self._exclusions.setdefault(row, []).append(Exclusion(number, KEPT_OFF))
            else:
                weight = {
                    "affinity": HARD_AFFINITY_WEIGHT,
                    "preferred_affinity": term.weight,
                    "preferred_anti_affinity": -term.weight,
                }[holders.kind]
                self._inclinations.setdefault(row, []).append(Inclination(number, weight))

    # --- a class's own rules ---------------------------------------------------------------------------------------

    def _own(self, row: int) -> ClassRules:
        """Affinity and spread as the class itself states them; exclusions and inclinations are gathered aside."""
        content = self._rows[row].content
        for term in content.anti_affinity:
            number = self._selected([own_selector(term.selector, content)], term.topology_key)
            self._exclusions.setdefault(row, []).insert(0, Exclusion(number, TOO_NEAR))
        for terms, sign in ((content.preferred_affinity, 1), (content.preferred_anti_affinity, -1)):
            for term in terms:
                number = self._selected([own_selector(term.selector, content)], term.topology_key)
                self._inclinations.setdefault(row, []).append(Inclination(number, sign * term.weight))
        hard = [rule for rule in content.spread if rule.required]
        soft = [rule for rule in content.spread if not rule.required]
        return ClassRules(
            attraction=self._attraction(row, content),
            spreadings=tuple(self._spreading(row, content, rule, hard) for rule in hard),
            soft_spreadings=tuple(self._soft_spreading(content, rule, soft) for rule in soft),
        )

    def _attraction(self, row: int, content: TaskClass) -> Attraction | None:
        if not content.affinity:
            return None
        selectors = [own_selector(term.selector, content) for term in content.affinity]
        numbers = tuple(self._selected(selectors, term.topology_key) for term in content.affinity)
        for number in numbers:
            self._note_unsettled(number, selectors)
        return Attraction(
            counters=numbers,
            own=all(self._selector.matches(selector, row) for selector in selectors),
        )

    def _note_unsettled(self, number: int, selectors: list[TaskSelector]) -> None:
        """Name a task in each domain in which only tasks that are about to be bound draw others."""
        counter = self._counters[number]
        lone = (counter.start > 0) & (counter.settled == 0)
        if not lone.any():
            return
        for task in self._inhabitants.tasks(self._matching_all(selectors).tolist()).tolist():
            domain = int(counter.domain[self._on_machine[task]])
            if domain >= 0 and lone[domain]:
                self._unsettled.setdefault((number, domain), self._uids[task])

    def _counted(
        self, content: TaskClass, rule: SpreadRule, together: list[SpreadRule]
    ) -> tuple[int, Topology]:
        """Counter of a spread rule over the machines that count for it; ``together``: rules whose keys all count."""
        topology = self._topologies.of(rule.topology_key)
        mark, eligible = self._topologies.eligible(
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
        return self._counter(("spread", selector, rule.topology_key, mark), rows, topology, domain), topology

    def _spreading(self, row: int, content: TaskClass, rule: SpreadRule, hard: list[SpreadRule]) -> Spreading:
        number, topology = self._counted(content, rule, hard)
        domain = self._counters[number].domain
        counted = np.zeros(topology.count, dtype=np.bool_)
        counted[domain[domain >= 0]] = True
        return Spreading(
            counter=number,
            key_domain=topology.domain,
            counted=counted,
            max_skew=rule.max_skew,
            min_domains=rule.min_domains,
            own=int(self._selector.matches(own_selector(rule.selector, content), row)),
        )

    def _soft_spreading(self, content: TaskClass, rule: SpreadRule, soft: list[SpreadRule]) -> SoftSpreading:
        number, topology = self._counted(content, rule, soft)
        domain = self._counters[number].domain
        domains = len(np.unique(domain[domain >= 0]))
        every = np.ones(self._machines, dtype=np.bool_)
        for each in soft:
            every &= self._topologies.of(each.topology_key).domain >= 0
        return SoftSpreading(
            counter=number,
            key_domain=np.where(every, topology.domain, -1),
            factor=float(np.log(domains + 2)),
            max_skew=rule.max_skew,
        )

    # --- ports -------------------------------------------------------------------------------------------------------

    def _ports(self) -> None:
        """Ports of the machine: a port on all addresses excludes every user of it, one on an address excludes equals.

        As ``HostPortInfo.CheckConflict`` of kube-scheduler.
        """
        users: dict[tuple[str, int], dict[str, list[int]]] = {}
        for row in self._ruled:
            for port in self._rows[row].content.ports:
                users.setdefault((port.protocol, port.port), {}).setdefault(port.ip, []).append(row)
        machines = self._topologies.single
        for key, by_ip in users.items():
            everyone = sorted({row for rows in by_ip.values() for row in rows})
            if not any(row in self._problem_classes for row in everyone):
                continue
            for ip, rows in by_ip.items():
                against = [("port", *key)] if not ip else [("port", *key, ip), ("port", *key, "")]
                members = {
                    ("port", *key): everyone,
                    ("port", *key, ip): rows,
                    ("port", *key, ""): by_ip.get("", []),
                }
                for mark in against:
                    number = self._counter(mark, members[mark], machines, machines.domain)
                    for row in rows:
                        if row in self._problem_classes:
                            self._exclusions.setdefault(row, []).append(Exclusion(number, PORTS_TAKEN))
