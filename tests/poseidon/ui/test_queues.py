"""Queues as the page shows them are those of ``poseidon get queues`` and ``explain --workload``."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.live import cluster as cluster_reading
from poseidon.manifests.loader import load_manifests
from poseidon.simulate.queue_starts import expect_queue_starts
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.ui import intervals
from poseidon.ui.queues import Queues
from poseidon.ui.sources.files import FileInput, FileSource
from poseidon.ui.work.inputs import ClusterInput, read
from poseidon.ui.work.process import JobError
from poseidon.ui.work.queueing import describe_queues
from tests.poseidon.ui.objects import Wall, known
from tests.poseidon.ui.served import FakeSource, served
from tests.support.cluster import running_cluster
from tests.support.waiting import until

NOW = "2026-01-31T12:00:00Z"
CONFIGURATION = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "queues": {"source": ["kueue"], "admission": "poseidon"},
}
TEAM, OTHER = "ClusterQueue/team", "ClusterQueue/other"
HOSTILE = "<img src=x onerror=alert(1)>"


def make_queue(name, cpu, **spec):
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    flavors = [{"name": "default", "resources": resources}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {
            "cohort": "all",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            **spec,
        },
    }


def make_local_queue(name, queue):
    metadata = {"name": name, "namespace": "a"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": metadata,
        "spec": {"clusterQueue": queue},
    }


def make_job(name, queue, pods, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}
    metadata = {"name": name, "namespace": "a"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "parallelism": pods, "completions": pods, "template": template},
    }


def make_objects():
    """Two queues of four cores each; one borrows two of the other's and has three Jobs that wait."""
    node = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in (("high", 900), ("middle", 500))
    ]
    return [
        *classes,
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": node}},
        {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "default"}},
        make_queue("team", "4"),
        make_queue("other", "4"),
        make_local_queue("team", "team"),
        make_local_queue("other", "other"),
        make_job("runs", "other", 2),
        make_job("first", "team", 6, priorityClassName="high"),
        make_job("plain", "team", 7),
        make_job("urgent", "team", 7, priorityClassName="middle"),
        make_job("other", "team", 7),
    ]


@pytest.fixture
def given(tmp_path):
    """The objects and their configuration as files."""
    (tmp_path / "objects.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": make_objects()})
    )
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIGURATION))
    return ClusterInput(
        (str(tmp_path / "objects.json"),), config=str(tmp_path / "config.yaml"), now=1_769_860_800.0
    )


def run(given, *arguments):
    """Return what a command prints as JSON about the same input."""
    options = ["-f", given.paths[0], "--config", given.config, "--now", NOW, "-o", "json"]
    result = CliRunner().invoke(main, [*arguments, *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_queues_are_those_of_get_queues(given):
    printed = run(given, "get", "queues")["queues"]
    found = describe_queues(given)["queues"]
    for each in found:
        del each["depth"]
        for use in each["uses"]:
            del use["text"]
    assert found == printed
    by_name = {each["queue"]: each for each in found}
    assert by_name[TEAM]["waiting"] == 3
    assert (by_name[TEAM]["uses"][0]["used"], by_name[TEAM]["uses"][0]["borrowed"]) == (6000, 2000)


def test_amounts_are_written_for_people(given):
    found = {each["queue"]: each for each in describe_queues(given)["queues"]}
    text = {"nominal": "4", "used": "6", "borrowed": "2", "lent": "0"}
    assert found[TEAM]["uses"][0]["text"] == text
    assert {name: each["depth"] for name, each in found.items()} == {"Cohort/all": 0, OTHER: 1, TEAM: 1}


def test_positions_are_those_of_explain(given):
    waiting = describe_queues(given)["waiting"]
    assert [each["workload"] for each in waiting[TEAM]] == [
        "a/Job/urgent",
        "a/Job/other",
        "a/Job/plain",
    ]
    assert list(waiting) == [TEAM]
    for each in waiting[TEAM]:
        told = run(given, "explain", "--workload", each["workload"])
        assert (told["position"], told["reason"]) == (each["position"], each["reason"])
        assert len(told["waiting"]) == each["pods"]


def test_workloads_that_do_not_wait_are_in_queues_too(given):
    members = describe_queues(given)["members"]
    assert (members["a/Job/runs"], members["a/Job/first"]) == (OTHER, TEAM)


def test_expected_starts_are_those_of_get_queues(given):
    printed = {
        each["queue"]: each["expectedStarts"] for each in run(given, "get", "queues", "--when")["queues"]
    }
    found = expect_queue_starts(given)
    assert {name: printed[name] for name in found["queues"]} == {
        name: {key: value for key, value in each.items() if key != "text"}
        for name, each in found["queues"].items()
    }
    assert found["workloads"].keys() >= {"a/Job/urgent", "a/Job/other", "a/Job/plain"}
    urgent = found["workloads"]["a/Job/urgent"]
    assert urgent["first"] is None
    assert urgent["text"] == ["over 7 days", "over 7 days"]


def test_without_a_project_the_note_says_what_to_do(given, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIGURATION | {"queues": {}}))
    found = describe_queues(replace(given, config=str(tmp_path / "config.yaml")))
    assert (found["queues"], "queues.source" in found["note"]) == ([], True)


@pytest.mark.parametrize(
    ("asked", "admission", "counts"),
    [(True, "poseidon", True), (True, "kueue", False), (False, "poseidon", False)],
)
async def test_suspended_jobs_of_a_live_cluster_count_where_get_queues_counts_them(
    tmp_path, monkeypatch, asked, admission, counts
):
    told = []

    async def read_cluster(transport, *, suspended=False):
        told.append(suspended)
        return await read_all(transport, suspended=suspended)

    read_all = cluster_reading.read_cluster
    monkeypatch.setattr(cluster_reading, "read_cluster", read_cluster)
    queues = {"source": ["kueue"], "admission": admission}
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIGURATION | {"queues": queues}))
    async with running_cluster() as cluster:
        write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        kubeconfig, config = str(tmp_path / "kubeconfig"), str(tmp_path / "config.yaml")
        live = ClusterInput(kubeconfig=kubeconfig, config=config, suspended=asked)
        found = await asyncio.to_thread(describe_queues, live)
    assert told == [counts]
    assert (found["queues"], "There is no queue" in found["note"]) == ([], True)


