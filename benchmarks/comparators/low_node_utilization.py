"""Evicts pods from hot nodes as the descheduler's LowNodeUtilization does, and places them by kube-scheduler's score.

Source: the plugin of the descheduler (``pkg/framework/plugins/nodeutilization``), with measured use: nodes above the
target in some resource are over-utilised, those below the low thresholds in all are under-utilised. From the hottest
on, removable pods are evicted in listed order until a node is at the target, or the under-utilised nodes' capacity up
to the target is used up. The plugin does not choose where victims go: kube-scheduler places each on the node with the
least requests (NodeResourcesFit, LeastAllocated), regardless of use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class RunningPod(NamedTuple):
    """A running pod: its node, and the milli-CPU that it requests and uses."""

    node: str
    request: int
    use: int


def low_node_utilization(
    pods: Mapping[str, RunningPod], nodes: Mapping[str, int], low: float, target: float
) -> dict[str, str]:
    """Return the moves by pod. ``nodes``: milli-CPU by name; ``low``, ``target``: percent of use."""
    used, requested = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0)
    for pod in pods.values():
        used[pod.node] += pod.use
        requested[pod.node] += pod.request
    under = [name for name in nodes if used[name] * 100 < low * nodes[name]]
    left = sum(target * nodes[name] / 100 - used[name] for name in under)
    over = sorted(
        (name for name in nodes if used[name] * 100 > target * nodes[name]),
        key=lambda name: -used[name] / nodes[name],
    )
    victims: list[str] = []
    for name in over:
        for uid, pod in pods.items():
            if pod.node != name or left <= 0 or used[name] * 100 <= target * nodes[name]:
                continue
            victims.append(uid)
            used[name] -= pod.use
            requested[name] -= pod.request
            left -= pod.use
    moves = {}
    for uid in victims:
        request = pods[uid].request
        fitting = [name for name in nodes if requested[name] + request <= nodes[name]]
        best = max(fitting, key=lambda name: ((nodes[name] - requested[name]) / nodes[name], name))
        requested[best] += request
        moves[uid] = best
    return moves
