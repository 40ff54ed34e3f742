"""What a round's problem may have beside its tables, as entries of ``problem.npz``; a round without it has none.

* ``spread_...``: groups that would rather be apart, as in ``firmament.core.flow.terms``;
* ``heights_...``: as in ``firmament.core.flow.terms``; ``heights_charge``: of each charge its best figure, units
  per figure, and most; ``heights_raw_N``: its figures;
* ``worths_shape``, ``worths_worth``: known prices of shapes, as in ``firmament.core.flow.terms``;
* ``pairs_...``: pairs of tasks, named like the fields of ``PairRules`` and ``PairTerms``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays
from cost_models.pairs import PairTerms
from firmament.artefacts.entries import Entries
from firmament.artefacts.errors import MalformedEntryError
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.terms import Charge, DualPrices, RoundHeights, SpreadTerms
from firmament.core.rules.pairs import PairRules

_SPREAD = Entries(
    "spread_",
    {
        "group": (np.int64, "C"),
        "domain": (np.int64, "M"),
        "machine_step": (np.float64, "G"),
        "domain_step": (np.float64, "G"),
        "resident_group": (np.int64, "A"),
        "resident_machine": (np.int64, "A"),
    },
    {"group": (-1, "G"), "domain": (0, "M"), "resident_group": (0, "G"), "resident_machine": (0, "M")},
    ("machine_step", "domain_step"),
)
_AMOUNTS = ("start", "rate", "amount", "growth")
_HEIGHTS = Entries(
    "heights_",
    {
        "start": (np.float64, "M"),
        "amount": (np.float64, "SR"),
        "rate": (np.float64, "RM"),
        "growth": (np.float64, "M"),
        "charge": (np.float64, "CF"),
    },
    amounts=_AMOUNTS,
)
_PAIR_RULES = Entries(
    "pairs_",
    {
        "kind": (np.int64, "C"),
        "units": (np.float64, ""),
        "resident_kind": (np.int64, "A"),
        "resident_machine": (np.int64, "A"),
    },
    {"kind": (-1, "N"), "resident_kind": (0, "N"), "resident_machine": (0, "M")},
)
_PAIR_TERMS = Entries(
    "pairs_",
    {
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
    },
    {"domain": (0, "D"), "source": (0, "N"), "target": (0, "N"), "link": (-1, "R")},
)
_FLAGS = ("both_ways", "strict", "bounded", "improve", "steers")
_TEXTS = ("outvoted", "exceeded", "link_full")


def encode_terms(problem: PlacementProblem) -> dict[str, NDArray[Any]]:
    """Return the entries by name."""
    entries: dict[str, NDArray[Any]] = {}
    if problem.spread is not None:
        entries |= _SPREAD.encoded(_fields(problem.spread, _SPREAD))
    if problem.heights is not None:
        charges = [(charge.best, charge.per_unit, charge.most) for charge in problem.heights.charges]
        given = {name: getattr(problem.heights, name) for name in _AMOUNTS}
        entries |= _HEIGHTS.encoded(given | {"charge": np.array(charges).reshape(len(charges), 3)})
        entries |= {f"heights_raw_{number}": each.raw for number, each in enumerate(problem.heights.charges)}
    if problem.dual_prices is not None:
        entries |= {"worths_shape": problem.dual_prices.shape, "worths_worth": problem.dual_prices.price}
    if problem.pairs is not None:
        terms = problem.pairs.terms
        entries |= _PAIR_RULES.encoded(_fields(problem.pairs, _PAIR_RULES))
        entries |= _PAIR_TERMS.encoded(_fields(terms, _PAIR_TERMS))
        entries["pairs_flags"] = np.array([getattr(terms, name) for name in _FLAGS], dtype=np.bool_)
        entries["pairs_texts"] = np.array([getattr(terms, name) for name in _TEXTS], dtype=np.str_)
    return entries


def decode_terms(arrays: Arrays, classes: int, shapes: int, machines: int) -> dict[str, Any]:
    """Return what ``encode_terms`` found, by field of the problem.

    Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
    """
    spread = _SPREAD.decoded(arrays, C=classes, M=machines)
    return {
        "spread": SpreadTerms(**spread) if spread else None,
        "heights": _heights(arrays, shapes, machines),
        "dual_prices": _dual_prices(arrays, shapes),
        "pairs": _pairs(arrays, classes, machines),
    }


def _fields(value: object, entries: Entries) -> dict[str, Any]:
    return {name: getattr(value, name) for name in entries.sizes}


def _heights(arrays: Arrays, shapes: int, machines: int) -> RoundHeights | None:
    given = _HEIGHTS.decoded(arrays, S=shapes, M=machines, F=3)
    if not given:
        return None
    charges = []
    for number, values in enumerate(given["charge"].tolist()):
        raw = arrays[f"heights_raw_{number}"]
        if raw.dtype.kind not in "iuf" or raw.shape != (shapes, machines):
            raise MalformedEntryError(f"heights_raw_{number} is {raw.dtype} of the size {raw.shape}")
        charges.append(Charge(raw, *values))
    return RoundHeights(**{name: given[name] for name in _AMOUNTS}, charges=tuple(charges))


def _dual_prices(arrays: Arrays, shapes: int) -> DualPrices | None:
    if "worths_shape" not in arrays:
        return None
    shape, worth = arrays["worths_shape"], arrays["worths_worth"]
    if shape.dtype != np.int64 or worth.dtype != np.float32 or shape.ndim != 1 or shape.shape != worth.shape:
        raise MalformedEntryError("worths_shape and worths_worth are not int64 and float32 of one length")
    if (np.diff(shape) <= 0).any() or (shape < 0).any() or (shape >= shapes).any():
        raise MalformedEntryError("worths_shape holds numbers out of range or out of order")
    if not np.isfinite(worth).all():
        raise MalformedEntryError("worths_worth holds numbers that are not finite")
    return DualPrices(shape, worth)


def _pairs(arrays: Arrays, classes: int, machines: int) -> PairRules | None:
    if "pairs_kind" not in arrays:
        return None
    fields = _PAIR_TERMS.decoded(arrays, M=machines)
    own = _PAIR_RULES.decoded(arrays, C=classes, M=machines, N=len(fields["names"]))
    flags, texts = arrays["pairs_flags"], arrays["pairs_texts"]
    if flags.shape != (len(_FLAGS),) or texts.shape != (len(_TEXTS),):
        raise MalformedEntryError("pairs_flags or pairs_texts has another size")
    fields |= zip(_FLAGS, flags.tolist(), strict=True)
    fields |= zip(_TEXTS, texts.tolist(), strict=True)
    fields["names"] = tuple(fields["names"].tolist())
    return PairRules(terms=PairTerms(**fields), **own | {"units": float(own["units"])})
