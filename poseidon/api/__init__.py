"""Provides a Python interface that does what ``poseidon plan``, ``explain`` and ``audit`` do, without a cluster.

    from poseidon import plan
    made = plan("nodes.yaml", "pods.yaml")
    made.bindings, made.pending     # frozen dataclasses
    made.to_dict()                  # what `poseidon plan -o json` prints
    made.to_pandas()                # one row per pod

The commands call these functions. The functions need no cluster and no other process: the solver runs in the caller's
process.
"""

from poseidon.api.calls import audit, explain, plan
from poseidon.api.errors import InputError
from poseidon.api.models import UseModel
from poseidon.api.reading import ReadCluster, read
from poseidon.api.results import AuditResult, ExplainResult, PlanResult
from poseidon.explanations import UnknownPodError
from poseidon.manifests.assumed_nodes import make_nodes

__all__ = [
    "AuditResult",
    "ExplainResult",
    "InputError",
    "PlanResult",
    "ReadCluster",
    "UnknownPodError",
    "UseModel",
    "audit",
    "explain",
    "make_nodes",
    "plan",
    "read",
]
