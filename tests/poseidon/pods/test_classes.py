"""Classes: what splits them and what does not."""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import ClassTable
from poseidon.pods.visibility import Visibility
from tests.poseidon.pods.builders import make_pod, requesting


def labelled(**labels):
    pod = {
        "metadata": {"name": "p", "labels": labels, "annotations": {"note": "x"}},
        "spec": {"containers": [{}]},
    }
    return convert_object(pod, Pod)


def test_copies_of_a_template_share_a_class():
    table = ClassTable()
    pods = [make_pod(f"p{index}", containers=[requesting({"cpu": 1})]) for index in range(3)]
    assert {table.intern(pod) for pod in pods} == {1}
    assert len(table) == 1
    assert table.message(1).id == 1


def test_different_words_for_the_same_amount_share_a_class():
    table = ClassTable()
    first = table.intern(make_pod(containers=[requesting({"cpu": "1", "memory": "1Ki"})]))
    assert table.intern(make_pod(containers=[requesting({"memory": 1024, "cpu": "1000m"})])) == first


def test_requests_and_selectors_split():
    table = ClassTable()
    pods = [make_pod(), make_pod(containers=[requesting({"cpu": 1})]), make_pod(nodeSelector={"a": "b"})]
    numbers = [table.intern(pod) for pod in pods]
    assert numbers == [1, 2, 3]


def test_where_a_pod_runs_and_who_it_is_do_not_split():
    table = ClassTable()
    pods = [make_pod("a"), make_pod("b", namespace="other"), make_pod("c", nodeName="n1", priority=9)]
    assert {table.intern(pod) for pod in pods} == {1}


def test_labels_split_only_when_someone_looks_at_them():
    plain, watching = ClassTable(), ClassTable(Visibility(labels=frozenset({"app"})))
    pods = [labelled(app="a"), labelled(app="b"), labelled(app="a", other="x")]
    assert [plain.intern(pod) for pod in pods] == [1, 1, 1]
    assert [watching.intern(pod) for pod in pods] == [1, 2, 1]
    assert dict(watching.message(1).labels) == {"app": "a"}


def test_namespaces_and_annotations_split_only_when_someone_looks_at_them():
    table = ClassTable(Visibility(annotations=frozenset({"note"}), namespaces=True))
    number = table.intern(labelled())
    assert dict(table.message(number).annotations) == {"note": "x"}
    assert table.intern(make_pod(namespace="a")) != table.intern(make_pod(namespace="b"))


def test_a_bad_spec_keeps_its_requests_and_says_why():
    table = ClassTable()
    number = table.intern(
        make_pod(
            containers=[requesting({"cpu": 1, "memory": "lots"})], tolerations=[{"key": "k", "effect": "?"}]
        )
    )
    message = table.message(number)
    assert [(each.resource, each.amount) for each in message.requests] == [("cpu", 1000)]
    assert [each.field for each in table.defects(number)] == [
        "spec.containers[0].resources.requests.memory",
        "spec.tolerations[0].effect",
    ]
    assert message.invalid.count("; ") >= 1


def test_pods_that_run_to_completion_are_known_as_such():
    table = ClassTable()
    specs: list[dict[str, Any]] = [
        {},
        {"restartPolicy": "Always"},
        {"restartPolicy": "Never"},
        {"restartPolicy": "OnFailure"},
    ]
    pods = [make_pod(**spec) for spec in (*specs, {"activeDeadlineSeconds": 60})]
    assert [table.intern(pod) for pod in pods] == [1, 1, 2, 2, 3]
    assert [table.message(number).runs_to_completion for number in (1, 2, 3)] == [False, True, True]


def test_pods_of_one_group_of_pod_sets_say_so_to_the_solver():
    table = ClassTable()
    plain = make_pod()
    annotations = {"kueue.x-k8s.io/podset-group-name": "llm"}
    grouped = msgspec.structs.replace(
        plain, metadata=msgspec.structs.replace(plain.metadata, annotations=annotations)
    )
    assert [table.message(table.intern(pod)).flavor_group for pod in (plain, grouped)] == ["", "llm"]


def test_pods_say_how_long_they_run_by_their_deadline_or_an_annotation():
    table = ClassTable()

    def run(annotation: str = "", **spec: Any) -> int:
        pod = make_pod(**spec)
        annotations = {"firmament.io/run-seconds": annotation} if annotation else {}
        metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
        return table.message(table.intern(msgspec.structs.replace(pod, metadata=metadata))).run_seconds

    assert run() == run("-5") == run("0") == run("soon") == run("9" * 40) == 0
    assert run("8") == 8
    assert run("100") == 104
    assert run(activeDeadlineSeconds=66) == 96
    assert run(activeDeadlineSeconds=60, terminationGracePeriodSeconds=4) == 64
    assert run("40", activeDeadlineSeconds=66) == 40
    assert all(seconds <= run(str(seconds)) <= seconds * 9 / 8 for seconds in range(1, 300))
