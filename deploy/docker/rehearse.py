"""Build the file systems of the images without a container engine, and start each program from its own.

``python deploy/docker/rehearse.py FOLDER``, in the repository's root, with the Python version of the recipes. The steps
of a recipe's first stage run as they stand, except that what they name below ``/opt`` and ``/source`` is below a folder
of the recipe's in FOLDER. What is not tried is the base image, and another user than the present one. Ends with status
1 and the output of the step that failed.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

RECIPES = ("firmament", "poseidon")
_MOVED = re.compile(r"(?<![\w.])/(opt|source)\b")
_KUBECONFIG = """
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}], users: [{name: u, user: {token: t}}]}
"""
"""A cluster that does not answer: the bridge goes on asking."""


class Recipe:
    """The steps of a Dockerfile, with paths below ``root``; ``stages`` hold instructions and what they are given."""

    def __init__(self, path: Path, root: Path) -> None:
        self.root = root
        text = re.sub(r"\\\n\s*", "", path.read_text())
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        self.stages: list[list[tuple[str, str]]] = []
        for line in lines:
            instruction, _, rest = line.partition(" ")
            if instruction == "FROM":
                self.stages.append([])
            elif self.stages:
                self.stages[-1].append((instruction, self._moved(rest)))

    def _moved(self, text: str) -> str:
        return _MOVED.sub(lambda found: f"{self.root}/{found[1]}", text)

    def last(self, instruction: str) -> str:
        """What the image's own stage says by an instruction."""
        return next(rest for name, rest in reversed(self.stages[-1]) if name == instruction)

    def environment(self, stage: int) -> dict[str, str]:
        """The variables that a stage sets, above those of this process that any program needs."""
        found = {"PATH": os.environ["PATH"], "HOME": str(self.root)}
        # Where packages come from is the builder's matter; no variable of a running environment gets in.
        found |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        for name, rest in self.stages[stage]:
            if name == "ENV":
                pairs = (pair.partition("=") for pair in rest.split())
                found |= {key: value.replace("$PATH", found["PATH"]) for key, _, value in pairs}
        return found

    def build(self, context: Path) -> None:
        """Carry out the first stage. Raises ``subprocess.CalledProcessError``."""
        environment, folder = self.environment(0), self.root
        for instruction, rest in self.stages[0]:
            if instruction == "WORKDIR":
                folder = Path(rest)
                folder.mkdir(parents=True, exist_ok=True)
            elif instruction == "COPY":
                source, _, _ = rest.partition(" ")
                _copy(context, source, folder)
            elif instruction == "RUN":
                command = rest.replace("python -m venv", f"{sys.executable} -m venv")
                subprocess.run(  # noqa: S602 - the recipe's own steps
                    command,
                    shell=True,
                    check=True,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                )


def _allowed(context: Path) -> tuple[list[Path], list[str]]:
    """What ``.dockerignore`` lets through, and which names below it does not."""
    lines = [line for line in (context / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    let = [path for line in lines if line[0] == "!" for path in context.glob(line[1:])]
    return let, [line.removeprefix("**/") for line in lines if line.startswith("**/")]


def _copy(context: Path, source: str, folder: Path) -> None:
    let, never = _allowed(context)
    for path in let:
        name = path.relative_to(context)
        if source == "." and path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns(*never), dirs_exist_ok=True)
        elif source == ".":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        elif fnmatch.fnmatch(str(name), source):
            shutil.copy(path, folder)


def smoke(recipe: Recipe, name: str, port: int) -> None:
    """Start the image's program as its manifest does, wait until it answers, and end it. Raises ``SystemExit``."""
    user = recipe.last("USER").partition(":")[0]
    if not user.isdecimal() or user == "0":
        raise SystemExit(f"{name}: USER {user} may be root, or cannot be told not to be")
    environment = recipe.environment(-1)
    (program,) = json.loads(recipe.last("ENTRYPOINT"))
    executable = str(recipe.root / "opt" / "venv" / "bin" / program)
    kubeconfig = recipe.root / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG)
    # Where the recipe has it listen anything may listen here.
    given = [re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", word) for word in json.loads(recipe.last("CMD"))]
    more = [f"--kubeconfig={kubeconfig}"] if given == ["run"] else []
    command = [executable, *given, *more, f"--metrics=127.0.0.1:{port}"]
    with (recipe.root / "log").open("w") as log:
        process = subprocess.Popen(  # noqa: S603 - the image's own program
            command, env=environment, cwd=recipe.root, stdout=log, stderr=log
        )
    try:
        _until_answered(process, f"http://127.0.0.1:{port}/metrics", name, recipe.root / "log")
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(30)
    if status != 0:
        raise SystemExit(f"{name}: ended with {status}\n{(recipe.root / 'log').read_text()}")


def _until_answered(process: subprocess.Popen[bytes], url: str, name: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - loopback
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{name}: does not answer\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main(folder: Path) -> None:
    """Build and try every recipe."""
    here = Path(__file__).resolve().parent
    for name in RECIPES:
        root = folder.resolve() / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        recipe, started = Recipe(here / f"{name}.Dockerfile", root), time.monotonic()
        try:
            recipe.build(here.parents[1])
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"{name}: {error.cmd}\n{error.stdout}{error.stderr}") from None
        shutil.rmtree(root / "source")  # the image has the environment alone
        smoke(recipe, name, _free_port())
        megabytes = sum(path.lstat().st_size for path in (root / "opt").rglob("*")) / 1e6
        sys.stdout.write(f"{name}: {megabytes:.0f} MB, {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
