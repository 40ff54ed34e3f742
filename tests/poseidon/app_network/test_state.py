"""Which objects are compared again, and which records are told, after changes of objects, pods and nodes."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.app_network.options import NetworkArguments, NetworkOptions
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.app_network.state import NetworkState
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus
from poseidon.kube.api.resource import Change

REGION = "topology.kubernetes.io/region"
SHOP, NET = ObjectKey("AppGroup", "web", "shop"), ObjectKey("NetworkTopology", "web", "net")


def group(name: str = "shop", namespace: str = "web", bandwidth: str = "100") -> AppGroup:
    workloads = [
        {"workload": {"name": "a"}, "dependencies": [{"workload": {"name": "b"}, "minBandwidth": bandwidth}]},
        {"workload": {"name": "b"}},
    ]
    return AppGroup(
        ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}/{name}"), {"workloads": workloads}
    )


def topology(name: str = "net") -> NetworkTopology:
    spec = {"configmapName": "netperf", "weights": []}
    return NetworkTopology(ObjectMeta(name=name, namespace="web", uid=name), spec)


def change(found: Any) -> Any:
    return Change(found.metadata.uid, found)


@pytest.fixture
def book() -> NetworkState:
    """A book that has told all it knows."""
    made = NetworkState(NetworkOptions(), NetworkArguments(namespaces=("web", "app")))
    made.app_groups_changed([change(group())])
    made.topologies_changed([change(topology())])
    made.members.node_changed("n1", {REGION: "west"})
    made.members.node_changed("n2", {REGION: "east"})
    made.take_dirty()
    made.take_records()
    return made


def told(book: NetworkState) -> dict[tuple[str, str], bool]:
    """Return the records that are told, and whether they are of objects that are there."""
    return {(kind, name): payload is not None for kind, name, payload in book.take_records()}


def run(book: NetworkState, name: str, workload: str, node: str, app_group: str = "shop") -> None:
    labels = {"appgroup.diktyo.x-k8s.io": app_group, "appgroup.diktyo.x-k8s.io.workload": workload}
    metadata = ObjectMeta(name=name, namespace="web", uid=name, labels=labels)
    book.members.pod_changed(
        name, Pod(metadata=metadata, spec=PodSpec(node_name=node), status=PodStatus("Running"))
    )


def test_nothing_new_is_told_of_nothing(book):
    assert (book.take_dirty(), told(book)) == ([], {})


def test_objects_are_compared_and_told_once_when_they_change(book):
    book.app_groups_changed([change(group())])
    book.topologies_changed([change(topology())])
    assert book.take_dirty() == [SHOP, NET]
    assert book.take_dirty() == []
    assert told(book) == {("AppGroup", "web/shop"): True, ("NetworkTopology", "web/net"): True}
    assert told(book) == {}


def test_objects_that_are_gone_are_told_as_such(book):
    book.app_groups_changed([Change("web/shop", None), Change("unknown", None)])
    book.topologies_changed([Change("net", None), Change("unknown", None)])
    assert told(book) == {("AppGroup", "web/shop"): False, ("NetworkTopology", "web/net"): False}
    assert book.reconcile(SHOP, 0.0) is None


@pytest.mark.parametrize(("found", "key"), [(group(), SHOP), (topology(), NET)])
def test_an_object_that_a_write_has_changed_is_compared_and_told_again(book, found, key):
    book.note_object(found)
    assert book.take_dirty() == [key]
    assert told(book).keys() == {(key.kind, f"{key.namespace}/{key.name}")}


def test_measurements_concern_those_who_name_them(book):
    book.config_map_changed(("web", "other"), {})
    assert book.take_dirty() == []
    book.config_map_changed(("web", "netperf"), {})
    assert book.take_dirty() == [NET]
    assert told(book) == {("NetworkTopology", "web/net"): True}


def test_pods_concern_the_groups_of_their_name_in_all_namespaces_and_all_networks(book):
    book.app_groups_changed([change(group(namespace="app")), change(group("other"))])
    book.take_dirty()
    run(book, "p", "a", "n1")
    assert book.take_dirty() == [ObjectKey("AppGroup", "app", "shop"), SHOP, NET]
    run(book, "q", "a", "", app_group="other")
    assert book.take_dirty() == [ObjectKey("AppGroup", "web", "other")]


def test_regions_of_nodes_concern_the_records_of_networks(book):
    book.members.node_changed("n2", {REGION: "north"})
    assert told(book) == {("NetworkTopology", "web/net"): True}
    assert book.take_dirty() == [NET]
    run(book, "p", "a", "n1")
    assert told(book) == {}, "pods concern statuses alone"


def test_demands_are_those_of_the_first_namespace_that_has_the_group(book):
    run(book, "p", "a", "n1")
    run(book, "q", "b", "n2")

    def used() -> Any:
        return book.members.sum_allocated()["region"].get("west", {}).get("east", 0)

    assert used() == 100
    book.app_groups_changed([change(group(namespace="app", bandwidth="7"))])
    assert used() == 100
    book.app_groups_changed([Change("web/shop", None)])
    assert used() == 7
    book.app_groups_changed([Change("app/shop", None), change(group(namespace="elsewhere"))])
    assert used() == 0


def test_an_object_is_marked_to_be_compared_later(book):
    book.mark_dirty(NET)
    assert book.take_dirty() == [NET]


RECORDS = frozenset({"AppGroup"})


@pytest.mark.parametrize(
    ("controllers", "records", "writes", "follows"),
    [
        ("auto", RECORDS, True, True),
        ("auto", frozenset({"Quota"}), False, False),
        ("always", frozenset(), True, True),
        ("never", RECORDS, False, True),
        ("never", frozenset(), False, False),
    ],
)
def test_when_objects_are_followed_and_written(controllers, records, writes, follows):
    options = NetworkOptions(controllers=controllers)
    assert (options.writes(records), options.follows(records)) == (writes, follows)


def test_the_percentile_of_the_arguments_goes_before_the_sections():
    options = NetworkOptions(percentile="p50")
    assert options.percentile_by(NetworkArguments()) == "p50"
    assert options.percentile_by(NetworkArguments(percentile="p99")) == "p99"
    assert NetworkOptions().percentile == "p90"
    assert NetworkOptions().bandwidth_annotations is False
