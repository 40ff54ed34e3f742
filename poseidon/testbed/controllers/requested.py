"""What pods request and nodes offer, in exact whole numbers, as a kubelet counts.

Written from the rules of Kubernetes (``component-helpers/resource``), apart from the scheduler's own arithmetic, so
that a kubelet of the simulation is an independent judge of it. Cpu is in thousandths of a core, all else in units.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Object = dict[str, Any]
Amounts = dict[str, int]

_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]*))")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def quantity(text: str) -> Fraction | None:
    """Return what a text says in units, None if it is no quantity."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    value = Fraction(number)
    if exponent is not None:
        return value * Fraction(10) ** int(exponent)
    if suffix in _BINARY:
        return value * 2 ** _BINARY[suffix]
    return value * Fraction(10) ** _DECIMAL[suffix] if suffix in _DECIMAL else None


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Return a quantity in the unit of its resource, rounded up; 0 for what is none."""
    value = quantity(text) or 0
    return math.ceil(value * 1000) if resource == "cpu" else math.ceil(value)


def amounts(resources: Mapping[str, Any] | None) -> Amounts:
    """Return a map of quantities as amounts."""
    return {name: amount(name, str(value)) for name, value in (resources or {}).items()}


def requested(spec: Object) -> Amounts:
    """Return what a pod takes on its node, itself counted as one of ``pods``; zeros are left out."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        needs = _of(container)
        if container.get("restartPolicy") == "Always":
            _add(total, needs)
            _add(sidecars, needs)
            _raise(peak, sidecars)
        else:
            _add(needs, sidecars)
            _raise(peak, needs)
    _raise(total, peak)
    total.update(_of(spec))
    _add(total, amounts(spec.get("overhead")))
    total["pods"] = 1
    return {name: value for name, value in total.items() if value > 0}


def _of(holder: Object) -> Amounts:
    return amounts((holder.get("resources") or {}).get("requests"))


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise(total: Amounts, least: Amounts) -> None:
    for name, value in least.items():
        total[name] = max(total.get(name, 0), value)
