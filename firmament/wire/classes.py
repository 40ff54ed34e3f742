"""Decodes task classes: requests, selectors, affinity terms and tolerations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from firmament.core.model import (
    EFFECTS,
    OPERATORS,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    TaskClass,
    Toleration,
)
from firmament.wire.checks import quantities, refuse
from protos.firmament.v1 import scheduler_pb2 as pb

_OPERATOR_LIST = ", ".join(sorted(OPERATORS))
_EFFECT_LIST = ", ".join(sorted(EFFECTS))


def class_from_proto(message: pb.TaskClass) -> tuple[int, TaskClass]:
    """Return the class and the number that the client gave it. Raises ``InvalidEventError``.

    The rules of a class that calls itself invalid are dropped unread: its tasks are never placed, and what is
    wrong with them is often one of these rules.
    """
    if not message.id:
        raise refuse("TaskClass", "id", "is 0; number classes from 1")
    subject = f"TaskClass {message.id}"
    rules = pb.TaskClass() if message.invalid else message
    return message.id, TaskClass(
        requests=tuple(sorted(quantities(subject, "requests", message.requests).items())),
        node_selector=_pairs(rules.node_selector),
        required=tuple(_term(subject, f"required[{i}]", term) for i, term in enumerate(rules.required)),
        preferred=tuple(
            _preferred(subject, f"preferred[{i}]", term) for i, term in enumerate(rules.preferred)
        ),
        tolerations=tuple(_toleration(subject, i, each) for i, each in enumerate(rules.tolerations)),
        namespace=message.namespace,
        labels=_pairs(message.labels),
        annotations=_pairs(message.annotations),
        machine=message.machine,
        invalid=message.invalid,
    )


def check_effect(subject: str, field: str, effect: str) -> str:
    """Return a taint's effect, or raise if it is none that Kubernetes knows."""
    if effect not in EFFECTS:
        raise refuse(subject, f"{field}.effect", f"{effect!r} is not an effect; use one of {_EFFECT_LIST}")
    return effect


def _pairs(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _preferred(subject: str, field: str, message: pb.PreferredTerm) -> PreferredTerm:
    if not 1 <= message.weight <= 100:
        raise refuse(subject, f"{field}.weight", f"{message.weight} is out of range; use 1 to 100")
    return PreferredTerm(message.weight, _term(subject, f"{field}.term", message.term))


def _term(subject: str, field: str, message: pb.NodeSelectorTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        labels=_requirements(subject, f"{field}.labels", message.labels),
        fields=_requirements(subject, f"{field}.fields", message.fields),
    )


def _requirements(subject: str, field: str, items: Iterable[pb.Requirement]) -> tuple[Requirement, ...]:
    return tuple(_requirement(subject, f"{field}[{i}]", item) for i, item in enumerate(items))


def _requirement(subject: str, field: str, message: pb.Requirement) -> Requirement:
    """Check operator and number of values as core/v1 does."""
    operator, values = message.operator, tuple(message.values)
    if not message.key:
        raise refuse(subject, f"{field}.key", "is empty; it is required")
    if operator not in OPERATORS:
        raise refuse(
            subject, f"{field}.operator", f"{operator!r} is not an operator; use one of {_OPERATOR_LIST}"
        )
    if operator in {"In", "NotIn"} and not values:
        raise refuse(subject, f"{field}.values", f"is empty; {operator} needs at least one value")
    if operator in {"Exists", "DoesNotExist"} and values:
        raise refuse(subject, f"{field}.values", f"has {len(values)} entries; {operator} takes none")
    if operator in {"Gt", "Lt"} and not (len(values) == 1 and _is_integer(values[0])):
        raise refuse(subject, f"{field}.values", f"is {list(values)}; {operator} needs exactly one integer")
    return Requirement(message.key, operator, values)


def _is_integer(text: str) -> bool:
    """Say whether Go's strconv.ParseInt(text, 10, 64) would accept it."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    return digits.isascii() and digits.isdigit() and -(2**63) <= int(text) < 2**63


def _toleration(subject: str, index: int, message: pb.Toleration) -> Toleration:
    field = f"tolerations[{index}]"
    operator = message.operator or "Equal"
    if operator not in {"Equal", "Exists"}:
        raise refuse(subject, f"{field}.operator", f"{operator!r} is not an operator; use Equal or Exists")
    if not message.key and operator != "Exists":
        raise refuse(subject, f"{field}.key", "is empty; only Exists takes every key")
    if message.effect:
        check_effect(subject, field, message.effect)
    return Toleration(message.key, operator, message.value, message.effect)
