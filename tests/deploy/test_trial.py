"""``make kind``: one command from nothing to 200 bound pods; tools are played here, and note how they are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TRIAL = ROOT / "deploy" / "trial"
PLAYED = """#!{python}
import json, os, sys, time
name, words, folder = os.path.basename(sys.argv[0]), sys.argv[1:], {folder!r}
with open(os.path.join(folder, "calls"), "a") as calls:
    calls.write(json.dumps([name, *words]) + "\\n")
said = json.load(open(os.path.join(folder, "answers")))
for key, (status, text) in said.items():
    if key in " ".join([name, *words]):
        (sys.stderr if status else sys.stdout).write(text)
        sys.exit(status)
if name in ("firmament", "poseidon"):
    time.sleep(600)
"""
ALL = ("docker", "kind", "kubectl")
BOUND = json.dumps({"items": [{"spec": {"nodeName": f"node-{number % 3}"}} for number in range(200)]})
ANSWERS = {
    "-o name": (0, "pod/a\n" * 200),
    "get pods": (0, BOUND),
    "get kubeconfig": (0, "apiVersion: v1\n"),
}


def trial(folder: Path, kind: str, tools: tuple[str, ...], answers=None):
    """Run a trial that finds nothing but ``tools``."""
    (folder / "bin").mkdir()
    (folder / "answers").write_text(
        json.dumps(
            {**(answers or {}), **{key: each for key, each in ANSWERS.items() if key not in (answers or {})}}
        )
    )
    (folder / "calls").touch()
    for name in tools:
        file = folder / "bin" / name
        file.write_text(PLAYED.format(python=sys.executable, folder=str(folder)))
        file.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(TRIAL / "run.py"), kind],
        env={**os.environ, "PATH": str(folder / "bin")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done, [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


def test_kind_builds_loads_installs_and_binds(tmp_path):
    done, calls = trial(tmp_path, "kind", ("docker", "kind", "kubectl"))
    assert done.returncode == 0, done.stderr
    assert "200 of 200 pods bound to 3 nodes" in done.stdout
    order = [" ".join(each) for each in calls]
    steps = (
        "docker info",
        "docker build -q -f deploy/docker/firmament.Dockerfile",
        "docker build -q -f deploy/docker/poseidon.Dockerfile",
        "kind create cluster --name poseidon",
        "kind load docker-image",
        "kubectl --context kind-poseidon apply -k deploy",
        "kubectl --context kind-poseidon -n poseidon rollout status",
        "kubectl --context kind-poseidon apply -f deploy/trial/objects/pods.yaml",
        "kubectl --context kind-poseidon wait pod",
    )
    places = [next(number for number, call in enumerate(order) if call.startswith(each)) for each in steps]
    assert places == sorted(places)
    built = {call[call.index("-t") + 1] for call in calls if call[:2] == ["docker", "build"]}
    [load] = [call for call in calls if call[:2] == ["kind", "load"]]
    manifests = {
        container["image"]
        for name in ("firmament", "poseidon")
        for document in yaml.safe_load_all((ROOT / "deploy" / f"{name}.yaml").read_text())
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    }
    assert built == manifests
    assert built <= set(load)


def test_a_cluster_that_is_there_is_used_again(tmp_path):
    done, calls = trial(
        tmp_path, "kind", ("docker", "kind", "kubectl"), {"kind get clusters": (0, "poseidon\n")}
    )
    assert done.returncode == 0, done.stderr
    assert not [call for call in calls if call[:2] == ["kind", "create"]]


def test_kwok_runs_both_programs_beside_the_cluster_and_ends_them(tmp_path):
    done, calls = trial(tmp_path, "kwok", ("kwokctl", "kubectl", "firmament", "poseidon"))
    assert done.returncode == 0, done.stderr
    assert "200 of 200 pods bound" in done.stdout
    assert ["kwokctl", "scale", "node", "--name", "poseidon", "--replicas", "100"] in calls
    [bridge] = [call for call in calls if call[0] == "poseidon"]
    assert bridge[1] == "run"
    assert not Path(bridge[bridge.index("--kubeconfig") + 1]).exists(), "it is removed at the end"


@pytest.mark.parametrize(
    ("kind", "tools", "answers", "says"),
    [
        ("kind", ("kubectl",), {}, "not found: docker (a container engine: https://docs.docker.com/engine/install)"),
        ("kwok", ("kubectl",), {}, "not found: kwokctl (clusters with simulated nodes"),
        ("kind", ALL, {"docker info": (1, "")}, "docker: its engine does not answer; start it"),
        ("kind", ALL, {"apply -k": (1, "no rights\n")}, "kubectl --context kind-poseidon: no rights"),
        ("minikube", (), {}, "minikube: no such trial; there are kind and kwok"),
    ],
)  # fmt: skip
def test_what_is_missing_or_fails_is_one_line(tmp_path, kind, tools, answers, says):
    done, _ = trial(tmp_path, kind, tools, answers)
    assert done.returncode == 1
    [line] = done.stderr.strip().splitlines()
    assert line.startswith(says)
    if "not found" in says:
        assert line.endswith("`make demo` shows both programs on a simulated one")


def test_pods_that_stay_pending_fail_the_trial(tmp_path):
    some = json.dumps({"items": [{"spec": {"nodeName": "a"}}] * 150 + [{"spec": {}}] * 50})
    done, _ = trial(
        tmp_path,
        "kind",
        ("docker", "kind", "kubectl"),
        {"-o name": ANSWERS["-o name"], "get pods": (0, some)},
    )
    assert "150 of 200 pods bound to 1 nodes" in done.stdout
    assert done.returncode == 1
    assert done.stderr.strip() == "50 pods wait; `poseidon explain` says why"


def test_the_pods_fit_and_are_ours():
    _, deployment = yaml.safe_load_all((TRIAL / "objects" / "pods.yaml").read_text())
    assert deployment["spec"]["replicas"] == 200
    assert deployment["spec"]["template"]["spec"]["schedulerName"] == "poseidon"
    nodes = yaml.safe_load((TRIAL / "kind.yaml").read_text())["nodes"]
    assert sum(each["role"] == "worker" for each in nodes) * 110 >= 200 + 30
