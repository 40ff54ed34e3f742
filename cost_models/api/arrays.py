"""Types of the arrays that models are given and answer with, what numpy does slowly, and checks of saved ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Int8 = NDArray[np.int8]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

Arrays = Mapping[str, NDArray[Any]]


class MalformedArraysError(ValueError):
    """Arrays that nothing can have been saved as; the message names the array and what is wrong with it."""


class Layout(NamedTuple):
    """What holds of an array. ``size``: a letter for each dimension, equal letters for equal lengths, ``*`` for any.
    ``least``: the least number in it, where floating point is finite, too; ``end``: what all are below: a number, or
    the length of a letter.
    """

    size: str
    least: float | None = None
    end: int | str | None = None


def any_of_row(flags: Bool) -> Bool:
    """Return bool[N]: rows of ``flags`` (bool[N, K]) in which some holds; along many short rows numpy is ten
    times as slow.
    """
    return np.logical_or.reduce(np.ascontiguousarray(flags.T), axis=0)


def layout_faults(given: Sequence[tuple[str, NDArray[Any], Layout]], sizes: dict[str, int]) -> Iterator[str]:
    """Yield which arrays, by their names, are not as their layouts say.

    ``sizes``: known lengths by letter; unknown ones are filled in.
    """
    for name, array, (letters, _, _) in given:
        if array.ndim != len(letters):
            yield f"{name} has the size {array.shape}, not {len(letters)} dimensions"
            return
        expected = tuple(
            length if letter == "*" else sizes.setdefault(letter, length)
            for letter, length in zip(letters, array.shape, strict=True)
        )
        if array.shape != expected:
            yield f"{name} has the size {array.shape}, not {expected}"
    for name, array, (_, least, end) in given:
        if least is None:
            continue
        if array.dtype.kind == "f":
            if not (np.isfinite(array) & (array >= least)).all():
                yield f"{name} holds numbers that are {'negative or ' if least == 0 else ''}not finite"
        else:
            most = sizes[end] if isinstance(end, str) else end
            if (array < least).any() or (most is not None and (array >= most).any()):
                yield f"{name} holds numbers out of range"
