"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.server.access.address:parse_address.any_port": True,
    "firmament.server.access.fencing:AHEAD_SECONDS": 3600.0,
    "firmament.server.access.fencing:GRACE_SECONDS": 10.0,
    "firmament.server.access.grpc_options:MESSAGE_BYTES": 67_108_864,
    "firmament.server.access.grpc_options:PING_SECONDS": 5.0,
    "firmament.server.access.grpc_options:_IDENTITY": 1,
    "firmament.server.access.grpc_options:_IDLE_MS": 60_000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
