"""Rules between tasks as entries of ``problem.npz`` that begin with ``rules_``; a round without rules has none.

Tables have one row per rule, in order, and begin with the class that it binds:

* ``rules_class``: the classes that have rules; ``rules_adds``: (class, counter that counts it);
* ``rules_domain``: int64[U, M], the distinct columns of domains; other entries name them by row;
* ``rules_counter``: per counter (row of domains, number of domains, coarse), its ``start`` and ``settled`` one after
  another in ``rules_start`` and ``rules_settled``;
* ``rules_exclusion``: (class, counter, row of ``rules_reason``);
* ``rules_attraction``: (class, own), and ``rules_attracting``: (class, counter);
* ``rules_spreading``: (class, counter, row of domains, max skew, min domains, own), the domains that count one after
  another in ``rules_counted``;
* ``rules_inclination``: (class, counter, weight);
* ``rules_soft``: (class, counter, row of domains, max skew), and ``rules_factor``;
* ``rules_unsettled``: (counter, domain), and ``rules_unsettled_uid``;
* ``rules_model``: the model of each constraint that a model has, ``rules_modelled``: int64[N, C], the kind of each
  class there, and ``rules_modelled_N_...``: what constraint N saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from cost_models.task_constraints import restore_constraint
from firmament.artefacts.errors import MalformedEntryError
from firmament.artefacts.model_arrays import restored
from firmament.core.rules.model_limits import ModelConstraint
from firmament.core.rules.ruleset import (
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    RuleSet,
    SoftSpreading,
    Spreading,
)

_TABLES = {
    "adds": 2,
    "counter": 3,
    "exclusion": 3,
    "attraction": 2,
    "attracting": 2,
    "spreading": 6,
    "inclination": 3,
    "soft": 4,
    "unsettled": 2,
}
"""Columns of each table."""

_LISTS = {
    "class": np.int64,
    "start": np.int64,
    "settled": np.int64,
    "counted": np.bool_,
    "factor": np.float64,
    "reason": np.str_,
    "unsettled_uid": np.str_,
}
"""Kinds of the entries with one dimension."""


class _Columns:
    """Distinct columns of domains, numbered as they come."""

    def __init__(self, machines: int) -> None:
        self._number: dict[bytes, int] = {}
        self._machines = machines
        self._found: list[Int64] = []

    def number(self, domain: Int64) -> int:
        number = self._number.setdefault(domain.tobytes(), len(self._found))
        if number == len(self._found):
            self._found.append(domain)
        return number

    def stacked(self) -> Int64:
        return np.array(self._found, dtype=np.int64).reshape(-1, self._machines)


def encode_rules(rules: RuleSet, machines: int) -> dict[str, NDArray[Any]]:
    """Return the entries by name; ``machines``: M."""
    columns = _Columns(machines)
    of = sorted(rules.of.items())
    reasons = sorted({each.reason for _, own in of for each in own.exclusions})
    spreadings = [(cls, each) for cls, own in of for each in own.spreadings]
    soft = [(cls, each) for cls, own in of for each in own.soft_spreadings]
    attractions = [(cls, own.attraction) for cls, own in of if own.attraction is not None]
    rows: dict[str, Iterable[tuple[int, ...]]] = {
        "adds": [(cls, number) for cls, own in of for number in own.adds],
        "counter": [(columns.number(each.domain), len(each.start), each.coarse) for each in rules.counters],
        "exclusion": [
            (cls, each.counter, reasons.index(each.reason)) for cls, own in of for each in own.exclusions
        ],
        "attraction": [(cls, each.own) for cls, each in attractions],
        "attracting": [(cls, number) for cls, each in attractions for number in each.counters],
        "spreading": [
            (cls, each.counter, columns.number(each.key_domain), each.max_skew, each.min_domains, each.own)
            for cls, each in spreadings
        ],
        "inclination": [(cls, each.counter, each.weight) for cls, own in of for each in own.inclinations],
        "soft": [(cls, each.counter, columns.number(each.key_domain), each.max_skew) for cls, each in soft],
        "unsettled": sorted(rules.unsettled),
    }
    lists: dict[str, Any] = {
        "class": [cls for cls, _ in of],
        "start": _joined([each.start for each in rules.counters]),
        "settled": _joined([each.settled for each in rules.counters]),
        "counted": _joined([each.counted for _, each in spreadings]),
        "factor": [each.factor for _, each in soft],
        "reason": reasons,
        "unsettled_uid": [uid for _, uid in sorted(rules.unsettled.items())],
    }
    entries: dict[str, NDArray[Any]] = {
        f"rules_{name}": np.array(list(table), dtype=np.int64).reshape(-1, _TABLES[name])
        for name, table in rows.items()
    }
    entries |= {f"rules_{name}": np.array(values, dtype=_LISTS[name]) for name, values in lists.items()}
    entries["rules_domain"] = columns.stacked()
    return entries | _encoded(rules.modelled)


def _encoded(modelled: Sequence[ModelConstraint]) -> dict[str, NDArray[Any]]:
    if not modelled:
        return {}
    entries: dict[str, NDArray[Any]] = {
        "rules_model": np.array([each.model for each in modelled], dtype=np.str_),
        "rules_modelled": np.stack([each.kind for each in modelled]),
    }
    for number, each in enumerate(modelled):
        saved = each.constraint.saved().items()
        entries |= {f"rules_modelled_{number}_{name}": array for name, array in saved}
    return entries


def _modelled(arrays: Mapping[str, NDArray[Any]], classes: int, machines: int) -> tuple[ModelConstraint, ...]:
    """Models' constraints as they were saved."""
    if "rules_model" not in arrays:
        return ()
    models, kinds = arrays["rules_model"].ravel().tolist(), arrays["rules_modelled"]
    if kinds.dtype != np.int64 or kinds.shape != (len(models), classes):
        raise MalformedEntryError(f"rules_modelled is {kinds.dtype} of the size {kinds.shape}")
    found = []
    for number, (model, kind) in enumerate(zip(map(str, models), kinds, strict=True)):
        restore = partial(restore_constraint, kinds=int(kind.max(initial=-1)) + 1, machines=machines)
        constraint = restored(arrays, f"rules_modelled_{number}_", "has a constraint", model, restore)
        found.append(ModelConstraint(model, kind, constraint))
    return tuple(found)


