"""``poseidon ui`` and ``poseidon demo --ui`` as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.poseidon.demo.test_command import Demo, wait_for
from tests.poseidon.ui.test_work import manifests  # noqa: F401 - a fixture
from tests.support.preloaded import quick_python
from tests.support.time_limits import stretch


def answer(base: str, path: str, body: bytes | None = None) -> dict:
    headers = {"X-Poseidon": "1", "Content-Type": "application/json"} if body else {}
    request = urllib.request.Request(f"{base}api/v1/{path}", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=stretch(60)) as found:
        return json.loads(found.read())


def ask_for_cures(base: str, pod: str) -> dict:
    """Ask what would make a pod fit, and wait for the end of it."""
    job = answer(base, "cures", json.dumps({"pod": pod}).encode())["job"]
    return wait_for(lambda: _done(answer(base, f"cures/{job}")))


def test_files_are_served_until_the_end_is_asked_for(manifests, tmp_path):  # noqa: F811 - the fixture
    process = subprocess.Popen(
        [quick_python(), "-m", "poseidon", "ui", "--listen", "127.0.0.1:0", "--snapshot", manifests.paths[0]],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        base = process.stdout.readline().removeprefix("listening on ").strip()
        wait_for(lambda: answer(base, "overview")["pods"]["bound"] == 2)
        (waits,) = answer(base, "pods?phase=pending")["items"]
        found = ask_for_cures(base, waits["name"])
        assert found["state"] == "done", found
        assert "uncordon node n2" in {each["text"] for each in found["cures"]}
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=stretch(60))
    assert (process.returncode, errors) == (0, "")


def _done(found: dict) -> dict | None:
    return found if found["state"] in ("done", "failed") else None


# That there is one is held by ``tests/poseidon/demo/test_show.py``, and what pages answer by the test before.
@pytest.mark.full
def test_the_demonstration_shows_a_page(tmp_path: Path):
    demo = Demo(tmp_path, "--nodes", "20", "--pods", "30", "--ui")
    try:
        assert demo.process.stderr is not None
        line = next(line for line in demo.process.stderr if line.startswith("The dashboard is at "))
        base = line.removeprefix("The dashboard is at ").strip()
        demo.line("Everything keeps running")
        session = answer(base, "session")
        assert (session["source"], session["cluster"]) == ("live", "demo")
        wait_for(lambda: answer(base, "overview")["pods"]["bound"] >= 30)
        overview = wait_for(lambda: _with_rounds(answer(base, "overview")))
        assert overview["solver"]["state"] == "connected"
        assert answer(base, "flow")["placed"] > 0
    finally:
        demo.process.send_signal(signal.SIGINT)
        status, _, _ = demo.end()
    assert status == 0


def _with_rounds(found: dict) -> dict | None:
    return found if found["rounds"] and found["figures"] else None
