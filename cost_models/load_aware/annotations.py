"""Reads Koordinator's annotations on nodes and pods.

An annotation that cannot be read counts as absent, and is noted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from types import MappingProxyType
from typing import Any, TypeVar

from cost_models.api.quantities import seconds_of, whole_amount
from cost_models.interface import ShapeRow
from cost_models.load_aware.arguments import AGGREGATIONS, MODEL, Aggregation
from cost_models.load_aware.defaults import NONE, Percentages

THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
FACTORS = "scheduling.koordinator.sh/load-estimated-scaling-factors"
AFTER_SCHEDULED = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"
AFTER_INITIALIZED = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized"
RESERVE_POD = "scheduling.koordinator.sh/reserve-pod"

NODE_ANNOTATIONS = (THRESHOLDS, RAW_ALLOCATABLE)
POD_ANNOTATIONS = (FACTORS, AFTER_SCHEDULED, AFTER_INITIALIZED, RESERVE_POD)

_LARGEST_INTEGER = 2**63 - 1

T = TypeVar("T")


class UnreadableError(ValueError):
    """An annotation cannot be read and counts as absent; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class CustomThresholds:
    """A node's own thresholds.

    A part of the annotation that is not empty replaces the whole part of the configuration with the same name.
    """

    usage: Percentages = field(default_factory=dict)
    prod: Percentages = field(default_factory=dict)
    aggregated: Percentages = field(default_factory=dict)
    aggregation: Aggregation = field(default_factory=Aggregation)


