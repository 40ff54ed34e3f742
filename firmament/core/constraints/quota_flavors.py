"""Lists the flavors between which a set of tasks chooses if all of them must take the same one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import QuotaTerms

MOST_CHOICES = 64
"""How many combinations of flavors, one for each group of resources, are considered for a set of tasks."""


def list_flavor_choices(terms: QuotaTerms, draws: Sequence[int]) -> list[tuple[Bool, ...]]:
    """Return the combinations of flavors that a set of tasks may take, as the machines they cover.

    Each combination gives, for each of ``draws``, bool[D]: the kinds of machines that it covers.

    All draws take the same flavor for a group of resources. Combinations are in order of preference. The list leaves
    out combinations that cover no machine for some draw, and combinations that cover the same machines as an earlier
    one.
    """
    present = np.bincount(terms.kind, minlength=len(terms.covers)) > 0
    allowed: dict[tuple[int, int], tuple[int, ...]] = {}
    for draw in (terms.draws[number] for number in draws):
        for group in draw.groups:
            before = allowed.get((draw.node, group.number), group.flavors)
            allowed[draw.node, group.number] = tuple(each for each in before if each in group.flavors)
    choices: dict[bytes, tuple[Bool, ...]] = {}
    for flavors in islice(product(*allowed.values()), MOST_CHOICES):
        taken = dict(zip(allowed, flavors, strict=True))
        kinds = tuple(
            present & terms.covers[:, [taken[draw.node, group.number] for group in draw.groups]].all(axis=1)
            for draw in (terms.draws[number] for number in draws)
        )
        if all(each.any() for each in kinds):
            choices.setdefault(b"".join(each.tobytes() for each in kinds), kinds)
    return list(choices.values())


def find_flavor_choice(
    terms: QuotaTerms, draws: Sequence[int], machines: Sequence[Int64]
) -> list[Bool] | None:
    """Return the machines of the first combination of flavors that covers all of ``machines``; None if none does.

    ``machines``: for each draw, rows. The result has bool[M] for each of ``draws``.
    """
    used = [np.unique(terms.kind[rows]) for rows in machines]
    for choice in list_flavor_choices(terms, draws):
        if all(kinds[found].all() for kinds, found in zip(choice, used, strict=True)):
            return [kinds[terms.kind] for kinds in choice]
    return None


def list_machine_choices(terms: QuotaTerms, draws: Sequence[int]) -> list[list[Bool]]:
    """Return the machines of each combination of flavors, in order: for each of a set's ``draws``, bool[M]."""
    return [[kinds[terms.kind] for kinds in choice] for choice in list_flavor_choices(terms, draws)]
