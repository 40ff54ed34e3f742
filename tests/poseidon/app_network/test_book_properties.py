"""However things come and go: the book says what a new one would that sees only what is left."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from poseidon.app_network.options import NetworkArguments, NetworkOptions
from poseidon.app_network.state import NetworkState
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus
from poseidon.kube.api.resource import Change
from tests.poseidon.app_network.test_app_group_controller import app_group

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
GROUP, WORKLOAD = "appgroup.diktyo.x-k8s.io", "appgroup.diktyo.x-k8s.io.workload"
OPTIONS, ARGUMENTS = NetworkOptions(), NetworkArguments(namespaces=("first", "second"))
NOW = 1_767_268_800.0

NODES = st.sampled_from(["n1", "n2", "n3"])
PLACES = st.fixed_dictionaries({}, optional={REGION: st.sampled_from("ab"), ZONE: st.sampled_from("xyz")})
NAMES = st.tuples(st.sampled_from(["first", "second", "third"]), st.sampled_from(["shop", "bank"]))
SPECS = st.sampled_from(
    [app_group(*edges, algorithm=algorithm, minBandwidth=bandwidth)["spec"]
     for edges in (("ab",), ("ab", "bc"), ("ba", "ab"), ("aa",))
     for algorithm, bandwidth in (("KahnSort", "1M"), ("ReverseTarjan", "2M"))]
)  # fmt: skip
LABELS = st.fixed_dictionaries(
    {}, optional={GROUP: st.sampled_from(["shop", "bank"]), WORKLOAD: st.sampled_from("abc")}
)
PODS = st.tuples(
    LABELS, st.sampled_from(["", "n1", "n2", "n3"]), st.sampled_from(["Running", "Pending", "Failed"])
)

EVENTS: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.tuples(st.just("node"), NODES, PLACES | st.none()),
        st.tuples(st.just("pod"), st.sampled_from(["p1", "p2", "p3", "p4", "p5"]), PODS | st.none()),
        st.tuples(st.just("group"), NAMES, SPECS | st.none()),
        st.tuples(st.just("topology"), NAMES, st.just({"weights": []}) | st.none()),
        st.tuples(st.just("look"), st.none(), st.none()),
    ),
    max_size=60,
)


BEGINNING: list[Any] = [
    ("node", "n1", {REGION: "a", ZONE: "x"}),
    ("node", "n2", {REGION: "a", ZONE: "y"}),
    ("node", "n3", {REGION: "b", ZONE: "z"}),
    ("group", ("first", "shop"), app_group("ab", minBandwidth="1M")["spec"]),
    ("topology", ("first", "net"), {"weights": []}),
    ("pod", "p1", ({GROUP: "shop", WORKLOAD: "a"}, "n1", "Running")),
    ("pod", "p2", ({GROUP: "shop", WORKLOAD: "b"}, "n2", "Running")),
    ("pod", "p3", ({GROUP: "shop", WORKLOAD: "b"}, "n3", "Pending")),
    ("look", None, None),
]
"""An application whose pods talk over two links, so that most changes matter."""


def metadata(kind, name, turn):
    return ObjectMeta(namespace=name[0], name=name[1], uid=f"{kind}-{'-'.join(name)}-{turn}")


def tell(book, what, subject, value, turn=0):
    """Let a book know one thing; ``turn`` tells objects from namesakes that were there before."""
    if what == "node":
        if value is None:
            book.members.node_gone(subject)
        else:
            book.members.node_changed(subject, value)
    elif what == "pod":
        if value is None:
            book.members.pod_gone(subject)
        else:
            labels, node, phase = value
            pod = Pod(
                metadata=ObjectMeta(name=subject, labels=labels),
                spec=PodSpec(node_name=node),
                status=PodStatus(phase=phase),
            )
            book.members.pod_changed(subject, pod)
    else:
        kind, take = (
            (AppGroup, book.app_groups_changed)
            if what == "group"
            else (NetworkTopology, book.topologies_changed)
        )
        found = metadata(what, subject, turn)
        take([Change(found.uid, None if value is None else kind(metadata=found, spec=value))])


def said(book, keys):
    """What the book would have written of all objects, without uids."""
    results = {key: book.reconcile(key, NOW) for key in keys}
    return {key: (result[0].status, result[0].spec) for key, result in results.items() if result is not None}


@given(EVENTS)
def test_only_what_is_left_counts(events):
    book, records = NetworkState(OPTIONS, ARGUMENTS), {}
    left: dict[tuple[str, Any], Any] = {}
    turns: dict[tuple[str, Any], int] = {}
    for what, subject, value in [*BEGINNING, *events]:
        if what == "look":
            records.update({(kind, name): payload for kind, name, payload in book.take_records()})
            for key in book.take_dirty():
                book.reconcile(key, NOW)
            continue
        tell(book, what, subject, value, turns.get((what, subject), 0))
        if value is None:
            turns[what, subject] = turns.get((what, subject), 0) + 1
            left.pop((what, subject), None)
        else:
            left[what, subject] = value
    fresh = NetworkState(OPTIONS, ARGUMENTS)
    for (what, subject), value in left.items():
        tell(fresh, what, subject, value)
    keys = fresh.take_dirty()
    assert said(book, keys) == said(fresh, keys)
    records.update({(kind, name): payload for kind, name, payload in book.take_records()})
    expected = {(kind, name): payload for kind, name, payload in fresh.take_records()}
    assert {key: payload for key, payload in records.items() if payload is not None} == expected


@given(EVENTS)
def test_running_pods_and_nodes_are_those_that_are_there(events):
    book = NetworkState(OPTIONS, ARGUMENTS)
    left: dict[tuple[str, str], object] = {}
    for what, subject, value in BEGINNING:
        if what in ("group", "topology"):
            tell(book, what, subject, value)
    for what, subject, value in [*BEGINNING, *events]:
        if what in ("node", "pod"):
            tell(book, what, subject, value)
            left.pop((what, subject), None)
            if value is not None:
                left[what, subject] = value
    running = sum(
        1
        for (what, _), value in left.items()
        if what == "pod"
        and isinstance(value, tuple)
        and value[2] == "Running"
        and value[0].get(GROUP) == "shop"
    )
    nodes = sum(1 for what, _ in left if what == "node")
    found = {key.kind: status for key, (status, _) in said(book, book.take_dirty()).items()}
    assert found["AppGroup"]["runningWorkloads"] == running
    assert found["NetworkTopology"]["nodeCount"] == nodes
