"""A simulated Kubernetes cluster: its API server behaves like the real one wherever a scheduler can notice it."""

from __future__ import annotations

from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster

__all__ = ["ClusterOptions", "SimulatedCluster"]
