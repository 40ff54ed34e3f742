"""Schedulers in turn on one cluster: turns, what stays and what is taken away, results that go on, and documents."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.declarative.loading import WorkloadError, load_workload
from benchmarks.declarative.templates import Manifest
from benchmarks.head_to_head.cases import BURSTS, RATES, Case, Part, Sizes, make_cases
from benchmarks.head_to_head.clusters import ArenaOptions
from benchmarks.head_to_head.document import BEGIN, DOCS, END, DocumentError, insert, tables
from benchmarks.head_to_head.results import Results
from benchmarks.head_to_head.session import CLIENT, KUBE, OURS, HeadToHeadOptions, run_head_to_head
from benchmarks.head_to_head.shared_cluster import SharedCluster
from benchmarks.processes.parts.cluster_objects import ensure_empty_namespace, path_of, remove_namespace
from benchmarks.reports.head_to_head import head_to_head_sheets
from poseidon.kube.api.collections import NAMESPACES, NODES, PODS
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import pages
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.benchmarks.workload_files import content, measured, nodes, pods, write
from tests.support.cluster import cluster_in_thread

pytestmark = pytest.mark.usefixtures("forked_programs")

SIZES = Sizes(nodes=20, pods=20, seconds=1)


def node(name, cpu="4"):
    raw = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }
    return Manifest("Node", "", name, json.dumps(raw).encode())


def pod(name, node_name=""):
    spec = {
        "containers": [{"name": "main", "image": "pause"}],
        **({"nodeName": node_name} if node_name else {}),
    }
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "bench"}, "spec": spec}
    return Manifest("Pod", "bench", name, json.dumps(raw).encode())


def result(case="basic", scheduler=OURS, run=0, **more):
    usage = {"solver": {"cpuSeconds": 1.0, "peakMiB": 90.0}, "bridge": {"cpuSeconds": 0.5, "peakMiB": 80.0}}
    if scheduler == KUBE:
        usage = {"kube-scheduler": {"cpuSeconds": 2.0, "peakMiB": 300.0}}
    part = {
        "name": "10 pods/s" if case == "steady" else case,
        "bound": 100,
        "waiting": 0,
        "seconds": 2.0,
        "podsPerSecond": 50.0,
        "latencySeconds": {"p50": 0.02, "p95": 0.04, "p99": 0.05},
        "usage": usage,
        "overcommittedNodes": 0,
    }
    sizes = {"nodes": 20, "pods": 20, "seconds": 1}
    return {"case": case, "sizes": sizes, "run": run, "scheduler": scheduler, "parts": [part | more]}


async def names(transport, resource):
    return sorted(
        [each.metadata.name async for page in pages(transport, resource, 500) for each in page.items]
    )


def test_every_scheduler_takes_a_turn_at_every_case_and_the_next_run_goes_on(tmp_path):
    refused = pods(2, namespace="no name of a namespace")
    failing = load_workload(write(tmp_path, content(nodes(), {"barrier": {}}, measured(refused))))
    workload = load_workload(write(tmp_path, content(nodes(), {"barrier": {}}, measured(pods(6)))))
    arriving = load_workload(write(tmp_path, content(nodes(), {"barrier": {}}, measured(pods(4, rate=50)))))
    cases = [
        Case("steady", (Part("50 pods/s", arriving, 50),)),
        Case("refused", (Part("refused", failing),)),
        Case("test", (Part("test", workload),)),
    ]
    options = HeadToHeadOptions(ArenaOptions(simulated=True), cases, SIZES, (OURS, CLIENT), timeout=60.0)
    file = tmp_path / "results.json"
    assert asyncio.run(run_head_to_head(options, Results(file))) == 0
    found = json.loads(file.read_text())["results"]
    assert [(each["case"], each["scheduler"]) for each in found] == [
        ("steady", OURS),
        ("steady", CLIENT),
        ("refused", OURS),
        ("refused", CLIENT),
        ("test", OURS),
        ("test", CLIENT),
    ]
    assert [bool(each.get("failure")) for each in found] == [False, False, True, True, False, False]
    assert [part["bound"] for each in found for part in each["parts"]] == [4, 4, 6, 6]
    assert {"solver", "bridge", "cluster"} <= set(found[0]["parts"][0]["usage"])
    # Nothing is left to do but what failed, so without it nothing is started.
    options = replace(options, cases=[cases[0], cases[2]])
    assert asyncio.run(run_head_to_head(options, Results(file))) == 0
    assert json.loads(file.read_text())["results"] == found


def test_what_runs_already_stays_for_the_next_turn_and_all_is_gone_in_the_end(tmp_path):
    async def use(kubeconfig):
        async with Transport(load_settings(kubeconfig), clock=asyncio.get_running_loop().time) as transport:
            async with SharedCluster(kubeconfig) as cluster:
                cluster.begin_run()
                await cluster.add_namespaces(["bench"])
                for each in (node("a"), node("b"), pod("runs", "a"), pod("waits")):
                    await cluster.create(each)
                await cluster.remove_passing()
                assert await names(transport, PODS) == ["runs"]
                # The next one wants "a" as it is, "b" otherwise, and no pod.
                cluster.begin_run()
                for each in (node("a"), node("b", cpu="8")):
                    await cluster.create(each)
                await cluster.drop_unasked()
                assert (await names(transport, NODES), await names(transport, PODS)) == (["a", "b"], [])
                assert cluster.nodes == 2
            assert await names(transport, NODES) == []
            assert "bench" not in await names(transport, NAMESPACES)

    with cluster_in_thread() as cluster:
        write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        asyncio.run(use(tmp_path / "kubeconfig"))


def test_a_namespace_can_be_made_and_removed_again_and_again(tmp_path):
    async def use(kubeconfig):
        async with Transport(load_settings(kubeconfig), clock=asyncio.get_running_loop().time) as transport:
            for _ in range(2):
                await ensure_empty_namespace(transport, "bench")
                assert "bench" in await names(transport, NAMESPACES)
                await remove_namespace(transport, "bench")
                assert "bench" not in await names(transport, NAMESPACES)

    with cluster_in_thread() as cluster:
        write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        asyncio.run(use(tmp_path / "kubeconfig"))


def test_a_namespace_is_removed_though_emptying_it_takes_longer_than_a_request_may(tmp_path):
    asked = []

    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        asked.append((method, path.partition("?")[0]))
        if asked.count(("DELETE", "/api/v1/namespaces/bench/pods")) == 1:
            await reader.read()  # the client goes without an answer
        else:
            status = "404 Not Found" if method == "GET" else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        writer.close()

    async def use():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}")
            settings = load_settings(tmp_path / "kubeconfig")
            async with Transport(settings, clock=time.monotonic, timeout=0.5) as transport:
                await remove_namespace(transport, "bench")

    asyncio.run(use())
    pods_path, path = "/api/v1/namespaces/bench/pods", "/api/v1/namespaces/bench"
    assert asked == [("DELETE", pods_path), ("DELETE", pods_path), ("DELETE", path), ("GET", path)]


def test_what_has_been_measured_is_printed_if_the_run_ends_early(tmp_path):
    Results(tmp_path / "results.json").add(result())
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    arguments = [
        "--kubeconfig",
        tmp_path / "kubeconfig",
        "--save",
        tmp_path / "results.json",
        "--nodes",
        "20",
    ]
    ended = CliRunner().invoke(main, ["head-to-head", *map(str, arguments)])
    assert ended.exit_code == 1
    assert "Bursts of up to 20 pods, 20 nodes" in ended.output
    assert "Error: GET /version: Cannot connect to host 127.0.0.1:1" in ended.output


def test_all_bursts_and_rates_can_be_made_for_any_size():
    cases = make_cases(BURSTS, RATES, SIZES)
    assert [case.name for case in cases] == ["steady", *BURSTS]
    assert [part.rate for part in cases[0].parts] == list(RATES)
    assert {part.workload.params["nodes"] for case in cases for part in case.parts} == {20}
    with pytest.raises(WorkloadError, match="nothing: no such burst; known: basic"):
        make_cases(["nothing"], [], SIZES)


def test_trees_of_groups_have_a_server_of_their_own():
    (case,) = make_cases(["composite-gangs"], [], SIZES)
    (part,) = case.parts
    assert part.workload.params["roots"] * 2 * part.workload.params["members"] <= SIZES.pods
    for others, rates in (["basic"], []), ([], [1]):
        with pytest.raises(WorkloadError, match="composite-gangs: needs a server of its own"):
            make_cases(["composite-gangs", *others], rates, SIZES)


@pytest.mark.parametrize(
    ("version", "plural"), [("v1alpha2", "v1alpha2/namespaces/b/"), ("v1beta1", "v1beta1/namespaces/b/")]
)
def test_pod_groups_are_created_in_the_version_that_they_name(version, plural):
    raw = json.dumps({"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup"}).encode()
    assert path_of(Manifest("PodGroup", "b", "g", raw)) == f"/apis/scheduling.k8s.io/{plural}podgroups"


def test_a_failed_run_is_tried_again_and_then_replaced(tmp_path):
    results = Results(tmp_path / "results.json")
    results.add(result() | {"parts": [], "failure": "too slow"})
    sizes = result()["sizes"]
    assert not results.has("basic", sizes, 0, OURS)
    results.add(result())
    again = Results(tmp_path / "results.json")
    assert again.has("basic", sizes, 0, OURS)
    assert not again.has("basic", sizes | {"nodes": 30}, 0, OURS)
    assert len(again.report()["results"]) == 1
    (tmp_path / "other.json").write_text('{"kind": "growth"}')
    with pytest.raises(ValueError, match="holds results of another command"):
        Results(tmp_path / "other.json")


def test_tables_have_medians_of_runs_side_by_side():
    rows = [
        result(run=number, scheduler=who, podsPerSecond=rate)
        for who, rates in ((OURS, (40, 50, 90)), (KUBE, (20, 30, 10)))
        for number, rate in enumerate(rates)
    ]
    bursts, arrivals, processes = head_to_head_sheets({"results": [*rows, result("steady")]})
    assert bursts.rows == [["basic", "50", "20", "0.02 / 0.05", "0.02 / 0.05", "1.50", "2.00"]]
    assert arrivals.rows == [["10 pods/s", "20.0 / 40.0 / 50.0", "1.50"]]
    assert ["kube-scheduler", "0.0", "6.0", "300"] in processes.rows


def test_tables_say_what_went_wrong():
    bad = result(waiting=3, overcommittedNodes=1)
    failed = result("mixed", KUBE) | {"parts": [], "failure": "7 of 20 pods were not bound within 60 s"}
    (bursts, _) = head_to_head_sheets({"results": [bad, failed]})
    assert bursts.notes == [
        "basic, poseidon: 3 pods stayed pending",
        "basic, poseidon: 1 nodes are overcommitted",
        "mixed, kube-scheduler: 7 of 20 pods were not bound within 60 s",
    ]


def test_tables_replace_what_stood_between_the_marks():
    report = Results().report() | {"results": [result()]}
    page = insert(f"before\n{BEGIN}old\n{END}after\n", tables(report, plot=True))
    assert (page[:7], page[-6:]) == ("before\n", "after\n")
    assert "old" not in page
    assert "| basic | 50 |" in page
    assert "head-to-head.svg" in page
    assert insert(page, tables(report, plot=True)) == page
    with pytest.raises(DocumentError, match="has no lines"):
        insert("nothing", "text")
    assert BEGIN in (DOCS / "performance.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "KUBERNETES_BINARIES is not set"),
        (
            ["--simulated", "--schedulers", "kube-scheduler"],
            "kube-scheduler: not among poseidon, bindings only",
        ),
        (["--simulated", "--rates", "fast"], "'fast' is not a whole number of pods per second"),
        (["--simulated", "--workloads", "basics"], "basics: no such burst; known: basic"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(monkeypatch, arguments, message):
    monkeypatch.delenv("KUBERNETES_BINARIES", raising=False)
    ended = CliRunner().invoke(main, ["head-to-head", *arguments])
    assert ended.exit_code == 2
    assert message in ended.output
