"""Checks that every decoder shares: each returns its value, or raises naming the object and the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from firmament.core.events import InvalidEventError
from firmament.core.model import MAX_QUANTITY

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


def refuse(subject: str, field: str, problem: str) -> InvalidEventError:
    """Return the error ``SUBJECT: FIELD: PROBLEM``, for the caller to raise."""
    return InvalidEventError(f"{subject}: {field}: {problem}")


def required(subject: str, field: str, value: str) -> str:
    """Return a text that must not be empty."""
    if not value:
        raise refuse(subject, field, "is empty; it is required")
    return value


def quantities(subject: str, field: str, items: Iterable[pb.Quantity]) -> dict[str, int]:
    """Return amounts by resource: 0 to 2^53 each, every resource named at most once."""
    amounts: dict[str, int] = {}
    for item in items:
        resource, amount = item.resource, item.amount
        if not resource:
            raise refuse(subject, f"{field}.resource", "is empty; name the resource")
        if resource in amounts:
            raise refuse(subject, f"{field}[{resource}]", "is given twice; send one amount per resource")
        if not 0 <= amount <= MAX_QUANTITY:
            fault = "is negative" if amount < 0 else "is absurdly large"
            raise refuse(subject, f"{field}[{resource}]", f"{amount} {fault}; send 0 to {MAX_QUANTITY}")
        amounts[resource] = amount
    return amounts


def usage(subject: str, field: str, items: Iterable[pb.Usage]) -> dict[str, float]:
    """Return measured amounts by resource: finite, 0 to 2^53 each, every resource named at most once."""
    amounts: dict[str, float] = {}
    for item in items:
        resource, amount = item.resource, item.amount
        if not resource:
            raise refuse(subject, f"{field}.resource", "is empty; name the resource")
        if resource in amounts:
            raise refuse(subject, f"{field}[{resource}]", "is given twice; send one amount per resource")
        if not 0 <= amount <= MAX_QUANTITY:  # also false for NaN
            raise refuse(
                subject, f"{field}[{resource}]", f"{amount} is not an amount; send 0 to {MAX_QUANTITY}"
            )
        amounts[resource] = amount
    return amounts


def moment(subject: str, field: str, value: float) -> float:
    """Return a time in seconds since the epoch: finite, not negative."""
    if not (math.isfinite(value) and value >= 0):
        raise refuse(subject, field, f"{value} is not a time; send seconds since the epoch")
    return value


def task_uids(subject: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return task uids: at least one, none empty. That none is given twice the core sees, which looks at all events."""
    uids = tuple(values[:])  # a message's list is read faster at once than one by one
    if not uids:
        raise refuse(subject, "uids", "is empty; name at least one task")
    if "" in uids:
        raise refuse(subject, f"uids[{uids.index('')}]", "is empty; it is required")
    return uids


def parallel(subject: str, field: str, values: Sequence[object], count: int) -> None:
    """Check that a list that is parallel to ``uids`` is empty or has ``count`` entries."""
    if len(values) not in (0, count):
        raise refuse(subject, field, f"has {len(values)} entries for {count} uids; send one each, or none")
