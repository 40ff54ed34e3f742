"""Writes amounts of resources as people do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_BYTES = ("memory", "ephemeral-storage")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi")


def amount_text(resource: str, amount: float) -> str:
    """Return an amount in the protocol's unit: cores, or milli-cores where they are no whole number; bytes likewise."""
    if resource == "cpu":
        return f"{amount / 1000:g}" if amount % 1000 == 0 else f"{amount:g}m"
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return f"{amount:g}"
    value, unit = float(amount), ""
    for each in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, each
    return f"{round(value, 1):g}{unit}"


def in_order(resources: Iterable[str]) -> list[str]:
    """Return names of resources in the order in which people look for them."""
    first = {"cpu": 0, "memory": 1, "pods": 2}
    return sorted(resources, key=lambda each: (first.get(each, len(first)), each))


def requests_text(requests: Mapping[str, int]) -> str:
    """Return requests in one line, without the slot that every pod takes."""
    amounts = sorted((name, each) for name, each in requests.items() if name != "pods")
    return ", ".join(f"{amount_text(name, each)} {name}" for name, each in amounts)
