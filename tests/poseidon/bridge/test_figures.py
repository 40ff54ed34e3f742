"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.bridge.binding_traces:MOST_OF_A_ROUND": 32,
    "poseidon.bridge.binding_traces:_MOST_OPEN": 4096,
    "poseidon.bridge.groups.group_reports:COUNTS_SECONDS": 60.0,
    "poseidon.bridge.held_actions:KEPT_SECONDS": 600.0,
    "poseidon.bridge.options:BridgeOptions.drain_bindings_seconds": 10.0,
    "poseidon.bridge.options:BridgeOptions.drain_reports_seconds": 3.0,
    "poseidon.bridge.options:BridgeOptions.drain_writes_seconds": 2.0,
    "poseidon.bridge.options:BridgeOptions.dry_run": False,
    "poseidon.bridge.options:BridgeOptions.fencing": 1,
    "poseidon.bridge.round_history:_DELTAS": 500,
    "poseidon.bridge.round_history:_ROUNDS": 64,
    "poseidon.bridge.runner:_PLENTY": 500,
    "poseidon.bridge.solver_stream.batches:_MOST": 4096,
    "poseidon.bridge.solver_stream.refused_events:MOST_REMEMBERED": 10_000,
    "poseidon.bridge.solver_stream.session:SessionOptions.backoff_cap": 10.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.backoff_initial": 0.2,
    "poseidon.bridge.solver_stream.session:SessionOptions.batch_bytes": 1_048_576,
    "poseidon.bridge.solver_stream.session:SessionOptions.batch_events": 2000,
    "poseidon.bridge.solver_stream.session:SessionOptions.busy_linger": 0.025,
    "poseidon.bridge.solver_stream.session:SessionOptions.few": 4,
    "poseidon.bridge.solver_stream.session:SessionOptions.hello_seconds": 10.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.idle": 0.02,
    "poseidon.bridge.solver_stream.session:SessionOptions.keepalive_seconds": 20.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.linger": 0.005,
    "poseidon.bridge.solver_stream.session:SessionOptions.max_message_bytes": 67_108_864,
    "poseidon.bridge.solver_stream.session:SessionOptions.refused_initial": 1.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.refused_seconds": 10.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.report_seconds": 0.5,
    "poseidon.bridge.solver_stream.session:SessionOptions.stable_seconds": 10.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.tls_check_seconds": 5.0,
    "poseidon.bridge.solver_stream.session:SessionOptions.window": 16,
    "poseidon.bridge.solver_stream.stream:FIRST_MINOR": 2,
    "poseidon.bridge.solver_stream.stream:VERSION_MAJOR": 1,
    "poseidon.bridge.solver_stream.stream:VERSION_MINOR": 2,
    "poseidon.bridge.solver_stream.stream:_FIRST_PAUSE": 0.1,
    "poseidon.bridge.solver_stream.stream:_HELLO_SECONDS": 2.0,
    "poseidon.bridge.solver_stream.stream:_KEEPALIVE_SECONDS": 20.0,
    "poseidon.bridge.solver_stream.stream:_LONGEST_PAUSE": 1.0,
    "poseidon.bridge.solver_stream.stream:_MOST_BYTES": 1_048_576,
    "poseidon.bridge.solver_stream.stream:hello_of.ephemeral": True,
    "poseidon.bridge.solver_stream.stream:hello_of.fencing": 0,
    "poseidon.bridge.supervisor:ASK_SECONDS": 5.0,
    "poseidon.bridge.supervisor:STANDBY_SECONDS": 60.0,
    "poseidon.bridge.supervisor:_PAUSE": 1.0,
    "poseidon.bridge.writers:_SHOWN": 200,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
