"""Formats amounts of resources for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_BYTES = ("memory", "ephemeral-storage")
_SMALL_CPU = 10_000
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi")


def amount_text(resource: str, amount: float) -> str:
    """Return an amount in the protocol's unit as text, in cores or milli-cores, or in bytes, Ki, Mi and so on."""
    if resource == "cpu":
        is_small = abs(amount) < _SMALL_CPU and amount % 1000
        return f"{_plain(amount)}m" if is_small else _plain(round(amount / 1000, 1))
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return _plain(amount)
    value, unit = float(amount), ""
    for each in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, each
    return f"{_plain(round(value, 1))}{unit}"


def _plain(amount: float) -> str:
    """Return a number without exponent and trailing zeros."""
    return f"{amount:.3f}".rstrip("0").rstrip(".")


def in_order(resources: Iterable[str]) -> list[str]:
    """Return names of resources, with the usual ones first."""
    first = {"cpu": 0, "memory": 1, "pods": 2}
    return sorted(resources, key=lambda each: (first.get(each, len(first)), each))


def requests_text(requests: Mapping[str, int]) -> str:
    """Return requests in one line, without the 1 of ``pods`` that every pod requests."""
    amounts = sorted((name, each) for name, each in requests.items() if name != "pods")
    return ", ".join(f"{amount_text(name, each)} {name}" for name, each in amounts)
