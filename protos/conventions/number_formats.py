"""Formats numbers in messages and tables: counts with their nouns, shares, and the gap of a round."""

from __future__ import annotations


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``1,200 nodes``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_count_with_verb(number: int, noun: str) -> str:
    """Return a number with its noun and verb: ``1 node is``, ``2 nodes are``."""
    return f"{format_count(number, noun)} {'is' if number == 1 else 'are'}"


def format_feasible(number: int, total: int, noun: str) -> str:
    """Return ``1 of 4 nodes is feasible``, ``0 of 1 node is feasible``."""
    return f"{number:,} of {format_count(total, noun)} {'is' if 1 in (number, total) else 'are'} feasible"


def format_gap(gap: float) -> str:
    """Return the gap of a round, the share of its cost that could at most be saved, for people: ``0.13%``."""
    return f"{gap:.2%}"