@dataclass(frozen=True, slots=True)
class NodeAnnotations:
    """The content of nodes' annotations, by machine row."""

    thresholds: Mapping[int, CustomThresholds]
    allocatable: Mapping[int, Mapping[str, int]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodAnnotations:
    """How a pod's use is to be estimated. Empty ``factors`` and seconds that are None mean: as configured."""

    factors: Percentages = field(default_factory=dict)
    after_scheduled: int | None = None
    after_initialized: int | None = None
    notes: tuple[str, ...] = ()


def node_annotations(names: Sequence[str], annotations: Sequence[Mapping[str, str]]) -> NodeAnnotations:
    """Read the annotations of all machines."""
    thresholds: dict[int, CustomThresholds] = {}
    allocatable: dict[int, Mapping[str, int]] = {}
    notes: list[str] = []
    for row in compress(range(len(annotations)), annotations):  # Most machines have no annotations.
        where = f"node {names[row]}"
        own = _read(where, annotations[row], THRESHOLDS, custom_thresholds, notes)
        if own is not None:
            thresholds[row] = own
            notes += [f"{MODEL}: {where}: annotation {THRESHOLDS}: {strange}" for strange in _strange(own)]
        stated = _read(where, annotations[row], RAW_ALLOCATABLE, raw_allocatable, notes)
        if stated is not None:
            allocatable[row] = stated
    return NodeAnnotations(thresholds, allocatable, tuple(notes))


def pod_annotations(row: ShapeRow) -> PodAnnotations:
    """Read the annotations of the pods of one shape."""
    notes: list[str] = []
    where = f"pods in namespace {row.namespace}" if row.namespace else "pods"
    factors = _read(where, row.annotations, FACTORS, scaling_factors, notes) or NONE
    notes += [
        f"{MODEL}: {where}: annotation {FACTORS}: {strange}; it counts as it stands, up to the limit"
        for strange in _list_out_of_range(factors, least=1)
    ]
    scheduled, initialized = (
        _read(where, row.annotations, key, _seconds, notes) for key in (AFTER_SCHEDULED, AFTER_INITIALIZED)
    )
    return PodAnnotations(factors, scheduled, initialized, tuple(notes))


def _read(
    where: str, annotations: Mapping[str, str], key: str, read: Callable[[str], T], notes: list[str]
) -> T | None:
    """Return what an annotation says; None if the annotation is absent or cannot be read; the latter is noted."""
    text = annotations.get(key)
    if text is None:
        return None
    try:
        return read(text)
    except UnreadableError as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        notes.append(f"{MODEL}: {where}: annotation {key}={shown!r}: {error}; it is ignored")
        return None


# --- single annotations: pure functions of the text, remembered because thousands of nodes share a few texts ---------


@lru_cache(maxsize=4096)
def custom_thresholds(text: str) -> CustomThresholds:
    """Read a node's own thresholds. Raises ``UnreadableError``; aggregated thresholds that lack a part do not count.

    An unknown type of aggregation is accepted, but no report has figures of it.
    """
    document = _object(text)
    aggregated = document.get("aggregatedUsage")
    custom = CustomThresholds(
        usage=_percentages(document, "usageThresholds"), prod=_percentages(document, "prodUsageThresholds")
    )
    if aggregated is None:
        return custom
    if not isinstance(aggregated, dict):
        raise UnreadableError("aggregatedUsage is no map")
    kind, duration = aggregated.get("usageAggregationType"), aggregated.get("usageAggregatedDuration")
    seconds = 0.0 if duration is None else seconds_of(duration)
    thresholds = _percentages(aggregated, "usageThresholds")
    if not isinstance(kind, (str, type(None))) or seconds is None:
        raise UnreadableError("usageAggregationType or usageAggregatedDuration is none")
    if not thresholds or not kind:
        return custom
    return CustomThresholds(custom.usage, custom.prod, thresholds, Aggregation(kind, seconds))


@lru_cache(maxsize=4096)
def raw_allocatable(text: str) -> Mapping[str, int]:
    """Read what a node can really give, by resource. Raises ``UnreadableError``."""
    amounts = {}
    for resource, value in _object(text).items():
        amount = whole_amount(resource, value)
        if amount is None:
            raise UnreadableError(f"{resource} is {value!r}, not a quantity")
        amounts[resource] = amount
    return MappingProxyType(amounts)


@lru_cache(maxsize=4096)
def scaling_factors(text: str) -> Percentages:
    """Read a pod's own factors. Raises ``UnreadableError``."""
    return _percentages({"factors": _object(text)}, "factors")


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("not JSON") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise UnreadableError("not a JSON map")
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _percentages(document: Mapping[str, Any], key: str) -> Percentages:
    """Return a map of 64-bit integers, as Go decodes it. Raises ``UnreadableError`` if the text is no such map."""
    given = document.get(key)
    if given is None:
        return NONE
    if not isinstance(given, dict):
        raise UnreadableError(f"{key} is no map")
    for resource, value in given.items():
        if value is not None and (type(value) is not int or abs(value) > _LARGEST_INTEGER):
            raise UnreadableError(f"{key}.{resource} is {value!r}, not a whole number")
    return MappingProxyType({resource: value or 0 for resource, value in given.items()})


def _seconds(text: str) -> int:
    digits = text.removeprefix("+")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise UnreadableError("not a whole number of seconds from 0")
    return int(digits)


def _strange(custom: CustomThresholds) -> Iterator[str]:
    """Yield a note on each value that is surely a mistake, with its effect.

    Like the original, the model uses such values as they are.

    Two kinds of values count as mistakes: types of aggregation that no report has, and percentages out of range.
    """
    aggregation = custom.aggregation
    if aggregation.kind not in {"", *AGGREGATIONS}:
        instead = "estimates alone" if aggregation.seconds else "the last figures"
        known = ", ".join(AGGREGATIONS)
        yield (
            f"usageAggregationType {aggregation.kind!r} is none of {known}; "
            f"{instead} are held against its thresholds"
        )
    parts = {
        "usageThresholds": custom.usage,
        "prodUsageThresholds": custom.prod,
        "aggregatedUsage": custom.aggregated,
    }
    for part, percentages in parts.items():
        for strange in _list_out_of_range(percentages, least=0):
            yield f"{part}.{strange}; above 100 it counts as it stands, below 0 it is not checked"


def _list_out_of_range(percentages: Percentages, *, least: int) -> Iterator[str]:
    for resource, value in percentages.items():
        if not least <= value <= 100:
            yield f"{resource} is {value}, not from {least} to 100 percent"
