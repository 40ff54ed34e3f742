"""Types of the arrays that models are given and answer with, what numpy does slowly, and checks of saved ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Int8 = NDArray[np.int8]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

Arrays = Mapping[str, NDArray[Any]]

Schema = Mapping[str, tuple[Any, str]]
"""By the name of each array its type of elements, and its size by letters: equal letters, equal lengths."""


class MalformedArraysError(ValueError):
    """Arrays that nothing can have been saved as; the message names the array and what is wrong with it."""


def any_of_row(flags: Bool) -> Bool:
    """bool[N]: rows of ``flags`` (bool[N, K]) in which some holds; along many short rows numpy is ten times as slow."""
    found: Bool = np.logical_or.reduce(np.ascontiguousarray(flags.T), axis=0)
    return found


def size_faults(given: Arrays, schema: Schema, sizes: dict[str, int], prefix: str = "") -> Iterator[str]:
    """Yield which arrays have another type or size than ``schema`` says; they are called by ``prefix`` and name.

    ``sizes``: lengths by letter, as far as they are known; the others are filled in.
    """
    for name, (kind, letters) in schema.items():
        array = given[name]
        right = array.dtype.kind == "U" if kind is np.str_ else array.dtype == kind
        if not right or array.ndim != len(letters):
            yield f"{prefix}{name} is {array.dtype} of the size {array.shape}"
            return
        expected = tuple(sizes.setdefault(*each) for each in zip(letters, array.shape, strict=True))
        if array.shape != expected:
            yield f"{prefix}{name} has the size {array.shape}, not {expected}"


def range_faults(given: Arrays, ranges: Mapping[str, tuple[int, int]], prefix: str = "") -> Iterator[str]:
    """Yield which arrays hold a number below the first of their ``ranges``, or not below the second."""
    for name, (least, end) in ranges.items():
        if ((given[name] < least) | (given[name] >= end)).any():
            yield f"{prefix}{name} holds numbers out of range"


def amount_faults(given: Arrays, names: Iterable[str], prefix: str = "") -> Iterator[str]:
    """Yield which of the arrays called ``names`` hold what is no amount."""
    for name in names:
        if not (np.isfinite(given[name]) & (given[name] >= 0)).all():
            yield f"{prefix}{name} holds numbers that are negative or not finite"
