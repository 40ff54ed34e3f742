"""Commands that look at a live cluster, or change it: what they print, write and end with."""

from __future__ import annotations

import json
import stat
import tarfile
import time
import urllib.request

import pytest

from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.poseidon.offline.objects import node, pod
from tests.support.cluster import cluster_in_thread

ASKS, EXPECTED = "firmament.io/tell-start", "firmament.io/expected-start"
NOBODY = "127.0.0.1:1"


class Live:
    """A simulated cluster, and the command run against it."""

    def __init__(self, cluster, folder, run) -> None:
        self._url = cluster.url
        self._kubeconfig = folder / "kubeconfig"
        self._run = run
        write_kubeconfig(self._kubeconfig, cluster.url)

    def run(self, *arguments):
        command, *rest = arguments
        return self._run(command, *rest, "--kubeconfig", self._kubeconfig)

    def create(self, *objects) -> None:
        for each in objects:
            namespaced = "" if each["kind"] in ("Node", "Namespace") else "namespaces/shop/"
            self._send("POST", f"/api/v1/{namespaced}{each['kind'].lower()}s", each)

    def read(self, path: str):
        return self._send("GET", path)

    def _send(self, method: str, path: str, body=None):
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@pytest.fixture
def live(tmp_path, run):
    with cluster_in_thread() as cluster:
        made = Live(cluster, tmp_path, run)
        made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        yield made


class StoppedError(Exception):
    """Stands for a signal."""


@pytest.fixture
def stops(monkeypatch):
    """Let commands that begin again be stopped the second time; return the seconds for which they wait."""
    slept = list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            raise StoppedError

    monkeypatch.setattr(time, "sleep", sleep)
    return slept


# --- tell-starts ------------------------------------------------------------------------------------------------------

NOBODY_ASKS = "no waiting pod asks; pods ask by the annotation firmament.io/tell-start=true\n"


def test_nobody_who_asks_is_told_nothing(live):
    live.create(node("n1"), pod("silent"))
    assert live.run("tell-starts").stdout == NOBODY_ASKS
    assert live.run("tell-starts", "-o", "json").json == {"expectedStarts": []}


def test_who_asks_is_told_and_others_are_not(live):
    asking = pod("asks", cpu="1", metadata={"annotations": {ASKS: "true"}})
    live.create(node("n1"), asking, pod("silent"))
    dry = live.run("tell-starts", "--dry-run", "-o", "json").json
    annotations = "/api/v1/namespaces/shop/pods/asks"
    assert EXPECTED not in live.read(annotations)["metadata"]["annotations"]
    [start] = (
        dry["expectedStarts"]["pods"] if isinstance(dry["expectedStarts"], dict) else dry["expectedStarts"]
    )
    assert start["pod"] == "shop/asks"
    table = live.run("tell-starts").stdout
    assert "shop/asks" in table
    assert "shop/silent" not in table
    assert json.loads(live.read(annotations)["metadata"]["annotations"][EXPECTED]).keys() >= {
        "computed",
        "median",
    }


def test_it_begins_again_after_each_end(live, stops):
    with pytest.raises(StoppedError):
        live.run("tell-starts", "--every", "90s")
    assert stops == [90.0, 90.0]


# --- reschedule -------------------------------------------------------------------------------------------------------


def test_nothing_moves_that_is_not_released(live):
    live.create(node("n1"), pod("p", nodeName="n1"))
    said = live.run("reschedule", "--dry-run").stdout
    assert (
        said == "no pod may be moved; allow it with the label firmament.io/reschedule=allow on a namespace\n"
    )
    assert live.run("reschedule", "--dry-run", "-o", "json").json == {
        "released": 0,
        "waves": [],
        "freed": [],
        "notFreed": [],
        "left": [],
        "outcomes": [],
    }


def test_moving_begins_again_after_each_end(live, stops):
    with pytest.raises(StoppedError):
        live.run("reschedule", "--every", "5m")
    assert stops == [300.0, 300.0]


def owned(name: str, on: str, cpu: str = "1") -> dict:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    annotations = {"firmament.io/reschedule": "allow"}
    metadata = {"ownerReferences": [owner], "annotations": annotations}
    return pod(name, cpu=cpu, phase="Running", metadata=metadata, nodeName=on)


def test_moves_are_told_by_wave_and_nothing_is_moved_on_trial(live):
    live.create(node("n1"), node("n2"), owned("a", "n1"), owned("b", "n2"))
    arguments = ("reschedule", "--dry-run", "--objective", "free-nodes", "--scheduler-name", "*")
    table = live.run(*arguments).stdout
    assert table.startswith("2 pods may be moved; 1 move is planned.\n")
    assert "WAVE   POD" in table
    assert "NODE TO BE FREED" in table
    found = live.run(*arguments, "-o", "json").json
    [[move]] = found["waves"]
    assert found["released"] == 2
    assert found["freed"] == [move["from"]]
    assert (found["notFreed"], found["outcomes"]) == ([], [])
    assert {each["metadata"]["name"] for each in live.read("/api/v1/namespaces/shop/pods")["items"]} == {
        "a",
        "b",
    }


