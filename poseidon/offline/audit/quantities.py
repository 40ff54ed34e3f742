"""Amounts of resources for people."""

from __future__ import annotations


def quantity(resource: str, amount: int) -> str:
    """Return an amount as Kubernetes writes it: milli-cores, mebibytes (rounded up), else a number."""
    if resource == "cpu":
        return f"{amount}m"
    if resource in ("memory", "ephemeral-storage"):
        return f"{-(-amount // 2**20)}Mi"
    return str(amount)
