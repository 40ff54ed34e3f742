"""Types of the arrays in inputs and answers of models, a fast ``any`` along rows, and checks of saved arrays."""

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
    """Saved arrays contradict each other or their layouts; the message names the array and its fault."""


class Layout(NamedTuple):
    """The conditions that an array must satisfy: element type, dimensions, values.

    ``size``: a letter for each dimension, equal letters for equal lengths, ``*`` for any length; ``least``: the least
    number that it may hold (floats must be finite, too; None: no check); ``end``: all its numbers are below this
    number, or below the length of this letter.
    """

    size: str
    least: float | None = None
    end: int | str | None = None


def any_of_row(flags: Bool) -> Bool:
    """Return whether some flag of each row of ``flags`` (bool[N, K]) is set: bool[N].

    For many short rows, numpy's own ``any`` takes ten times as long.
    """
    return np.logical_or.reduce(np.ascontiguousarray(flags.T), axis=0)


def layout_faults(given: Sequence[tuple[str, NDArray[Any], Layout]], sizes: dict[str, int]) -> Iterator[str]:
    """Yield a message for each array, by name, that violates its layout.

    ``given``: (name, array, layout) of each array; ``sizes``: known lengths by letter, to which new ones are added.
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
