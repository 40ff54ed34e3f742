"""Words that Kubernetes objects share, in the words of the differential tests' world."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.programs.differential.world import NodeTerm, Requirement

Object = dict[str, Any]

_FACTORS = {"Mi": Decimal(2**20), "Gi": Decimal(2**30), "m": Decimal("0.001")}


def only(given: Object, known: set[str]) -> None:
    """Make sure that nothing is passed over."""
    assert given.keys() <= known, f"not known here: {', '.join(given.keys() - known)}"


def quantity(text: str) -> Decimal:
    """resource.Quantity, as far as the clusters use it."""
    for suffix, factor in _FACTORS.items():
        if text.endswith(suffix):
            return Decimal(text.removesuffix(suffix)) * factor
    return Decimal(text)


def amounts(quantities: Mapping[str, str]) -> dict[str, int]:
    """Amounts by resource: whole units, thousandths of CPUs."""
    return {name: int(quantity(text) * (1000 if name == "cpu" else 1)) for name, text in quantities.items()}


def requirement(given: Object) -> Requirement:
    """A requirement on labels or fields."""
    only(given, {"key", "operator", "values"})
    return Requirement(given["key"], given["operator"], tuple(given.get("values", ())))


def selector(given: Object | None) -> tuple[Requirement, ...] | None:
    """A label selector; None if there is none."""
    if given is None:
        return None
    only(given, {"matchLabels", "matchExpressions"})
    equal = (Requirement(key, "In", (value,)) for key, value in given.get("matchLabels", {}).items())
    return (*equal, *map(requirement, given.get("matchExpressions", ())))


def node_term(given: Object) -> NodeTerm:
    """core/v1 NodeSelectorTerm."""
    only(given, {"matchExpressions", "matchFields"})
    return NodeTerm(
        tuple(map(requirement, given.get("matchExpressions", ()))),
        tuple(map(requirement, given.get("matchFields", ()))),
    )
