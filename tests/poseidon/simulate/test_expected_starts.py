"""Expected starts of what waits: exact where run times are stated, with an interval where they are learnt."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.embedding import load_configuration
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import load_manifests
from poseidon.simulate.expected_starts import expect_starts
from poseidon.simulate.forecasts.learning_from_pods import RunFamilies, learn_run_times
from poseidon.simulate.presentation import format_span
from tests.poseidon.offline.objects import node, pod

NOW = "2026-01-01T01:00:00Z"


def run(folder: Path, objects: list[dict[str, Any]], *options: str) -> str:
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    arguments = ["plan", "-f", str(path), "--when", "--now", NOW, *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def starts(folder: Path, objects: list[dict[str, Any]]) -> dict[str, tuple[float | None, ...]]:
    found = json.loads(run(folder, objects, "-o", "json"))["expectedStarts"]
    return {each["pod"]: (each["low"], each["median"], each["high"]) for each in found}


def stated(seconds: int) -> dict[str, Any]:
    return {"annotations": {"firmament.io/run-seconds": str(seconds)}}


def running(name: str, since: str, **more: Any) -> dict[str, Any]:
    made = pod(name, phase="Running", nodeName="n1", **more)
    made["status"]["startTime"] = since
    return made


def of_job(name: str, made: dict[str, Any]) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def test_stated_run_times_give_the_moment(tmp_path: Path) -> None:
    objects = [
        node("n1"),
        running("first", "2026-01-01T00:59:00Z", cpu=4, metadata=stated(128)),
        pod("second", cpu=4, metadata=stated(256), priority=1, preemptionPolicy="Never"),
        pod("third", cpu=4),
    ]
    found = starts(tmp_path, objects)
    assert found.keys() == {"shop/second", "shop/third"}
    for uid, moment in (("shop/second", 68.0), ("shop/third", 68.0 + 256.0)):
        low, median, high = found[uid]
        assert low == median == high
        assert median is not None
        assert moment <= median <= moment + 2.0


def test_one_pod_is_told(tmp_path: Path) -> None:
    objects = [
        node("n1"),
        running("first", "2026-01-01T00:59:00Z", cpu=4, metadata=stated(128)),
        pod("second", cpu=4),
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    for name, told in (("second", "It is expected to get a node in 6"), ("first", None)):
        arguments = ["explain", "-f", str(path), "--now", NOW, "--pod", f"shop/{name}", "--when"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert told is None or told in result.stdout
        assert ("is expected" in result.stdout) == (told is not None)
        found = json.loads(CliRunner().invoke(main, [*arguments, "-o", "json"]).stdout)
        assert ("expectedStart" in found) == (told is not None)


def test_learnt_run_times_give_an_interval(tmp_path: Path) -> None:
    ended = []
    for number, minutes in enumerate((2, 4, 6, 8)):
        made = of_job(f"train-{number}", pod(f"train-{number}-x", phase="Succeeded", nodeName="n1"))
        finished = {"terminated": {"startedAt": NOW, "finishedAt": f"2026-01-01T00:{minutes:02}:00Z"}}
        made["status"] |= {
            "startTime": "2026-01-01T00:00:00Z",
            "containerStatuses": [{"name": "c", "state": finished}],
        }
        ended.append(made)
    now_running = of_job("train-9", running("train-9-x", "2026-01-01T00:57:00Z", cpu=4))
    found = starts(tmp_path, [node("n1"), *ended, now_running, pod("waits", cpu=1)])
    low, median, high = found["shop/waits"]
    assert low is not None
    assert high is not None
    assert median is not None
    assert 0.0 < low < 62.0, "of those that ran for over three minutes, one ended after four"
    assert 60.0 <= median <= 302.0
    assert high >= 300.0, "one ended after eight minutes, and the next may run longer"


def job_pod(number: int, minute: int, phase: str) -> dict[str, Any]:
    """Return a pod of two cores that came and began at that minute, and runs for five."""
    name = f"urgent-{number}"
    made = of_job(name, pod(f"{name}-x", cpu=2, phase=phase, nodeName="n1", priority=10))
    time = f"2026-01-01T00:{minute:02}:00Z"
    made["metadata"]["creationTimestamp"] = time
    made["status"]["startTime"] = time
    if phase == "Succeeded":
        ended = {"terminated": {"startedAt": time, "finishedAt": f"2026-01-01T00:{minute + 5:02}:00Z"}}
        made["status"]["containerStatuses"] = [{"name": "c", "state": ended}]
    return made


def test_more_important_pods_that_keep_coming_are_counted_on(tmp_path: Path) -> None:
    came = [job_pod(number, 9 * number, "Succeeded") for number in range(6)]
    now_running = [job_pod(28, 58, "Running")]
    service = running(
        "service", "2026-01-01T00:00:00Z", metadata={"creationTimestamp": "2026-01-01T00:00:00Z"}
    )
    waiting = [
        pod("waits", cpu=3, metadata={"creationTimestamp": "2026-01-01T00:59:00Z"}, preemptionPolicy="Never")
    ]
    objects = [node("n1", cpu=4), service, *now_running, *waiting]
    alone, beside = starts(tmp_path, objects), starts(tmp_path, [*objects, *came])
    assert alone["shop/waits"] == (None, None, None), "nothing says that what runs ends"
    low, median, high = beside["shop/waits"]
    assert low is not None
    assert low < 180.0
    assert median == 180.0, "mostly none comes before what runs has ended, as all that ended"
    assert high is None or high >= 300.0, "else it is placed first, and runs for five minutes"
    told = run(tmp_path, [*objects, *came])
    assert "Expected as if pods went on coming as 6 did in the last 60m; best and worst are" in told


def test_short_pods_leave_room_for_a_large_one_far_ahead_as_often_as_now(tmp_path: Path) -> None:
    """Sixty pods an hour run for half a minute each, so that nothing else runs for more than half of the time."""
    since = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    short = []
    for minute in range(1, 60):
        made = ended(f"s-{minute}", 30, cpu=1, metadata=stated(30))
        made["metadata"]["creationTimestamp"] = f"2026-01-01T00:{minute:02}:00Z"
        short.append(of_job(f"short-{minute}", made))
    objects = [
        node("n1"),
        running("first", "2026-01-01T00:00:00Z", cpu=4, metadata=stated(40_000) | since),
        pod("waits", cpu=4, metadata={"creationTimestamp": "2026-01-01T00:30:00Z"}),
        *short,
    ]
    low, median = starts(tmp_path, objects)["shop/waits"][:2]
    assert low is not None
    assert median is not None
    assert 36_400.0 <= low <= median < 46_000.0


def test_what_runs_for_ever_is_not_waited_for(tmp_path: Path) -> None:
    objects = [node("n1"), running("service", "2026-01-01T00:00:00Z", cpu=4), pod("waits", cpu=1)]
    assert starts(tmp_path, objects) == {"shop/waits": (None, None, None)}
    told = run(tmp_path, objects)
    assert "shop/waits    over 7 days   over 7 days   over 7 days" in told
    assert "Run times of pods: 0 as those of others that have ended, 0 as they state, 2 endless." in told


def test_work_is_bounded_where_more_comes_than_can_be_done(tmp_path: Path) -> None:
    came = [job_pod(number, 2 * number, "Succeeded") for number in range(25)]
    running = [job_pod(number, 58, "Running") for number in (28, 29)]
    behind = pod("waits", cpu=4, metadata={"creationTimestamp": "2026-01-01T00:59:00Z"})
    objects = [node("n1", cpu=4), *came, *running, behind]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    given = load_manifests([str(path)]), load_configuration(None), datetime.fromisoformat(NOW).timestamp()
    (whole,), (cut,) = expect_starts(*given).starts, expect_starts(*given, work=500_000).starts
    assert 60.0 < cut.ahead < whole.ahead <= 7 * 86400.0
    for found, bounded in zip(
        (whole.low, whole.median, whole.high), (cut.low, cut.median, cut.high), strict=True
    ):
        assert bounded in (None, found), "what is found within the bound is the same"
    assert cut.high is None
    assert f"over {format_span(cut.ahead)}" in cut.format_times()


def ended(name: str, seconds: int, **more: Any) -> dict[str, Any]:
    """Return a pod that ran for so many seconds, until ten minutes ago."""
    last = datetime.fromisoformat("2026-01-01T00:50:00+00:00")
    begun, over = ((last - timedelta(seconds=each)).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (seconds, 0))
    made = running(name, begun, **more)
    terminated = {"startedAt": begun, "finishedAt": over, "exitCode": 0}
    made["status"] |= {
        "phase": "Succeeded",
        "containerStatuses": [{"name": "main", "state": {"terminated": terminated}}],
    }
    return made


def test_pods_of_a_workload_that_state_other_run_times_are_others(tmp_path: Path) -> None:
    """Those that state an hour end after half of it, those that state ten minutes after one."""
    objects = [node("n1")]
    for number in range(4):
        short, long = (stated(600), 60), (stated(3600), 1800)
        for told, seconds in (short, long):
            made = ended(f"p{number}-{seconds}", seconds, metadata=told)
            objects.append(of_job(f"work-{number}", made))
    first = running("now", "2026-01-01T00:59:50Z", cpu=4, metadata=stated(600))
    objects += [of_job("work-8", first), pod("next", cpu=4)]
    low, median, high = starts(tmp_path, objects)["shop/next"]
    assert low is not None
    assert median is not None
    assert high is not None
    assert low < median < high < 1800.0
    assert 50.0 <= median <= 52.0


def test_pods_of_a_workload_with_other_requests_count_little() -> None:
    """Of small pods, which run a minute, four are known; of large ones, which run an hour, thirty or none."""
    now = datetime.fromisoformat(NOW).timestamp()
    small = [ended(f"s-{number}", 60, cpu=1) for number in range(4)]
    large = [ended(f"l-{number}", 3600, cpu=8) for number in range(30)]
    sought = running("s-9", "2026-01-01T00:59:59Z", cpu=1)
    for others, expected in (
        (large, [1.0] * 5 + [0.1] * 30),
        (large * 30, [1.0] * 5 + [3.0 / 225] * 225),
        ([], [1.0] * 5),
    ):
        objects = [of_job(f"work-{place}", each) for place, each in enumerate([sought, *small, *others])]
        pods = [msgspec.convert(each, Pod, strict=False) for each in objects]
        families = RunFamilies()
        found = learn_run_times(pods[:1], pods, families, now).learnt[families.find(pods[0])]
        assert found.weight.tolist() == pytest.approx(expected)
    unknown = msgspec.convert(of_job("work-99", pod("m-1", cpu=2)), Pod, strict=False)
    objects = [of_job(f"work-{place}", each) for place, each in enumerate([*small, *large])]
    pods = [unknown, *(msgspec.convert(each, Pod, strict=False) for each in objects)]
    families = RunFamilies()
    found = learn_run_times(pods[:1], pods, families, now).learnt[families.find(unknown)]
    assert found.weight.tolist() == [1.0] * 34, "without any of its own, all count"


def test_sizes_of_which_no_pod_has_succeeded_share_what_is_known_of_their_workload() -> None:
    """One of 1 cpu has run a minute; those of 2 cpu still run, and those of 8 cpu have failed at once."""
    now = datetime.fromisoformat(NOW).timestamp()
    failed = running("f-1", "2026-01-01T00:59:00Z", cpu=8)
    failed["status"]["phase"] = "Failed"
    objects = [ended("e-1", 60, cpu=1), running("r-1", "2026-01-01T00:59:59Z", cpu=2), failed]
    objects = [of_job(f"work-{place}", each) for place, each in enumerate(objects)]
    pods = [msgspec.convert(each, Pod, strict=False) for each in objects]
    families = RunFamilies()
    learnt = learn_run_times(pods[:1], pods, families, now).learnt
    _, still, never = (learnt[families.find(each)] for each in pods)
    assert still is never, "one object, whatever the number of sizes"
    drawn = learn_run_times(pods, pods, families, now).draw_future(np.random.default_rng(1))
    assert drawn.known[families.find(pods[1])] is drawn.known[families.find(pods[2])]


def test_workloads_of_which_none_has_ended_run_as_others_if_they_end(tmp_path: Path) -> None:
    """Three pods ran five minutes each; one of a workload that nobody has seen before has run for three."""
    known = [
        of_job(f"work-{number}", ended(f"e-{number}", 300, restartPolicy="Never")) for number in range(3)
    ]
    other = ended("d-1", 7200, restartPolicy="Always")
    for policy, starts_at_all in (("Never", True), ("OnFailure", True), ("Always", False)):
        new = running("new", "2026-01-01T00:57:00Z", cpu=4, restartPolicy=policy)
        objects = [node("n1"), *known, of_job("daemon", other), of_job("fresh", new), pod("next", cpu=4)]
        low, median, high = starts(tmp_path, objects)["shop/next"]
        assert (low is not None) is (median is not None) is starts_at_all
        if median is not None:
            assert 100.0 <= median <= 300.0
            assert high is None or high < 7200.0, "pods that are started again tell nothing"


def test_pods_of_a_gang_count_as_one_run() -> None:
    """Eight pods of a gang ran an hour together, three single pods a minute; the gang runs until its last pod ends."""
    key = "gang.scheduling.koordinator.sh"
    gang = {"annotations": {f"{key}/name": "work-9", f"{key}/min-available": "8"}}
    single = [of_job(f"work-{number}", ended(f"p-{number}", 60)) for number in range(3)]
    members = [of_job("work-9", ended(f"g-{number}", 3600, metadata=gang)) for number in range(8)]
    last = of_job("work-9", running("g-8", "2025-12-31T23:50:00Z", metadata=gang))
    now = datetime.fromisoformat(NOW).timestamp()
    for objects, ages, over in (
        ([*single, *members], [60.0, 60.0, 60.0, 3600.0], 4),
        ([*single, *members, last], [60.0, 60.0, 60.0, 4200.0], 3),
    ):
        pods = [msgspec.convert(each, Pod, strict=False) for each in objects]
        (found,) = learn_run_times(pods, pods, RunFamilies(), now).learnt.values()
        assert sorted(found.age.tolist()) == ages
        assert found.ended.sum() == over
