"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.server.cluster_registry:IDLE_CLUSTERS": 16,
    "firmament.server.cures:MOST": 5,
    "firmament.server.cures:SECONDS": 30.0,
    "firmament.server.cures:TRIES": 40,
    "firmament.server.driving.batching:LONE_SECONDS": 0.005,
    "firmament.server.driving.batching:LONGEST_PACE_SECONDS": 0.5,
    "firmament.server.driving.batching:PACE": 8,
    "firmament.server.driving.batching:QUIET_SECONDS": 0.001,
    "firmament.server.driving.batching:WORTH_WAITING": 3,
    "firmament.server.driving.loop:_BACKLOG": 500,
    "firmament.server.driving.loop:_BACKLOG_PAUSE": 0.005,
    "firmament.server.driving.loop:_COARSE": 0.0005,
    "firmament.server.driving.loop:_FIRST_RETRY": 0.1,
    "firmament.server.driving.loop:_IDLE_PAUSE": 1.0,
    "firmament.server.driving.loop:_LAST_RETRY": 10.0,
    "firmament.server.driving.loop:_PATIENCE": 0.1,
    "firmament.server.signs_of_life:EVERY": 5.0,
    "firmament.server.signs_of_life:HUNG": 600.0,
    "firmament.server.outbox:ROUNDS_IN_FLIGHT": 8,
    "firmament.server.process_copy:_CHUNK": 65_536,
    "firmament.server.process_copy:_GRACE_SECONDS": 1.0,
    "firmament.server.process_copy:_NICENESS": 5,
    "firmament.server.process_copy:_STANDARD": 3,
    "firmament.server.question_pool:THREADS": 4,
    "firmament.server.protocol_version:VERSION_MAJOR": 1,
    "firmament.server.protocol_version:VERSION_MINOR": 2,
    "firmament.server.session:_CANCELLED_WITHIN": 0.05,
    "firmament.server.session:_LONGEST_FAULT": 2000,
    "firmament.server.protocol_version:_LONGEST_NAME": 1024,
    "firmament.server.session:_SMALL": 2000,
    "firmament.server.solver_server:DRAIN_SECONDS": 4.0,
    "firmament.server.solver_server:_THREADS_PER_STREAM": 3,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
