"""What a simulated solver is told about run times, and that a model makes use of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from poseidon.simulate.checkpoint import from_bytes, to_bytes
from poseidon.simulate.engine import Simulation
from poseidon.simulate.report import make_report
from poseidon.simulate.run_time_records import RunTimeRecords
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.simulate.scenarios import begin, kind, pool, scenario

LONG = kind("service", cpu=2, mean="1h", duration={"distribution": "lognormal", "median": "5h", "sigma": 1})
SHORT = kind("batch", cpu=4, duration={"distribution": "exponential", "mean": "30m"})


def begin_with(folder: Path, *overlays: str, **more: Any) -> Simulation:
    configuration = {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "SchedulerConfiguration",
        "policy": {"name": "most_allocated"},
        "costModels": [{"name": name, "weight": 10} for name in overlays],
    }
    (folder / "scheduler.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    nodes = {"pools": [pool(count=15, cpu=32)]}
    document = scenario(LONG, SHORT, load=0.6, horizon="24h", cluster=nodes, configuration="scheduler.yaml")
    return begin(folder, document | {"roundEvery": "2m"} | more)


def read_runs(events: list[pb.Event]) -> dict[str, list[list[float]]]:
    return {each.record.key.name: json.loads(each.record.payload)["runs"] for each in events}


def test_what_has_ended_is_told_by_kind(tmp_path: Path) -> None:
    kinds = begin_with(tmp_path, "lifetimes").kinds
    told = RunTimeRecords("learnt", 1)
    assert read_runs(told.take_ended(kinds, [(1, 512.0), (0, 4096.0)])) == {
        "batch": [[512.0, 1]],
        "service": [[4096.0, 1]],
    }
    assert told.take_ended(kinds, []) == []


def test_random_run_times_are_those_of_no_task(tmp_path: Path) -> None:
    kinds = begin_with(tmp_path, "lifetimes").kinds
    told, again = (RunTimeRecords("random", 3) for _ in range(2))
    ended = [(1, 512.0), (1, 600.0)]
    ((seconds, count),) = read_runs(told.take_ended(kinds, ended))["batch"]
    assert count == 2
    assert seconds not in (512.0, 608.9)
    assert read_runs(again.take_ended(kinds, ended))["batch"] == [[seconds, 2]]


def test_what_files_tell_of_a_program_is_gone_on_with(tmp_path: Path) -> None:
    """A finished pod of the files has run the program that comes again."""
    ended = {"startedAt": "2025-12-31T00:00:00Z", "finishedAt": "2025-12-31T01:00:00Z", "exitCode": 0}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "done", "uid": "1", "annotations": {"firmament.io/program": "batch"}},
        "spec": {"nodeName": "general-0", "containers": [{"name": "main", "image": "work"}]},
        "status": {
            "phase": "Succeeded",
            "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
        },
    }
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    cluster = {"pools": [pool(count=2)], "files": ["pods.yaml"]}
    runs = {}
    for telling in ("learnt", "random"):
        simulation = begin_with(tmp_path, "lifetimes", cluster=cluster, runTimes=telling)
        assert simulation.told_runs is not None
        told = simulation.told_runs.take_ended(simulation.kinds, [(1, 512.0)] * 4)
        runs[telling] = read_runs(told)["batch"]
    assert runs["learnt"] == [[512.0, 4], [4096.0, 1]]
    assert [count for _, count in runs["random"]] == [4]


def test_nothing_is_told_where_no_model_reads_it(tmp_path: Path) -> None:
    simulation = begin_with(tmp_path)
    assert simulation.told_runs is None
    assert not any("firmament.io/program" in each.annotations for each in simulation.kinds.classes)


def test_more_nodes_stay_empty_by_what_is_learnt(tmp_path: Path) -> None:
    empty = {}
    for overlays, more in (((), {}), (("lifetimes",), {}), (("lifetimes",), {"runTimes": "random"})):
        simulation = begin_with(tmp_path, *overlays, roundEvery="10m", horizon="12h", **more)
        assert simulation.run()
        empty[len(overlays), bool(more)] = make_report(simulation).empty
    assert empty[1, False] > empty[0, False]
    assert empty[1, True] > empty[0, False] - 0.5


def test_what_was_learnt_is_kept_in_a_pause(tmp_path: Path) -> None:
    whole, part = (begin_with(tmp_path, "lifetimes", horizon="6h", roundEvery="10m") for _ in range(2))
    whole.run()
    part.run(2 * 3600.0)
    resumed = from_bytes(to_bytes(part))
    resumed.run()
    assert make_report(resumed).as_json(timed=False) == make_report(whole).as_json(timed=False)
