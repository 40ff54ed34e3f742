"""Pairs of tasks as entries of ``problem.npz`` that begin with ``pairs_``; a round without pairs has none.

They are named like the fields of ``PairRules`` and ``PairTerms``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Schema, range_faults, size_faults
from cost_models.pairs import PairTerms
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.rules.pairs import PairRules

_RULES: Schema = {
    "units": (np.float64, ""),
    "kind": (np.int64, "C"),
    "resident_kind": (np.int64, "A"),
    "resident_machine": (np.int64, "A"),
}
_TERMS: Schema = {
    "domain": (np.int64, "M"),
    "cost": (np.float64, "DD"),
    "rating": (np.float64, "DD"),
    "group": (np.int64, "N"),
    "stage": (np.int64, "N"),
    "source": (np.int64, "P"),
    "target": (np.int64, "P"),
    "limit": (np.float64, "P"),
    "amount": (np.int64, "P"),
    "link": (np.int64, "DD"),
    "link_limit": (np.int64, "R"),
    "names": (np.str_, "N"),
}
"""Kind of each entry, and by letters its size: classes, machines, residents, domains, kinds, pairs, links."""
_FLAGS = ("both_ways", "strict", "bounded", "improve", "steers")
_TEXTS = ("outvoted", "exceeded", "link_full")


def encode_pairs(pairs: PairRules) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    terms = pairs.terms
    entries = {f"pairs_{name}": np.array(getattr(pairs, name), dtype=_RULES[name][0]) for name in _RULES}
    entries |= {f"pairs_{name}": np.array(getattr(terms, name), dtype=_TERMS[name][0]) for name in _TERMS}
    entries["pairs_flags"] = np.array([getattr(terms, name) for name in _FLAGS], dtype=np.bool_)
    entries["pairs_texts"] = np.array([getattr(terms, name) for name in _TEXTS], dtype=np.str_)
    return entries


def decode_pairs(arrays: Mapping[str, NDArray[Any]], classes: int, machines: int) -> PairRules | None:
    """Return what ``encode_pairs`` was given, None if the entries hold no pairs.

    Raises ``KeyError`` for a missing entry, ``MalformedEntryError`` for one that makes no sense.
    """
    if "pairs_kind" not in arrays:
        return None
    given = {name: arrays[f"pairs_{name}"] for name in (*_RULES, *_TERMS, "flags", "texts")}
    for fault in _faults(given, classes, machines):
        raise MalformedEntryError(fault)
    fields: dict[str, Any] = {name: given[name] for name in _TERMS}
    fields |= zip(_FLAGS, given["flags"].tolist(), strict=True)
    fields |= zip(_TEXTS, given["texts"].tolist(), strict=True)
    fields["names"] = tuple(given["names"].tolist())
    return PairRules(
        terms=PairTerms(**fields),
        units=float(given["units"]),
        kind=given["kind"],
        resident_kind=given["resident_kind"],
        resident_machine=given["resident_machine"],
    )


def _faults(given: Mapping[str, NDArray[Any]], classes: int, machines: int) -> Iterator[str]:
    """Yield what has another kind or size than it should, or points nowhere."""
    sizes = {"C": classes, "M": machines}
    yield from size_faults(given, {**_RULES, **_TERMS}, sizes, "pairs_")
    if given["flags"].shape != (len(_FLAGS),) or given["texts"].shape != (len(_TEXTS),):
        yield "pairs_flags or pairs_texts has another size"
    limits = {
        "kind": (-1, "N"),
        "resident_kind": (0, "N"),
        "resident_machine": (0, "M"),
        "domain": (0, "D"),
        "source": (0, "N"),
        "target": (0, "N"),
        "link": (-1, "R"),
    }
    ranges = {name: (least, sizes[end]) for name, (least, end) in limits.items()}
    yield from range_faults(given, ranges, "pairs_")
