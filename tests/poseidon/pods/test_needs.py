"""What of pods models get to see: by the words of their needs, and by what selectors read."""

from __future__ import annotations

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pods.requests_and_limits import (
    add_annotated_bandwidth,
    container_messages,
    effective_limits,
    list_quantities,
    names_extended_resources,
    quality_of_service,
)
from poseidon.pods.templates import class_source, describe
from poseidon.pods.visibility import (
    WHEN_UNTOLD,
    SelectorIndex,
    Visibility,
    VisibleLabels,
    choose_shown,
    list_reads,
    not_understood,
    visible_to,
)
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.builders import make_pod, make_spec, requesting

FLAGS = {
    "namespaces": "namespaces",
    "programs": "programs",
    "containers": "containers",
    "limits": "limits",
    "qos": "qualities",
    "service_classes": "service_classes",
    "daemons": "daemons",
    "timings": "timed",
}


@pytest.mark.parametrize(("word", "field"), FLAGS.items())
def test_each_need_shows_one_thing(word, field):
    shown = visible_to({word})
    assert {name for name in FLAGS.values() if getattr(shown, name)} == {field}


def test_models_that_need_nothing_see_nothing_of_their_own():
    assert visible_to(()) == Visibility(prefix="firmament.io/")
    plain = Visibility()
    assert not any(getattr(plain, name) for name in (*FLAGS.values(), "bandwidth", "prefix"))


def test_named_things_are_shown():
    needs = {
        "labels:a",
        "kind_labels:b",
        "annotations:c",
        "machine_annotations:d",
        "records:e",
        "profiles:f",
        "labels:x:y",
    }
    shown = visible_to(needs)
    assert shown.labels == {"a", "b", "x:y"}
    assert [*shown.annotations, *shown.node_annotations] == ["c", "d"]
    assert [*shown.records, *shown.profiles, shown.bandwidth] == ["e", "f", False]
    bandwidth = visible_to((), bandwidth=True)
    assert bandwidth.bandwidth
    assert bandwidth.annotations == {"kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"}


def test_words_of_later_versions_are_named():
    words = {"namespaces", "labels:a", "residents", "typical", "newer", "newer:a", "also"}
    assert not_understood(words) == ["also", "newer", "newer:a"]
    assert not_understood(WHEN_UNTOLD) == []


def annotated(**annotations: str) -> Pod:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in annotations.items()}
    return convert_object({"metadata": {"name": "p", "annotations": named}}, Pod)


def test_annotations_are_shown_by_name_or_prefix_but_for_those_of_moves():
    pod = annotated(firmament_io__x="1", other="2", wanted="3")
    assert Visibility().annotations_of(pod) == {}
    assert Visibility(annotations=frozenset({"wanted", "none"})).annotations_of(pod) == {"wanted": "3"}
    assert Visibility(prefix="firmament.io/").annotations_of(pod) == {"firmament.io/x": "1"}
    pod.metadata.annotations.update({"firmament.io/move-to": "n", "firmament.io/move-until": "t"})
    assert Visibility(prefix="firmament.io/").annotations_of(pod) == {"firmament.io/x": "1"}


@pytest.mark.parametrize(
    ("visible", "looks", "namespace", "labels"),
    [
        (Visibility(), VisibleLabels(), "", ()),
        (Visibility(namespaces=True), VisibleLabels(), "ns", ()),
        (Visibility(), VisibleLabels(namespace=True), "ns", ()),
        (Visibility(labels=frozenset({"a"})), VisibleLabels(frozenset({"b"})), "", (("a", "1"), ("b", "2"))),
        (Visibility(labels=frozenset({"c"})), VisibleLabels(), "", (("c", "3"),)),
    ],
)
def test_classes_show_what_models_or_selectors_read(visible, looks, namespace, labels):
    given = (("a", "1"), ("b", "2"), ("c", "3"))
    for ending in (True, False):
        shown = choose_shown(visible, looks, "ns", given, ending=ending)
        assert tuple(shown) == (namespace, labels, ending)
        message = pb.TaskClass()
        shown.add_to(message)
        assert (message.namespace, dict(message.labels), message.terminating) == (
            namespace,
            dict(labels),
            ending,
        )


def selector(*needed: str, namespaces: tuple[str, ...] = (), by_label: bool = False) -> pb.TaskSelector:
    labels = [pb.Requirement(key=key, operator="Exists") for key in needed]
    anywhere = pb.NamespaceSelector() if by_label else None
    return pb.TaskSelector(labels=labels, namespaces=namespaces, namespaces_by_label=anywhere)


def has_grown(index: SelectorIndex) -> bool:
    return index.has_grown


