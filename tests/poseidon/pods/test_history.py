"""Programs and their run times, learnt from pods that have succeeded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pods.learnt_run_times import RuntimeHistory, get_program, measure_run_time


def ended(second: Any, *, since: Any = 0) -> dict:
    times = {"startedAt": since, "finishedAt": second}
    text = {
        key: f"2026-01-01T00:{value // 60:02d}:{value % 60:02d}Z"
        for key, value in times.items()
        if value is not None
    }
    return {"name": "c", "state": {"terminated": text}}


def finished(
    *statuses: dict, program: str = "", owner: tuple[str, str] | None = None, phase: str = "Succeeded"
) -> Pod:
    metadata: dict[str, Any] = {"name": "p", "namespace": "ns"}
    if program:
        metadata["annotations"] = {"firmament.io/program": program}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return convert_object(
        {"metadata": metadata, "status": {"phase": phase, "containerStatuses": list(statuses)}}, Pod
    )


def told(history: RuntimeHistory) -> dict[str, tuple[int, float] | None]:
    """What the next events say, by program; None for a removal."""
    found: dict[str, tuple[int, float] | None] = {}
    for event in history.take_events():
        if event.WhichOneof("body") == "record_removed":
            assert event.record_removed.kind == "RuntimeHistory"
            found[event.record_removed.name] = None
        else:
            assert event.record.key.kind == "RuntimeHistory"
            payload = json.loads(event.record.payload)
            found[event.record.key.name] = (payload["count"], payload["meanSeconds"])
    return found


@pytest.mark.parametrize(
    ("owner", "named", "expected"),
    [
        (None, "", ""),
        (None, "etl", "etl"),
        (("Job", "sort"), "", "ns/sort"),
        (("Job", "sort"), "etl", "etl"),
        (("Job", "nightly-29384756"), "", "ns/nightly"),
        (("Job", "sort-2024"), "", "ns/sort-2024"),
        (("SparkApplication", "count"), "", "ns/count"),
        (("ReplicaSet", "web-5d8f"), "", ""),
        (("StatefulSet", "db"), "", ""),
        (("Job", ""), "", ""),
        (None, "x" * 253, "x" * 253),
        (("Job", "sort"), "x" * 254, "ns/sort"),
    ],
)
def test_the_program_of_a_pod(owner, named, expected):
    assert get_program(finished(program=named, owner=owner)) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (finished(ended(90)), 90.0),
        (finished(ended(90, since=30), ended(70, since=10)), 80.0),
        (finished(ended(5, since=5)), 0.0),
        (finished(ended(5, since=9)), 0.0),
        (finished(), None),
        (finished(ended(90, since=None)), None),
        (finished(ended(None)), None),
        (finished(ended(90), {"name": "d", "state": {"running": {}}}), None),
        (finished(ended(90), phase="Failed"), None),
        (finished(ended(90), phase="Running"), None),
        (finished({"name": "c", "state": {"terminated": {"startedAt": "x", "finishedAt": "y"}}}), None),
    ],
)
def test_how_long_a_pod_ran(pod, expected):
    assert measure_run_time(pod) == expected


def test_a_program_has_the_mean_of_its_pods():
    history = RuntimeHistory()
    for index, seconds in enumerate((10, 20, 60)):
        history.count_finished(f"u{index}", finished(ended(seconds), program="etl"))
    history.count_finished("other", finished(ended(7), program="sort"))
    assert told(history) == {"etl": (3, 30.0), "sort": (1, 7.0)}
    assert told(history) == {}


def test_a_pod_counts_once():
    history = RuntimeHistory()
    for _ in range(3):
        history.count_finished("u", finished(ended(10), program="etl"))
    assert told(history) == {"etl": (1, 10.0)}


def test_what_a_deleted_pod_has_taught_stays():
    history = RuntimeHistory()
    history.count_finished("u", finished(ended(10), program="etl"))
    history.forget_pod("u")
    history.forget_pod("never there")
    assert told(history) == {"etl": (1, 10.0)}


def test_a_pod_that_was_deleted_counts_again_if_it_comes_back():
    history = RuntimeHistory()
    pod = finished(ended(10), program="p")
    history.count_finished("a", pod)
    history.forget_pod("a")
    history.count_finished("a", pod)
    assert told(history) == {"p": (2, 10.0)}


def test_pods_without_program_or_times_teach_nothing():
    history = RuntimeHistory()
    history.count_finished("a", finished(ended(10)))
    history.count_finished("b", finished(program="etl"))
    history.count_finished("c", finished(ended(10), program="etl", phase="Failed"))
    assert told(history) == {}


def test_only_noticeable_changes_are_told():
    history = RuntimeHistory()
    history.count_finished("a", finished(ended(100), program="etl"))
    told(history)
    history.count_finished("b", finished(ended(110), program="etl"))
    assert told(history) == {}, "a twentieth is not noticeable yet"
    history.count_finished("c", finished(ended(130), program="etl"))
    assert told(history) == {"etl": (3, 113.333)}


def test_a_new_stream_is_told_everything():
    history = RuntimeHistory()
    history.count_finished("a", finished(ended(100), program="etl"))
    told(history)
    history.forget_sent()
    assert told(history) == {"etl": (1, 100.0)}


def test_programs_are_remembered_in_bounds():
    history = RuntimeHistory(most_programs=2)
    for index, name in enumerate(("one", "two", "one")):
        history.count_finished(f"u{index}", finished(ended(10), program=name))
    assert set(told(history)) == {"one", "two"}
    history.count_finished("u3", finished(ended(10), program="three"))
    assert told(history) == {"two": None, "three": (1, 10.0)}
    history.count_finished("u4", finished(ended(20), program="two"))
    assert told(history) == {"one": None, "two": (1, 20.0)}


def test_a_program_that_was_forgotten_before_it_was_told_is_not_told_to_be_gone():
    history = RuntimeHistory(most_programs=1)
    history.count_run("one", 10.0)
    history.count_run("two", 10.0)
    assert told(history) == {"two": (1, 10.0)}


def test_a_record_says_how_many_runs_took_about_how_long():
    history = RuntimeHistory()
    for uid, second in enumerate((10, 10, 11, 40)):
        history.count_finished(str(uid), finished(ended(second), program="etl"))
    history.count_run("etl", 0.2)
    (event,) = history.take_events()
    runs = json.loads(event.record.payload)["runs"]
    assert runs == [[1.0, 1], [11.3, 3], [45.3, 1]]


def test_many_more_runs_are_told_though_the_mean_is_the_same():
    history = RuntimeHistory()
    history.count_run("etl", 10.0)
    assert told(history) == {"etl": (1, 10.0)}
    history.count_run("etl", 10.0)
    history.count_run("etl", 10.0)
    assert told(history) == {}
    history.count_run("etl", 10.0)
    assert told(history) == {"etl": (4, 10.0)}
