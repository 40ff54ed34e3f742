"""Compiles topology spread: over which machines a rule counts, and what it compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firmament.core.constraints.rule_counters import RuleCounters
from firmament.core.model import SpreadRule, TaskClass
from firmament.core.rules.ruleset import SoftSpreading, Spreading
from firmament.core.state.class_selectors import ClassSelector, own_selector
from firmament.core.state.classes import ClassRow
from firmament.core.state.domains import Domains, DomainsByKey


class SpreadCompiler:
    """Spread rules of classes (``rows``: the class table) on the counters of a round."""

    def __init__(
        self,
        counters: RuleCounters,
        selector: ClassSelector,
        domains_by_key: DomainsByKey,
        rows: Sequence[ClassRow],
        machines: int,
    ) -> None:
        self._counters = counters
        self._selector = selector
        self._domains_by_key = domains_by_key
        self._rows = rows
        self._machines = machines

    def required(self, row: int) -> tuple[Spreading, ...]:
        """The ``DoNotSchedule`` rules of a class."""
        content = self._rows[row].content
        hard = [rule for rule in content.spread if rule.required]
        return tuple(self._spreading(row, content, rule, hard) for rule in hard)

    def preferred(self, row: int) -> tuple[SoftSpreading, ...]:
        """The ``ScheduleAnyway`` rules of a class."""
        content = self._rows[row].content
        soft = [rule for rule in content.spread if not rule.required]
        return tuple(self._soft_spreading(content, rule, soft) for rule in soft)

    def _counted(
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

    def _spreading(self, row: int, content: TaskClass, rule: SpreadRule, hard: list[SpreadRule]) -> Spreading:
        number, topology = self._counted(content, rule, hard)
        domain = self._counters.counters[number].domain
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
        domain = self._counters.counters[number].domain
        domains = len(np.unique(domain[domain >= 0]))
        every = np.ones(self._machines, dtype=np.bool_)
        for each in soft:
            every &= self._domains_by_key.of(each.topology_key).domain >= 0
        return SoftSpreading(
            counter=number,
            key_domain=np.where(every, topology.domain, -1),
            factor=float(np.log(domains + 2)),
            max_skew=rule.max_skew,
        )
