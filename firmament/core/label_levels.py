"""Compares the labels of machines: a zone is coarser than a rack if it consists of whole racks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_TOPOLOGY = "topology.kubernetes.io/"
_PLACES = frozenset({"zone", "region"})
"""Names of labels that say where a machine is, even if all machines have the same value."""

_KINDS = frozenset({"os", "arch", "instance-type"})
"""Names of labels that say what a machine is, and never where it is."""


class LabelLevels:
    """Compares the labels of machines; each machine is given as its labels by key."""

    def __init__(self, machines: Iterable[Mapping[str, str]]) -> None:
        self._machines = list(machines)
        self.values: dict[str, set[str]] = {}
        """By key, the values that machines have."""
        for labels in self._machines:
            for key, value in labels.items():
                self.values.setdefault(key, set()).add(value)

    def find_coarser(self, key: str) -> tuple[str, ...]:
        """Return the keys with coarser domains than ``key``, consisting of whole domains of ``key``; finest first."""
        return tuple(self._sort(each for each in self.values if self._is_coarser(each, key)))

    def find_finer(self, key: str) -> tuple[str, ...]:
        """Return the label keys that are finer than ``key``, the coarsest first."""
        return tuple(reversed(self._sort(each for each in self.values if self._is_coarser(key, each))))

    def _sort(self, keys: Iterable[str]) -> list[str]:
        return sorted(keys, key=lambda key: (-len(self.values[key]), key))

    def _is_coarser(self, coarse: str, fine: str) -> bool:
        """Return whether ``coarse`` divides machines more coarsely than ``fine``, and both say where machines are."""
        values, many = self.values.get(coarse, set()), len(self.values.get(fine, ()))
        if not len(values) < many or not (len(values) > 1 or _is_place(coarse)):
            return False
        if _name_of(coarse) in _KINDS or _name_of(fine) in _KINDS:
            return False
        inside: dict[str, str] = {}
        for labels in self._machines:
            if fine in labels:
                above = labels.get(coarse)
                if above is None or inside.setdefault(labels[fine], above) != above:
                    return False
        return True


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]


def _is_place(key: str) -> bool:
    return key.startswith(_TOPOLOGY) or _name_of(key) in _PLACES
