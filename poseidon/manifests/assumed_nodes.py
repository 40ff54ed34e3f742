"""Makes up nodes, for plans without a cluster or for a larger cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from poseidon.kube.parsing.quantities import QuantityError, amount

USUAL = MappingProxyType({"cpu": "4", "memory": "16Gi", "pods": "110"})
"""The amounts that a made-up node offers by default."""

_MOST = 100_000
_FORM = "write COUNT or COUNT:RESOURCE=AMOUNT,..., such as 3 or 3:cpu=8,memory=32Gi,nvidia.com/gpu=4"


def make_nodes(
    count: int, resources: Mapping[str, str | int] | None = None, *, first: int = 1
) -> list[dict[str, Any]]:
    """Return made-up nodes ``added-1``, ``added-2``, ... as objects; ``first`` is the number of the first.

    Each node offers 4 cores, 16Gi of memory and room for 110 pods, unless ``resources`` states other amounts.
    """
    offered = {name: str(value) for name, value in {**USUAL, **(resources or {})}.items()}
    return [_make_node(f"added-{number}", offered) for number in range(first, first + count)]


def parse_nodes(texts: tuple[str, ...]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each text such as ``3:cpu=8`` with its nodes, numbered consecutively.

    Raises ``ValueError`` if a text is invalid.
    """
    first = 1
    for text in texts:
        counted, _, listed = text.partition(":")
        pairs = [each.partition("=") for each in listed.split(",") if each]
        count = int(counted) if counted.isdecimal() and len(counted) < 10 else 0
        if not 1 <= count <= _MOST or not all(name and value for name, _, value in pairs):
            raise ValueError(f"{text!r} is not a number of nodes, 1 to {_MOST:,}; {_FORM}")
        for name, _, value in pairs:
            try:
                amount(name, value)
            except QuantityError as error:
                raise ValueError(f"{text!r}: {name}: {error}") from None
        yield text, make_nodes(count, {name: value for name, _, value in pairs}, first=first)
        first += count


def _make_node(name: str, offered: dict[str, str]) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": offered, "allocatable": offered},
    }
