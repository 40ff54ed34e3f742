"""Jobs that are admitted on a real API server: what is created, and how writes are counted."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.job_admission.measure import AdmissionOptions, job_admission_sheets, measure_admission
from benchmarks.job_admission.schedulers import OURS
from benchmarks.job_admission.simulated_jobs import simulate_jobs
from benchmarks.job_admission.workload import RUNTIME, make_job_schedule
from benchmarks.job_admission.writes import count_writes, find_longest_delay, read_writes
from benchmarks.judge.control_plane import VARIABLE, ControlPlaneError, run_openssl
from poseidon.kube.client.errors import KubeError

SMALL = Path(__file__).with_name("small_generator.yaml")
CRDS = "KUEUE_CRDS"
"""Environment variable that names the folder of the definitions of Kueue's objects."""


def read_small():
    return yaml.safe_load(SMALL.read_text(encoding="utf-8"))


def test_each_workload_of_a_generator_is_a_suspended_job_in_its_queue():
    schedule = make_job_schedule(read_small(), "poseidon", nodes=2)
    assert (schedule.size, schedule.queues) == (7, 3)
    kinds = [each["kind"] for each in schedule.scaffold]
    assert [kinds.count(kind) for kind in ("ClusterQueue", "LocalQueue", "Namespace", "Node")] == [3, 3, 3, 2]
    small, *_, large = schedule.streams
    assert (small.pause, len(small.jobs)) == (0.1, 3)
    job = large.jobs[0]
    assert job["spec"]["suspend"] is True
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (3, 3)
    assert job["spec"]["template"]["spec"]["schedulerName"] == "poseidon"
    assert job["metadata"]["annotations"] == {RUNTIME: "1000"}
    queue = job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
    assert queue == job["metadata"]["namespace"] == "large-2-0-cohort-0"
    [quota] = [
        each
        for each in schedule.scaffold
        if each["kind"] == "ClusterQueue" and each["metadata"]["name"] == queue
    ]
    assert quota["spec"]["cohortName"] == "cohort-0"
    assert {each["value"] for each in schedule.scaffold if each["kind"] == "WorkloadPriorityClass"} == {
        50,
        100,
    }


def audited(agent, verb, resource, at="2026-11-01T10:00:00.500000Z", **more):
    return json.dumps(
        {
            "verb": verb,
            "userAgent": agent,
            "objectRef": {"resource": resource, **more},
            "requestReceivedTimestamp": at,
        }
    )


def test_writes_are_counted_by_program_and_what_they_change(tmp_path):
    log = tmp_path / "audit.log"
    lines = [
        audited("poseidon", "patch", "jobs"),
        audited("poseidon", "patch", "clusterqueues", subresource="status"),
        audited("poseidon", "patch", "jobs", at="2026-11-01T10:00:01.500000Z"),
        audited("poseidon", "update", "leases"),
        audited("poseidon-bench", "create", "jobs"),
        audited("kueue/v0.0 (linux)", "create", "workloads"),
    ]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ours = read_writes(log, ("poseidon",))
    assert count_writes(ours) == {"patch jobs": 2, "patch clusterqueues/status": 1}
    assert ours[2].at - ours[0].at == 1.0
    assert count_writes(read_writes(log, ("kueue",))) == {"create workloads": 1}


def test_a_line_that_is_still_being_written_does_not_count(tmp_path):
    log = tmp_path / "audit.log"
    line = audited("poseidon", "patch", "jobs")
    log.write_text(f"{line}\n{line[:40]}", encoding="utf-8")
    assert count_writes(read_writes(log, ("poseidon",))) == {"patch jobs": 1}


@pytest.mark.parametrize(
    ("times", "delay"),
    [([0.0] * 10, 0.0), ([0.0] * 12, 1.0), ([0.0] * 10 + [1.0, 1.0], 0.0), ([0.0] * 10 + [1.0] * 3, 0.5)],
)
def test_a_limit_delays_what_exceeds_its_burst(times, delay):
    assert find_longest_delay(times, 2.0, 10) == pytest.approx(delay)


