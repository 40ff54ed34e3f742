"""The rules between tasks: whoever asks about where others are asks here, and names no rule."""

from __future__ import annotations

from collections.abc import Iterator

from firmament.core.changes import ChangedMachine, CureProposal
from firmament.core.model import TaskClass, TaskSelector
from firmament.core.reasons import AnyReason
from firmament.core.rules.node_ports import NodePorts
from firmament.core.rules.pod_affinity import PodAffinity
from firmament.core.rules.pod_rule import PodRule
from firmament.core.rules.shared_disks import SharedDisks
from firmament.core.rules.topology_spread import TopologySpread
from firmament.core.state.class_selectors import own_selector

POD_RULES: tuple[PodRule, ...] = (PodAffinity(), TopologySpread(), NodePorts(), SharedDisks())
"""In the order in which what could be changed about them is proposed; reasons come in the order of their stages."""

_CALLED: dict[AnyReason, str] = {reason: words for rule in POD_RULES for reason, words in rule.called.items()}


def constraint_behind(reason: AnyReason) -> str:
    """Return what people call the constraint behind a reason, "" if it is of no rule between tasks."""
    return _CALLED.get(reason, "")


def list_awaited(content: TaskClass) -> list[TaskSelector]:
    """Return whose coming or going may open a machine to a class, wherever that is."""
    return [own_selector(each, content) for rule in POD_RULES for each in rule.awaits(content)]


def list_kept_off(content: TaskClass) -> list[TaskSelector]:
    """Return whom a class of which tasks go may have kept off machines, wherever these are."""
    return [own_selector(each, content) for rule in POD_RULES for each in rule.keeps_off(content)]


def drop_constraints(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield the task with one of its constraints about others wider, or less."""
    for rule in POD_RULES:
        yield from rule.cures(standing)
