"""Whether a pod tolerates a taint, said in the API's objects or in the protocol's: they have the same fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

OPERATORS = ("Equal", "Exists", "Gt", "Lt")

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)


class Taint(Protocol):
    """A taint of a node."""

    @property
    def key(self) -> str:
        """Its name."""

    @property
    def value(self) -> str:
        """What it is compared by."""

    @property
    def effect(self) -> str:
        """What it does to pods that do not tolerate it."""


class Toleration(Taint, Protocol):
    """A toleration of a pod; no key and no effect stand for every one."""

    @property
    def operator(self) -> str:
        """One of ``OPERATORS``; "" is Equal."""


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations lets a pod onto a node with the taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def decimal(text: str) -> int | None:
    """Return the integer that Gt and Lt take a text for, None if it is none: no sign but a minus, no leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """core/v1 ``Toleration.ToleratesTaint``."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and _matches(toleration, taint.value)


def _matches(toleration: Toleration, value: str) -> bool:
    """Whether the value of a taint is the toleration's, or an integer above (Gt) or below (Lt) it (KEP-5471)."""
    if toleration.operator not in ("Gt", "Lt"):
        return toleration.value == value
    bound, found = decimal(toleration.value), decimal(value)
    if bound is None or found is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound
