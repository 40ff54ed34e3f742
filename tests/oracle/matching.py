"""Whether a task may run on a machine, capacity aside: one machine, one task, one rule after another (core/v1)."""

from __future__ import annotations

import re

from firmament.core.model import Machine, NodeSelectorTerm, Requirement, Taint, TaskClass, Toleration

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


def allowed(machine: Machine, content: TaskClass) -> bool:
    """Whether every rule but capacity lets a task of this class onto the machine."""
    if content.invalid:
        return False
    if content.machine and content.machine != machine.name:
        return False
    taints = list(machine.taints)
    if machine.unschedulable:
        taints.append(CORDON)
    if machine.not_ready:
        taints.append(NOT_READY)
    for taint in taints:
        keeps_away = taint.effect in ("NoSchedule", "NoExecute")
        if keeps_away and not any(tolerates(t, taint) for t in content.tolerations):
            return False
    for key, value in content.node_selector:
        if machine.labels.get(key) != value:
            return False
    return not content.required or any(matches(term, machine) for term in content.required)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """core/v1 Toleration.ToleratesTaint."""
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)


def matches(term: NodeSelectorTerm, machine: Machine) -> bool:
    """A term matches if all its requirements do; an empty one matches nothing."""
    if not term.labels and not term.fields:
        return False
    fields = {"metadata.name": machine.name}
    return all(meets(r, machine.labels.get(r.key)) for r in term.labels) and all(
        r.key in fields and meets(r, fields[r.key]) for r in term.fields
    )


def meets(requirement: Requirement, value: str | None) -> bool:
    """Whether a label's value (None: no such label) meets one requirement."""
    if requirement.operator == "In":
        return value is not None and value in requirement.values
    if requirement.operator == "NotIn":
        return value is None or value not in requirement.values
    if requirement.operator == "Exists":
        return value is not None
    if requirement.operator == "DoesNotExist":
        return value is None
    have, bound = as_integer(value), as_integer(requirement.values[0])
    if have is None or bound is None:
        return False
    return have > bound if requirement.operator == "Gt" else have < bound


def as_integer(text: str | None) -> int | None:
    """The 64-bit integer that the text is, or None."""
    if text is None or re.fullmatch(r"[+-]?[0-9]+", text) is None:
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None