# --- what helpers from afar need -----------------------------------------------------------------------------------


def test_a_bundle_holds_the_cluster_for_its_owner_alone(live, tmp_path):
    live.create(node("n1"), pod("p"))
    file = tmp_path / "bundle.tar.gz"
    outcome = live.run("support-bundle", file, "--firmament", NOBODY)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.startswith(f"wrote {file}: ")
    assert "warning: " in outcome.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        names = archive.getnames()
    assert any("cluster/" in name for name in names)
    assert int(outcome.stdout.rpartition(": ")[2].split()[0]) <= len(names)
    refused = live.run("support-bundle", tmp_path / "none" / "x.tar.gz", "--firmament", NOBODY)
    assert refused.status == 2
    assert refused.stderr.endswith(f"{tmp_path}/none/x.tar.gz: No such file or directory\n")


def test_without_a_cluster_there_is_no_bundle(run, tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1")
    file = tmp_path / "bundle.tar.gz"
    outcome = run("support-bundle", file, "--firmament", NOBODY, "--kubeconfig", kubeconfig)
    assert outcome.status == 1
    assert outcome.stderr.endswith("nothing of the cluster could be read; no archive was written\n")
    assert not file.exists()
    config = tmp_path / "config.yaml"
    config.write_text("polcy: 1")
    assert run("support-bundle", file, "--kubeconfig", kubeconfig, "--config", config).status == 2


def test_a_doctor_ends_with_1_if_something_is_wrong(live, tmp_path):
    outcome = live.run("doctor", "--firmament", NOBODY)
    assert outcome.status == 1
    first, *rest = outcome.stdout.splitlines()
    assert first.split() == ["ok", "configuration", "defaults"]
    assert any(line.startswith("wrong ") for line in rest)
    width = first.index("defaults")
    assert all(line[width - 1] == " " and line[width] != " " for line in rest)
    config = tmp_path / "config.yaml"
    config.write_text("polcy: 1")
    wrong = live.run("doctor", "--config", config, "-o", "json")
    assert wrong.status == 1
    told = json.loads(wrong.stdout)
    assert told["ok"] is False
    [check] = told["checks"]
    assert check["check"] == "configuration"


# --- programs on nodes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [["--speed", "3"], ["--interface", "eth7"], []])
def test_the_bandwidth_of_a_node_is_advertised_in_bits(live, tmp_path, speed):
    live.create(node("n1"))
    (tmp_path / "eth7").mkdir()
    (tmp_path / "eth7" / "speed").write_text("25000\n")
    outcome = live.run("bandwidth-agent", "--once", "--node", "n1", "--sysfs", tmp_path, *speed)
    if not speed and outcome.status:  # the interface of the default route is none of these
        assert outcome.stderr.startswith("node n1: ")
        return
    assert outcome.status == 0, outcome.stderr
    capacity = live.read("/api/v1/nodes/n1")["status"]["capacity"]["network.aware.com/bandwidth"]
    assert capacity in (("3000000", "3M") if speed[0] == "--speed" else ("25000000000", "25G"))


def test_a_node_that_is_not_there_is_named(live):
    outcome = live.run("bandwidth-agent", "--once", "--node", "gone", "--speed", "1")
    assert outcome.status == 1
    assert outcome.stderr.splitlines()[-1].startswith("node gone: ")


def test_latencies_without_servers_are_none(live):
    live.create(node("n1"))
    assert live.run("netperf-probe", "--once", "--namespace", "shop").status == 0
    taken = live.run("netperf-probe", "--serve", "192.0.2.1:1")
    assert taken.status == 2
    assert taken.stderr.splitlines()[-1].startswith("--serve 192.0.2.1:1: cannot listen: ")


# --- shadow -----------------------------------------------------------------------------------------------------------


def test_a_shadow_needs_a_solver(live):
    outcome = live.run("shadow", "--for", "1m", "--firmament", NOBODY)
    assert (outcome.status, outcome.stdout) == (1, "")
    first, second = outcome.stderr.splitlines()
    assert first == "watching; Ctrl-C ends it with a report"
    assert second.startswith(f"no solver answers: {NOBODY}: ")


@pytest.mark.parametrize("command", ["shadow", "reschedule", "tell-starts"])
def test_a_server_that_does_not_answer_is_named(run, tmp_path, command):
    kubeconfig = tmp_path / "kubeconfig"
    write_kubeconfig(kubeconfig, "http://127.0.0.1:1")
    outcome = run(command, "--kubeconfig", kubeconfig)
    assert outcome.status == 1
    assert outcome.stderr.startswith("http://127.0.0.1:1: ")
    assert len(outcome.stderr.splitlines()) == 1
