"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.submit.client:SubmitOptions.connect_seconds": 5.0,
    "firmament.submit.client:SubmitOptions.samples": True,
    "firmament.submit.client:SubmitOptions.seed": 0,
    "firmament.submit.client:SubmitOptions.timeout": 300.0,
    "firmament.submit.client:_CHANNEL_OPTIONS": (
        ("grpc.max_receive_message_length", 67108864),
        ("grpc.max_send_message_length", 67108864),
        ("grpc.enable_http_proxy", 0),
    ),
    "firmament.submit.client:_SAMPLE_SECONDS": 10.0,
    "firmament.submit.client:_TICK": 0.05,
    "firmament.submit.messages:BATCH_EVENTS": 1000,
    "firmament.submit.messages:BATCH_TASKS": 2000,
    "firmament.submit.report:REFRESH_SECONDS": 0.1,
    "firmament.submit.workload:MACHINE": (16000, 68719476736, 110),
    "firmament.submit.workload:MIB": 1_048_576,
    "firmament.submit.workload:WorkloadOptions.classes": 10,
    "firmament.submit.workload:WorkloadOptions.cpu": (100, 500),
    "firmament.submit.workload:WorkloadOptions.memory": (67108864, 536870912),
    "firmament.submit.workload:WorkloadOptions.seed": 0,
    "firmament.submit.workload:WorkloadOptions.sizes": (10, 100),
    "firmament.submit.workload:_FILL_SPREAD": 0.25,
    "firmament.submit.workload:_FILL_STEPS": 20,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