class Scripted:
    """A worker whose jobs take as long as the test says."""

    def __init__(self, clock):
        self.clock, self.takes, self.failing, self.asked = clock, 0.0, False, 0
        self.release = asyncio.Event()

    async def do(self, job, seconds, begun=lambda: None):
        self.asked += 1
        begun()
        await self.release.wait()
        self.clock[0] += self.takes
        if self.failing:
            raise JobError("no answer")
        return {"asOf": self.clock[0], "note": "", "queues": [], "waiting": {}, "members": {}}


async def look(queues, state):
    """Ask until the state is as given."""
    await until(lambda: queues.list_queues(0, 10)["state"] == state, within=10)
    return queues.list_queues(0, 10)


async def test_a_live_cluster_is_looked_at_anew_at_a_tenth_of_the_time():
    clock = [0.0]
    worker = Scripted(clock)
    queues = Queues(worker, ClusterInput(), expect_queue_starts, lambda: clock[0])
    assert queues.list_queues(0, 10)["state"] == "working"
    assert queues.list_queues(0, 10)["asOf"] == 0.0
    worker.takes = 20.0
    worker.release.set()
    assert (await look(queues, "done"))["asOf"] == 20.0
    clock[0] = 20.0 + intervals.QUEUES_SHARE * 20.0 - 1
    assert (await look(queues, "done"))["asOf"] == 20.0
    assert worker.asked == 1
    clock[0] += 1
    worker.failing = True
    again = queues.list_queues(0, 10)
    assert (again["state"], again["asOf"]) == ("working", 20.0)
    failed = await look(queues, "failed")
    assert (failed["error"], failed["asOf"]) == ("no answer", 20.0)


async def test_files_are_looked_at_once(given):
    clock = [0.0]
    worker = Scripted(clock)
    worker.release.set()
    queues = Queues(worker, given, expect_queue_starts, lambda: clock[0])
    await look(queues, "done")
    clock[0] = 1e9
    assert queues.list_queues(0, 10)["state"] == "done"
    assert worker.asked == 1


class Fixed:
    """A worker that has found out something already."""

    def __init__(self, found):
        self.found = found

    async def do(self, job, seconds, begun=lambda: None):
        return self.found


def make_found(workloads):
    queue = {
        "queue": TEAM,
        "parent": "",
        "depth": 0,
        "admitted": 0,
        "waiting": workloads,
        "uses": [],
        "message": "",
    }
    waiting = [{"position": place, "workload": f"a/Job/{place}"} for place in range(1, workloads + 1)]
    waiting[0]["workload"] = HOSTILE
    members = {each["workload"]: TEAM for each in waiting}
    return {"asOf": 5.0, "note": "", "queues": [queue], "waiting": {TEAM: waiting}, "members": members}


async def ask(client, path):
    response = await client.get(f"/api/v1/{path}")
    return response.status, await response.json()


async def test_the_page_of_a_workload_is_found():
    found = known()
    found.about.capabilities.queues = True
    queues = Queues(Fixed(make_found(120)), ClusterInput(), expect_queue_starts, lambda: 0.0)
    async with served(FakeSource(found), queues=queues) as (client, _):
        await look(queues, "done")
        status, shown = await ask(client, "queues/workloads?workload=a/Job/100&limit=50")
        assert (status, shown["offset"], shown["total"]) == (200, 50, 120)
        assert [each["position"] for each in shown["items"]] == [*range(51, 101)]
        status, shown = await ask(client, f"queues/workloads?queue={TEAM}&limit=1")
        assert (status, shown["items"][0]["workload"]) == (200, HOSTILE)
        assert (await ask(client, "queues/workloads?workload=a/Job/0"))[1] == {
            "error": "a/Job/0 is in no queue"
        }
        assert (await ask(client, "queues/workloads?queue=nothing"))[0] == 404
        assert (await ask(client, "queues/workloads"))[0] == 400
        assert (await ask(client, "queues?limit=1"))[1]["queues"][0]["queue"] == TEAM


async def test_where_queues_are_not_read_they_are_not_looked_for():
    async with served(queues=Queues(Fixed({}), ClusterInput(), expect_queue_starts, lambda: 0.0)) as (
        client,
        _,
    ):
        status, answer = await ask(client, "queues")
        assert (status, "no project of queues is configured" in answer["error"]) == (404, True)


def test_files_with_queues_say_that_these_can_be_shown(given):
    manifests, configuration = load_manifests(given.paths), read(given).configuration
    source = FileSource(FileInput("x", given, configuration, manifests), Fixed({}), Wall())
    assert source.known.about.capabilities.queues
    source = FileSource(FileInput("x", given, None, manifests), Fixed({}), Wall())
    assert not source.known.about.capabilities.queues
