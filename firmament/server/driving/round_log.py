"""Writes the solver's line about each round to the log."""

from __future__ import annotations

import logging

from firmament.core.results import RoundResult

log = logging.getLogger(__name__)


def log_round(cluster: str, result: RoundResult, seconds: float) -> None:
    """Log the figures of a round that took ``seconds``, and a warning for each note of a cost model."""
    for note in result.notes:
        log.warning('model note cluster=%s note="%s"', cluster, note)
    stats = result.stats
    log.info(
        "round cluster=%s round=%d machines=%d tasks=%d classes=%d placed=%d pending=%d arcs=%d solves=%d "
        "certified=%s gap=%.6f seconds=%.4f",
        cluster,
        result.round,
        stats.machines,
        stats.tasks,
        stats.classes,
        stats.placed,
        stats.pending,
        stats.arcs,
        stats.solves,
        str(stats.certified).lower(),
        stats.gap,
        seconds,
    )