def decode_rules(arrays: Mapping[str, NDArray[Any]], classes: int, machines: int) -> RuleSet | None:
    """Return what ``encode_rules`` was given, None if the entries hold no rules.

    Raises ``KeyError`` for a missing entry, ``MalformedEntryError`` for one that makes no sense, ``MissingModelError``
    for a constraint whose model is not installed.
    """
    if "rules_class" not in arrays:
        return None
    given = {name: _entry(arrays, name) for name in (*_TABLES, *_LISTS, "domain")}
    for fault in _faults(given, classes, machines):
        raise MalformedEntryError(fault)
    counters = _counters(given)
    sizes = [len(counters[number].start) for number in given["spreading"][:, 1].tolist()]
    counted = _cut(given["counted"], sizes, "counted")
    domain, reasons = given["domain"], given["reason"].tolist()
    spreadings = [
        (cls, Spreading(number, domain[column], each, skew, least, own))
        for (cls, number, column, skew, least, own), each in zip(
            given["spreading"].tolist(), counted, strict=True
        )
    ]
    soft = [
        (cls, SoftSpreading(number, domain[column], factor, skew))
        for (cls, number, column, skew), factor in zip(
            given["soft"].tolist(), given["factor"].tolist(), strict=True
        )
    ]
    attracting = _by_class((cls, number) for cls, number in given["attracting"].tolist())
    attraction = {
        cls: Attraction(attracting.get(cls, ()), bool(own)) for cls, own in given["attraction"].tolist()
    }
    adds = _by_class((cls, number) for cls, number in given["adds"].tolist())
    exclusions = _by_class(
        (cls, Exclusion(number, reasons[text])) for cls, number, text in given["exclusion"].tolist()
    )
    inclinations = _by_class(
        (cls, Inclination(number, weight)) for cls, number, weight in given["inclination"].tolist()
    )
    spreadings_of, soft_of = _by_class(spreadings), _by_class(soft)
    modelled = _modelled(arrays, classes, machines)
    of = {
        cls: ClassRules(
            adds=adds.get(cls, ()),
            exclusions=exclusions.get(cls, ()),
            attraction=attraction.get(cls),
            spreadings=spreadings_of.get(cls, ()),
            inclinations=inclinations.get(cls, ()),
            soft_spreadings=soft_of.get(cls, ()),
            modelled=any(each.involves(cls) for each in modelled),
        )
        for cls in given["class"].tolist()
    }
    pairs = [(number, where) for number, where in given["unsettled"].tolist()]
    return RuleSet(counters, of, dict(zip(pairs, given["unsettled_uid"].tolist(), strict=True)), modelled)


