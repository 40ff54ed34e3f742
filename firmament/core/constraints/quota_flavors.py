"""The flavors between which a whole set of tasks chooses, where all of them take the same one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import QuotaTerms

MOST_CHOICES = 64
"""Combinations of flavors, one of each group of resources, that are considered for a set of tasks."""


def list_flavor_choices(terms: QuotaTerms, draw: int) -> list[Bool]:
    """Return bool[D] for each combination of flavors that tasks of a draw may take: the kinds of machines it covers.

    In the order of preference; without combinations that cover no machine, or the same ones as an earlier one.
    """
    present = np.bincount(terms.kind, minlength=len(terms.covers)) > 0
    choices: dict[bytes, Bool] = {}
    for flavors in islice(product(*(group.flavors for group in terms.draws[draw].groups)), MOST_CHOICES):
        kinds = present & terms.covers[:, list(flavors)].all(axis=1)
        if kinds.any():
            choices.setdefault(kinds.tobytes(), kinds)
    return list(choices.values())


def find_flavor_choice(terms: QuotaTerms, draw: int, machines: Int64) -> Bool | None:
    """Return bool[M], the machines covered by the first choice of flavors that covers ``machines`` (rows), or None if
    no choice covers all of them.
    """
    kinds = np.unique(terms.kind[machines])
    covering = (choice for choice in list_flavor_choices(terms, draw) if choice[kinds].all())
    found = next(covering, None)
    return None if found is None else found[terms.kind]


def iterate_machines(terms: QuotaTerms, draw: int) -> Iterator[Bool]:
    """Yield the machines of each choice of flavors, in order: bool[M]."""
    return (choice[terms.kind] for choice in list_flavor_choices(terms, draw))
