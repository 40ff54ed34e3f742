"""Records how much of each node was requested over time, in samples of all nodes with two bytes per value."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

SAMPLES = 120
_UNKNOWN = 0xFFFF
_MOST = 0xFFFE


class _Sample(NamedTuple):
    at: float
    cpu: array[int]
    memory: array[int]


class RequestedHistory:
    """The last 120 samples of all nodes, by slot (the number that identifies a node).

    A slot has no values from the time before its node existed, see ``read_slot``.
    """

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        self.taken = 0

    def add_sample(self, at: float, slots: int, rows: Iterable[tuple[int, int | None, int | None]]) -> None:
        """Add a sample with ``rows`` of slot, requested cpu and requested memory in per mille.

        ``slots`` is the number of slots.
        """
        cpu, memory = array("H", [_UNKNOWN]) * slots, array("H", [_UNKNOWN]) * slots
        for slot, of_cpu, of_memory in rows:
            cpu[slot] = _UNKNOWN if of_cpu is None else min(of_cpu, _MOST)
            memory[slot] = _UNKNOWN if of_memory is None else min(of_memory, _MOST)
        self._samples.append(_Sample(at, cpu, memory))
        self.taken += 1

    def read_slot(self, slot: int, since: int) -> dict[str, list[float | int | None]]:
        """Return the values of a slot, from the sample with the number ``since`` on."""
        first = max(0, since - (self.taken - len(self._samples)))
        found = [
            each for number, each in enumerate(self._samples) if number >= first and slot < len(each.cpu)
        ]
        return {
            "at": [each.at for each in found],
            "cpu": [_drop_unknown(each.cpu[slot]) for each in found],
            "memory": [_drop_unknown(each.memory[slot]) for each in found],
        }


def _drop_unknown(value: int) -> int | None:
    return None if value == _UNKNOWN else value
