"""Makes a random cluster from a seed."""

from __future__ import annotations

import random

from benchmarks.judge.random_cluster.nodes import random_nodes
from benchmarks.judge.random_cluster.objects import RandomCluster
from benchmarks.judge.random_cluster.pods import make_running_pods, make_waiting_pods, pod_scaffold
from benchmarks.judge.random_cluster.storage import add_volumes, storage_scaffold


def random_cluster(seed: int) -> RandomCluster:
    """Return the same cluster for the same seed: every rule of placement that kube-scheduler has, and room
    for most pods.
    """
    draw = random.Random(f"judge {seed}")  # noqa: S311 - reproducible, not secret
    nodes = random_nodes(draw)
    waiting = make_waiting_pods(draw, nodes)
    scaffold = [*pod_scaffold(), *storage_scaffold(draw, nodes)]
    scaffold += add_volumes(draw, nodes, waiting)
    return RandomCluster(seed, nodes, scaffold, make_running_pods(draw, nodes), waiting)
