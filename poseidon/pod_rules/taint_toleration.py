"""Reads pods' tolerations, checked as by the API server, and decides whether they tolerate a taint."""

from __future__ import annotations

import re
from collections.abc import Iterable

from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import Toleration
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import format_choice
from protos.firmament.v1 import scheduler_pb2 as pb

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TOLERATING = ("Equal", "Exists", "Gt", "Lt")

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


def tolerations(given: Iterable[Toleration], defects: list[Defect]) -> list[pb.Toleration]:
    """Return the tolerations, each once, with the default operator written out."""
    found: dict[tuple[str, str, str, str], pb.Toleration] = {}
    for index, toleration in enumerate(given):
        path = f"spec.tolerations[{index}]"
        operator = toleration.operator or "Equal"
        if operator not in TOLERATING:
            problem = f"unknown operator {operator!r}; use {format_choice(TOLERATING)}"
            defects.append(Defect(f"{path}.operator", problem))
        elif operator == "Exists" and toleration.value:
            defects.append(Defect(f"{path}.value", "must be empty when the operator is Exists; remove it"))
        elif operator in ("Gt", "Lt") and parse_compared_integer(toleration.value) is None:
            problem = (
                f"{toleration.value!r} is not an integer, which {operator} compares; write one such as 100"
            )
            defects.append(Defect(f"{path}.value", problem))
        elif operator != "Exists" and not toleration.key:
            defects.append(
                Defect(f"{path}.operator", "must be Exists when the key is empty, which means every taint")
            )
        if toleration.effect and toleration.effect not in EFFECTS:
            problem = f"unknown effect {toleration.effect!r}; use {format_choice(EFFECTS)}"
            defects.append(Defect(f"{path}.effect", problem))
        content = (toleration.key, operator, toleration.value, toleration.effect)
        found[content] = pb.Toleration(
            key=toleration.key, operator=operator, value=toleration.value, effect=toleration.effect
        )
    return [found[content] for content in sorted(found)]


def is_tolerated(taint: Taint | pb.Taint, tolerations: Iterable[Toleration | pb.Toleration]) -> bool:
    """Return whether one of the tolerations, of the API or the protocol, tolerates the taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def parse_compared_integer(text: str) -> int | None:
    """Return the integer that Gt and Lt compare, None if the text is none: only a minus sign, no leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _tolerates(toleration: Toleration | pb.Toleration, taint: Taint | pb.Taint) -> bool:
    """Return whether a toleration covers a taint, as core/v1 ``Toleration.ToleratesTaint`` does."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and _matches(toleration, taint.value)


def _matches(toleration: Toleration | pb.Toleration, value: str) -> bool:
    """Return whether a taint's value equals the toleration's, or is above (Gt) or below (Lt) it (KEP-5471)."""
    if toleration.operator not in ("Gt", "Lt"):
        return toleration.value == value
    bound, found = parse_compared_integer(toleration.value), parse_compared_integer(value)
    if bound is None or found is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound
