"""Estimates how long tasks go on running, from run times of their programs: life tables over a geometric grid.

A task that still runs counts as one that has run at least so long. Otherwise the tasks that end first, which are the
short ones, would stand for all (Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.api.parsed_records import BadRecordError, check_number, check_whole, parse_object
from cost_models.interface import Float64, Int64

HISTORY = "RuntimeHistory"
"""Kind of the records of how long programs ran."""
SPANS: Float64 = 2.0 ** (np.arange(12, 45) / 2)
"""Numbers of seconds for which the model computes how likely a task goes on: a minute to seven weeks."""

_AGES: Float64 = 2.0 ** (np.arange(121) / 4)
"""Seconds at which intervals of age end: 1 to 2^30, four to an octave."""
_LONGEST = 1e9
_NOBODY = 1e-9
"""Parts of all tasks that are as good as none."""
_MOST_RUNS = 1_000
"""Most entries of one record."""


class RunsTable:
    """The run times of P programs: the share of their tasks that still runs at each of B ages.

    ``ended``, ``going_on``: float64[P, B], how many tasks have ended in an interval of age, and how many are in it and
    go on.
    """

    def __init__(self, ended: Float64, going_on: Float64) -> None:
        seen = ended + going_on
        reached = np.cumsum(seen[:, ::-1], axis=1)[:, ::-1]
        chance = np.divide(ended, reached, out=np.zeros_like(ended), where=reached > 0)
        oldest = _AGES[len(_AGES) - 1 - (seen[:, ::-1] > 0).argmax(axis=1)]
        # Assume that half of the runs that become older than any known run become twice as old.
        beyond = np.minimum(oldest[:, None] / _AGES, 1.0)
        self._lasting = np.cumprod(1.0 - chance, axis=1) * beyond
        self._known = ended.sum(axis=1) > 0

    def estimate_lasting(self, programs: Int64, ages: Int64, unknown: float) -> Float64:
        """Return the probability that tasks of these ages run for each of `SPANS` longer: float64[N, len(SPANS)].

        ``programs``: int64[N], rows of this table, -1 for none; ``ages``: int64[N], intervals. Half of the tasks of a
        program without ended runs go on for ``unknown`` seconds, plus as long again as they have run; half of the
        tasks that have run for longer than any known run go on for as long again.
        """
        elapsed = _AGES[ages][:, None]
        now = self._lasting[programs, ages][:, None]
        then = self._lasting[programs[:, None], find_ages(elapsed + SPANS)]
        known = ((programs >= 0) & self._known[programs])[:, None]
        usual = np.where(known, elapsed, elapsed + unknown)
        stated = known & (now > _NOBODY)
        return np.where(stated, then / np.maximum(now, _NOBODY), usual / (usual + SPANS))


def find_ages(seconds: Float64) -> Int64:
    """Return the index of the age bucket (`_AGES`) that each run time falls into: int64 of the same shape."""
    return np.minimum(np.searchsorted(_AGES, seconds, side="left"), len(_AGES) - 1)


def tabulate(histories: Sequence[Mapping[float, int] | None], programs: Int64, ages: Int64) -> RunsTable:
    """Return the table for the programs with these numbers, and an empty row for tasks of no program.

    ``histories``: by program, how many tasks ran for so many seconds, None if that is unknown; ``programs``, ``ages``:
    int64[A], tasks that run, -1 for those of no program, and their intervals of age.
    """
    width = len(_AGES)
    ended = np.zeros((len(histories) + 1, width))
    for row, history in enumerate(histories):
        if history:
            places = find_ages(np.fromiter(history, dtype=np.float64))
            np.add.at(ended[row], places, np.fromiter(history.values(), dtype=np.float64))
    mine = programs >= 0
    flat = np.bincount(programs[mine] * width + ages[mine], minlength=ended.size)
    return RunsTable(ended, flat.reshape(ended.shape).astype(np.float64))


def parse_history(payload: bytes) -> dict[float, int]:
    """Return how many tasks ran for about each number of seconds; raises ``BadRecordError``.

    A record without ``runs`` counts as if all had run for the mean.
    """
    document = parse_object(payload)
    runs = document.get("runs")
    if runs is None:
        count = check_whole("count", document.get("count"), 1, 2**53)
        return {check_number("meanSeconds", document.get("meanSeconds"), 0, _LONGEST): count}
    if not isinstance(runs, list) or len(runs) > _MOST_RUNS:
        raise BadRecordError(f"runs is no list of at most {_MOST_RUNS} pairs [seconds, count]")
    found: dict[float, int] = {}
    for index, pair in enumerate(runs):
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadRecordError(f"runs[{index}] is no pair [seconds, count]")
        seconds = check_number(f"runs[{index}][0]", pair[0], 0, _LONGEST)
        found[seconds] = found.get(seconds, 0) + check_whole(f"runs[{index}][1]", pair[1], 1, 2**53)
    return found
