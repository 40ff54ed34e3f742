"""Divides machines into domains: sets of machines with the same value of a label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.machines import MachineTable


@dataclass(frozen=True, slots=True)
class Domains:
    """Domains by the value of a label.

    ``domain``: int64[M], each machine's domain, -1 without the label. ``count``: D, a number above all domains'
    numbers.

    ``coarse``: whether some domain has several machines.
    """

    domain: Int64
    count: int
    coarse: bool


class DomainsByKey:
    """The present domains of machines by label key, each computed once."""

    def __init__(self, machines: MachineTable) -> None:
        self._machines = machines
        self._by_key: dict[str, Domains] = {}

    @property
    def single(self) -> Domains:
        """Domains that consist of one machine each."""
        count = len(self._machines)
        return Domains(np.arange(count), count, coarse=False)

    def get(self, key: str) -> Domains:
        """Return the domains into which the values of label ``key`` divide the machines."""
        found = self._by_key.get(key)
        if found is None:
            count = len(self._machines)
            column = self._machines.labels.column(key)
            domain = column.codes[:count].astype(np.int64) - 1
            domains = len(column) - 1
            sizes = np.bincount(domain[domain >= 0], minlength=domains)
            found = Domains(domain, domains, coarse=bool((sizes > 1).any()))
            self._by_key[key] = found
        return found
