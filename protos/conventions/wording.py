"""How both programs write numbers of things."""

from __future__ import annotations


def number_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things: ``1 pod``, ``2 pods``; ``plural``: if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def is_or_are(number: int) -> str:
    """Return the verb that follows a number of things."""
    return "is" if number == 1 else "are"
