"""Whether labels match a selector, as the API server's clients look at it."""

from __future__ import annotations

from collections.abc import Mapping

from poseidon.kube.api.pod_rules import LabelSelector, LabelSelectorRequirement


def matches_labels(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all conditions; one with an unknown operator is met by none."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _meets(each, labels) for each in selector.match_expressions
    )


def _meets(condition: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(condition.key)
    if condition.operator == "In":
        return value in condition.values
    if condition.operator == "NotIn":
        return value not in condition.values
    if condition.operator == "Exists":
        return value is not None
    return condition.operator == "DoesNotExist" and value is None
