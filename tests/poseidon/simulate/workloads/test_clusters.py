"""Traces of batch clusters become the jobs that ran, with their tasks, times and requests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work
from poseidon.simulate.workloads.traces import TraceError, read_trace

ALIBABA = """M1,3,j_1,1,Terminated,1000,1060,50,0.5
R2_1,1,j_1,1,Terminated,1070,1100,100,12.5
M1,2,j_2,1,Failed,1000,1010,100,1
M1,2,j_3,1,Running,1005,0,100,1
M1,1,j_4,1,Terminated,990,995,,
"""
"""Name, instances, job, type, status, start, end, hundredths of a core, percent of memory."""

GOOGLE_2011 = """600000000,,7,0,,0,u,2,9,0.125,0.0625,0,0
600000000,,7,1,,0,u,2,0,0.5,0.25,0,0
601000000,,7,0,5,1,u,2,9,0.125,0.0625,0,0
605000000,,7,1,6,1,u,2,0,0.5,0.25,0,0
631000000,,7,0,5,2,u,2,9,0.125,0.0625,0,0
631000000,,7,0,,0,u,2,9,0.125,0.0625,0,0
640000000,,7,0,5,1,u,2,9,0.125,0.0625,0,0
650000000,,7,0,5,4,u,2,9,0.125,0.0625,0,0
655000000,,9,0,5,4,u,2,9,0.125,0.0625,0,0
660000000,,8,0,,0,u,2,9,0.125,0.0625,0,0
661000000,,8,0,,5,u,2,9,0.125,0.0625,0,0
"""
"""The first task is evicted and runs again; the second never ends; one has no beginning, and one never runs."""

GOOGLE_2019 = """time,type,collection_id,instance_index,priority,resource_request.cpus,resource_request.memory
0,SUBMIT,1,0,200,0.25,0.125
1000000,QUEUE,1,0,200,0.25,0.125
5000000,SCHEDULE,1,0,200,0.25,0.125
6000000,UPDATE_RUNNING,1,0,200,0.25,0.125
25000000,FINISH,1,0,200,0.25,0.125
7000000,0,1,1,103,0.25,0.125
8000000,3,1,1,103,0.25,0.125
9000000,7,1,1,103,0.25,0.125
"""

HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u,v,16,32,2,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:12,2020-04-01 00:01:12,60,2
2,u,v,0,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:05,5,0
3,u,v,1,4,1,CANCELLED,2020-04-01 00:00:03,None,None,0,0
"""

PHILLY = [
    {
        "status": "Pass", "vc": "v", "jobid": "a", "user": "u", "submitted_time": "2017-10-03 10:00:30",
        "attempts": [
            {"start_time": "2017-10-03 10:01:00", "end_time": "2017-10-03 10:02:00",
             "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
            {"start_time": "2017-10-03 11:00:00", "end_time": "2017-10-03 11:10:00",
             "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu3"]}]},
            {"start_time": "2017-10-03 12:00:00", "end_time": "None",
             "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
        ],
    },
    {"status": "Killed", "vc": "v", "jobid": "b", "user": "u", "submitted_time": "2017-10-03 10:00:00", "attempts": []},
    {
        "status": "Failed", "vc": "v", "jobid": "c", "user": "u", "submitted_time": "2017-10-03 10:00:00",
        "attempts": [
            {"start_time": "2017-10-03 10:00:00", "end_time": "2017-10-03 10:00:30",
             "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}
        ],
    },
]  # fmt: skip


def read(folder: Path, text: str, trace_format: str, name: str = "trace", **more: Any) -> Work:
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return read_trace(Trace.model_validate({"format": trace_format, "path": name, **more}), folder).work


def rows(work: Work) -> list[tuple[float, float, dict[str, str], int]]:
    """Return arrival, duration, requests and priority of each task."""
    found = []
    for when, long, template in zip(
        work.arrival.tolist(), work.duration.tolist(), work.template.tolist(), strict=True
    ):
        spec = work.templates[template].manifest["spec"]
        found.append((when, long, spec["containers"][0]["resources"]["requests"], spec["priority"]))
    return found


