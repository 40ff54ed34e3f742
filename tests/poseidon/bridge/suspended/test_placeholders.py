"""Placeholders of suspended objects among the pods of a bridge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from poseidon.bridge.suspended.placeholders import AdmissionStage, Placeholders, WorkloadAdmission
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.api.pods import Pod
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job


def test_placeholders_give_their_places_back_when_their_object_is_deleted():
    cluster = JobCluster(creates_pods=False)
    cluster.create(job("a", 2))
    cluster.settle()
    assert [bool(record.place) for record in cluster.state.tasks] == [True, True]
    cluster.delete("a")
    cluster.settle()
    assert not [*cluster.state.tasks]


class Tasks(dict[str, Any]):
    """Records of pods of which only the place matters."""

    def __init__(self, *placed: str) -> None:
        super().__init__({uid: SimpleNamespace(place="n") for uid in placed})


def make_entry(*pods: Pod) -> WorkloadAdmission:
    found: Any = SimpleNamespace(ref=ObjectRef("batch/v1", "Job", "job", "default", "j"))
    entry = WorkloadAdmission(found, AdmissionStage.WAITING, 0.0)
    entry.pods.update((each.metadata.uid, each) for each in pods)
    return entry


def stand_in(name: str, image: str = "i", **labels: str) -> Pod:
    metadata = {"name": name, "uid": name, "namespace": "default", "labels": labels}
    return convert_object(
        {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": image}]}}, Pod
    )


def placeholders(*placed: str) -> Placeholders:
    tasks: Any = Tasks(*placed)
    queues: Any = SimpleNamespace(list_owned=lambda _: ["a", "b", "own"])
    return Placeholders(tasks, queues)


@pytest.mark.parametrize(
    ("stands", "placed", "chosen"),
    [
        ([stand_in("a", "other"), stand_in("b")], (), "b"),
        ([stand_in("a", "other"), stand_in("b")], ("a",), "b"),
        ([stand_in("a"), stand_in("b")], ("b",), "b"),
        ([stand_in("a"), stand_in("b")], ("a",), "a"),
        ([stand_in("a", "other", app="x"), stand_in("b", app="y")], (), "b"),
        ([stand_in("a", "other", app="z"), stand_in("b", "other", app="x")], (), "b"),
        ([stand_in("a", "other", app="z"), stand_in("b", "third", app="z")], ("a",), ""),
    ],
)
def test_the_placeholder_of_a_pod_is_of_its_template_and_rather_has_a_place(stands, placed, chosen):
    pod = stand_in("p", app="x", more="m")
    assert placeholders(*placed).choose_placeholder(make_entry(*stands), pod) == chosen


def test_those_without_places_are_dropped_first():
    found, entry = placeholders("a"), make_entry(stand_in("a"), stand_in("b"), stand_in("c"))
    told: list[tuple[str, bool]] = []
    found.take_pods = lambda changes: told.extend((each.uid, each.object is None) for each in changes)
    found._owners.update(dict.fromkeys("abc", "job"))
    assert (len(found), found.find_owner("a"), found.find_owner("x")) == (3, "job", "")
    found.drop_placeholders(entry, 2)
    assert list(entry.pods) == ["a"]
    assert told == [("b", True), ("c", True)]
    assert found.list_pods(entry) == ["b", "own"]
    found.drop_placeholders(entry)
    assert (len(found), entry.pods) == (0, {})
    found.drop_placeholders(entry)
    assert len(told) == 3, "there is nothing to tell"
