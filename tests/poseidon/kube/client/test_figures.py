"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.kube.client.backoff:Backoff.cap": 30.0,
    "poseidon.kube.client.backoff:Backoff.initial": 0.2,
    "poseidon.kube.client.connection_openings:AT_A_TIME": 8,
    "poseidon.kube.client.connection_openings:FEW": 16,
    "poseidon.kube.client.connection_openings:PATIENCE_SECONDS": 0.25,
    "poseidon.kube.client.connection_openings:_BUSY": 4.0,
    "poseidon.kube.client.connection_openings:_FORGET": 1.001,
    "poseidon.kube.client.connection_openings:_NEW_SHARE": 0.25,
    "poseidon.kube.client.connections:PROBES": 3,
    "poseidon.kube.client.connections:PROBE_SECONDS": 5,
    "poseidon.kube.client.connections:PoolOptions.connect": 10.0,
    "poseidon.kube.client.connections:PoolOptions.exchange": 30.0,
    "poseidon.kube.client.connections:PoolOptions.idle": 60.0,
    "poseidon.kube.client.connections:SILENT_SECONDS": 15,
    "poseidon.kube.client.connections:_LOOKS_PER_EXCHANGE": 10,
    "poseidon.kube.client.credentials:_BEFORE_EXPIRY_SECONDS": 30.0,
    "poseidon.kube.client.errors:_LONGEST_SHOWN": 200,
    "poseidon.kube.client.replies:_MAX_UNFINISHED": 65_536,
    "poseidon.kube.client.transport:_CONNECT_SECONDS": 10.0,
    "poseidon.kube.client.transport:_IDLE_SECONDS": 60.0,
    "poseidon.kube.client.transport:_MAX_MESSAGE": 500,
    "poseidon.kube.client.transport:_MAX_RETRY_AFTER": 60.0,
    "poseidon.kube.client.transport:_RENEWAL_SECONDS": 1.0,
    "poseidon.kube.client.backoff:Backoff.failures": 0,
    "poseidon.kube.client.connection_openings:Openings.wait.urgent": False,
    "poseidon.kube.client.connections:ConnectionPool.exchange.urgent": False,
    "poseidon.kube.client.connections:_PORTS": {"http": 80, "https": 443},
    "poseidon.kube.client.credentials:CredentialSource.read.refused": False,
    "poseidon.kube.client.credentials:FollowedCredentials.read.refused": False,
    "poseidon.kube.client.credentials:HeaderCredentials.read.refused": False,
    "poseidon.kube.client.errors:UnreachableError.__init__.idle_closed": False,
    "poseidon.kube.client.settings:_PORTS": {"http": 80, "https": 443},
    "poseidon.kube.client.transport:Transport.__init__.refresh_seconds": 10.0,
    "poseidon.kube.client.transport:Transport.__init__.timeout": 30.0,
    "poseidon.kube.client.transport:Transport.post.urgent": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
