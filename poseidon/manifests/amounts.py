"""Parses and writes amounts of resources as the API server does."""

from __future__ import annotations

from poseidon.kube.api.metadata import Number
from poseidon.kube.parsing.quantities import QuantityError, amount

_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_DECIMAL = ("E", "P", "T", "G", "M", "k")


def parse_amount(resource: str, value: Number) -> int:
    """Return an amount in the unit of its resource; an invalid amount, which other checks report, counts as 0."""
    try:
        return amount(unit_of(resource), value)
    except QuantityError:
        return 0


def unit_of(resource: str) -> str:
    """Return the resource that a name in a quota refers to: ``cpu`` for ``limits.cpu``."""
    for prefix in ("requests.", "limits."):
        resource = resource.removeprefix(prefix)
    return resource


def format_amount(resource: str, value: int) -> str:
    """Return an amount as a quantity in the largest unit that fits, such as ``500m`` of cpu or ``2Gi`` of memory."""
    if unit_of(resource) == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    for units, step in ((_BINARY, 1024), (_DECIMAL, 1000)):
        for power, unit in zip(range(6, 0, -1), units, strict=True):
            if value and value % step**power == 0 and (step == 1024 or value >= step**2):
                return f"{value // step**power}{unit}"
    return str(value)