def test_without_programs_the_command_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    result = CliRunner().invoke(main, ["job-admission", str(SMALL), "--crds", str(tmp_path)])
    assert result.exit_code == 1
    assert f"{VARIABLE} is not set" in result.output
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    result = CliRunner().invoke(main, ["job-admission", str(SMALL), "--crds", str(tmp_path), "--no-poseidon"])
    assert result.exit_code == 1
    assert "nobody admits" in result.output


class FailingServer:
    """Stands for an API server that refuses to list Jobs (``refuses_lists``), or to create them."""

    def __init__(self, *, refuses_lists):
        self.refuses_lists = refuses_lists

    async def get(self, path):
        if self.refuses_lists:
            raise KubeError("gone")
        await asyncio.Event().wait()

    async def create(self, objects):
        raise KubeError("gone")


async def check_until_it_fails(jobs):
    async with asyncio.timeout(10.0):
        while True:
            jobs.check()
            await asyncio.sleep(0)


@pytest.mark.parametrize("refuses_lists", [True, False])
async def test_a_player_says_that_it_cannot_follow_or_create_jobs(refuses_lists):
    server = FailingServer(refuses_lists=refuses_lists)
    async with simulate_jobs(server, server, time.monotonic) as jobs:  # type: ignore[arg-type]
        jobs.check()
        if not refuses_lists:
            jobs.begin(make_job_schedule(read_small(), "poseidon", nodes=2))
        with pytest.raises(KubeError, match="gone"):
            await check_until_it_fails(jobs)


def test_the_logs_of_a_run_that_fails_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    crds = tmp_path / "crds"
    crds.mkdir()
    said: list[str] = []
    with pytest.raises(ControlPlaneError, match="there is no such file"):
        measure_admission(AdmissionOptions(SMALL, crds, tmp_path, schedulers=(OURS,)), said.append)
    [folder] = tmp_path.glob("poseidon-admission-*")
    assert said == [OURS, f"failed; logs and data are kept in {folder}"]


def test_openssl_that_is_missing_or_fails_is_named(monkeypatch, tmp_path):
    with pytest.raises(ControlPlaneError, match="openssl rsa has ended with status 1, and said: "):
        run_openssl("rsa", "-in", tmp_path / "absent")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ControlPlaneError, match="openssl makes keys, and cannot be run"):
        run_openssl("genrsa")


def test_the_table_divides_writes_by_admissions_and_leaves_the_harness_out():
    run = {
        "scheduler": OURS,
        "jobs": 4,
        "queues": 2,
        "admissions": 5,
        "seconds": 1.25,
        "waitSeconds": {"mean": 0.5, "p99": 0.75},
        "usage": {
            name: {"cpuSeconds": 1.0} for name in ("solver", "bridge", "etcd", "kube-apiserver", "driver")
        },
        "writes": {"patch jobs": 5, "patch clusterqueues/status": 1},
        "delayAtKueuesLimit": 0.0,
    }
    report = {"generator": "small.yaml", "perSecond": None, "optimum": 1.0, "runs": [run]}
    [sheet] = job_admission_sheets(report)
    assert sheet.headings == ("what", OURS)
    cells = {row[0].strip(): row[1] for row in sheet.rows}
    assert cells["writes for each admission"] == "1.20"
    assert cells["patch jobs"] == "1.00"
    assert cells["its processor seconds"] == "2.0"
    assert cells["processor seconds of etcd and API server"] == "2.0"


@pytest.mark.skipif(
    VARIABLE not in os.environ or CRDS not in os.environ, reason=f"{VARIABLE} and {CRDS} name a control plane"
)
@pytest.mark.timeout(300)
def test_all_jobs_end_on_a_real_api_server():
    options = AdmissionOptions(
        SMALL, Path(os.environ[CRDS]), Path(os.environ[VARIABLE]), schedulers=(OURS,), timeout=120.0
    )
    report = measure_admission(options)
    [run] = report["runs"]
    assert run["jobs"] == 7
    assert run["admissions"] >= 7
    assert run["refusedReports"] == []
    assert run["writes"]["patch jobs"] >= 7
    [sheet] = job_admission_sheets(report)
    assert ["Jobs", "7"] in [list(row) for row in sheet.rows]