def _counters(given: Mapping[str, NDArray[Any]]) -> list[Counter]:
    table = given["counter"].tolist()
    sizes = [size for _, size, _ in table]
    starts, settled = _cut(given["start"], sizes, "start"), _cut(given["settled"], sizes, "settled")
    return [
        Counter(given["domain"][column], start, done, bool(coarse))
        for (column, _, coarse), start, done in zip(table, starts, settled, strict=True)
    ]


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0)


def _cut(values: NDArray[Any], sizes: Sequence[int], name: str) -> list[NDArray[Any]]:
    """Undo ``_joined``."""
    if len(values) != sum(sizes):
        raise MalformedEntryError(f"rules_{name} has {len(values)} numbers, not {sum(sizes)}")
    return np.split(values, np.cumsum(sizes)[:-1]) if sizes else []


def _by_class(pairs: Iterable[tuple[int, Any]]) -> dict[int, tuple[Any, ...]]:
    found: dict[int, list[Any]] = {}
    for cls, value in pairs:
        found.setdefault(cls, []).append(value)
    return {cls: tuple(values) for cls, values in found.items()}


def _entry(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    array = arrays[f"rules_{name}"]
    kind = np.dtype(_LISTS.get(name, np.int64)).kind
    width = _TABLES.get(name)
    fits = (
        array.ndim == 1 if name in _LISTS else array.ndim == 2 and (width is None or array.shape[1] == width)
    )
    if array.dtype.kind != kind or not fits:
        raise MalformedEntryError(f"rules_{name} is {array.dtype} of the size {array.shape}")
    return array


def _faults(given: Mapping[str, NDArray[Any]], classes: int, machines: int) -> Iterator[str]:
    """Yield which entries point nowhere or do not match in length."""
    if given["domain"].shape[1] != machines:
        yield f"rules_domain has {given['domain'].shape[1]} machines, not {machines}"
    counters, columns = len(given["counter"]), len(given["domain"])
    limits: dict[str, dict[int, int]] = {
        "adds": {0: classes, 1: counters},
        "counter": {0: columns, 2: 2},
        "exclusion": {0: classes, 1: counters, 2: len(given["reason"])},
        "attraction": {0: classes},
        "attracting": {0: classes, 1: counters},
        "spreading": {0: classes, 1: counters, 2: columns},
        "inclination": {0: classes, 1: counters},
        "soft": {0: classes, 1: counters, 2: columns},
        "unsettled": {0: counters},
    }
    for name, ends in limits.items():
        for column, end in ends.items():
            if ((given[name][:, column] < 0) | (given[name][:, column] >= end)).any():
                yield f"rules_{name} holds numbers out of range"
    if ((given["class"] < 0) | (given["class"] >= classes)).any() or (given["domain"] < -1).any():
        yield "rules_class or rules_domain holds numbers out of range"
    largest, sizes = given["domain"].max(axis=1, initial=-1), given["counter"][:, 1]
    used: list[tuple[str, Int64, Int64]] = [("counter", given["counter"][:, 0], sizes)]
    used += [(name, given[name][:, 2], sizes[given[name][:, 1]]) for name in ("spreading", "soft")]
    for name, named, domains in used:
        if (largest[named] >= domains).any():
            yield f"rules_{name} names columns with more domains than it counts"
    if (given["unsettled"][:, 1] >= sizes[given["unsettled"][:, 0]]).any():
        yield "rules_unsettled holds numbers out of range"
    for table, beside in (("soft", "factor"), ("unsettled", "unsettled_uid")):
        if len(given[table]) != len(given[beside]):
            yield f"rules_{table} and rules_{beside} differ in length"
