"""Classes show what selectors look at, all of it and no more, and grow with them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import ClassTable
from poseidon.pods.visibility import SelectorIndex, Visibility, list_reads
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.pods_with_rules import LABELS, NAMESPACES, SPECS, make
from tests.poseidon.pods.selecting import matches, selectors_of
from tests.support.task_classes import class_content

PODS = st.lists(
    st.builds(
        lambda spec, labels, namespace, deleting: make("p", spec, labels, namespace, deleting=deleting),
        SPECS,
        LABELS,
        st.sampled_from(sorted(NAMESPACES)),
        st.booleans(),
    ),
    max_size=8,
)


def classes_of(pods: list[Pod]) -> list[pb.TaskClass]:
    """Return the class of each pod once all have been seen."""
    table = ClassTable()
    traits = [table.traits(pod) for pod in pods]
    table.refresh()
    return [table.message(each.task_class) for each in traits]


@given(pods=PODS)
def test_a_class_is_selected_exactly_when_its_pods_are(pods):
    classes = classes_of(pods)
    for rules in classes:
        for selector in selectors_of(rules):
            for pod, seen in zip(pods, classes, strict=True):
                whole = matches(selector, pod.metadata.namespace, pod.metadata.labels, NAMESPACES)
                assert matches(selector, seen.namespace, dict(seen.labels), NAMESPACES) == whole
        for rule in rules.spread:
            for pod, seen in zip(pods, classes, strict=True):
                counted = matches(rule.selector, pod.metadata.namespace, pod.metadata.labels, NAMESPACES)
                if counted and pod.metadata.deletion_timestamp is not None:
                    assert seen.terminating


@given(pods=PODS, data=st.data())
def test_the_order_in_which_pods_are_seen_does_not_matter(pods, data):
    shuffled = data.draw(st.permutations(range(len(pods))))
    table = ClassTable()
    traits: dict[int, Any] = {}
    for index in shuffled:
        traits[index] = table.traits(pods[index])
        if data.draw(st.booleans()):
            table.refresh()
    table.refresh()
    found = []
    for index in range(len(pods)):
        message = pb.TaskClass()
        message.CopyFrom(table.message(traits[index].task_class))
        message.id = 0
        found.append(message)
    expected = classes_of(pods)
    for message in expected:
        message.id = 0
    assert found == expected


@given(pods=PODS)
def test_growing_ends_where_a_look_at_everything_ends(pods):
    selector_index = SelectorIndex()
    for pod in pods:
        selector_index.observe(list_reads(class_content(pod)[0]))
    expected = [class_content(pod, None, selector_index)[0] for pod in pods]
    for message, found in zip(expected, classes_of(pods), strict=True):
        message.id = found.id
        assert message == found


def plain(labels: Any, namespace: str = "a") -> Pod:
    return make("p", {}, labels, namespace)


def looking(selector: Any, namespace: str = "a", **term: Any) -> Pod:
    terms = [{"topologyKey": "zone", "labelSelector": selector, **term}]
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    return make("looking", spec, {}, namespace)


def shown(*pods: Pod) -> list[tuple[str, dict[str, str]]]:
    return [(each.namespace, dict(each.labels)) for each in classes_of(list(pods))]


def test_nobody_looks_at_anything_unasked():
    assert shown(plain({"app": "1"}), plain({"app": "2"}, "b")) == [("", {}), ("", {})]


def test_only_the_labels_that_are_read_are_shown():
    watcher = looking({"matchLabels": {"app": "1"}})
    assert shown(plain({"app": "2", "pod-name": "p-0"}), watcher)[0] == ("a", {"app": "2"})


def test_pods_that_cannot_be_selected_show_nothing():
    watcher = looking({"matchLabels": {"app": "1", "tier": "1"}})
    assert shown(plain({"app": "1"}), plain({"app": "1", "tier": "2"}, "b"), watcher)[:2] == [("", {})] * 2


def test_selectors_over_all_namespaces_do_not_tell_them_apart():
    watcher = looking({"matchLabels": {"app": "1"}}, namespaceSelector={})
    assert shown(plain({"app": "2"}, "b"), watcher)[0] == ("", {"app": "2"})


def test_selectors_by_absence_look_at_everybody_in_reach():
    watcher = looking({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})
    assert shown(plain({"tier": "1"}), plain({"tier": "1"}, "b"), watcher)[:2] == [("a", {}), ("", {})]


def test_selectors_of_namespaces_by_label_look_everywhere():
    watcher = looking({}, namespaceSelector={"matchLabels": {"team": "x"}})
    assert shown(plain({}, "b"), watcher)[0] == ("b", {})


def test_what_models_look_at_is_shown_besides():
    table = ClassTable(Visibility(labels=frozenset({"taskType"})))
    traits = table.traits(plain({"taskType": "Sheep", "app": "1", "tier": "2"}))
    table.traits(looking({"matchLabels": {"app": "1"}}))
    assert table.refresh()
    assert dict(table.message(traits.task_class).labels) == {"taskType": "Sheep", "app": "1"}


def test_nothing_changes_while_nobody_new_looks():
    table = ClassTable()
    watcher = looking({"matchLabels": {"app": "1"}})
    kept = [table.traits(plain({"app": "1"})), table.traits(watcher)]
    assert table.refresh()
    count = len(table)
    kept += [table.traits(watcher), table.traits(plain({"app": "1", "unique": "7"}))]
    assert not table.refresh()
    assert len(table) == count
    assert kept[0].task_class == kept[3].task_class


def test_traits_are_shared_and_forgotten_with_their_pods():
    table = ClassTable()
    first, second = table.traits(plain({"app": "1"})), table.traits(plain({"app": "1"}))
    assert first is second
    del first, second
    table.traits(looking({"matchLabels": {"app": "1"}}))
    assert not table.refresh(), "whom it looks at is gone"


def test_few_classes_where_labels_differ_from_pod_to_pod():
    members = [
        plain({"app": "db", "statefulset.kubernetes.io/pod-name": f"db-{index}"}) for index in range(50)
    ]
    by_class = defaultdict(list)
    for pod, found in zip(
        members, classes_of([*members, looking({"matchLabels": {"app": "db"}})]), strict=False
    ):
        by_class[found.id].append(pod)
    assert len(by_class) == 1
