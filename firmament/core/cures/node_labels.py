"""Labels with which a machine would match what a task's class asks of labels."""

from __future__ import annotations

from collections.abc import Mapping

from firmament.core.model import NodeSelectorTerm, TaskClass


def labels_that_match(content: TaskClass, labels: Mapping[str, str]) -> dict[str, str] | None:
    """Return a machine's labels with the fewest changes after which they match; None if none do.

    Of the required terms one is to match. Terms about fields, and comparisons of numbers, are left alone.
    """
    selected = {**labels, **dict(content.node_selector)}
    if not content.required:
        return selected
    keep = dict(content.node_selector)
    found = [each for term in content.required if (each := _matching(term, selected, keep)) is not None]
    return min(found, key=lambda each: _changes(each, labels), default=None)


def _changes(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(one.get(key) != other.get(key) for key in {*one, *other})


def _matching(
    term: NodeSelectorTerm, labels: Mapping[str, str], keep: Mapping[str, str]
) -> dict[str, str] | None:
    """The labels with a term's requirements met; None if they cannot be. What is in ``keep`` must not change."""
    if term.fields or not term.labels:
        return None
    changed = dict(labels)
    for requirement in term.labels:
        key, value = requirement.key, changed.get(requirement.key)
        match requirement.operator:
            case "In" if value not in requirement.values:
                if not requirement.values:
                    return None
                changed[key] = requirement.values[0]
            case "Exists" if value is None:
                changed[key] = "true"
            case "NotIn" if value in requirement.values:
                del changed[key]
            case "DoesNotExist" if value is not None:
                del changed[key]
            case "Gt" | "Lt":
                return None
    return changed if all(changed.get(key) == value for key, value in keep.items()) else None
