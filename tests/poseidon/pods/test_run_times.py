"""How long pods run at most: by deadline or annotation, rounded up so that nearly equal ones are alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pods.run_times import find_last_end, find_run_seconds


def pod(stated: str | None = None, **spec: Any) -> Pod:
    annotations = {} if stated is None else {"firmament.io/run-seconds": stated}
    return convert_object({"metadata": {"name": "p", "annotations": annotations}, "spec": spec}, Pod)


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        (pod(), 0),
        (pod("15"), 15),
        (pod("16"), 16),
        (pod("17"), 18),
        (pod("31"), 32),
        (pod("33"), 36),
        (pod("600"), 640),
        (pod("0"), 0),
        (pod("-5"), 0),
        (pod("5.5"), 0),
        (pod("five"), 0),
        (pod(""), 0),
        (pod("٥"), 0),
        (pod("1"), 1),
        (pod("00000000015"), 0),
        (pod("0000000015"), 15),
        (pod("1000000001"), 0),
        (pod(activeDeadlineSeconds=2), 32),
        (pod(activeDeadlineSeconds=2, terminationGracePeriodSeconds=0), 2),
        (pod(activeDeadlineSeconds=2, terminationGracePeriodSeconds=-7), 2),
        (pod(activeDeadlineSeconds=2, terminationGracePeriodSeconds=5), 7),
        (pod(activeDeadlineSeconds=0), 0),
        (pod(activeDeadlineSeconds=1, terminationGracePeriodSeconds=0), 1),
        (pod("5", activeDeadlineSeconds=2), 5),
        (pod("0", activeDeadlineSeconds=2), 32),
        (pod("500", activeDeadlineSeconds=2), 32),
        (pod(terminationGracePeriodSeconds=5), 0),
    ],
)
def test_the_shortest_of_what_a_pod_says_counts(found, seconds):
    assert find_run_seconds(found) == seconds


def test_runs_as_long_as_the_longest_are_rounded_too():
    assert find_run_seconds(pod("1000000000")) >= 1_000_000_000


@given(st.integers(1, 10**9))
def test_runs_are_rounded_up_by_an_eighth_at_most_to_few_numbers(seconds):
    found = find_run_seconds(pod(str(seconds)))
    assert seconds <= found <= seconds * 9 / 8
    assert found.bit_count() <= 4


def ended(*times: str | None) -> Pod:
    statuses = [
        {"name": str(index), "state": {"terminated": {"finishedAt": each}} if each else {}}
        for index, each in enumerate(times)
    ]
    return convert_object({"metadata": {"name": "p"}, "status": {"containerStatuses": statuses}}, Pod)


@pytest.mark.parametrize(
    ("found", "end"),
    [
        (ended(), None),
        (ended(None), None),
        (ended("1970-01-01T00:01:00Z", "1970-01-01T00:00:30Z", None), 60.0),
        (ended("never"), None),
    ],
)
def test_a_pod_has_ended_when_its_last_container_has(found, end):
    assert find_last_end(found) == end
