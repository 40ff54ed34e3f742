"""Reads the records of quotas and flavors.

A quota that cannot be read admits no tasks, and states why; other quotas are not affected.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmament.core.model import EFFECTS, MAX_QUANTITY, Taint, Toleration
from firmament.core.selectors.taints import HARD_EFFECTS, is_tolerated

Amounts = Mapping[tuple[str, str], int]
"""Amounts by (flavor, resource)."""

WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM = ("Never", "LowerPriority", "Any")
BORROW = ("Never", "LowerPriority")
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
CAN_BORROW = ("MayStopSearch", "TryNextFlavor")
CAN_PREEMPT = ("TryNextFlavor", "MayStopSearch")
PREFERENCE = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
POD_SET_FLAVORS = ("Any", "Same")
ORDERS = ("BestEffortFIFO", "StrictFIFO")

MOST_DEEP = 32
"""The most levels of a tree of quotas."""


MOST_NAMES = 256
"""The most flavors, and the most resources, of one quota."""


class _MalformedError(Exception):
    """A payload cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class FlavorGroup:
    """Resources that a task takes all from one flavor; ``flavors`` are in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuotaPreemption:
    """Which other tasks a queue's tasks may evict to get quota, in the words of `QUOTA_RECORD`."""

    within: str = "Never"
    """Which tasks of the same queue the queue's tasks may evict."""
    reclaim: str = "Never"
    """Which tasks this queue's tasks may evict in queues that have borrowed from this queue's own quota."""
    borrow: str = "Never"
    """Which tasks of other queues this queue's tasks may evict while this queue borrows."""
    threshold: int | None = None
    """The highest priority of tasks that ``borrow`` evicts; None: any priority below that of the waiting task."""
    strategies: tuple[str, ...] = STRATEGIES
    """The comparisons of shares that let a borrowing queue evict tasks of a queue that borrows more."""
    beyond_quota: bool = True
    """Whether a task may evict others if no quota below the root is large enough for it."""


@dataclass(frozen=True, slots=True)
class StatedQuota:
    """One quota, as its record states it; see `QUOTA_RECORD`."""

    name: str
    """The quota's name."""
    parent: str = ""
    """Name of the quota above this one in the tree; "" for none."""
    groups: tuple[FlavorGroup, ...] = ()
    """Groups of resources, each with the flavors from which tasks may take them."""
    nominal: Amounts = field(default_factory=dict)
    """The quota's own (nominal) amounts, which it brings into the tree."""
    borrowing: Amounts = field(default_factory=dict)
    """The most that the quota may use beyond its own amounts; a resource that is absent has no limit."""
    lending: Amounts = field(default_factory=dict)
    """The most of the quota's own amounts that other quotas may use; of a resource that is absent, they may use all."""
    limit: Amounts = field(default_factory=dict)
    """The most that the quota and the quotas below it may use together; no limit where absent."""
    guarantee: Amounts = field(default_factory=dict)
    """The part of the quota's own amounts that it never lends."""
    weight: float = 1.0
    """The quota's weight when borrowed amounts are shared out among quotas."""
    fair: bool = False
    """Whether queues that borrow least are served first."""
    reclaimable: bool = True
    """Whether tasks of other queues may evict tasks of this quota, to take back what it borrows."""
    strict: bool = False
    """Whether tasks of this quota are placed strictly in their order, so that a waiting task blocks the next ones."""
    sparing: bool = False
    """Whether tasks of this quota prefer a later flavor to borrowing in an earlier flavor."""
    evicts_first: bool = False
    """Whether tasks of this quota prefer evicting others in an earlier flavor to a later flavor."""
    evicts_before_borrowing: bool = False
    """Whether tasks of this quota prefer evicting others in one flavor to borrowing more in another."""
    same_flavor: bool = False
    """Whether all tasks of one class in a gang take the same flavor."""
    preemption: QuotaPreemption = QuotaPreemption()
    """Which tasks this quota's tasks may evict to get quota."""
    uncovered: bool = False
    """Whether requests for resources of no group are unlimited; otherwise tasks with such requests are not admitted."""
    fault: str = ""
    """Why the quota admits no tasks; "" if it does."""


@dataclass(frozen=True, slots=True)
class StatedFlavor:
    """The machines that a flavor covers, as its record says."""

    labels: tuple[tuple[str, str], ...] = ()
    """(key, value) of each label that the machines must have."""
    marks: tuple[Taint, ...] = ()
    """Hard taints that tasks must tolerate, except those that the flavor itself tolerates for its tasks."""


def read_quotas(
    payloads: Mapping[str, bytes], known: dict[str, tuple[bytes, StatedQuota]] | None = None
) -> dict[str, StatedQuota]:
    """Return the quotas by name, in order of their names.

    A quota has a fault if its chain of parents does not lead to a root.

    ``known``: by name, the payload and what it says by itself, as earlier calls have left it. The function takes from
    it the quotas whose payloads are the same, and updates it.
    """
    known = {} if known is None else known
    for name in known.keys() - payloads.keys():
        del known[name]
    for name, payload in payloads.items():
        if name not in known or known[name][0] != payload:
            known[name] = payload, _read_quota(name, payload)
    quotas = {name: known[name][1] for name in sorted(known)}
    return {name: _check_path(quota, quotas) for name, quota in quotas.items()}


