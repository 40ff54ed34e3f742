"""Describes how groups share the domains of a label: what each group requests, and what each domain has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.tree_solver.nested.domain_choice import DomainChoice
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains

Item: TypeAlias = tuple[int, int]
"""A group, and how many of its labels have been given domains."""


@dataclass(frozen=True, slots=True)
class DomainProblem:
    """The problem of assigning one of D domains to each of I groups.

    Several groups may share a domain as far as its K resources suffice.
    """

    items: Sequence[Item]
    """The groups, each with the number of its labels that have been given domains."""
    bound: tuple[bool, ...]
    """For each item, whether it needs a domain of the present label; otherwise it needs a domain of a finer label."""
    machines: Sequence[Int64]
    """The machines of each domain."""
    shapes: list[int]
    """The shapes of the items' tasks."""
    amount: Int64
    """int64[I, K], the requests of all tasks of each item."""
    free: Int64
    """int64[D, K], the free amounts of each domain, as far as tasks of these shapes can use them."""
    able: Bool
    """bool[I, D], the domains that can take an item alone."""
    apart: Int64
    """int64[I], items that share a number other than -1 must take different domains."""

    def build_domain_choice(self, random: np.random.Generator) -> DomainChoice:
        """Return the problem of choosing domains, with amounts as shares of the largest domain's resources."""
        asked = self.amount.any(axis=0)
        scale = np.maximum(self.free.max(axis=0, initial=0), 1)[asked]
        demand: Float64 = self.amount[:, asked] / scale
        return DomainChoice(demand, self.free[:, asked] / scale, self.able, self.apart, random)


def build_domain_problem(
    group: LinkedGroup,
    domains: NestedDomains,
    room: NestedRoom,
    demand: Sequence[Mapping[int, int]],
    items: Sequence[Item],
    bound: Sequence[bool],
    key: int,
    where: Int64,
) -> DomainProblem:
    """Return the problem of how ``items`` share the domains of the label ``key`` on the machines ``where``.

    ``demand``: for each group, the number of its tasks by shape; ``bound``: as in `DomainProblem`.
    """
    codes = domains.code[key][where]
    values = np.unique(codes[codes >= 0])
    machines = [where[codes == value] for value in values.tolist()]
    shapes = sorted({shape for number, _ in items for shape in demand[number]})
    counts = np.array(
        [[demand[number].get(shape, 0) for shape in shapes] for number, _ in items], dtype=np.int64
    )
    unit = [gcd(*room.requests[shapes, column].tolist()) for column in range(room.requests.shape[1])]
    steps = np.maximum(np.array(unit, dtype=np.int64), 1)[:, None]
    free = [(np.maximum(room.free[:, rows], 0) // steps * steps).sum(axis=1) for rows in machines]
    distinct, of_item = np.unique(counts, axis=0, return_inverse=True)
    able: Bool = np.ones((len(distinct), len(machines)), dtype=np.bool_)
    known = codes >= 0
    place_of = np.searchsorted(values, codes[known])
    for look, at in np.argwhere(distinct).tolist():
        most = distinct[look, at]
        taken = np.minimum(room.slots[shapes[at], where[known]], most)
        able[look] &= np.bincount(place_of, taken, len(machines)) >= most
    able = able[of_item.reshape(-1)]
    code_of = {value: place for place, value in enumerate(values.tolist())}
    _keep_where_held(group, domains, items, bound, key, able, code_of)
    parents = [int(group.parent[number]) for number, _ in items]
    apart = [
        parent if parent >= 0 and group.apart[parent] and own else -1
        for parent, own in zip(parents, bound, strict=True)
    ]
    return DomainProblem(
        items=items,
        bound=tuple(bound),
        machines=machines,
        shapes=shapes,
        amount=counts @ room.requests[shapes],
        free=np.array(free, dtype=np.int64).reshape(len(machines), room.requests.shape[1]),
        able=able,
        apart=np.array(apart, dtype=np.int64),
    )


def _keep_where_held(
    group: LinkedGroup,
    domains: NestedDomains,
    items: Sequence[Item],
    bound: Sequence[bool],
    key: int,
    able: Bool,
    code_of: Mapping[int, int],
) -> None:
    """Clear ``able`` for items that run in another domain already, and for domains of siblings that must be apart."""
    code = domains.code[key]
    taken: dict[int, list[tuple[int, list[int]]]] = {}
    for index, (number, _) in enumerate(items):
        held = code[list(group.held[number])]
        held = held[held >= 0]
        if bound[index] and len(held):
            only = code_of.get(int(np.bincount(held).argmax()), -1)
            able[index] &= np.arange(able.shape[1]) == only
        parent = int(group.parent[number])
        if parent < 0 or not group.apart[parent]:
            continue
        if parent not in taken:
            siblings = (each for each in group.children[parent] if group.held[each])
            taken[parent] = [(each, np.unique(code[list(group.held[each])]).tolist()) for each in siblings]
        for sibling, used in taken[parent]:
            if sibling != number:
                able[index, [code_of[each] for each in used if each in code_of]] = False
