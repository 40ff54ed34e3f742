"""The original's protocol: field numbers on the wire, and a whole comparison with a service that speaks it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from benchmarks.comparators.original_firmament import OriginalFirmament
from benchmarks.comparators.original_messages import messages
from benchmarks.declarative.loading import load_workload
from benchmarks.quality.comparing import compare
from tests.benchmarks.workload_files import content, measured, nodes, pods, write

SERVICE = Path(__file__).with_name("first_fit_service.py")


def program(folder: Path, script: str) -> Path:
    path = folder / "firmament_scheduler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def compared(folder: Path, binary: Path, count: int):
    workload = load_workload(write(folder, content(nodes(2), measured(pods(count)))))
    chosen = {"original": OriginalFirmament(binary, ())}
    done = asyncio.run(compare(workload, chosen, runs=1, progress=lambda _: None))
    return done["results"][1]


def test_field_numbers_on_the_wire():
    made = messages()
    task = made["TaskDescriptor"](uid=7, resource_request=made["ResourceVector"](cpu_cores=1.5, ram_cap=2))
    # 1: varint 7; 26: 7 bytes; within them 1: float 1.5, 3: varint 2.
    assert task.SerializeToString() == b"\x08\x07\xd2\x01\x07\x0d\x00\x00\xc0\x3f\x18\x02"
    delta = made["SchedulingDelta"](task_id=1, resource_id="a", type=1)
    assert delta.SerializeToString() == b"\x08\x01\x12\x01a\x18\x01"


def test_a_service_is_told_everything_and_judged_by_the_same_cost(tmp_path):
    binary = program(
        tmp_path, f'PYTHONPATH="{":".join(filter(None, sys.path))}" exec {sys.executable} {SERVICE} "$@"'
    )
    found = compared(tmp_path, binary, count=16)  # 8 fit each of the 2 machines, by cpu
    assert "notMeasured" not in found
    assert found["tasksBeyondCapacity"] == 1
    assert found["quality"]["placed"] == 15
    assert found["costRatio"] > 1
    assert found["seconds"] > 0


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no such flag >&2; exit 2", "ended with status 2: no such flag"),
        (f'exec {sys.executable} -c "import sys; sys.exit(3)"', "ended with status 3"),
    ],
)
def test_a_binary_that_does_not_run_is_not_measured(tmp_path, script, reason):
    assert reason in compared(tmp_path, program(tmp_path, script), count=2)["notMeasured"]


def test_a_file_that_is_no_program(tmp_path):
    text = tmp_path / "text"
    text.write_text("x")
    assert "cannot be run" in compared(tmp_path, text, count=2)["notMeasured"]
