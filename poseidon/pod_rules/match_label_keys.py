"""Reads `matchLabelKeys` and `mismatchLabelKeys` of pod affinity terms and topology spread constraints."""

from __future__ import annotations

from collections.abc import Mapping

from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import key_fault
from protos.firmament.v1 import scheduler_pb2 as pb

_MATCH, _MISMATCH = "matchLabelKeys", "mismatchLabelKeys"


def parse_match_label_keys(
    selector: LabelSelector | None,
    labels: Mapping[str, str],
    path: str,
    defects: list[Defect],
    *,
    match: tuple[str, ...],
    mismatch: tuple[str, ...] = (),
) -> list[pb.Requirement]:
    """Return the conditions that ``matchLabelKeys`` and ``mismatchLabelKeys`` add for a pod with ``labels``.

    The API server merges ``key in (value)`` and ``key notin (value)`` into the selector when it stores a pod. This
    function adds the requirements if the API server has not. A key is skipped if the pod has no such label.
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
    """Return whether the selector already contains the condition, as the API server writes it."""
    return any(
        each.key == key and each.operator == operator and len(each.values) == 1
        for each in selector.match_expressions
    )


def _mentions(selector: LabelSelector, key: str) -> bool:
    return key in selector.match_labels or any(each.key == key for each in selector.match_expressions)
