"""The benchmark measures what happens, on a simulated cluster and on one that is given."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.hostile.delays import HostileOptions
from benchmarks.hostile.processes import run_processes
from benchmarks.processes.end_to_end import EndToEndOptions, run_end_to_end
from benchmarks.reports.processes import end_to_end_sheets, hostile_sheets
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import NAMESPACES, NODES, PODS
from poseidon.testbed.seeding import create_nodes
from tests.support.cluster import cluster_in_thread
from tests.support.time_limits import stretch


def check(result, pods):
    assert result["bound"] == pods
    assert (result["boundTwice"], result["overcommittedNodes"]) == (0, 0)
    bound = [count for _, count in result["curve"]]
    assert bound == sorted(bound)
    assert bound[-1] == pods
    assert result["events"]["written"] == pods
    assert result["events"]["share"] == 1.0
    assert 0 <= result["events"]["worstSeconds"] <= stretch(60)
    assert result["bindingsPerSecond"] > 0
    for name in ("driver", "solver", "bridge"):
        assert result["usage"][name]["peakMiB"] > 10
    (sheet,) = end_to_end_sheets(result)
    assert ["pods bound", str(pods)] in sheet.rows


# Where the solver is killed, all else is asked for as well.
@pytest.mark.parametrize("kill", [pytest.param(None, marks=pytest.mark.full), "solver"])
def test_a_simulated_cluster(kill):
    result = run_end_to_end(EndToEndOptions(nodes=60, pods=300, classes=4, kill=kill, timeout=stretch(60)))
    check(result, 300)
    assert result["nodes"] == 60
    latency = result["latencySeconds"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= result["seconds"]


def test_a_given_cluster_is_left_as_it_was(tmp_path):
    with cluster_in_thread() as cluster:
        asyncio.run(create_nodes(cluster.operations, 30))
        path = tmp_path / "kubeconfig"
        write_kubeconfig(path, cluster.url)
        result = run_end_to_end(
            EndToEndOptions(pods=100, classes=3, kubeconfig=path, waiting=True, timeout=stretch(60))
        )
        check(result, 100)
        assert result["nodes"] == 30
        store = cluster.operations.store
        assert len(store.collection(PODS.collection)) == 0
        assert len(store.collection(NODES.collection)) == 30
        assert len(store.collection(NAMESPACES.collection)) == 3


def test_hostile_pods_beside_others():
    shapes = ("tolerations",)
    result = run_processes(HostileOptions(nodes=20, classes=3, pods=10, hostile=5, runs=1, shapes=shapes))
    (row,) = result["rows"]
    assert row["shape"] == "tolerations"
    # No time has passed if a pod is bound already when it is first seen.
    assert min(row["aloneSeconds"], row["besideSeconds"], row["thereSeconds"]) >= 0
    assert set(row["processorSeconds"]["beside"]) >= {"bridge", "solver", "cluster", "driver"}
    longest = max(row["besideSeconds"], row["thereSeconds"])
    assert row["delaySeconds"] == longest - row["aloneSeconds"]
    assert result["holds"] == row["holds"] == (row["delaySeconds"] <= result["boundSeconds"])
    (sheet,) = hostile_sheets(result)
    assert sheet.rows[0][0] == "tolerations"