def test_alibabas_instances_start_on_their_own(tmp_path: Path) -> None:
    small, large = {"cpu": "500m", "memory": "1280Mi"}, {"cpu": "1000m", "memory": "32768Mi"}
    for name in ("batch_task.csv", "batch_task.csv.gz"):
        work = read(tmp_path, ALIBABA, "alibaba-2018", name)
        assert rows(work) == [(0, 5, {}, 0), *[(10, 60, small, 0)] * 3, (80, 30, large, 0)]
        assert set(work.gang.tolist()) == {ALONE}


def test_googles_tasks_come_again_when_they_are_submitted_again(tmp_path: Path) -> None:
    asked = {"cpu": "8000m", "memory": "16384Mi"}
    assert rows(read(tmp_path, GOOGLE_2011, "google-2011")) == [(0, 30, asked, 9), (31, 10, asked, 9)]


def test_googles_instances_have_events_by_name_or_number(tmp_path: Path) -> None:
    asked = {"cpu": "16000m", "memory": "32768Mi"}
    found = [(0, 20, asked, 200), (7, 1, asked, 103)]
    assert rows(read(tmp_path, GOOGLE_2019, "google-2019")) == found
    assert rows(read(tmp_path, GOOGLE_2019.replace("request.", "request_"), "google-2019")) == found


def test_helios_jobs_are_gangs_of_a_task_per_node(tmp_path: Path) -> None:
    work = read(tmp_path, HELIOS, "helios")
    asked = {"cpu": "16000m", "nvidia.com/gpu": "8"}
    assert rows(work) == [(0, 5, {"cpu": "4000m"}, 0), *[(10, 60, asked, 0)] * 2]
    assert work.gang[0] == ALONE
    assert work.gang[1] == work.gang[2] != ALONE


def test_phillys_last_attempt_is_a_gang_of_a_task_per_server(tmp_path: Path) -> None:
    work = read(tmp_path, json.dumps(PHILLY), "philly")
    one, two = {"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}
    assert rows(work) == [(0, 30, one, 0), *[(30, 600, two, 0)] * 2]
    assert work.gang[0] == ALONE
    assert work.gang[1] == work.gang[2] != ALONE


def test_a_trace_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "cluster_log.csv").write_text(HELIOS)
    scenario = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "Simulation", "horizon": "1h",
        "cluster": {
            "pools": [{"name": "gpu", "count": 2, "allocatable": {"cpu": 64, "memory": "1Ti", "nvidia.com/gpu": 8}}]
        },
        "workload": {"trace": {"format": "helios", "path": "cluster_log.csv"}},
    }  # fmt: skip
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    result = CliRunner().invoke(main, ["simulate", str(path), "-o", "json"])
    assert result.exit_code == 0, result.output
    assert '"placed": 3' in result.stdout


@pytest.mark.parametrize(
    ("trace_format", "text", "said"),
    [
        ("alibaba-2018", "a,b\n", "line 1 has 2 fields instead of 9"),
        ("alibaba-2018", ALIBABA + "M,x,j,1,Terminated,1,2,3,4\n", "line 6 has text where numbers are expected"),
        ("alibaba-2018", "M,1,j,1,Terminated,1,inf,3,4\n", "line 1 has a number that is not finite"),
        ("google-2011", GOOGLE_2011 + "1,2\n", "line 12 has 2 fields instead of 11"),
        ("google-2019", "time,type\n", "line 1: there is no column collection_id, instance_index, priority"),
        ("google-2019", GOOGLE_2019 + "1,2\n", "line 10 has 2 fields instead of 7"),
        ("helios", HELIOS.replace("2020-04-01 00:00:10", "soon"), "entry 2: 'soon' is no time such as 2020"),
        ("helios", "", "line 1: there is no column gpu_num"),
        ("philly", "{}", "is no list of jobs"),
        ("philly", "[1]", "entry 1 is not a job"),
        ("philly", "[[[", "is not JSON"),
        ("philly", "[]", "holds no work that could be used; check its format, philly"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, trace_format: str, text: str, said: str
) -> None:
    with pytest.raises(TraceError, match=said):
        read(tmp_path, text, trace_format)
