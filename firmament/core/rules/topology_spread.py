"""PodTopologySpread: how unevenly tasks may be distributed over domains, and which machines and tasks count."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cost_models.interface import Bool
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.constraints.ruleset import PreferredSpread, RequiredSpread
from firmament.core.model import SpreadRule, TaskClass, TaskSelector
from firmament.core.reasons import Reason
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.pod_rule import PodRule
from firmament.core.rules.framework.work import count_checks_of_selectors
from firmament.core.rules.node_affinity import find_selected, mark_selected
from firmament.core.rules.taint_toleration import find_tolerated, mark_tolerated
from firmament.core.state.class_selectors import own_selector
from firmament.core.state.domains import Domains

_CHECKS_PER_RULE = 24


class TopologySpread(PodRule):
    """Limits how unevenly tasks are spread (``DoNotSchedule``), and adds costs for unevenness (``ScheduleAnyway``)."""

    name = "PodTopologySpread"
    called = MappingProxyType(
        {
            Reason.SKEWED: "pod topology spread constraints",
            Reason.NO_DOMAIN: "pod topology spread constraints",
        }
    )
    stated_in = ("spread",)

    def compile(self, compilation: Compilation) -> None:
        """Add the required and preferred spread rules of each class."""
        for row, content in compilation.stating():
            if content.spread:
                hard = [rule for rule in content.spread if rule.required]
                soft = [rule for rule in content.spread if not rule.required]
                compilation.spread(
                    row,
                    tuple(_build_required(compilation, row, content, rule, hard) for rule in hard),
                    tuple(_build_preferred(compilation, content, rule, soft) for rule in soft),
                )

    def select_awaited_tasks(self, content: TaskClass) -> list[TaskSelector]:
        """Return the selectors of the required rules."""
        return [rule.selector for rule in content.spread if rule.required]

    def count_checks(self, content: TaskClass) -> int:
        """Return how many checks a class needs: 24 for each constraint, and those of its selector."""
        selectors = [each.selector for each in content.spread]
        return len(selectors) * _CHECKS_PER_RULE + count_checks_of_selectors(selectors)

    def states_preference(self, content: TaskClass) -> bool:
        """Return whether a class has a preferred constraint, which only adds to costs."""
        return any(not rule.required for rule in content.spread)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures: relax one of the task's required constraints, then drop it."""
        content = standing.content
        for index, rule in enumerate(content.spread):
            if not rule.required:
                continue
            subject = f"topologySpreadConstraint by {rule.topology_key}"
            wider = replace(rule, max_skew=rule.max_skew + 1)
            before, after = content.spread[:index], content.spread[index + 1 :]
            step = CureChange(CureKind.WIDEN, subject, before=index, after=wider.max_skew)
            changed = replace(content, spread=(*before, wider, *after))
            yield CureProposal((step,), TrialChange(changed, standing.machine))
            step = CureChange(CureKind.DROP, subject, before=index)
            changed = replace(content, spread=(*before, *after))
            yield CureProposal((step,), TrialChange(changed, standing.machine))


def _get_counter(
    compilation: Compilation, content: TaskClass, rule: SpreadRule, together: list[SpreadRule]
) -> tuple[int, Domains]:
    """Return the number of a constraint's counter, and the domains by the constraint's key.

    ``together``: only machines that have the keys of all these constraints count.
    """
    topology = compilation.domains_by_key.get(rule.topology_key)
    mark, eligible = find_eligible(compilation, content, rule, [each.topology_key for each in together])
    selector = own_selector(rule.selector, content)
    rows = [
        row
        for row in compilation.selector.matching(selector).tolist()
        if not compilation.rows[row].content.terminating
    ]
    domain = np.where(eligible, topology.domain, -1)
    mark = ("spread", selector, rule.topology_key, mark)
    return compilation.counters.counter(mark, rows, topology, domain), topology


def find_eligible(
    compilation: Compilation, content: TaskClass, rule: SpreadRule, keys: Sequence[str]
) -> tuple[Hashable, Bool]:
    """Return a key, equal for equal answers, and bool[M]: the machines that a spread constraint of a class considers.

    The machines have all labels ``keys``, and pass the constraint's inclusion policies. The policies follow
    ``matchNodeInclusionPolicies`` of kube-scheduler.
    """
    mark = (
        tuple(sorted(set(keys))),
        None if rule.ignore_node_affinity else mark_selected(content),
        mark_tolerated(content) if rule.honor_taints else None,
    )
    found = compilation.answers.get(mark)
    if found is None:
        machines = compilation.cluster.machines
        found = np.ones(len(machines), dtype=np.bool_)
        for key in keys:
            found &= compilation.domains_by_key.get(key).domain >= 0
        if not rule.ignore_node_affinity:
            found &= find_selected(machines, content)
        if rule.honor_taints:
            found &= find_tolerated(machines, content)
        compilation.answers[mark] = found
    return mark, found


def _build_required(
    compilation: Compilation, row: int, content: TaskClass, rule: SpreadRule, hard: list[SpreadRule]
) -> RequiredSpread:
    number, topology = _get_counter(compilation, content, rule, hard)
    domain = compilation.counters.counters[number].domain
    counted = np.zeros(topology.count, dtype=np.bool_)
    counted[domain[domain >= 0]] = True
    return RequiredSpread(
        counter=number,
        key_domain=topology.domain,
        counted=counted,
        max_skew=rule.max_skew,
        min_domains=rule.min_domains,
        own=int(compilation.selector.matches(own_selector(rule.selector, content), row)),
        reason=Reason.SKEWED,
        lacking=Reason.NO_DOMAIN,
    )


def _build_preferred(
    compilation: Compilation, content: TaskClass, rule: SpreadRule, soft: list[SpreadRule]
) -> PreferredSpread:
    number, topology = _get_counter(compilation, content, rule, soft)
    domain = compilation.counters.counters[number].domain
    domains = len(np.unique(domain[domain >= 0]))
    every = np.ones(len(topology.domain), dtype=np.bool_)
    for each in soft:
        every &= compilation.domains_by_key.get(each.topology_key).domain >= 0
    return PreferredSpread(
        counter=number,
        key_domain=topology.domain if every.all() else np.where(every, topology.domain, -1),
        factor=float(np.log(domains + 2)),
        max_skew=rule.max_skew,
    )
