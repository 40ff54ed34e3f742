"""One op list means the same to the core, to the solver over gRPC and to all processes over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.measuring import MeasureOptions, measure_workload
from benchmarks.processes.parts.server_limits import ServerLimits
from benchmarks.targets.algorithm import AlgorithmTarget
from benchmarks.targets.base import TargetError
from benchmarks.targets.schedulers import KubeScheduler
from firmament.core.configuration import CoreConfiguration
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import NAMESPACES, NODES, PODS
from poseidon.testbed.seeding import create_nodes
from tests.benchmarks.workload_files import POD, content, measured, nodes, pods, write
from tests.support.cluster import cluster_in_thread
from tests.support.waiting import until

OPTIONS = MeasureOptions(runs=1, timeout=60.0)

# 24 pods of 500 m on 3 nodes with 4 cores: exactly full. Then 4 more that fit nowhere, then room for 2 of them.
STEPS = content(
    nodes(),
    measured(pods(24), name="full"),
    measured(pods(4, group="late"), name="too many"),
    measured({"deletePods": {"count": 2}}, name="room"),
    measured({"churn": {"count": 3, "times": 2, "template": "pod"}}, name="churn"),
)


def run(workload, stage, options=OPTIONS):
    return asyncio.run(measure_workload(workload, stage, options))


@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("stage", ["algorithm", "grpc", "end-to-end"])
def test_ops_on_every_stage(tmp_path, stage):
    workload = load_workload(write(tmp_path, STEPS))
    (result,) = run(workload, stage)
    parts = {part["name"]: part for part in result["measured"]}
    assert [parts[name]["bound"] for name in ("full", "too many")] == [24, 0]
    assert parts["too many"]["waiting"] == 4
    if stage == "algorithm":  # elsewhere nothing says that a deletion has been taken notice of
        assert (parts["room"]["bound"], parts["room"]["waiting"]) == (2, 2)
        # Two of the pods that were waiting take room that churn sets free; which is for the scheduler to say.
        assert parts["churn"]["bound"] + parts["churn"]["waiting"] >= 6
    latency = parts["full"]["latencySeconds"]
    assert 0 < latency["p50"] <= latency["p99"]
    if stage == "end-to-end":
        assert parts["full"]["verified"]["overcommittedNodes"] == 0
        assert parts["full"]["verified"]["boundTwice"] == 0


def test_a_rate_spreads_arrivals(tmp_path):
    document = content(nodes(), measured(pods(20, rate=100)))
    (result,) = run(load_workload(write(tmp_path, document)), "algorithm")
    (part,) = result["measured"]
    assert part["bound"] == 20
    assert part["rounds"]["count"] > 1
    assert part["curve"][-1][0] >= 0.1


def test_figures_of_all_runs_are_told_beside_those_of_the_median(tmp_path):
    (result,) = run(
        load_workload(write(tmp_path, content(nodes(), measured(pods())))),
        "algorithm",
        replace(OPTIONS, runs=3),
    )
    (part,) = result["measured"]
    assert len(part["allSeconds"]) == len(part["allPodsPerSecond"]) == 3
    assert part["seconds"] == sorted(part["allSeconds"])[1]


def test_pods_of_other_schedulers_count_where_they_run(tmp_path):
    foreign = {**POD, "spec": {**POD["spec"], "schedulerName": "other", "nodeName": "$node"}}
    document = content(
        nodes(1), {"createPods": {"count": 6, "template": "foreign", "group": "f"}}, measured(pods(6))
    )
    document["templates"] = {**document["templates"], "foreign": foreign}
    (result,) = run(load_workload(write(tmp_path, document)), "algorithm")
    (part,) = result["measured"]
    assert (part["bound"], part["waiting"]) == (2, 4)


@pytest.mark.usefixtures("forked_programs")
def test_the_solver_can_be_configured(tmp_path):
    scheduling = {"policy": {"name": "trivial"}}
    (result,) = run(
        load_workload(write(tmp_path, content(nodes(), measured(pods()), scheduling=scheduling))), "grpc"
    )
    assert result["measured"][0]["bound"] == 6


def test_objects_that_the_bridge_does_not_follow_are_named(tmp_path):
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    document = content({"createObjects": {"template": "lease"}})
    document["templates"]["lease"] = lease
    with pytest.raises(TargetError, match="Lease l: the bridge follows no such objects"):
        run(load_workload(write(tmp_path, document)), "algorithm")


def test_a_template_that_makes_no_pod_is_named(tmp_path):
    document = content(nodes(), measured(pods()))
    document["templates"]["pod"] = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": 5}}
    target = AlgorithmTarget(CoreConfiguration())
    with pytest.raises(TargetError, match=r"Pod pods-000000: spec.containers: "):
        asyncio.run(Runner(load_workload(write(tmp_path, document)), target).run())


@pytest.mark.usefixtures("forked_programs")
def test_a_given_cluster_keeps_its_nodes_and_loses_the_pods(tmp_path):
    with cluster_in_thread() as cluster:
        asyncio.run(create_nodes(cluster.operations, 5))
        kubeconfig = tmp_path / "kubeconfig"
        write_kubeconfig(kubeconfig, cluster.url)
        workload = load_workload(write(tmp_path, content(nodes(), measured(pods(20)))))
        options = MeasureOptions(runs=1, timeout=60.0, kubeconfig=kubeconfig, bindings_only=True)
        results = run(workload, "end-to-end", options)
        assert [result["measured"][0]["scheduler"] for result in results] == ["poseidon", "bindings only"]
        assert [result["measured"][0]["bound"] for result in results] == [20, 20]
        store = cluster.operations.store
        assert len(store.collection(NODES.collection)) == 5
        assert len(store.collection(PODS.collection)) == 0
        assert len(store.collection(NAMESPACES.collection)) == 3


@pytest.mark.full  # that limits are those of the server is held by ``tests/poseidon/testbed/test_flow_control.py``
def test_a_server_with_limits(tmp_path):
    """It turns writes away, and still every pod is bound once and its event is written."""
    limits = ServerLimits(binding_rate=200.0, latency=0.01, in_flight=16)
    workload = load_workload(write(tmp_path, content(nodes(10), measured(pods(30)))))
    options = MeasureOptions(runs=1, timeout=60.0, bindings_only=True, server=limits)
    ours, bindings_only = (result["measured"][0] for result in run(workload, "end-to-end", options))
    for part in (ours, bindings_only):
        assert (part["bound"], part["verified"]["boundTwice"]) == (30, 0)
        # Nobody is faster than the server.
        assert part["seconds"] >= 30 / 200
        assert part["server"] == "200 writes/s, 10 ms per write, 16 writes in flight"
        assert 0 < part["firstBoundSeconds"] < part["seconds"]
        assert 0 <= part["longestPauseSeconds"] < part["seconds"]
        assert len(part["allPodsPerSecond"]) == len(part["allCpuSeconds"]) == 1
    assert ours["verified"]["events"]["share"] == 1.0
    assert bindings_only["verified"]["events"] is None
    assert 1 <= ours["verified"]["rounds"] <= 30
    assert bindings_only["verified"]["rounds"] is None


async def test_another_scheduler_is_run_with_a_configuration_and_watched(tmp_path):
    program = tmp_path / "kube-scheduler"
    program.write_text('#!/bin/sh\ncat "$2" >&2\nexit 3\n')
    program.chmod(0o755)
    scheduler = KubeScheduler(program, tmp_path / "kubeconfig", tmp_path)
    await scheduler.start(nodes=3)

    def ended():
        try:
            scheduler.check()
        except TargetError as error:
            return str(error)
        return ""

    message = str(await until(ended))
    assert message.startswith("kube-scheduler ended with status 3:\n")
    assert "schedulerName: poseidon" in message
    await scheduler.stop()


async def test_a_scheduler_that_does_not_end_is_killed_with_the_run(tmp_path):
    program = tmp_path / "kube-scheduler"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    scheduler = KubeScheduler(program, tmp_path / "kubeconfig", tmp_path)
    await scheduler.start(nodes=3)
    scheduler.check()
    await scheduler.stop()
    with pytest.raises(TargetError, match="ended with status -15"):
        scheduler.check()


async def test_a_program_that_cannot_be_started_is_named(tmp_path):
    program = tmp_path / "text"
    program.write_text("no program")
    with pytest.raises(TargetError, match="text: cannot be run: "):
        await KubeScheduler(program, tmp_path / "kubeconfig", tmp_path).start(nodes=0)
