"""One constraint of a task less: a rule about other tasks, or a host port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import TaskClass

T = TypeVar("T")


def drop_constraints(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield the task with one of its constraints wider, or less."""
    for content, step in _without_one(standing.content):
        yield CureProposal((step,), TrialChange(content, standing.machine))


def _without_one(content: TaskClass) -> Iterator[tuple[TaskClass, CureChange]]:
    """One rule about other tasks, or one host port, less."""
    for index, term in enumerate(content.anti_affinity):
        step = CureChange(CureKind.DROP, f"required podAntiAffinity by {term.topology_key}", before=index)
        yield replace(content, anti_affinity=_without(content.anti_affinity, index)), step
    for index, term in enumerate(content.affinity):
        step = CureChange(CureKind.DROP, f"required podAffinity by {term.topology_key}", before=index)
        yield replace(content, affinity=_without(content.affinity, index)), step
    for index, rule in enumerate(content.spread):
        if rule.required:
            subject = f"topologySpreadConstraint by {rule.topology_key}"
            wider = replace(rule, max_skew=rule.max_skew + 1)
            rules = (*content.spread[:index], wider, *content.spread[index + 1 :])
            step = CureChange(CureKind.WIDEN, subject, before=index, after=wider.max_skew)
            yield replace(content, spread=rules), step
            step = CureChange(CureKind.DROP, subject, before=index)
            yield replace(content, spread=_without(content.spread, index)), step
    for index, port in enumerate(content.ports):
        step = CureChange(CureKind.DROP, f"hostPort {port.port}/{port.protocol}")
        yield replace(content, ports=_without(content.ports, index)), step


def _without(rules: tuple[T, ...], index: int) -> tuple[T, ...]:
    return (*rules[:index], *rules[index + 1 :])
