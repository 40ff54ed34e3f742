"""Reads the records of quotas and flavors. What cannot be read admits nobody, and says why; it stops no other queue."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmament.core.model import EFFECTS, MAX_QUANTITY, Taint, Toleration
from firmament.core.selectors.taints import HARD_EFFECTS, is_tolerated

Amounts = Mapping[tuple[str, str], int]
"""By flavor and resource."""

WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM = ("Never", "LowerPriority", "Any")
BORROW = ("Never", "LowerPriority")
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
CAN_BORROW = ("MayStopSearch", "TryNextFlavor")
ORDERS = ("BestEffortFIFO", "StrictFIFO")

MOST_DEEP = 32
"""Levels of a tree of quotas."""


MOST_NAMES = 256
"""Flavors, and resources, of one quota."""


class _MalformedError(Exception):
    """Says what is wrong with a payload."""


@dataclass(frozen=True, slots=True)
class FlavorGroup:
    """Resources of which a task takes all in one flavor; flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuotaPreemption:
    """Which tasks those of a queue may evict to have quota, in the words of `QUOTA_RECORD`."""

    within: str = "Never"
    """Which tasks of the same queue."""
    reclaim: str = "Never"
    """Which tasks of queues that have borrowed what this queue is due."""
    borrow: str = "Never"
    """Which tasks of other queues while this queue borrows."""
    threshold: int | None = None
    """The highest priority of tasks that are evicted by ``borrow``; None: any that is lower."""
    strategies: tuple[str, ...] = STRATEGIES
    """By which shares who borrows takes from who borrows more."""


@dataclass(frozen=True, slots=True)
class StatedQuota:
    """One quota, as its record states it; see `QUOTA_RECORD`."""

    name: str
    """Its name."""
    parent: str = ""
    """Name of the quota above it, "" for none."""
    groups: tuple[FlavorGroup, ...] = ()
    """Its flavors, by the resources that are asked for of them."""
    nominal: Amounts = field(default_factory=dict)
    """What it brings in."""
    borrowing: Amounts = field(default_factory=dict)
    """The most that it may use beyond its own; no limit where absent."""
    lending: Amounts = field(default_factory=dict)
    """The most of its own quota that others may use; all if absent."""
    limit: Amounts = field(default_factory=dict)
    """The most that is used of it and below it; no limit where absent."""
    guarantee: Amounts = field(default_factory=dict)
    """How much of its own it never lends."""
    weight: float = 1.0
    """Its share among those that borrow."""
    fair: bool = False
    """Whether who borrows least comes first."""
    strict: bool = False
    """Whether its tasks come strictly one after another."""
    sparing: bool = False
    """Whether its tasks rather take a later flavor than borrow in an earlier one."""
    preemption: QuotaPreemption = QuotaPreemption()
    """Whom its tasks may evict for quota."""
    uncovered: bool = False
    """Whether resources that no group has are not limited, rather than refused."""
    fault: str = ""
    """Why it admits no tasks, "" if it does."""


@dataclass(frozen=True, slots=True)
class StatedFlavor:
    """The machines that a flavor covers, as its record says."""

    labels: tuple[tuple[str, str], ...] = ()
    """What machines must have."""
    marks: tuple[Taint, ...] = ()
    """Taints that tasks must tolerate, those left out for which the flavor has tolerations itself."""


def read_quotas(payloads: Mapping[str, bytes]) -> dict[str, StatedQuota]:
    """Return the quotas by name, in order of their names. Quotas below one with a fault are left out as well."""
    quotas = {name: _read(name, payloads[name]) for name in sorted(payloads)}
    return {name: _check_path(quota, quotas) for name, quota in quotas.items()}


def _check_path(quota: StatedQuota, quotas: Mapping[str, StatedQuota]) -> StatedQuota:
    """Return a quota, with a fault if those above it are not there, go round in circles, or are too many."""
    if quota.fault:
        return quota
    seen, above = [quota.name], quota.parent
    while above:
        if above in seen:
            return StatedQuota(quota.name, fault=f"{quota.name} is below itself")
        if above not in quotas:
            return StatedQuota(quota.name, fault=f"{above}, above {quota.name}, does not exist")
        if len(seen) >= MOST_DEEP:
            return StatedQuota(quota.name, fault=f"more than {MOST_DEEP} quotas stand above each other")
        seen.append(above)
        above = quotas[above].parent
    return quota


def read_flavors(payloads: Mapping[str, bytes]) -> dict[str, StatedFlavor]:
    """Return the flavors by name, in order of their names. Those that cannot be read are left out."""
    found = {}
    for name in sorted(payloads):
        try:
            document = _parse(payloads[name])
            labels = tuple(sorted(_texts(document.get("labels", {})).items()))
            taints = tuple(_read_taint(each) for each in _list(document.get("taints", [])))
            excused = tuple(_read_toleration(each) for each in _list(document.get("tolerations", [])))
        except _MalformedError:
            continue
        hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
        found[name] = StatedFlavor(labels, tuple(each for each in hard if not is_tolerated(excused, each)))
    return found


