"""Recorded work is read as its format says, from files of the same form."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE
from poseidon.simulate.workloads.traces import Recorded, TraceError, read_trace

KIND = {"name": "job", "requests": {"cpu": 1}, "duration": {"mean": 1}}

SWF = """; Version: 2.2
; a remark
1 100 5 60 4 -1 -1 4 -1 -1 1 1 1 1 1 -1 -1 -1
2 110 0 -1 2 -1 -1 2 -1 -1 5 1 1 1 1 -1 -1 -1
3 130 0 30 -1 -1 -1 1 -1 -1 0 1 1 1 1 -1 -1 -1
"""
AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,4000,40
2023-11-16 18:15:50.9951690,396,109
"""
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-1,64000,262144,2,P100\nn-2,96000,393216,0,\n"
OPENB_PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,begun
p-1,12000,16384,1,1000,P100|V100M16,LS,Running,0,100,0
p-2,6000,12288,1,460,,LS,Running,50,200,50
p-3,2000,4096,0,0,,LS,Running,60,61,60
"""
KUEUE = """cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 3
    nominalQuota: 20
    borrowingLimit: 100
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 5
      creationIntervalMs: 100
      workloads:
      - {className: small, runtimeMs: 200, priority: 50, request: 1}
"""


KUEUE_TOPOLOGY = """topology:
  name: tree
  levels:
  - {name: rack, count: 2, nodeLabel: example/rack}
  - {name: node, count: 3, nodeLabel: kubernetes.io/hostname, capacity: {cpu: "8", memory: 16Gi}}
cohorts:
- queuesSets:
  - nominalQuota: "20"
    workloadsSets:
    - count: 1
      creationIntervalMs: 100
      workloads:
      - {className: whole, request: 500m, podCount: 4, tasConstraint: required, tasLevel: example/rack}
      - {className: rather, request: 500m, podCount: 4, tasConstraint: preferred, tasLevel: example/rack}
      - {className: one, request: 500m}
