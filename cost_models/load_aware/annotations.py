"""Koordinator's annotations on nodes and pods. One that cannot be read counts as absent, and is noted."""

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
from cost_models.load_aware.arguments import AGGREGATIONS, MODEL, NONE, Aggregation, Percentages

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
    """An annotation that counts as absent; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class CustomThresholds:
    """A node's own thresholds. Each part replaces that of the configuration as a whole; empty: it does not."""

    usage: Percentages = field(default_factory=dict)
    prod: Percentages = field(default_factory=dict)
    aggregated: Percentages = field(default_factory=dict)
    aggregation: Aggregation = field(default_factory=Aggregation)

    @property
    def known(self) -> bool:
        """Whether the type of aggregation is one that there are figures of."""
        return self.aggregation.kind in {"", *AGGREGATIONS}


@dataclass(frozen=True, slots=True)
class NodeAnnotations:
    """What annotations say of single nodes, by machine row."""

    thresholds: Mapping[int, CustomThresholds]
    allocatable: Mapping[int, Mapping[str, int]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodAnnotations:
    """How a pod wants to be estimated. ``factors``: empty for none; seconds None for what the configuration says."""

    factors: Percentages = field(default_factory=dict)
    after_scheduled: int | None = None
    after_initialized: int | None = None
    notes: tuple[str, ...] = ()


def node_annotations(names: Sequence[str], annotations: Sequence[Mapping[str, str]]) -> NodeAnnotations:
    """Read the annotations of all machines."""
    thresholds: dict[int, CustomThresholds] = {}
    allocatable: dict[int, Mapping[str, int]] = {}
    notes: list[str] = []
    for row in compress(range(len(annotations)), annotations):  # most machines have none
        given = annotations[row]
        _take(names[row], given, THRESHOLDS, custom_thresholds, thresholds, row, notes)
        _take(names[row], given, RAW_ALLOCATABLE, raw_allocatable, allocatable, row, notes)
        if row in thresholds and not thresholds[row].known:
            notes.append(_unknown_type(names[row], thresholds[row]))
        if row in thresholds:
            notes += _strange_thresholds(names[row], thresholds[row])
    return NodeAnnotations(thresholds, allocatable, tuple(notes))


def _take(
    node: str,
    annotations: Mapping[str, str],
    key: str,
    read: Callable[[str], T],
    found: dict[int, T],
    row: int,
    notes: list[str],
) -> None:
    """Put what an annotation of a node says, if it has it and it can be read, into ``found``."""
    text = annotations.get(key)
    if text is None:
        return
    try:
        found[row] = read(text)
    except UnreadableError as error:
        notes.append(_note(f"node {node}", key, text, error))


def pod_annotations(row: ShapeRow) -> PodAnnotations:
    """Read the annotations of the pods of one shape."""
    notes: list[str] = []
    factors = NONE
    text = row.annotations.get(FACTORS)
    where = f"pods in namespace {row.namespace}" if row.namespace else "pods"
    if text is not None:
        try:
            factors = scaling_factors(text)
            notes += [
                f"{MODEL}: {where}: annotation {FACTORS}: {strange}; it counts as it stands, up to the limit"
                for strange in _out_of_range(factors, least=1)
            ]
        except UnreadableError as error:
            notes.append(_note(where, FACTORS, text, error))
    seconds: dict[str, int | None] = {}
    for key in (AFTER_SCHEDULED, AFTER_INITIALIZED):
        text = row.annotations.get(key)
        seconds[key] = None if text is None else _seconds(text)
        if text is not None and seconds[key] is None:
            fault = UnreadableError("not a whole number of seconds from 0")
            notes.append(_note(where, key, text, fault))
    return PodAnnotations(factors, seconds[AFTER_SCHEDULED], seconds[AFTER_INITIALIZED], tuple(notes))


def stands_for_reservation(row: ShapeRow) -> bool:
    """Whether the pods of a shape only hold a place for others, and so use nothing themselves."""
    return row.annotations.get(RESERVE_POD) == "true"


# --- single annotations: pure functions of the text, remembered because thousands of nodes share a few texts ---------


@lru_cache(maxsize=4096)
def custom_thresholds(text: str) -> CustomThresholds:
    """Read a node's own thresholds. Raises ``UnreadableError``; aggregated ones lacking a part do not count.

    A type of aggregation that is not known is no fault of the text: there are just no figures of it.
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
    document = {"factors": _object(text)}
    return _percentages(document, "factors")


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
    """A map of 64-bit integers, as Go decodes it: anything else spoils the annotation."""
    given = document.get(key)
    if given is None:
        return NONE
    if not isinstance(given, dict):
        raise UnreadableError(f"{key} is no map")
    for resource, value in given.items():
        if value is not None and (type(value) is not int or abs(value) > _LARGEST_INTEGER):
            raise UnreadableError(f"{key}.{resource} is {value!r}, not a whole number")
    return MappingProxyType({resource: value or 0 for resource, value in given.items()})


def _seconds(text: str) -> int | None:
    digits = text.removeprefix("+")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        return None
    return int(digits)


def _unknown_type(node: str, custom: CustomThresholds) -> str:
    """Say what follows from a type that nobody reports; upstream looks for its figures all the same."""
    aggregation = custom.aggregation
    instead = "estimates alone" if aggregation.seconds else "the last figures"
    return (
        f"{MODEL}: node {node}: annotation {THRESHOLDS}: usageAggregationType {aggregation.kind!r} is none of "
        f"{', '.join(AGGREGATIONS)}; {instead} are held against its thresholds"
    )


def _strange_thresholds(node: str, custom: CustomThresholds) -> Iterator[str]:
    """Say which percentages cannot be meant, and what they do; upstream takes them as they are."""
    parts = {
        "usageThresholds": custom.usage,
        "prodUsageThresholds": custom.prod,
        "aggregatedUsage": custom.aggregated,
    }
    for part, percentages in parts.items():
        for strange in _out_of_range(percentages, least=0):
            done = "above 100 it counts as it stands, below 0 it is not checked"
            yield f"{MODEL}: node {node}: annotation {THRESHOLDS}: {part}.{strange}; {done}"


def _out_of_range(percentages: Percentages, *, least: int) -> Iterator[str]:
    for resource, value in percentages.items():
        if not least <= value <= 100:
            yield f"{resource} is {value}, not from {least} to 100 percent"


def _note(where: str, key: str, text: str, error: UnreadableError) -> str:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return f"{MODEL}: {where}: annotation {key}={shown!r}: {error}; it is ignored"
