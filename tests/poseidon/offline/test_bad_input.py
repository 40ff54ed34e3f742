"""Bad input: one clear line each on standard error, nothing on standard output, status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.poseidon.offline.objects import node, pod
from tests.support.preloaded import quick_python


@pytest.fixture
def refused(run):
    """Return a function that runs a command that must fail, and returns its lines."""

    def lines(*arguments):
        outcome = run(*arguments)
        assert outcome.status == 2
        assert outcome.stdout == ""
        return outcome.stderr.splitlines()

    return lines


def test_a_missing_file(refused, tmp_path):
    file = tmp_path / "no.yaml"
    assert refused("plan", "-f", file) == [
        f"{file}: cannot be read: No such file or directory; name a readable file or folder"
    ]


def test_all_defects_of_manifests_and_configuration_at_once(refused, write):
    broken = node("n1")
    del broken["status"]["allocatable"]
    file = write(broken, pod("p", cpu="-1"))
    config = write(
        {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration", "polcy": 1}, name="c.cfg"
    )
    lines = refused("plan", "-f", file, "--config", config)
    assert len(lines) == 3
    assert "polcy" in lines[0]
    assert "Node n1: status.allocatable: missing" in lines[1]
    assert "Pod shop/p: spec.containers[0].resources.requests.cpu: '-1' is negative" in lines[2]


def test_rules_that_make_no_sense(refused, write):
    term = {"topologyKey": "", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    soft = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}
    bad = pod(
        "p",
        metadata={"labels": {"app": "no way"}},
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        topologySpreadConstraints=[soft],
    )
    bad["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 70000}]
    file = write(node("n1"), bad)
    fields = [line.removeprefix(f"{file} (document 2): Pod shop/p: ") for line in refused("plan", "-f", file)]
    where = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    assert fields[0].startswith("metadata.labels[app]: 'no way' is not a label value; ")
    assert sorted(fields[1:]) == [
        (
            f"{where}.labelSelector.matchExpressions[0].operator: unknown operator 'Near'; "
            "use In, NotIn, Exists or DoesNotExist"
        ),
        f"{where}.topologyKey: empty; name a label of nodes, such as kubernetes.io/hostname",
        "spec.containers[0].ports[0].hostPort: 70000 is out of range; give a port from 1 to 65535",
        (
            "spec.topologySpreadConstraints[0].minDomains: only whenUnsatisfiable: DoNotSchedule takes it; "
            "remove it"
        ),
    ]


@pytest.mark.parametrize("command", [["plan"], ["explain", "--pod", "shop/p"]])
@pytest.mark.parametrize(
    "now", ["yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "2026-01-31T12:00:00", "1e9"]
)
def test_a_time_that_is_none(refused, write, command, now):
    assert refused(*command, "-f", write(node("n1")), "--now", now) == [
        f"--now: {now!r} is not an RFC 3339 time; write one such as 2026-01-31T12:00:00Z"
    ]


@pytest.mark.parametrize(
    "now", ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.5z", "2026-01-31T12:00:00-05:30"]
)
def test_times_as_rfc_3339_has_them(run, write, now):
    assert run("plan", "-f", write(node("n1")), "--now", now).status == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["plan"], "no manifests given; name files, folders or - with -f"),
        (["explain", "-f", "x.yaml"], "no pod given; name one with --pod NAMESPACE/NAME"),
        (["plan", "-f", "x.yaml", "-o", "xml"], "'xml' is not one of 'table', 'wide', 'json'"),
    ],
)
def test_wrong_use(refused, arguments, text):
    assert text in refused(*arguments)[-1]


def test_print_config_needs_no_manifests_and_its_output_is_a_configuration(run, write, tmp_path):
    outcome = run("plan", "--print-config")
    assert outcome.status == 0
    printed = tmp_path / "printed.yaml"
    printed.write_text(outcome.stdout)
    assert yaml.safe_load(outcome.stdout)["policy"]["name"] == "cpu_mem"
    again = run("explain", "--print-config", "--config", printed)
    assert again.stdout == outcome.stdout


def test_another_policy_is_used(run, write, tmp_path):
    header = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
    config = write({**header, "policy": {"name": "trivial"}}, name="c.cfg")
    file = write(node("n1"), pod("p"))
    answer = run("explain", "-f", file, "--pod", "shop/p", "--config", config, "-o", "json").json
    assert "trivial" in answer["nodes"]["n1"]["models"]


def test_the_console_script_runs_as_a_process(write):
    script = Path(sys.executable).with_name("poseidon")
    arguments = ["plan", "-f", str(write(node("n1"), pod("p"))), "-o", "json"]
    result = subprocess.run([str(script), *arguments], capture_output=True, text=True, timeout=60, check=True)
    assert '"shop/p"' in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("plan",), "poseidon plan: no manifests given"),
        (("plan", "-f", "x", "-o", "xml"), "poseidon plan: Invalid value for '-o' / '--output': 'xml'"),
        (("plan", "-f", "x", "--confg", "y"), "poseidon plan: No such option '--confg'. (Did you mean"),
        (("explain", "-f", "x"), "poseidon explain: no pod given"),
        (("plam",), "poseidon: No such command 'plam'. Did you mean 'plan'?"),
        (("version",), "poseidon: No such command 'version'. Did you mean '--version'?"),
        (("install",), "poseidon: No such command 'install'. `poseidon --help` lists them."),
        (("plan", "x"), "poseidon plan: Got unexpected extra argument (x); name files with -f"),
        (
            ("explain", "x", "-f", "y"),
            "poseidon explain: Got unexpected extra argument (x); name files with -f and",
        ),
        (
            ("plan", "--add-nodes", "3"),
            "poseidon plan: --add-nodes needs manifests; name files or folders with -f",
        ),
        (("plan", "-f", "x", "--add-nodes", "some"), "--add-nodes: 'some' is not a number of nodes"),
        (("plan", "-f", "x", "--add-nodes", "0"), "--add-nodes: '0' is not a number of nodes"),
        (("plan", "-f", "x", "--add-nodes", "2:cpu"), "--add-nodes: '2:cpu' is not a number of nodes"),
        (("plan", "-f", "x", "--add-nodes", "9:cpu=z"), "--add-nodes: '9:cpu=z': cpu: 'z' is not a quantity"),
        (
            ("plan", "-f", "https://h/x"),
            "https:/h/x: cannot be read: No such file or directory; addresses are",
        ),
    ],
)
def test_bad_usage_is_one_line(refused, arguments, told):
    [line] = refused(*arguments)
    assert line.startswith(told)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("output", ["table", "json"])
def test_output_that_cannot_be_written(write, output):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [quick_python(), "-m", "poseidon", "plan", "-f", write(node("n1")), "-o", output],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "the output cannot be written: No space left on device\n")