"""


def read(folder: Path, name: str, text: str, trace_format: str, **more: Any) -> Recorded:
    (folder / name).write_text(text, encoding="utf-8")
    given = {"format": trace_format, "path": name, "kind": KIND, **more}
    return read_trace(Trace.model_validate(given), folder)


def test_swf_jobs_are_gangs_of_a_task_per_processor(tmp_path: Path) -> None:
    work = read(tmp_path, "log.swf", SWF, "swf").work
    assert work.arrival.tolist() == [0, 0, 0, 0, 30]  # the job that never ran is left out
    assert work.duration.tolist() == [60, 60, 60, 60, 30]
    assert len(set(work.gang[:4].tolist())) == 1
    assert work.gang[4] == ALONE


def test_swf_jobs_state_the_time_that_they_asked_for(tmp_path: Path) -> None:
    asked = SWF.replace("4 -1 -1 4 -1 -1", "4 -1 -1 4 900 -1")
    work = read(tmp_path, "log.swf", asked, "swf").work
    told = [each.manifest["metadata"].get("annotations", {}) for each in work.templates]
    assert [told[kind] for kind in work.template.tolist()] == [{"firmament.io/run-seconds": "900"}] * 4 + [{}]
    assert {each.name for each in work.templates} == {"job"}


def test_pods_of_jobs_are_expected_to_end(tmp_path: Path) -> None:
    """Only machines whose pods are expected to end are kept for pods that others overtake."""
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(OPENB_NODES)
    kind = KIND | {"pod": {"spec": {"restartPolicy": "Always", "containers": []}}}
    kind.pop("requests")
    for found, expected in (
        (read(tmp_path, "log.swf", SWF, "swf"), "Never"),
        (read(tmp_path, "log.swf", SWF, "swf", kind=kind), "Always"),
        (read(tmp_path, "openb_pod_list_default.csv", OPENB_PODS, "openb"), "Never"),
    ):
        assert {each.manifest["spec"]["restartPolicy"] for each in found.work.templates} == {expected}


def test_a_trace_can_be_cut_and_come_faster(tmp_path: Path) -> None:
    assert len(read(tmp_path, "log.swf", SWF, "swf", first=2).work) == 2
    assert read(tmp_path, "log.swf", SWF, "swf", faster=10).work.arrival[-1] == 3


def test_requests_for_inference_run_as_long_as_their_tokens_take(tmp_path: Path) -> None:
    work = read(tmp_path, "llm.csv", AZURE, "azure-llm").work
    assert work.arrival == pytest.approx([0, 4.314579], abs=1e-3)
    assert work.duration == pytest.approx([4000 / 4000 + 40 / 40, 396 / 4000 + 109 / 40])


def test_openb_has_nodes_and_parts_of_gpus(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(OPENB_NODES)
    found = read(tmp_path, "openb_pod_list_default.csv", OPENB_PODS, "openb")
    assert [node["metadata"]["name"] for node in found.nodes] == ["n-1", "n-2"]
    assert found.nodes[0]["status"]["allocatable"]["openb.example/gpu-milli"] == "2000"
    assert "openb.example/gpu-milli" not in found.nodes[1]["status"]["allocatable"]
    requests = [
        each.manifest["spec"]["containers"][0]["resources"]["requests"] for each in found.work.templates
    ]
    assert [each.get("openb.example/gpu-milli") for each in requests] == ["1000", "460", None]
    assert "affinity" in found.work.templates[0].manifest["spec"]
    assert found.work.duration.tolist() == [100, 150, 1]


def test_kueues_workloads_stay_with_the_quota_of_their_cohort(tmp_path: Path) -> None:
    found = read(tmp_path, "generator.yaml", KUEUE, "kueue")
    assert [node["status"]["allocatable"]["cpu"] for node in found.nodes] == ["60", "60"]
    assert len(found.work) == 2 * 3 * 5
    assert np.unique(found.work.arrival) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert set(found.work.duration.tolist()) == {0.2}


def test_a_class_of_kueue_has_one_pod_that_runs_for_a_second_unless_it_says_otherwise(tmp_path: Path) -> None:
    text = KUEUE.replace("runtimeMs: 200, ", "")
    found = read(tmp_path, "generator.yaml", text, "kueue")
    assert len(found.work) == 2 * 3 * 5
    assert set(found.work.duration.tolist()) == {1.0}


def test_kueues_workloads_come_no_faster_than_they_can_be_created(tmp_path: Path) -> None:
    """Six queues, one set of five in each: every set asks an interval after its last one was created."""
    limit = {"perSecond": 10, "burst": 6}
    found = read(tmp_path, "generator.yaml", KUEUE, "kueue", creations=limit)
    arrival = found.work.arrival
    assert arrival[:6] == pytest.approx([0.1] * 6)
    assert np.diff(arrival[5:]) == pytest.approx(0.1), "all sets together ask faster than that"
    queue_of = [found.work.templates[kind].manifest["metadata"]["namespace"] for kind in found.work.template]
    turns = [queue_of[place : place + 6] for place in range(0, 30, 6)]
    assert all(len({*turn}) == 6 for turn in turns), "they take turns"
    slow = read(tmp_path, "generator.yaml", KUEUE, "kueue", creations={"perSecond": 1000, "burst": 1000})
    free = read(tmp_path, "generator.yaml", KUEUE, "kueue")
    assert slow.work.arrival == pytest.approx(free.work.arrival), (
        "a limit that is never reached changes nothing"
    )


def test_kueues_workloads_come_when_nodes_and_queues_are_there(tmp_path: Path) -> None:
    """Six nodes of five requests, topology and flavor, three requests for the queue: the workloads begin after them."""
    limit = {"perSecond": 1000, "burst": 1000, "latency": "10ms"}
    late = read(tmp_path, "generator.yaml", KUEUE_TOPOLOGY, "kueue", creations=limit).work
    free = read(tmp_path, "generator.yaml", KUEUE_TOPOLOGY, "kueue").work
    first = (6 * 5 + 1 + 1 + 3) * 0.01
    assert late.arrival[0] == pytest.approx(first + free.arrival[0] + 0.01)
    assert len(late) == len(free)


def test_kueues_queues_have_their_quotas_and_namespaces(tmp_path: Path) -> None:
    found = read(tmp_path, "generator.yaml", KUEUE, "kueue")
    by_kind = Counter(each["kind"] for each in found.objects)
    assert by_kind == {"ResourceFlavor": 1, "ClusterQueue": 6, "LocalQueue": 6}
    queue = next(each for each in found.objects if each["kind"] == "ClusterQueue")
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    assert flavor["resources"] == [{"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}]
    assert queue["spec"]["preemption"] == {
        "reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"
    }  # fmt: skip
    namespaces = {each.manifest["metadata"]["namespace"] for each in found.work.templates}
    assert namespaces == {
        each["metadata"]["namespace"] for each in found.objects if each["kind"] == "LocalQueue"
    }


def test_kueues_topology_is_nodes_and_workloads_of_several_pods_are_gangs(tmp_path: Path) -> None:
    found = read(tmp_path, "generator.yaml", KUEUE_TOPOLOGY, "kueue")
    assert len(found.nodes) == 6
    racks = Counter(node["metadata"]["labels"]["example/rack"] for node in found.nodes)
    assert racks == {"rack-0": 3, "rack-1": 3}
    assert found.nodes[0]["status"]["allocatable"]["cpu"] == "8"
    assert found.work.arrival == pytest.approx([0.1] * 4 + [0.2] * 4 + [0.3])
    assert Counter(found.work.gang.tolist()).most_common() == [(0, 4), (4, 4), (-1, 1)]
    assert [(each.within, each.rather_within) for each in found.work.templates] == [
        ("example/rack", ""), ("", "example/rack"), ("", "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("trace_format", "text", "said"),
    [
        ("swf", "1 2 x\n", r"line 1 does not consist of numbers; a job has 18 numbers"),
        ("swf", "1 2 3\n", r"line 1 has 3 numbers; a job has 18"),
        ("swf", "; nothing\n", r"holds no work that could be used; check its format, swf"),
        ("azure-llm", "a,b\n", r"line 1: there is no column ContextTokens, GeneratedTokens, TIMESTAMP"),
        ("azure-llm", AZURE + "yesterday,1,2\n", r"line 4 is not a time and two numbers"),
        ("openb", "name\n", r"line 1: there is no column"),
        ("kueue", "a: b\n", r"must be a list of cohort classes, or a map with such a list under cohorts"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_with_its_place(
    tmp_path: Path, trace_format: str, text: str, said: str
) -> None:
    with pytest.raises(TraceError, match=said):
        read(tmp_path, "trace", text, trace_format)


def test_a_trace_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match=r"none\.swf cannot be read: No such file or directory; name a readable"
    ):
        read_trace(Trace.model_validate({"format": "swf", "path": "none.swf", "kind": KIND}), tmp_path)