def test_selectors_read_labels_of_pods_that_they_may_match():
    index = SelectorIndex()
    assert not has_grown(index)
    index.watch(selector("a", "b", namespaces=("ns",)))
    assert has_grown(index)
    assert [*(index.take_grown() or ())] == ["ns"]
    assert not has_grown(index)
    assert index.visible_labels("ns", frozenset({"a", "b", "c"})) == VisibleLabels(
        frozenset({"a", "b"}), namespace=True
    )
    assert index.visible_labels("ns", frozenset({"a", "c"})) == VisibleLabels()
    assert index.visible_labels("other", frozenset({"a", "b"})) == VisibleLabels()
    index.watch(selector("a", "b", namespaces=("ns",)))
    assert not has_grown(index)
    assert len(index) == 1


def test_a_selector_of_all_namespaces_reads_none():
    index = SelectorIndex()
    index.watch(selector("a", by_label=True))
    assert index.take_grown() is None
    assert index.visible_labels("any", frozenset({"a"})) == VisibleLabels(frozenset({"a"}), namespace=False)
    index.watch(pb.TaskSelector(nothing=True))
    assert not has_grown(index)
    assert len(index) == 1


def test_a_selector_of_nothing_reads_nothing_whatever_else_it_says():
    index = SelectorIndex()
    index.watch(
        pb.TaskSelector(nothing=True, labels=[pb.Requirement(key="a", operator="Exists")], namespaces=["ns"])
    )
    assert (has_grown(index), len(index)) == (False, 0)


def test_a_namespace_matters_if_any_of_the_selectors_is_limited_to_some():
    index = SelectorIndex()
    labels = pb.NamespaceSelector(labels=[pb.Requirement(key="team", operator="Exists")])
    index.watch(pb.TaskSelector(namespaces_by_label=labels))
    index.watch(selector("a", by_label=True))
    assert index.visible_labels("any", frozenset({"a"})) == VisibleLabels(frozenset({"a"}), namespace=True)


def test_what_is_known_already_hides_nothing_that_is_new():
    index = SelectorIndex()
    index.watch(selector("a", by_label=True))
    index.take_grown()
    rules = pb.TaskClass(spread=[pb.SpreadRule(selector=selector(key, by_label=True)) for key in "ba"])
    index.observe(list_reads(rules))
    assert has_grown(index)


@pytest.mark.parametrize(
    ("operator", "seen"), [("In", False), ("Exists", False), ("NotIn", True), ("DoesNotExist", True)]
)
def test_labels_are_read_of_pods_without_a_label_unless_it_is_needed(operator, seen):
    index = SelectorIndex()
    needed = pb.Requirement(key="a", operator=operator)
    index.watch(
        pb.TaskSelector(labels=[needed, pb.Requirement(key="b", operator="NotIn")], namespaces=["ns"])
    )
    assert (index.visible_labels("ns", frozenset({"b"})).labels == {"b"}) is seen


@pytest.mark.parametrize(
    "field", ["affinity", "anti_affinity", "preferred_affinity", "preferred_anti_affinity", "spread"]
)
def test_selectors_of_all_rules_between_pods_are_read(field):
    rules = pb.TaskClass()
    getattr(rules, field).add().selector.CopyFrom(selector("a", namespaces=("ns",)))
    [(namespace, reads)] = list_reads(rules)
    assert (namespace, reads.reads) == ("ns", frozenset({"a"}))


@pytest.mark.parametrize(("count", "anywhere"), [(200, False), (201, True)])
def test_a_selector_of_very_many_namespaces_counts_for_all(count, anywhere):
    index = SelectorIndex()
    index.watch(selector("a", namespaces=tuple(f"n{number}" for number in range(count))))
    assert (index.take_grown() is None) is anywhere
    assert (index.visible_labels("elsewhere", frozenset({"a"})).labels == {"a"}) is anywhere


def test_conditions_that_hold_without_a_label_are_read_of_all_pods():
    index = SelectorIndex()
    absent = pb.Requirement(key="a", operator="DoesNotExist")
    index.watch(pb.TaskSelector(labels=[absent], namespaces=["ns"]))
    assert index.visible_labels("ns", frozenset({"a", "b"})) == VisibleLabels(
        frozenset({"a"}), namespace=True
    )
    assert index.visible_labels("ns", frozenset({"b"})) == VisibleLabels(frozenset(), namespace=True)


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "quality"),
    [
        ({"containers": [requesting()]}, "BestEffort"),
        ({"containers": [requesting({"gpu": 1}, {"gpu": 1})]}, "BestEffort"),
        ({"containers": [requesting({"cpu": 0})]}, "BestEffort"),
        ({"containers": [requesting(FULL, FULL)]}, "Guaranteed"),
        ({"containers": [requesting({}, FULL)]}, "Guaranteed"),
        ({"containers": [requesting({}, FULL), requesting()]}, "Burstable"),
        ({"containers": [requesting(), requesting({}, FULL)]}, "Burstable"),
        ({"containers": [requesting({"cpu": 0}, {"cpu": 1})]}, "Burstable"),
        ({"containers": [requesting(FULL, {**FULL, "cpu": "2"})]}, "Burstable"),
        ({"containers": [requesting(FULL)]}, "Burstable"),
        ({"containers": [requesting({}, {"cpu": "1"})]}, "Burstable"),
        ({"containers": [requesting({}, FULL)], "initContainers": [requesting({"cpu": 1})]}, "Burstable"),
        ({"containers": [requesting()], "resources": {"limits": FULL}}, "Guaranteed"),
        ({"containers": [requesting(FULL)], "resources": {"requests": {"cpu": 1}}}, "Burstable"),
        ({"containers": [requesting({"cpu": "much"})]}, "BestEffort"),
    ],
)
def test_the_quality_of_service_is_kubernetes(spec, quality):
    assert quality_of_service(make_spec(**spec)) == quality


