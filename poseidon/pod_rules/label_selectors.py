"""Reads label selectors of pods and namespaces, and checks them as the API server does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.message import Message

from poseidon.kube.api.pod_rules import LabelSelector, LabelSelectorRequirement, NodeSelectorRequirement
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import key_fault, label_defects, value_fault
from protos.firmament.v1 import scheduler_pb2 as pb

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def parse_requirements(selector: LabelSelector, path: str, defects: list[Defect]) -> list[pb.Requirement]:
    """Return all conditions of a selector, each once, in a fixed order."""
    defects.extend(label_defects(selector.match_labels, f"{path}.matchLabels"))
    equal = [
        pb.Requirement(key=key, operator="In", values=[value]) for key, value in selector.match_labels.items()
    ]
    return drop_repeated(
        [*equal, *_expressions(selector.match_expressions, f"{path}.matchExpressions", defects)]
    )


def drop_repeated(found: Iterable[pb.Requirement]) -> list[pb.Requirement]:
    """Return each condition once, in canonical order."""
    by_content = {encode_canonically(each): each for each in found}
    return [by_content[content] for content in sorted(by_content)]


def parse_requirement(
    given: LabelSelectorRequirement | NodeSelectorRequirement,
    path: str,
    defects: list[Defect],
    operators: Sequence[str] = OPERATORS,
) -> pb.Requirement:
    """Return a condition on a label; its faults are added to ``defects``."""
    count = len(given.values)
    fault = key_fault(given.key)
    if fault:
        defects.append(Defect(f"{path}.key", fault))
    if given.operator not in operators:
        problem = f"unknown operator {given.operator!r}; use {format_choice(operators)}"
        defects.append(Defect(f"{path}.operator", problem))
    elif given.operator in ("In", "NotIn") and not count:
        defects.append(Defect(f"{path}.values", f"{given.operator} needs at least one value"))
    elif given.operator in ("Exists", "DoesNotExist") and count:
        defects.append(Defect(f"{path}.values", f"{given.operator} takes no values; remove them"))
    elif given.operator in ("Gt", "Lt") and (count != 1 or not _INTEGER.fullmatch(given.values[0])):
        problem = f"{given.operator} needs exactly one integer, got {list(given.values)}"
        defects.append(Defect(f"{path}.values", problem))
    return make_requirement(given)


def make_requirement(given: LabelSelectorRequirement | NodeSelectorRequirement) -> pb.Requirement:
    """Return a condition as a message, without checks."""
    return pb.Requirement(key=given.key, operator=given.operator, values=sorted(set(given.values)))


def _expressions(
    given: tuple[LabelSelectorRequirement, ...], path: str, defects: list[Defect]
) -> Iterable[pb.Requirement]:
    for index, each in enumerate(given):
        where = f"{path}[{index}]"
        yield parse_requirement(each, where, defects)
        defects.extend(
            Defect(f"{where}.values[{place}]", fault)
            for place, value in enumerate(each.values)
            if (fault := value_fault(value))
        )


def encode_canonically(message: Message) -> bytes:
    """Return bytes that are equal for messages of equal content, to serve as keys and to sort messages."""
    return message.SerializeToString(deterministic=True)


def format_choice(words: Sequence[str]) -> str:
    """Return words as a choice: ``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}"


def matches_labels(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether labels meet all conditions; if a condition has an unknown operator, no labels meet it."""
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
