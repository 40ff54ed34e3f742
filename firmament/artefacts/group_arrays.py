"""Groups with rules as entries of ``problem.npz`` that begin with ``groups_``; a round without such groups has none.

* ``groups_levels``: names of the tree's levels; ``groups_paths``: per leaf the names of its units; ``groups_rows``: its
  machine; ``groups_choice``: that of the solver; ``groups_counted``: columns of the resources that count for rooms;
* per group ``groups_number`` (its gang), ``groups_name``, ``groups_refused``, ``groups_size``, and ``groups_rules``:
  for each level spread (1) or pack (0), hard, partitions, least, most, factor;
* ``groups_order_group``, ``groups_order_class``: the class of each waiting task, group after group;
* ``groups_held_group``, ``groups_held_leaf``, ``groups_held_count``: tasks that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.artefacts.entries import Entries
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.terms import Group, GroupTerms
from firmament.core.tree_solver.rules import Rule
from firmament.core.tree_solver.solver import CHOICES, ExactSolver
from firmament.core.tree_solver.tree import build_tree

_ENTRIES = Entries(
    "groups_",
    {
        "levels": (np.str_, "H"),
        "paths": (np.str_, "LH"),
        "rows": (np.int64, "L"),
        "choice": (np.str_, ""),
        "counted": (np.int64, "R"),
        "number": (np.int64, "G"),
        "name": (np.str_, "G"),
        "refused": (np.str_, "G"),
        "size": (np.int64, "G"),
        "rules": (np.int64, "GHF"),
        "order_group": (np.int64, "N"),
        "order_class": (np.int64, "N"),
        "held_group": (np.int64, "A"),
        "held_leaf": (np.int64, "A"),
        "held_count": (np.int64, "A"),
    },
    {
        "rows": (0, "machines"),
        "counted": (0, "resources"),
        "number": (0, "gangs"),
        "rules": (0, 2**62),
        "order_group": (0, "G"),
        "order_class": (0, "classes"),
        "held_group": (0, "G"),
        "held_leaf": (0, "L"),
        "held_count": (1, 2**62),
    },
)
"""By letters: levels, leaves, resources, groups, fields of a rule, tasks."""
_FIELDS = 6


def encode_groups(terms: GroupTerms) -> dict[str, NDArray[Any]]:
    """Return the entries by name; the solver is taken for an `ExactSolver`."""
    tree, groups = terms.tree, list(terms.groups.values())
    last = len(tree.levels) - 1
    paths = [tree.path(last, leaf) for leaf in range(tree.leaves)]
    held = np.array([group.held for group in groups], dtype=np.int64).reshape(len(groups), tree.leaves)
    at = np.nonzero(held)
    sizes = [len(group.order) for group in groups]
    entries: dict[str, Any] = {
        "levels": tree.levels,
        "paths": np.array(paths, dtype=np.str_).reshape(len(paths), last + 1),
        "rows": tree.rows,
        "choice": getattr(terms.solver, "choice", CHOICES[0]),
        "counted": terms.counted,
        "number": list(terms.groups),
        "name": [group.name for group in groups],
        "refused": [group.refused for group in groups],
        "size": [group.size for group in groups],
        "rules": np.array([[_numbers(rule) for rule in group.rules] for group in groups], dtype=np.int64),
        "order_group": np.repeat(np.arange(len(groups)), sizes),
        "order_class": np.concatenate([np.empty(0, np.int64), *(group.order for group in groups)]),
        "held_group": at[0],
        "held_leaf": at[1],
        "held_count": held[at],
    }
    return _ENTRIES.encoded(entries)


def decode_groups(
    arrays: Mapping[str, NDArray[Any]], gang: Int64, machines: int, resources: int
) -> GroupTerms | None:
    """Return what ``encode_groups`` was given, None if the entries hold no groups.

    ``gang``: int64[C], that of each class; ``machines``, ``resources``: how many there are. Raises ``KeyError`` for a
    missing entry, ``MalformedEntryError`` for one that makes no sense.
    """
    known = {"machines": machines, "resources": resources, "classes": len(gang), "F": _FIELDS}
    given = _ENTRIES.decoded(arrays, gangs=int(gang.max(initial=-1)) + 1, **known)
    if not given:
        return None
    if str(given["choice"]) not in CHOICES:
        raise MalformedEntryError(f"groups_choice is {given['choice']}, not one of {', '.join(CHOICES)}")
    if len(np.unique(given["paths"], axis=0)) < len(given["paths"]):
        raise MalformedEntryError("groups_paths names a leaf twice")
    levels = tuple(given["levels"].tolist())
    placed = dict(zip(map(tuple, given["paths"].tolist()), given["rows"].tolist(), strict=True))
    tree = build_tree(levels, placed)
    position = np.full(machines, tree.leaves, dtype=np.int64)
    position[tree.rows] = np.arange(tree.leaves)
    groups = {}
    for index, number in enumerate(given["number"].tolist()):
        held = np.zeros(tree.leaves, dtype=np.int64)
        here = given["held_group"] == index
        held[given["held_leaf"][here]] = given["held_count"][here]
        groups[number] = Group(
            name=str(given["name"][index]),
            size=int(given["size"][index]),
            rules=tuple(_rule(numbers) for numbers in given["rules"][index].tolist()),
            held=held,
            order=given["order_class"][given["order_group"] == index],
            refused=str(given["refused"][index]),
        )
    choice = next(each for each in CHOICES if each == str(given["choice"]))
    return GroupTerms(tree, ExactSolver(choice), groups, position, given["counted"])


def _numbers(rule: Rule) -> list[int]:
    return [
        int(rule.kind == "spread"),
        int(rule.hard),
        rule.partitions,
        rule.least,
        rule.most,
        rule.factor,
    ]


def _rule(numbers: list[int]) -> Rule:
    spread, hard, partitions, least, most, factor = numbers
    return Rule("spread" if spread else "pack", bool(hard), partitions, least, most, factor)