@pytest.mark.parametrize(
    ("spec", "limits"),
    [
        ({"containers": [requesting()]}, {}),
        ({"containers": [requesting({}, {"cpu": 0, "memory": 1})]}, {"memory": 1}),
        ({"containers": [requesting({}, {"cpu": 1}), requesting({}, {"cpu": 2})]}, {"cpu": 3000}),
        ({"containers": [requesting({}, {"cpu": 1})], "overhead": {"cpu": "1m", "memory": 5}}, {"cpu": 1001}),
        (
            {"containers": [requesting({}, {"cpu": 1})], "resources": {"limits": {"cpu": 3, "gpu": 1}}},
            {"cpu": 3000},
        ),
        (
            {"containers": [requesting({}, {"cpu": 1})], "initContainers": [requesting({}, {"cpu": 2})]},
            {"cpu": 2000},
        ),
    ],
)
def test_limits_add_up_and_overhead_counts_only_beside_a_limit(spec, limits):
    assert effective_limits(make_spec(**spec), []) == limits


def test_amounts_are_in_the_order_of_their_names():
    found = list_quantities({"memory": 3, "cpu": 1, "gpu": 2})
    assert [(each.resource, each.amount) for each in found] == [("cpu", 1), ("gpu", 2), ("memory", 3)]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), ([], [], [], "")),
        (("containers",), ([("cpu", 1000)], [("cpu", 250)], [], "")),
        (("limits",), ([], [], [("cpu", 2250)], "")),
        (("qos",), ([], [], [], "Burstable")),
    ],
)
def test_models_see_only_the_detail_that_they_ask_for(words, shown):
    made = make_pod(containers=[requesting({"cpu": "1"}, {"cpu": "2"})], overhead={"cpu": "250m"})
    visibility = visible_to(frozenset(words))
    message, _ = describe(class_source(made, visibility), visibility)

    def amounts(found):
        return [(each.resource, each.amount) for each in found]

    containers = [pair for each in message.containers for pair in amounts(each.requests)]
    assert (containers, amounts(message.overhead), amounts(message.limits), message.qos) == shown


def test_containers_are_listed_as_they_begin():
    spec = make_spec(
        containers=[requesting({"cpu": 1}, {"cpu": 2})],
        initContainers=[requesting({}, {"memory": 1}), {**requesting(), "restartPolicy": "Always"}],
    )
    kinds = [pb.Container.INIT, pb.Container.SIDECAR, pb.Container.APP]
    for limits in (True, False):
        found = list(container_messages(spec, limits=limits))
        assert [each.kind for each in found] == kinds
        assert [[each.amount for each in one.requests] for one in found] == [[1], [], [1000]]
        expected = [[1], [], [2000]] if limits else [[], [], []]
        assert [[each.amount for each in one.limits] for one in found] == expected


@pytest.mark.parametrize(
    ("annotations", "stated", "bits"),
    [
        ({}, 5, 5),
        ({"ingress": "10", "egress": "20"}, 0, 20),
        ({"ingress": "1k"}, 999, 1000),
        ({"ingress": "10"}, 10, 10),
        ({"egress": "much"}, 0, None),
    ],
)
def test_bandwidth_is_the_larger_of_what_is_stated(annotations, stated, bits):
    named = {f"kubernetes.io/{key}-bandwidth": value for key, value in annotations.items()}
    requests = {"network.aware.com/bandwidth": stated} if stated else {}
    found = add_annotated_bandwidth(requests, named)
    assert found == ({} if bits is None else {"network.aware.com/bandwidth": bits})


@pytest.mark.parametrize(
    ("spec", "extended"),
    [
        ({"containers": [requesting(FULL, FULL)]}, False),
        ({"containers": [requesting({"a/b": 1})]}, True),
        ({"containers": [requesting({}, {"a/b": 1})]}, True),
        ({"containers": [requesting()], "initContainers": [requesting({"a/b": 1})]}, True),
    ],
)
def test_extended_resources_have_a_slash(spec, extended):
    assert names_extended_resources(make_spec(**spec)) is extended
