"""What is wrong with readings: gathered where they are read, counted always, told once per object."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from poseidon.kube.parsing.defects import LONGEST_FIELD, LONGEST_PROBLEM, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poseidon.metrics_sources.metrics import SourceMetrics

_log = logging.getLogger(__name__)

_MOST_OBJECTS = 100_000


class Fault(NamedTuple):
    """One thing that is wrong. ``kind`` is a word for a metric's label; ``problem`` says what is done about it."""

    kind: str
    field: str
    problem: str

    def __str__(self) -> str:
        return f"{shortened(self.field, LONGEST_FIELD)}: {shortened(self.problem, LONGEST_PROBLEM)}"


class FaultLog:
    """Counts the faults of one source, and logs each kind of an object's faults once, until the object is sound."""

    def __init__(self, source: str, metrics: SourceMetrics) -> None:
        self._source = source
        self._metrics = metrics
        self._told: dict[str, frozenset[tuple[str, str]]] = {}

    def take(self, name: str, faults: Sequence[Fault]) -> None:
        """Take the faults of one object's latest reading; none means that it is sound."""
        if not faults:
            self._told.pop(name, None)
            return
        for fault in faults:
            self._metrics.faults.labels(self._source, fault.kind).inc()
        told = self._told.get(name, frozenset())
        new = [fault for fault in faults if (fault.kind, fault.field) not in told]
        if not new or (not told and len(self._told) >= _MOST_OBJECTS):
            return
        self._told[name] = told | {(fault.kind, fault.field) for fault in new}
        _log.warning(
            'a reading has a fault source=%s object=%s fault="%s" further=%d',
            self._source,
            name,
            new[0],
            len(new) - 1,
        )

    def forget(self, name: str) -> None:
        """The object is gone."""
        self._told.pop(name, None)
