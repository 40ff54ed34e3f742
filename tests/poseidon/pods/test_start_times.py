"""When pods began: of equal victims the youngest goes, and no message of its own is due to say when."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.cli import main
from tests.poseidon.bridge.objects import node, pod, present

DAYS = {"mon": "2026-01-05T00:00:00Z", "tue": "2026-01-06T00:00:00Z", "wed": "2026-01-07T00:00:00Z"}


def running(name: str, start: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n", "priority": 0, "containers": [container()]},
        "status": {"phase": "Running", "startTime": start},
    }


def container() -> dict:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize("order", [["mon", "tue", "wed"], ["wed", "mon", "tue"], ["tue", "wed", "mon"]])
def test_of_equal_victims_the_youngest_goes(tmp_path, order):
    machine = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {
            "allocatable": {"cpu": "3", "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    urgent = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "urgent"},
        "spec": {"priority": 10, "containers": [container()]},
    }
    items = [machine, *(running(name, DAYS[name]) for name in order), urgent]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = CliRunner().invoke(main, ["plan", "-f", str(file), "-o", "json"])
    assert done.exit_code == 0, done.output
    [victim] = json.loads(done.stdout)["preemptions"]
    assert victim["pod"] == "default/wed"


def test_what_is_there_at_first_is_told_with_its_time_and_nothing_is_told_again():
    state = BridgeState()
    state.nodes_changed([present(node("n"))])
    there, ours = pod("there", node="n", phase="Running"), pod("ours")
    began = replace(there, status=replace(there.status, start_time=DAYS["mon"]))
    state.pods_changed([present(began), present(ours)])
    bound = {uid: list(event.bound.assigned) for event in state.snapshot() for uid in event.bound.uids}
    assert bound == {"pod-there": [1767571200.0]}
    placed = pod("ours", node="n", phase="Running")
    state.pods_changed([present(placed)])
    state.take_events()
    later = replace(placed, status=replace(placed.status, start_time=DAYS["tue"]))
    again = replace(began, status=replace(began.status, start_time=DAYS["wed"]))
    state.pods_changed([present(later), present(again)])
    assert state.take_events() == []
