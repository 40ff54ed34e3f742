"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.inspection.client:_CHANNEL_OPTIONS": (
        ("grpc.max_receive_message_length", -1),
        ("grpc.enable_http_proxy", 0),
    ),
    "firmament.inspection.tables:_GIB": 1_073_741_824,
    "firmament.inspection.tables:_UNWRAPPED": 10_000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