def _check_path(quota: StatedQuota, quotas: Mapping[str, StatedQuota]) -> StatedQuota:
    """Return a quota, with a fault if something is wrong with the quotas above it.

    A quota above may not exist, or the quotas above may form a circle or be too many.
    """
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
    """Return the flavors by name, in order of their names. Flavors that cannot be read are left out."""
    found = {}
    for name in sorted(payloads):
        try:
            document = _parse(payloads[name])
            labels = tuple(sorted(_read_texts(document.get("labels", {})).items()))
            taints = tuple(_read_taint(each) for each in _read_list(document.get("taints", [])))
            excused = tuple(_read_toleration(each) for each in _read_list(document.get("tolerations", [])))
        except _MalformedError:
            continue
        hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
        found[name] = StatedFlavor(labels, tuple(each for each in hard if not is_tolerated(excused, each)))
    return found


# --- reading one payload --------------------------------------------------------------------------------------------


def _read_quota(name: str, payload: bytes) -> StatedQuota:
    try:
        document = _parse(payload)
        parent = _read_text(document.get("parent", ""), "parent")
        if document.get("active", True) is not True:
            return StatedQuota(
                name,
                parent,
                fault=_read_text(document.get("message", ""), "message") or f"{name} is inactive",
            )
        return _build_quota(name, parent, document)
    except _MalformedError as error:
        return StatedQuota(name, fault=f"{name} cannot be read: {error}")


def _build_quota(name: str, parent: str, document: Mapping[str, Any]) -> StatedQuota:
    groups = tuple(
        FlavorGroup(_read_names(each.get("resources")), _read_names(each.get("flavors")))
        for each in map(_read_object, _read_list(document.get("flavors", [])))
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
        _read_amounts(document, "nominal"),
        _read_amounts(document, "borrowing"),
        _read_amounts(document, "lending"),
        _read_amounts(document, "limit"),
        _read_amounts(document, "guarantee"),
        weight=float(weight),
        fair=document.get("fair", False) is True,
        reclaimable=document.get("reclaimable") is not False,
        strict=_read_choice(document, "order", ORDERS) == "StrictFIFO",
        preemption=_read_preemption(_read_object(document.get("preemption") or {})),
        sparing=_read_choice(document, "whenCanBorrow", CAN_BORROW) == "TryNextFlavor",
        evicts_first=_read_choice(document, "whenCanPreempt", CAN_PREEMPT) == "MayStopSearch",
        evicts_before_borrowing=_read_choice(document, "preference", PREFERENCE) == "PreemptionOverBorrowing",
        same_flavor=_read_choice(document, "podSetFlavors", POD_SET_FLAVORS) == "Same",
        uncovered=_read_choice(document, "uncovered", ("refuse", "allow")) == "allow",
    )


def _read_preemption(document: Mapping[str, Any]) -> QuotaPreemption:
    if not document:
        return QuotaPreemption()
    borrow = _read_object(document.get("borrow") or {})
    threshold = borrow.get("threshold")
    if threshold is not None:
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise _MalformedError("preemption.borrow.threshold must be a whole number (a priority)")
        threshold = max(-(2**31), min(threshold, 2**31))
    return QuotaPreemption(
        _read_choice(document, "within", WITHIN),
        _read_choice(document, "reclaim", RECLAIM),
        _read_choice(borrow, "policy", BORROW),
        threshold,
        _read_strategies(document.get("strategies") or STRATEGIES),
        beyond_quota=document.get("beyondQuota") is not False,
    )


def _read_strategies(value: Any) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or any(name not in STRATEGIES for name in names) or len(set(names)) < len(names):
        raise _MalformedError(f"preemption.strategies are not one or both of {', '.join(STRATEGIES)}")
    return names


def _parse(payload: bytes) -> Mapping[str, Any]:
    try:
        return _read_object(json.loads(payload))
    except (ValueError, RecursionError) as error:
        raise _MalformedError("it is no JSON") from error


def _read_object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError("an object is missing")
    return value


def _read_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _MalformedError("a list is missing")
    return value


def _read_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _MalformedError(f"{what} is no text")
    return value


def _read_names(value: Any) -> tuple[str, ...]:
    return tuple(_read_text(each, "a name") for each in _read_list(value))


def _read_texts(value: Any) -> dict[str, str]:
    return {key: _read_text(each, key) for key, each in _read_object(value).items()}


def _read_choice(document: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    if key not in document:
        return choices[0]
    value = document[key]
    if value not in choices:
        raise _MalformedError(f"{key} is none of {', '.join(choices)}")
    return str(value)


def _read_amounts(document: Mapping[str, Any], key: str) -> Amounts:
    """Return the amounts under a key by (flavor, resource), each at most `MAX_QUANTITY`."""
    found: dict[tuple[str, str], int] = {}
    if not document.get(key):
        return found
    for flavor, resources in _read_object(document[key]).items():
        for resource, amount in _read_object(resources).items():
            if isinstance(amount, bool) or not isinstance(amount, int) or amount < 0:
                raise _MalformedError(f"{key}.{flavor}.{resource} is no whole number of 0 or more")
            found[flavor, resource] = min(amount, MAX_QUANTITY)
    return found


def _read_taint(value: Any) -> Taint:
    texts = _read_texts(value)
    if texts.get("effect") not in EFFECTS:
        raise _MalformedError("a taint has no effect")
    return Taint(texts.get("key", ""), texts.get("value", ""), texts["effect"])


def _read_toleration(value: Any) -> Toleration:
    known = ("key", "operator", "value", "effect")
    texts: Callable[[str], str] = {
        key: text for key, text in _read_object(value).items() if key in known and isinstance(text, str)
    }.get  # type: ignore[assignment]
    return Toleration(
        texts("key") or "", texts("operator") or "Equal", texts("value") or "", texts("effect") or ""
    )
