"""The arguments of ``network_overhead``: upstream's by their names, and what goes beyond it.

Upstream's (apis/config/v1 of kubernetes-sigs/scheduler-plugins): ``namespaces`` (["default"]), in which AppGroups and
the NetworkTopology are looked for, in this order; ``weightsName`` ("UserDefined"), the list of costs that counts;
``networkTopologyName`` ("nt-default").

Beyond upstream: ``bothDirections`` (true), a task is also charged for those that depend on it;
``jointImprovement`` (true), applications are placed anew as long as that gains; ``strictMaxNetworkCost`` (false), no
dependency may exceed its ``maxNetworkCost``; ``enforceBandwidth`` (false), the ``minBandwidth`` of all dependencies
together stays within the capacity of each link; ``observeOnly`` (false), costs are reported and steer nothing;
``percentile`` (p90, p50, p99), which of the measured latencies become costs: the driver computes these, so that it is
checked here and has no effect on the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cost_models.arguments import Arguments

MODEL_NAME = "network_overhead"

PERCENTILES = ("p90", "p50", "p99")


@dataclass(frozen=True, slots=True)
class NetworkAwareArguments:
    """The arguments as read; see the module."""

    namespaces: tuple[str, ...] = ("default",)
    weights_name: str = "UserDefined"
    topology_name: str = "nt-default"
    both_directions: bool = True
    joint_improvement: bool = True
    strict: bool = False
    bandwidth: bool = False
    observe_only: bool = False


def read_options(given: Mapping[str, Any]) -> NetworkAwareArguments:
    """Read ``args``; raises ``ModelArgumentError``."""
    args = Arguments(MODEL_NAME, given)
    options = NetworkAwareArguments(
        namespaces=args.texts("namespaces", ("default",)),
        weights_name=args.text("weightsName", "UserDefined"),
        topology_name=args.text("networkTopologyName", "nt-default"),
        both_directions=args.flag("bothDirections", default=True),
        joint_improvement=args.flag("jointImprovement", default=True),
        strict=args.flag("strictMaxNetworkCost", default=False),
        bandwidth=args.flag("enforceBandwidth", default=False),
        observe_only=args.flag("observeOnly", default=False),
    )
    args.choice("percentile", PERCENTILES)
    args.finish()
    return options
