"""Decodes requirements on labels and fields, and the terms made of them."""

from __future__ import annotations

from collections.abc import Iterable

from firmament.core.model import OPERATORS, NodeSelectorTerm, Requirement
from firmament.core.selectors.labels import parse_integer
from firmament.wire.checks import refuse
from protos.firmament.v1 import scheduler_pb2 as pb

SET_OPERATORS: frozenset[str] = OPERATORS - {"Gt", "Lt"}
"""Operators of selectors that look at tasks or namespaces."""


def node_terms(
    subject: str, field: str, messages: Iterable[pb.NodeSelectorTerm]
) -> tuple[NodeSelectorTerm, ...]:
    """Return terms of which one must match. Raises ``InvalidEventError``."""
    return tuple(node_term(subject, f"{field}[{i}]", message) for i, message in enumerate(messages))


def node_term(subject: str, field: str, message: pb.NodeSelectorTerm) -> NodeSelectorTerm:
    """Return one term. Raises ``InvalidEventError``."""
    return NodeSelectorTerm(
        labels=requirements(subject, f"{field}.labels", message.labels),
        fields=requirements(subject, f"{field}.fields", message.fields),
    )


def requirements(
    subject: str, field: str, items: Iterable[pb.Requirement], operators: frozenset[str] = OPERATORS
) -> tuple[Requirement, ...]:
    """Return requirements, checked as core/v1 does. Raises ``InvalidEventError``."""
    return tuple(_requirement(subject, f"{field}[{i}]", item, operators) for i, item in enumerate(items))


def _requirement(subject: str, field: str, message: pb.Requirement, operators: frozenset[str]) -> Requirement:
    """Check operator and number of values."""
    operator, values = message.operator, tuple(message.values)
    if not message.key:
        raise refuse(subject, f"{field}.key", "is empty; it is required")
    if operator not in operators:
        allowed = ", ".join(sorted(operators))
        raise refuse(subject, f"{field}.operator", f"{operator!r} is not an operator; use one of {allowed}")
    if operator in {"In", "NotIn"} and not values:
        raise refuse(subject, f"{field}.values", f"is empty; {operator} needs at least one value")
    if operator in {"Exists", "DoesNotExist"} and values:
        raise refuse(subject, f"{field}.values", f"has {len(values)} entries; {operator} takes none")
    if operator in {"Gt", "Lt"} and not (len(values) == 1 and parse_integer(values[0]) is not None):
        raise refuse(subject, f"{field}.values", f"is {list(values)}; {operator} needs exactly one integer")
    return Requirement(message.key, operator, values)
