"""Try both programs in a cluster of their own: create it, install them, bind 200 pods, say where they are.

``python deploy/trial/run.py kind``, in the repository's root: a cluster in Docker, by kind, with both images.
``kwok``: a real API server with simulated nodes, by kwokctl; both programs then run beside it, and no container engine
is needed where kwokctl runs binaries. What is there already is used again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("deploy/trial")
NAME, NAMESPACE = "poseidon", "poseidon-trial"
NODES = 100
IMAGES = ("firmament", "poseidon")
TOOLS = {
    "docker": "a container engine: https://docs.docker.com/engine/install",
    "kind": "clusters in Docker: https://kind.sigs.k8s.io",
    "kubectl": "https://kubernetes.io/docs/tasks/tools",
    "kwokctl": "clusters with simulated nodes: https://kwok.sigs.k8s.io",
}
INSTEAD = "without a cluster, `make demo` shows both programs on a simulated one"


class TrialError(Exception):
    """The trial cannot go on; the message is one line for people."""


def main(kind: str) -> None:
    """Carry out a trial."""
    if kind not in ("kind", "kwok"):
        raise TrialError(f"{kind}: no such trial; there are kind and kwok")
    if kind == "kind":
        require("docker", "kind", "kubectl")
        kubectl = ["kubectl", "--context", f"kind-{NAME}"]
        prepare_kind(kubectl)
        bind_pods(kubectl)
        say(f"to remove it: kind delete cluster --name {NAME}")
    else:
        require("kwokctl", "kubectl")
        with tempfile.TemporaryDirectory(prefix="poseidon-trial-") as folder:
            kubeconfig = create_kwok(Path(folder) / "kubeconfig")
            with running_programs(kubeconfig, Path(folder)):
                bind_pods(["kubectl", "--kubeconfig", str(kubeconfig)])
        say(f"both programs have ended; to remove the cluster: kwokctl delete cluster --name {NAME}")


def require(*names: str) -> None:
    """Look for tools. Raises ``TrialError`` that says what is missing, where to get it and what to use instead."""
    missing = [f"{name} ({TOOLS[name]})" for name in names if shutil.which(name) is None]
    if missing:
        raise TrialError(f"not found: {', '.join(missing)}; {INSTEAD}")
    if "docker" in names and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:  # noqa: S607
        raise TrialError(f"docker: its engine does not answer; start it, or {INSTEAD}")


def prepare_kind(kubectl: Sequence[str]) -> None:
    """Build and load both images, and install both programs."""
    version = image_version()
    tags = [f"poseidon-firmament/{name}:{version}" for name in IMAGES]
    for name, tag in zip(IMAGES, tags, strict=True):
        step(
            f"building {tag}",
            "docker",
            "build",
            "-q",
            "-f",
            f"deploy/docker/{name}.Dockerfile",
            "-t",
            tag,
            ".",
        )
    if NAME not in ask("kind", "get", "clusters").split():
        config = str(HERE / "kind.yaml")
        step(
            "creating a cluster",
            "kind",
            "create",
            "cluster",
            "--name",
            NAME,
            "--config",
            config,
            "--wait",
            "3m",
        )
    step("loading both images", "kind", "load", "docker-image", *tags, "--name", NAME)
    step("installing both programs", *kubectl, "apply", "-k", "deploy")
    rollout = ("rollout", "status", "deployment/firmament", "deployment/poseidon", "--timeout=3m")
    step("waiting for them", *kubectl, "-n", "poseidon", *rollout)


def create_kwok(kubeconfig: Path) -> Path:
    """Create a cluster of simulated nodes, and return the file by which it is reached."""
    if NAME not in ask("kwokctl", "get", "clusters").split():
        step("creating a cluster", "kwokctl", "create", "cluster", "--name", NAME, "--wait", "3m")
    step(f"adding {NODES} nodes", "kwokctl", "scale", "node", "--name", NAME, "--replicas", str(NODES))
    kubeconfig.write_text(ask("kwokctl", "get", "kubeconfig", "--name", NAME))
    return kubeconfig


@contextmanager
def running_programs(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run solver and bridge of this repository beside a cluster, and end them afterwards."""
    say("starting both programs")
    programs = [
        ("firmament", "serve", "--listen", "127.0.0.1:9090"),
        ("poseidon", "run", "--kubeconfig", str(kubeconfig), "--firmament", "127.0.0.1:9090"),
    ]
    started = []
    try:
        for words in programs:
            log = (folder / f"{words[0]}.log").open("w")
            started.append(subprocess.Popen(words, stdout=log, stderr=log))  # noqa: S603
        yield
    except TrialError as error:
        logs = [
            line for words in programs for line in (folder / f"{words[0]}.log").read_text().splitlines()[-3:]
        ]
        raise TrialError("; ".join([str(error), *logs])) from None
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def bind_pods(kubectl: Sequence[str]) -> None:
    """Create the pods, wait until all are bound, and say how many are on how many nodes."""
    began = time.monotonic()
    step("creating 200 pods", *kubectl, "apply", "-f", str(HERE / "objects" / "pods.yaml"))
    selected = ("-n", NAMESPACE, "-l", "app=trial")
    wait_until_created(kubectl, selected, 200)
    step(
        "waiting until all are bound",
        *kubectl,
        "wait",
        "pod",
        *selected,
        "--for=condition=PodScheduled",
        "--timeout=3m",
    )
    pods = json.loads(ask(*kubectl, "get", "pods", *selected, "-o", "json"))["items"]
    nodes = Counter(each["spec"].get("nodeName", "") for each in pods)
    waiting = nodes.pop("", 0)
    seconds = time.monotonic() - began
    say(f"{sum(nodes.values())} of {len(pods)} pods bound to {len(nodes)} nodes after {seconds:.0f} s")
    if waiting or len(pods) != 200:
        raise TrialError(f"{waiting} pods wait; `poseidon explain` says why")


def wait_until_created(kubectl: Sequence[str], selected: Sequence[str], count: int) -> None:
    """Wait for the controller that creates pods. Raises ``TrialError`` after a minute."""
    for _ in range(60):
        if len(ask(*kubectl, "get", "pods", *selected, "-o", "name").split()) >= count:
            return
        time.sleep(1)
    raise TrialError(
        f"not all of {count} pods were created within a minute; look at the Deployment in {NAMESPACE}"
    )


def image_version() -> str:
    """Return the tag of the images that the manifests name."""
    text = (ROOT / "deploy" / "poseidon.yaml").read_text()
    return text.partition("image: poseidon-firmament/poseidon:")[2].split()[0]


def step(what: str, *words: str) -> None:
    """Say what is done, and do it. Raises ``TrialError`` with the last line of what went wrong."""
    say(what)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise TrialError(f"{' '.join(words[:3])}: {lines[-1]}")


def ask(*words: str) -> str:
    """Return what a command prints; "" if it fails."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout  # noqa: S603


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"==> {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "kind")
    except TrialError as error:
        sys.exit(f"{error}")
