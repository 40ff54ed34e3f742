"""Checks the arrays of a saved problem: their sizes, and the range of their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Layout, layout_faults
from cost_models.group_terms import LevelRule
from cost_models.interface import JointRows
from cost_models.pairs import PairTerms
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.constraints.model_limits import ModelConstraint
from firmament.core.constraints.pairs import PairRules
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.quota_tree import QuotaTree
from firmament.core.constraints.ruleset import (
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    PreferredSpread,
    RequiredSpread,
    RuleSet,
)
from firmament.core.flow.heights_and_prices import DualPrices, HeightCharge, RoundHeights
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms, TreeGroup
from firmament.core.tree_solver.nested.trees import NestedGroup
from firmament.core.tree_solver.tree import Tree

_COUNTER = Layout("", 0, "counters")
_COUNTERS = Layout("*", 0, "counters")
_AMOUNT = Layout("", 0)

LAYOUTS: Mapping[type, Mapping[str, Layout]] = {
    PlacementProblem: {
        "counts": Layout("CW", 0),
        "priority": Layout("C", 0),
        "shape": Layout("C", 0, "S"),
        "requests": Layout("SK", 0),
        "feasible": Layout("SM"),
        "cost": Layout("SM"),
        "crowd": Layout("M", 0),
        "free": Layout("MK"),
        "pins": Layout("*", 0, "C"),
        "gang": Layout("*", -1, "gangs"),
        "gang_need": Layout("*"),
        "multiplicity": Layout("M", 1),
    },
    Assignments: {
        "cls": Layout("A", 0, "C"),
        "machine": Layout("A", 0, "M"),
        "count": Layout("A", 1),
    },
    JointRows: {"row_of": Layout("M", -1), "amount": Layout("S", 0), "limit": Layout("*")},
    RuleSet: {"of": Layout("*", 0, "C")},
    Counter: {"domain": Layout("M", -1), "start": Layout("*"), "settled": Layout("*")},
    ClassRules: {"adds": _COUNTERS},
    Exclusion: {"counter": _COUNTER},
    Attraction: {"counters": _COUNTERS},
    RequiredSpread: {"counter": _COUNTER, "key_domain": Layout("M", -1), "counted": Layout("*")},
    Inclination: {"counter": _COUNTER},
    PreferredSpread: {"counter": _COUNTER, "key_domain": Layout("M", -1)},
    ModelConstraint: {"kind": Layout("C")},
    PairRules: {
        "kind": Layout("C", -1, "N"),
        "resident_kind": Layout("R", 0, "N"),
        "resident_machine": Layout("R", 0, "M"),
    },
    PairTerms: {
        "domain": Layout("M", 0, "D"),
        "cost": Layout("DD"),
        "rating": Layout("DD"),
        "group": Layout("N"),
        "stage": Layout("N"),
        "source": Layout("P", 0, "N"),
        "target": Layout("P", 0, "N"),
        "limit": Layout("P"),
        "amount": Layout("P"),
        "link": Layout("DD", -1, "links"),
        "link_limit": Layout("*"),
    },
    Tree: {"rows": Layout("L", 0, "M")},
    GroupTerms: {
        "groups": Layout("*", 0, "gangs"),
        "nested": Layout("*", 0, "gangs"),
        "position": Layout("M", 0),
        "counted": Layout("*", 0, "K"),
    },
    TreeGroup: {"held": Layout("L", 0), "order": Layout("*", 0, "C")},
    NestedGroup: {
        "parent": Layout("*", -1),
        "least": Layout("*", 0),
        "part_class": Layout("*", 0, "C"),
        "part_group": Layout("*", 0),
        "part_count": Layout("*", 0),
        "part_to_come": Layout("*"),
        "held_group": Layout("*", 0),
        "held_machine": Layout("*", 0, "M"),
        "order": Layout("*", 0, "C"),
    },
    LevelRule: dict.fromkeys(("partitions", "least", "most", "factor"), _AMOUNT),
    RoundHeights: {
        "start": Layout("M", 0),
        "rate": Layout("HM", 0),
        "amount": Layout("SH", 0),
        "growth": Layout("M", 0),
    },
    HeightCharge: {"raw": Layout("SM")},
    SpreadTerms: {
        "group": Layout("C", -1, "G"),
        "domain": Layout("M", 0),
        "machine_step": Layout("G", 0),
        "domain_step": Layout("G", 0),
        "resident_group": Layout("B", 0, "G"),
        "resident_machine": Layout("B", 0, "M"),
    },
    QuotaTree: {
        "parent": Layout("Q", -1, "Q"),
        **dict.fromkeys(("subtree", "local", "borrowing", "limit"), Layout("QJ", 0)),
    },
    QuotaTerms: {
        "flavor": Layout("J", 0, "F"),
        "resource": Layout("J", 0, "J"),
        "own": Layout("QJ"),
        **dict.fromkeys(
            ("weight", "fair", "strict", "within", "reclaim", "borrows", "threshold"), Layout("Q")
        ),
        "kind": Layout("M", 0, "Y"),
        "covers": Layout("YF"),
        "draw": Layout("S", -1, "draws"),
    },
    DualPrices: {"shape": Layout("E", 0, "S"), "price": Layout("E", -math.inf)},
}
"""Layouts by dataclass and field; for a mapping, the layout of its keys. The letters stand for sizes: classes,
shapes, machines, resources, buckets of waiting tasks (W), kinds (N), domains (D), leaves (L), groups (G), quotas (Q)
and their columns (J), flavors (F), kinds of machines by flavors (Y); other letters stand for lengths that must be
equal."""


_LEDGERS = "ledgers"


def arrays_within(value: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any], Layout]]:
    """Yield name, array and layout of each array in a problem, or a part of one, for which there is a layout."""
    if is_dataclass(value):
        known = LAYOUTS.get(type(value), {})
        for each in fields(value):
            part, where = getattr(value, each.name), f"{name}.{each.name}".removeprefix(".")
            if (
                part is each.default or each.name == _LEDGERS
            ):  # The round has no rules of this kind, or other code reads and checks them.
                continue
            if each.name in known and part is not None:
                plain = list(part) if isinstance(part, Mapping) else part
                array = part if isinstance(part, np.ndarray) else np.array(plain, dtype=np.int64)
                yield where, array, known[each.name]
            yield from arrays_within(part, where)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from arrays_within(part, f"{name}[{key}]")
    elif isinstance(value, (tuple, list)):
        for index, part in enumerate(value):
            yield from arrays_within(part, f"{name}[{index}]")


def faults(problem: PlacementProblem, placed: Assignments) -> Iterator[str]:
    """Yield what is inconsistent in a problem and its placement; the types of all values must be right."""
    sizes = {
        "W": WAIT_BUCKETS,
        "gangs": problem.gang_need.size,
        "counters": len(problem.rules.counters),
        "draws": 0 if problem.quotas is None else len(problem.quotas.draws),
        "links": problem.pairs.terms.link_limit.size,
    }
    given = [*arrays_within(problem), *arrays_within(placed, "placed")]
    given += [(f"pins[{cls}]", rows, Layout("*", 0, "M")) for cls, rows in problem.pins.items()]
    for fault in layout_faults(given, sizes):
        yield fault
        return
    if (len(problem.gang) or len(problem.gang_need)) and problem.gang.shape != (problem.classes,):
        yield f"gang has the size {problem.gang.shape}, not {(problem.classes,)}"
    for number, rows in enumerate(problem.joint):
        if (rows.row_of >= len(rows.limit)).any():
            yield f"joint[{number}].row_of holds numbers out of range"
    yield from _rule_faults(problem.rules)
    if problem.quotas is not None:
        yield from _quota_faults(problem.quotas)
    if len(problem.pairs.terms.names) != problem.pairs.terms.kinds:
        yield f"pairs.terms.names has {len(problem.pairs.terms.names)} texts, not {problem.pairs.terms.kinds}"
    if problem.topology is not NO_GROUPS:
        yield from _group_faults(problem.topology)
    for charge in problem.heights.charges:
        if charge.raw.dtype.kind not in "iuf":
            yield f"heights.charges: raw is {charge.raw.dtype}"
    if problem.dual_prices is not None and (np.diff(problem.dual_prices.shape) <= 0).any():
        yield "dual_prices.shape holds numbers out of order"


def _rule_faults(rules: RuleSet) -> Iterator[str]:
    """Yield which rules refer to counters or domains that do not exist."""
    sizes = [len(each.start) for each in rules.counters]
    for number, counter in enumerate(rules.counters):
        if counter.domain.max(initial=-1) >= len(counter.start) or len(counter.settled) != len(counter.start):
            yield f"rules.counters[{number}] counts in other domains than it has"
    for cls, own in rules.of.items():
        named = [(each.counter, each.key_domain) for each in own.spreadings]
        named += [(each.counter, each.key_domain) for each in own.soft_spreadings]
        counted = any(len(each.counted) != sizes[each.counter] for each in own.spreadings)
        if counted or any(domain.max(initial=-1) >= sizes[number] for number, domain in named):
            yield f"rules.of[{cls}] spreads over other domains than its counters count"
    if any(not (0 <= one < len(sizes) and 0 <= other < sizes[one]) for one, other in rules.unsettled):
        yield "rules.unsettled names no counter and domain"


def _quota_faults(quotas: QuotaTerms) -> Iterator[str]:
    """Yield what is inconsistent in a tree of quotas, and in the amounts that tasks take of quotas."""
    nodes, columns = quotas.own.shape
    if len(quotas.names) != nodes or len(quotas.columns) != columns:
        yield "quotas has other names than quotas"
    if (quotas.tree.parent >= np.arange(nodes)).any():
        yield "quotas.tree.parent comes after one below it"
    flavors, kinds = quotas.covers.shape[1], len(quotas.covers)
    for number, draw in enumerate(quotas.draws):
        sound = -1 <= draw.node < nodes
        for group in draw.groups:
            sound &= len(group.columns) == len(group.flavors)
            sound &= all(0 <= flavor < flavors for flavor in group.flavors)
            sound &= all(len(taken) == len(group.amounts) for taken in group.columns)
            sound &= all(0 <= column < columns for taken in group.columns for column in taken)
            sound &= all(amount > 0 for amount in group.amounts)
        if not sound:
            yield f"quotas.draws[{number}] holds numbers out of range"
    for number, kind, group_number, place, count in quotas.booked:
        within = 0 <= number < len(quotas.draws) and 0 <= kind < kinds and count >= 0
        within = within and 0 <= group_number < len(quotas.draws[number].groups)
        if not within or not 0 <= place < len(quotas.draws[number].groups[group_number].flavors):
            yield "quotas.booked holds numbers out of range"


def _group_faults(terms: GroupTerms) -> Iterator[str]:
    """Yield what is inconsistent in a tree of machines and in its groups."""
    tree = terms.tree
    units = [1, *(len(names) for names in tree.names)]
    fits = len(tree.levels) == len(tree.names) == len(tree.parents) and units[-1] == tree.leaves
    for parents, (above, here) in zip(tree.parents, pairwise(units), strict=False):
        fits &= parents.shape == (here,)
        if fits and here:  # Units are in the order of their parents, and each parent has at least one unit.
            steps = np.diff(parents)
            ends = parents[[0, -1]].tolist() == [0, above - 1]
            fits &= ends and bool(((steps >= 0) & (steps <= 1)).all())
    if not fits and (
        tree.levels or terms.groups
    ):  # Rounds whose only tree groups are trees of groups need no tree of machines.
        yield "topology.tree has units without leaves, or leaves that are nowhere"
    if any(len(group.rules) != len(tree.levels) for group in terms.groups.values()):
        yield f"topology.groups has rules for other levels than {len(tree.levels)}"
    code = terms.domains.code
    if terms.nested and (code.shape != (len(terms.domains.keys), len(terms.position)) or (code < -1).any()):
        yield "topology.domains has other domains than labels and machines"
    for group in terms.nested.values():
        yield from _list_nested_faults(group, len(terms.domains.keys))
    if terms.groups and (terms.position > tree.leaves).any():
        yield "topology.position holds numbers out of range"


def _list_nested_faults(group: NestedGroup, labels: int) -> Iterator[str]:
    """Yield what is inconsistent in a tree of groups; ``labels``: number of labels of machines."""
    count = len(group.names)
    sizes = {
        len(group.parent),
        len(group.least),
        len(group.within),
        len(group.rather_within),
        len(group.apart),
    }
    if sizes != {count}:
        yield "topology.groups has a tree whose arrays differ in the number of groups"
    elif (group.parent >= np.arange(count)).any():
        yield "topology.groups has a tree in which a group comes before the one that it is in"
    named = [key for keys in (*group.within, *group.rather_within) for key in keys]
    named += [each.label for each in group.divided]
    if any(not 0 <= key < labels for key in named):
        yield "topology.groups names labels out of range"
    if any(not 0 <= each.group < count for each in group.divided):
        yield "topology.groups divides groups out of range"
    parts = (group.part_class, group.part_group, group.part_count, group.part_to_come)
    if len({len(each) for each in parts}) > 1 or len(group.held_group) != len(group.held_machine):
        yield "topology.groups has arrays that differ in the number of parts or tasks"
    if any((each >= count).any() for each in (group.part_group, group.held_group)):
        yield "topology.groups has tasks in groups out of range"
