"""Collects run times for the solver of a simulation; at each moment, a bridge would have learnt the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from poseidon.pods.learnt_run_times import PROGRAM, RuntimeHistory
from poseidon.simulate.classes import TaskKinds
from protos.firmament.v1 import scheduler_pb2 as pb

Telling: TypeAlias = Literal["learnt", "random"]
LEAST, MOST = 60.0, 7 * 86_400.0
"""Range of randomly drawn run times, in seconds; their logarithms are distributed uniformly."""


class RunTimeRecords:
    """Run times by program, as records for the solver's cost models.

    ``known`` are records that the solver has already; they are updated. If ``telling`` is ``random``, every run of a
    program is reported with the same random time, drawn once per program.
    """

    def __init__(self, telling: Telling, seed: int, known: RuntimeHistory | None = None) -> None:
        self._history = RuntimeHistory() if known is None or telling == "random" else known
        self._random = np.random.default_rng(seed) if telling == "random" else None
        self._drawn: dict[str, float] = {}

    def take_ended(self, kinds: TaskKinds, ended: Iterable[tuple[int, float]]) -> list[pb.Event]:
        """Count ended tasks, given as kind and seconds; return the records that the solver does not have yet."""
        for kind, seconds in ended:
            if name := kinds.classes[kind].annotations.get(PROGRAM, ""):
                self._history.count_run(name, self._distort(name, seconds))
        return self._history.take_events()

    def _distort(self, name: str, seconds: float) -> float:
        if self._random is None:
            return seconds
        if name not in self._drawn:
            self._drawn[name] = float(LEAST * (MOST / LEAST) ** self._random.random())
        return self._drawn[name]
