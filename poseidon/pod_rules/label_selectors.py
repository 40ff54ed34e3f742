"""Label selectors of pods and namespaces, checked as the API server checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import key_fault, label_defects, value_fault
from poseidon.pod_rules.canonical import canonical, one_of
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poseidon.kube.api.core import LabelSelector, LabelSelectorRequirement

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

_MATCH, _MISMATCH = "matchLabelKeys", "mismatchLabelKeys"


def requirements(selector: LabelSelector, path: str, defects: list[Defect]) -> list[pb.Requirement]:
    """Return all conditions of a selector, each once, in one order whatever the order they are written in."""
    defects.extend(label_defects(selector.match_labels, f"{path}.matchLabels"))
    equal = [
        pb.Requirement(key=key, operator="In", values=[value]) for key, value in selector.match_labels.items()
    ]
    return distinct([*equal, *_expressions(selector.match_expressions, f"{path}.matchExpressions", defects)])


def distinct(found: Iterable[pb.Requirement]) -> list[pb.Requirement]:
    """Return each condition once, in canonical order."""
    by_content = {canonical(each): each for each in found}
    return [by_content[content] for content in sorted(by_content)]


def label_key_requirements(
    selector: LabelSelector | None,
    labels: Mapping[str, str],
    path: str,
    defects: list[Defect],
    *,
    match: tuple[str, ...],
    mismatch: tuple[str, ...] = (),
) -> list[pb.Requirement]:
    """Return what ``matchLabelKeys`` and ``mismatchLabelKeys`` add to a selector for a pod with ``labels``.

    The API server merges ``key in (value)`` and ``key notin (value)`` into the selector when it stores a pod, and
    so does this, where that has not been done yet. A key that the pod has no label for is skipped.
    """
    if selector is None:
        defects.extend(
            Defect(f"{path}.{field}", "needs a labelSelector beside it; add one or remove it")
            for field, keys in ((_MATCH, match), (_MISMATCH, mismatch))
            if keys
        )
        return []
    found = []
    for field, operator, keys in ((_MATCH, "In", match), (_MISMATCH, "NotIn", mismatch)):
        for index, key in enumerate(keys):
            where = f"{path}.{field}[{index}]"
            fault = key_fault(key)
            if fault:
                defects.append(Defect(where, fault))
            elif field == _MATCH and key in mismatch:
                defects.append(Defect(where, f"{key!r} stands in {_MISMATCH} as well; remove one of the two"))
            elif not _is_merged(selector, key, operator):
                if field == _MATCH and _mentions(selector, key):
                    defects.append(Defect(where, f"{key!r} stands in labelSelector as well; remove one"))
                elif key in labels:
                    found.append(pb.Requirement(key=key, operator=operator, values=[labels[key]]))
    return found


def _is_merged(selector: LabelSelector, key: str, operator: str) -> bool:
    """Whether the condition stands in the selector already, as the API server writes it."""
    return any(
        each.key == key and each.operator == operator and len(each.values) == 1
        for each in selector.match_expressions
    )


def _mentions(selector: LabelSelector, key: str) -> bool:
    return key in selector.match_labels or any(each.key == key for each in selector.match_expressions)


def _expressions(
    given: tuple[LabelSelectorRequirement, ...], path: str, defects: list[Defect]
) -> Iterable[pb.Requirement]:
    for index, each in enumerate(given):
        where = f"{path}[{index}]"
        fault = key_fault(each.key)
        if fault:
            defects.append(Defect(f"{where}.key", fault))
        if each.operator not in OPERATORS:
            problem = f"unknown operator {each.operator!r}; use {one_of(OPERATORS)}"
            defects.append(Defect(f"{where}.operator", problem))
        elif each.operator in ("In", "NotIn") and not each.values:
            defects.append(Defect(f"{where}.values", f"{each.operator} needs at least one value"))
        elif each.operator in ("Exists", "DoesNotExist") and each.values:
            defects.append(Defect(f"{where}.values", f"{each.operator} takes no values; remove them"))
        defects.extend(
            Defect(f"{where}.values[{place}]", fault)
            for place, value in enumerate(each.values)
            if (fault := value_fault(value))
        )
        yield pb.Requirement(key=each.key, operator=each.operator, values=sorted(set(each.values)))
