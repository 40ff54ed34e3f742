"""Networks of rounds as graphs: read back by networkx, checked by its network simplex, and searched for ways."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import Event
from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.description import name_classes, read_description
from firmament.saved_rounds.graphs import (
    Graph,
    find_least_cost,
    from_dimacs,
    read_graph,
    write_graph,
)
from firmament.saved_rounds.rerouting import WAITING, describe_rerouting, find_rerouting
from firmament.saved_rounds.saving import SavedRound, decode_round, encode_round
from tests.firmament.saved_rounds.rounds import VERSIONS, configuration, files, record
from tests.support.core import machine, task_class, tasks, uids
from tests.support.effort import examples


def test_a_graph_has_the_names_and_the_flow_of_its_round():
    saved = files()
    description = decode_round(saved).description
    names, graph = name_classes(description), read_graph(saved, description)
    assert graph.graph["certified"]
    labels: dict[str, set[str]] = {known["kind"]: set() for _, known in graph.nodes(data=True)}
    for _, known in graph.nodes(data=True):
        labels[known["kind"]] |= set(known["label"].split(", "))
    assert labels["class"] == labels["unscheduled"] <= set(names)
    assert "/s" in labels["class"]
    assert labels["machine"] <= {f"m{index}" for index in range(6)}
    carried = sum(
        arc["flow"] for _, head, arc in graph.edges(data=True) if graph.nodes[head]["kind"] == "sink"
    )
    assert carried == sum(known["supply"] for _, known in graph.nodes(data=True) if known["supply"] > 0) > 0
    assert sum(arc["flow"] * arc["cost"] for _, _, arc in graph.edges(data=True)) == graph.graph["cost"]


def test_a_second_solver_agrees_with_the_cost_of_the_flow():
    graph = read_graph(files(), read_description(files()))
    assert find_least_cost(graph) == graph.graph["cost"]
    for _, _, arc in graph.edges(data=True):
        arc["cost"] += 1
    assert find_least_cost(graph) != graph.graph["cost"]


def test_dimacs_text_is_the_same_graph_without_its_flow():
    saved = files()
    whole, bare = read_graph(saved, read_description(saved)), from_dimacs(saved["network.dimacs"].decode())
    assert {node: known["supply"] for node, known in bare.nodes(data=True)} == {
        node: known["supply"] for node, known in whole.nodes(data=True)
    }
    assert {node: known["kind"] for node, known in bare.nodes(data=True)} == {
        node: known["kind"] for node, known in whole.nodes(data=True)
    }

    def arcs(graph: Graph) -> list[tuple[int, int, int, int]]:
        return sorted(
            (tail, head, arc["capacity"], arc["cost"]) for tail, head, arc in graph.edges(data=True)
        )

    assert arcs(bare) == arcs(whole)


@pytest.mark.parametrize("form", ["graphml", "gml", "node-link"])
def test_other_tools_read_what_is_written(form):
    saved = files()
    graph = read_graph(saved, read_description(saved))
    content = write_graph(graph, form)
    back: Any = {
        "graphml": lambda: nx.read_graphml(BytesIO(content), node_type=int, force_multigraph=True),
        "gml": lambda: nx.read_gml(BytesIO(content), label="id"),
        "node-link": lambda: nx.node_link_graph(json.loads(content), edges="edges"),
    }[form]()
    assert back.number_of_nodes() == graph.number_of_nodes()
    assert sorted(arc["cost"] for _, _, arc in back.edges(data=True)) == sorted(
        arc["cost"] for _, _, arc in graph.edges(data=True)
    )
    label = "name" if form == "gml" else "label"
    assert {known[label] for _, known in back.nodes(data=True)} == {
        known["label"] for _, known in graph.nodes(data=True)
    }


def test_rounds_without_a_network_say_so():
    with pytest.raises(SavedRoundError, match=r"^network.json is missing: this round solved no network"):
        read_graph({}, read_description(files()))
    for content in (b"{", b"[]", b"{}", b'{"cost": 1, "certified": true, "nodes": [1], "arcs": {}}'):
        with pytest.raises(SavedRoundError, match=r"^network.json is not a network; save the round again$"):
            read_graph({"network.json": content}, read_description(files()))


# --- who has to move


def solved(happened: list[Event]) -> tuple[SavedRound, Graph]:
    config = configuration(overlays=())
    content = encode_round(record(config, happened), VERSIONS)
    saved = decode_round(content)
    return saved, read_graph(content, saved.description)


def preferring(zone: str, weight: int) -> tuple[PreferredTerm, ...]:
    return (PreferredTerm(weight, NodeSelectorTerm(labels=(Requirement("zone", "In", (zone,)),))),)


def two_zones() -> list[Event]:
    """One place in each zone; the task that loses more in the other zone is in a."""
    keen = task_class(cpu=1000, labels=(("app", "keen"),), preferred=preferring("a", 100))
    easy = task_class(
        cpu=1000, labels=(("app", "easy"),), preferred=preferring("a", 100) + preferring("b", 90)
    )
    return [
        machine("ma", cpu=1000, labels={"zone": "a"}),
        machine("mb", cpu=1000, labels={"zone": "b"}),
        *tasks(1, *uids("keen", 1), content=keen),
        *tasks(2, *uids("easy", 1), content=easy),
    ]


def test_what_gives_way_is_named_with_its_price():
    saved, graph = solved(two_zones())
    found = find_rerouting(saved, graph, "easy-0", "ma")
    assert found is not None
    assert found.exact
    assert [(move.task, move.source, move.target) for move in found.moves] == [
        ("easy-0", "mb", "ma"),
        ("keen-0", "ma", "mb"),
    ]
    assert describe_rerouting(found, "easy-0", "ma") == [
        f"A task of easy-0 goes to ma if 1 other moves, and the round costs {found.cost / 100:g} points more:",
        "  easy-0: from mb to ma",
        "  keen-0: from ma to mb",
    ]


def test_a_task_that_is_there_already_moves_nothing():
    saved, graph = solved(two_zones())
    found = find_rerouting(saved, graph, "keen-0", "ma")
    assert found is not None
    assert (found.moves, found.cost) == ((), 0)
    assert describe_rerouting(found, "keen-0", "ma") == ["A task of keen-0 goes to ma already."]


def test_a_task_that_waits_drives_another_out():
    small = task_class(cpu=1000, labels=(("app", "small"),))
    saved, graph = solved(
        [
            machine("m", cpu=1000),
            *tasks(1, *uids("old", 1), content=small, priority=1),
            *tasks(2, *uids("new", 1), content=task_class(cpu=1000, labels=(("app", "new"),))),
        ]
    )
    found = find_rerouting(saved, graph, "new-0", "m")
    assert found is not None
    assert [(move.task, move.source, move.target) for move in found.moves] == [
        ("new-0", WAITING, "m"),
        ("old-0", "m", WAITING),
    ]
    assert found.cost > 0


def test_a_machine_that_rules_refuse_is_out_of_reach():
    picky = task_class(cpu=100, labels=(("app", "picky"),), node_selector=(("zone", "a"),))
    saved, graph = solved([*two_zones()[:2], *tasks(1, *uids("picky", 1), content=picky)])
    found = find_rerouting(saved, graph, "picky-0", "mb")
    assert found is None
    assert describe_rerouting(found, "picky-0", "mb")[0].startswith("No task of picky-0 can go to mb: ")


def test_what_the_round_does_not_know_is_refused():
    saved, graph = solved(two_zones())
    with pytest.raises(
        SavedRoundError, match=r"no task class 'other' waited in the network .* has easy-0, keen-0"
    ):
        find_rerouting(saved, graph, "other", "ma")
    with pytest.raises(SavedRoundError, match=r"machine 'mc' is not among the 2 of this round"):
        find_rerouting(saved, graph, "easy-0", "mc")


def least_cost_with(graph: Graph, source: int, target: int) -> int | None:
    """Least cost of a flow in which one task at least of ``source`` is on ``target``: by a lower bound on its arc."""
    forced: Graph = nx.MultiDiGraph(graph)
    first = min(arc["cost"] for arc in forced[source][target].values())
    key = next(key for key, arc in forced[source][target].items() if arc["cost"] == first)
    forced[source][target][key]["capacity"] -= 1
    forced.nodes[source]["supply"] -= 1
    forced.nodes[target]["supply"] += 1
    try:
        rest = find_least_cost(forced)
    except nx.NetworkXUnfeasible:
        return None
    assert rest is not None
    return first + rest


@st.composite
def clusters(draw: st.DrawFn) -> list[Event]:
    happened: list[Event] = [
        machine(f"m{index}", cpu=1000 * draw(st.integers(1, 3)), labels={"zone": draw(st.sampled_from("ab"))})
        for index in range(draw(st.integers(1, 4)))
    ]
    for number in range(1, 1 + draw(st.integers(1, 3))):
        content = task_class(
            cpu=1000,
            labels=(("app", f"c{number}"),),
            preferred=preferring(draw(st.sampled_from("ab")), draw(st.integers(1, 100))),
        )
        count = draw(st.integers(1, 3))
        happened += tasks(
            number, *uids(f"t{number}", count), content=content, priority=draw(st.integers(0, 1))
        )
    return happened


@settings(max_examples=examples(60))
@given(happened=clusters())
def test_no_way_is_cheaper_than_the_one_that_is_named(happened):
    saved, _ = solved(happened)
    for task in name_classes(saved.description):
        for name in saved.description.machines:
            _, graph = solved(happened)
            found = find_rerouting(saved, graph, task, name)
            if found is None or not found.moves:
                continue
            assert (
                find_least_cost(graph) == graph.graph["cost"]
            )  # arcs that were left out make nothing cheaper
            nodes = {
                known["label"]: node for node, known in graph.nodes(data=True) if known["kind"] == "class"
            }
            target = next(
                node
                for node, known in graph.nodes(data=True)
                if known["kind"] == "machine" and name in known["label"].split(", ")
            )
            assert least_cost_with(graph, nodes[task], target) == graph.graph["cost"] + found.cost
            assert found.moves[0].target == graph.nodes[target]["label"]
            places = [place for move in found.moves for place in (move.source, move.target)]
            assert all(
                place == WAITING or place.split(", ")[0] in saved.description.machines for place in places
            )
