"""Entries of ``problem.npz`` that belong together: written and checked by a table of their kinds and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Schema, amount_faults, range_faults, size_faults
from firmament.artefacts.errors import MalformedEntryError


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries whose names begin with ``prefix``; a round either has all of them or none.

    ``sizes``: the kind of each, and by letters its size; ``ranges``: the least number in it, and the one, or the length
    of that letter, that all are below; ``amounts``: those that hold finite numbers of at least 0.
    """

    prefix: str
    sizes: Schema
    ranges: Mapping[str, tuple[int, int | str]] = field(default_factory=dict)
    amounts: tuple[str, ...] = ()

    def encoded(self, values: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """The entries by their full names; ``values`` by the short ones."""
        return {
            f"{self.prefix}{name}": np.array(values[name], dtype=self.sizes[name][0]) for name in self.sizes
        }

    def decoded(self, arrays: Arrays, **lengths: int) -> dict[str, Any]:
        """The entries by their short names, none if the round has none; ``lengths``: by letter, those that are known.

        Raises ``KeyError`` for an entry that is missing, ``MalformedEntryError`` for one that makes no sense.
        """
        if f"{self.prefix}{next(iter(self.sizes))}" not in arrays:
            return {}
        given = {name: arrays[f"{self.prefix}{name}"] for name in self.sizes}
        for fault in size_faults(given, self.sizes, lengths, self.prefix):
            raise MalformedEntryError(fault)
        ends = {
            name: (least, lengths[end] if isinstance(end, str) else end)
            for name, (least, end) in self.ranges.items()
        }
        for fault in range_faults(given, ends, self.prefix):
            raise MalformedEntryError(fault)
        for fault in amount_faults(given, self.amounts, self.prefix):
            raise MalformedEntryError(fault)
        return given
