"""Parses label and field selectors once per request, into tests of records.

Syntax and meaning follow apimachinery's ``labels.Parse`` and ``fields.ParseSelector``. Requirements are separated by
commas and must all hold; ``!=`` and ``notin`` also match objects without the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poseidon.testbed.objects.collection import FieldReader
from poseidon.testbed.objects.errors import bad_request
from poseidon.testbed.objects.history import Record

LabelTest = Callable[[Mapping[str, str]], bool]

_KEY = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_ABSENT = re.compile(rf"!\s*({_KEY})")
_PRESENT = re.compile(rf"({_KEY})")
_EQUALITY = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_SET_VALUE = re.compile(_VALUE)
_FIELD = re.compile(r"([^=!]+?)(!=|==|=)(.*)", re.DOTALL)


def parse_labels(text: str) -> tuple[LabelTest, ...]:
    """Parse a label selector into tests, all of which must hold. Raises ``ApiError`` 400 if the syntax is wrong."""
    return tuple(_label_test(part.strip(), text) for part in _split_outside_parentheses(text))


def parse_fields(text: str, known: Sequence[str]) -> tuple[tuple[int, str, bool], ...]:
    """Parse a field selector into ``(index into known, value, wanted equal)``.

    Raises ``ApiError`` 400 if the syntax is wrong, or if a field is not in ``known``.
    """
    parsed = []
    for part in re.split(r"(?<!\\),", text):
        if not part.strip():
            continue
        match = _FIELD.fullmatch(part.strip())
        if match is None:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        name, operator, value = match.groups()
        if name not in known:
            raise bad_request(f"field label not supported: {name}")
        unescaped = re.sub(r"\\([,=\\])", r"\1", value)
        parsed.append((known.index(name), unescaped, operator != "!="))
    return tuple(parsed)


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a list, watch or deletecollection selects: by namespace ("" for all), labels and fields."""

    namespace: str = ""
    labels: tuple[LabelTest, ...] = ()
    fields: tuple[tuple[int, str, bool], ...] = ()

    @property
    def filters(self) -> bool:
        """Whether the selection may exclude some objects of its namespace."""
        return bool(self.labels or self.fields)

    def matches(self, record: Record) -> bool:
        """Return whether the selection includes ``record``."""
        if self.namespace and record.namespace != self.namespace:
            return False
        for index, value, equal in self.fields:
            if (record.fields[index] == value) is not equal:
                return False
        return all(test(record.labels) for test in self.labels)


def select(namespace: str, label_selector: str, field_selector: str, known: Sequence[str]) -> Selection:
    """Return the objects that a request selects. Raises ``ApiError`` 400 if a selector is malformed."""
    return Selection(
        namespace,
        parse_labels(label_selector) if label_selector else (),
        parse_fields(field_selector, known) if field_selector else (),
    )


def _split_outside_parentheses(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _label_test(part: str, whole: str) -> LabelTest:
    if match := _EQUALITY.fullmatch(part):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _SET.fullmatch(part):
        key, operator, inner = match.groups()
        values = frozenset(value.strip() for value in inner.split(","))
        if not all(_SET_VALUE.fullmatch(value) for value in values):
            raise bad_request(f'unable to parse requirement: values in "{part}" are not valid label values')
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _ABSENT.fullmatch(part):
        key = match.group(1)
        return lambda labels: key not in labels
    if match := _PRESENT.fullmatch(part):
        key = match.group(1)
        return lambda labels: key in labels
    raise bad_request(f'unable to parse requirement: found "{part}" in label selector "{whole}"')


# --- fields that selectors may name, per kind, as the API server's registries define them -------------------


def _path(*names: str, default: str = "") -> FieldReader:
    def read(obj: dict[str, Any]) -> str:
        value: Any = obj
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return default
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    return read


def _source(event: dict[str, Any]) -> str:
    """Return who reported an event, from the old or the new field."""
    return _path("source", "component")(event) or _path("reportingComponent")(event)


_POD_SPEC = ("nodeName", "schedulerName", "restartPolicy", "serviceAccountName")
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_SPECIFIC: dict[str, dict[str, FieldReader]] = {
    "pods": {
        **{f"spec.{name}": _path("spec", name) for name in _POD_SPEC},
        "spec.hostNetwork": _path("spec", "hostNetwork", default="false"),
        **{f"status.{name}": _path("status", name) for name in ("phase", "podIP", "nominatedNodeName")},
    },
    "nodes": {"spec.unschedulable": _path("spec", "unschedulable", default="false")},
    "namespaces": {"status.phase": _path("status", "phase")},
    "secrets": {"type": _path("type")},
    "events": {
        **{f"involvedObject.{name}": _path("involvedObject", name) for name in _INVOLVED},
        "reason": _path("reason"),
        "reportingComponent": _path("reportingComponent"),
        "source": _source,
        "type": _path("type"),
    },
    "replicationcontrollers": {"status.replicas": _path("status", "replicas", default="0")},
    "replicasets.apps": {"status.replicas": _path("status", "replicas", default="0")},
    "jobs.batch": {"status.successful": _path("status", "succeeded", default="0")},
}


def selectable_fields(collection: str, *, namespaced: bool) -> dict[str, FieldReader]:
    """Return the readers of the fields that selectors may name, for a collection; every kind has metadata.name."""
    readers: dict[str, FieldReader] = {"metadata.name": _path("metadata", "name")}
    if namespaced:
        readers["metadata.namespace"] = _path("metadata", "namespace")
    return readers | _SPECIFIC.get(collection, {})