# --- one payload ----------------------------------------------------------------------------------------------------


def _read(name: str, payload: bytes) -> StatedQuota:
    try:
        document = _parse(payload)
        parent = _text(document.get("parent", ""), "parent")
        if document.get("active", True) is not True:
            return StatedQuota(
                name, parent, fault=_text(document.get("message", ""), "message") or f"{name} is inactive"
            )
        return _decode(name, parent, document)
    except _MalformedError as error:
        return StatedQuota(name, fault=f"{name} cannot be read: {error}")


def _decode(name: str, parent: str, document: Mapping[str, Any]) -> StatedQuota:
    groups = tuple(
        FlavorGroup(_names(each.get("resources")), _names(each.get("flavors")))
        for each in map(_object, _list(document.get("flavors", [])))
    )
    for what in ("resources", "flavors"):
        every = [each for group in groups for each in getattr(group, what)]
        if len(set(every)) < len(every):
            raise _MalformedError(f"flavors: two groups share {what}")
        if len(every) > MOST_NAMES:
            raise _MalformedError(f"flavors: there are more than {MOST_NAMES} {what}")
    weight = document.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        raise _MalformedError("weight is no number of 0 or more")
    return StatedQuota(
        name,
        parent,
        groups,
        _amounts(document, "nominal"),
        _amounts(document, "borrowing"),
        _amounts(document, "lending"),
        _amounts(document, "limit"),
        _amounts(document, "guarantee"),
        weight=float(weight),
        fair=document.get("fair", False) is True,
        strict=_choose(document, "order", ORDERS) == "StrictFIFO",
        preemption=_read_preemption(_object(document.get("preemption") or {})),
        sparing=_choose(document, "whenCanBorrow", CAN_BORROW) == "TryNextFlavor",
        uncovered=_choose(document, "uncovered", ("refuse", "allow")) == "allow",
    )


def _read_preemption(document: Mapping[str, Any]) -> QuotaPreemption:
    borrow = _object(document.get("borrow") or {})
    threshold = borrow.get("threshold")
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise _MalformedError("preemption.borrow.threshold is no priority")
        threshold = max(-(2**31), min(threshold, 2**31))
    return QuotaPreemption(
        _choose(document, "within", WITHIN),
        _choose(document, "reclaim", RECLAIM),
        _choose(borrow, "policy", BORROW),
        threshold,
        _read_strategies(document.get("strategies") or STRATEGIES),
    )


def _read_strategies(value: Any) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or any(name not in STRATEGIES for name in names) or len(set(names)) < len(names):
        raise _MalformedError(f"preemption.strategies are not one or both of {', '.join(STRATEGIES)}")
    return names


def _parse(payload: bytes) -> Mapping[str, Any]:
    try:
        return _object(json.loads(payload))
    except (ValueError, RecursionError) as error:
        raise _MalformedError("it is no JSON") from error


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError("an object is missing")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _MalformedError("a list is missing")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _MalformedError(f"{what} is no text")
    return value


def _names(value: Any) -> tuple[str, ...]:
    return tuple(_text(each, "a name") for each in _list(value))


def _texts(value: Any) -> dict[str, str]:
    return {key: _text(each, key) for key, each in _object(value).items()}


def _choose(document: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = document.get(key, choices[0])
    if value not in choices:
        raise _MalformedError(f"{key} is none of {', '.join(choices)}")
    return str(value)


def _amounts(document: Mapping[str, Any], key: str) -> Amounts:
    """Return amounts by flavor and resource; those beyond all that there can be count as that."""
    found = {}
    for flavor, resources in _object(document.get(key) or {}).items():
        for resource, amount in _object(resources).items():
            if isinstance(amount, bool) or not isinstance(amount, int) or amount < 0:
                raise _MalformedError(f"{key}.{flavor}.{resource} is no whole number of 0 or more")
            found[flavor, resource] = min(amount, MAX_QUANTITY)
    return found


def _read_taint(value: Any) -> Taint:
    texts = _texts(value)
    if texts.get("effect") not in EFFECTS:
        raise _MalformedError("a taint has no effect")
    return Taint(texts.get("key", ""), texts.get("value", ""), texts["effect"])


def _read_toleration(value: Any) -> Toleration:
    known = ("key", "operator", "value", "effect")
    texts: Callable[[str], str] = {
        key: text for key, text in _object(value).items() if key in known and isinstance(text, str)
    }.get  # type: ignore[assignment]
    return Toleration(
        texts("key") or "", texts("operator") or "Equal", texts("value") or "", texts("effect") or ""
    )
