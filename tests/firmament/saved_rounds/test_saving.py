from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.model import TaskClass
from firmament.core.placement.cost import compute_placed_cost, pending_cost
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.saving import decode_round, encode_round
from tests.firmament.saved_rounds.rounds import VERSIONS, configuration, files, record
from tests.firmament.saved_rounds.test_arrays import assert_same
from tests.support.core import machine, task_class, tasks, uids
from tests.support.rules import near


def test_a_round_comes_back_as_it_was():
    config = configuration()
    done = record(config)
    saved = decode_round(encode_round(done, VERSIONS))
    assert_same(saved.problem, done.snapshot.problem)
    for part in ("cls", "machine", "count"):
        np.testing.assert_array_equal(getattr(saved.placed, part), getattr(done.placement.assignments, part))
    described = saved.description
    assert (described.cluster, described.round, described.versions) == ("c", 1, VERSIONS)
    assert described.machines == tuple(f"m{index}" for index in range(6))
    assert described.options == config.options.passes
    assert described.stats == done.result.stats
    assert [(model.name, model.weight) for model in described.models] == [("cpu_mem", 1), ("shared", 3)]
    by_cpu = {row.requests["cpu"]: row for row in described.classes}
    assert {cpu: row.tasks for cpu, row in by_cpu.items()} == {600: 4, 150: 9, 100: 2, 5000: 1}
    assert by_cpu[150].labels == {"app": "s"}
    assert by_cpu[150].requests == {"cpu": 150, "pods": 1}


def test_deltas_are_those_of_the_round():
    config = configuration()
    done = record(config)
    document = json.loads(encode_round(done, VERSIONS)["deltas.json"])
    assert [(each["uid"], each["machine"]) for each in document["deltas"]] == [
        (delta.uid, delta.machine) for delta in done.result.deltas
    ]
    assert {each["kind"] for each in document["deltas"]} == {"PLACE"}
    pending = {uid: group["message"] for group in document["unscheduled"] for uid in group["uids"]}
    assert "Insufficient cpu" in pending["huge-0"]


def test_the_network_reads_alike_in_all_its_files():
    config = configuration()
    done = record(config)
    content = encode_round(done, VERSIONS)
    document = json.loads(content["network.json"])
    arcs = [arc for block in document["arcs"].values() for arc in block]

    lines = [line.split() for line in content["network.dimacs"].decode().splitlines()]
    assert [[int(word) for word in line[1:]] for line in lines if line[0] == "a"] == [
        [tail, head, 0, capacity, cost] for tail, head, capacity, cost, _ in arcs
    ]
    assert {int(line[1]): int(line[2]) for line in lines if line[0] == "n"} == {
        node["id"]: node["supply"] for node in document["nodes"] if node["supply"]
    }

    answer = [line.split() for line in content["flow.dimacs"].decode().splitlines()]
    assert answer[0] == ["s", str(document["cost"])]
    assert [[int(word) for word in line[1:]] for line in answer[1:]] == [
        [tail, head, flow] for tail, head, _, _, flow in arcs if flow
    ]

    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from((node["id"], {"demand": -node["supply"]}) for node in document["nodes"])
    for number, (tail, head, capacity, cost, _) in enumerate(
        arcs
    ):  # parallel arcs each get a node of their own
        graph.add_edge(tail, ("arc", number), capacity=capacity, weight=cost)
        graph.add_edge(("arc", number), head, capacity=capacity)
    assert nx.min_cost_flow_cost(graph) == document["cost"] == sum(arc[3] * arc[4] for arc in arcs)


def test_class_nodes_name_all_classes_that_they_stand_for():
    def apart(name: str) -> TaskClass:
        return task_class(labels=(("app", name),), anti_affinity=near(name, "host"))

    config = configuration(overlays=())
    happened = [
        *(machine(f"m{index}", labels={"host": f"h{index}"}) for index in range(4)),
        *tasks(1, *uids("one", 2), content=apart("one")),
        *tasks(2, *uids("free", 2), content=task_class(cpu=200)),
        *tasks(3, *uids("three", 3), content=apart("three")),
    ]
    document = json.loads(encode_round(record(config, happened), VERSIONS)["network.json"])
    named = {tuple(node["classes"]): node["supply"] for node in document["nodes"] if node["kind"] == "class"}
    assert named == {(0, 2): 5, (1,): 2}


def test_machine_nodes_name_all_machines_that_they_stand_for():
    config = configuration(overlays=())
    happened = [
        *(machine(f"m{index}") for index in range(10)),
        *tasks(1, *uids("t", 6), content=task_class()),
    ]
    document = json.loads(encode_round(record(config, happened), VERSIONS)["network.json"])
    named = [node["machines"] for node in document["nodes"] if node["kind"] == "machine"]
    assert named == [[f"m{index}" for index in range(10)]]


def test_the_costs_of_the_models_add_up():
    config = configuration()
    done = record(config)
    document = json.loads(encode_round(done, VERSIONS)["costs.json"])
    problem, placed = done.snapshot.problem, done.placement.assignments
    assert document["units"]["placed"] + document["units"]["crowding"] == compute_placed_cost(problem, placed)
    assert document["units"]["pending"] == pending_cost(problem, placed)
    assert sum(each["tasks"] for each in document["placements"]) == len(done.result.deltas)
    for each in document["placements"]:
        assert each["units"] == pytest.approx(sum(each["points"].values()) * COST_UNITS_PER_POINT, abs=0.51)
        assert each["raw"]["shared"] == int(each["machine"][1:])
        assert each["points"]["shared"] == 3 * each["raw"]["shared"]
    for name in ("cpu_mem", "shared", "kubernetes"):
        total = sum(each["points"][name] * each["tasks"] for each in document["placements"])
        assert document["points"][name] == pytest.approx(total, abs=1e-4)
    assert document["points"]["kubernetes"] > 0  # some small task had to go outside its preferred zone


def test_a_round_without_a_network_is_saved_too():
    config = configuration()
    happened = [machine("m0", cpu=100), *tasks(1, "big", content=task_class(cpu=200))]
    content = encode_round(record(config, happened), VERSIONS)
    assert not any(name.startswith(("network", "flow")) for name in content)
    saved = decode_round(content)
    assert saved.description.bound is None
    assert len(saved.placed.cls) == 0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda it: it.update(format=99), "round.json: format is 99, this release reads 5"),
        (
            lambda it: it.update(format=3),
            "round.json: format is 3, this release reads 5; use the release that",
        ),
        (lambda it: it.pop("classes"), "round.json: Object missing required field `classes`; save"),
        (lambda it: it.update(speed=1), "round.json: missing or unknown field: speed; use the release that"),
        (lambda it: it["classes"][1].update(x=1), "round.json: missing or unknown field: classes.1.x"),
        (lambda it: it["stats"].pop("gap"), "round.json: missing or unknown field: stats.gap"),
        (
            lambda it: it["options"].update(max_passes="8"),
            "round.json: Expected `int`, got `str` - at `$.options.max_passes`",
        ),
        (
            lambda it: it["options"].update(solve_time_limit="1s"),
            "round.json: Expected `float | null`, got `str` - at `$.options.solve_time_limit`",
        ),
        (lambda it: it["machines"].pop(), "round.json names other machines, resources or classes than"),
        (lambda it: it.update(options=7), "round.json: Expected `object`, got `int` - at `$.options`"),
    ],
)
def test_a_bad_description_is_refused_in_one_line(change, fault):
    content = files()
    document = json.loads(content["round.json"])
    change(document)
    content["round.json"] = json.dumps(document).encode()
    with pytest.raises(SavedRoundError) as refused:
        decode_round(content)
    assert str(refused.value).startswith(fault)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[]"])
def test_a_description_that_is_no_json_object_is_refused(text):
    with pytest.raises(SavedRoundError, match=r"^round\.json is not "):
        decode_round({**files(), "round.json": text})


@pytest.mark.parametrize("name", ["round.json", "problem.npz"])
def test_a_missing_file_is_named(name):
    content = files()
    del content[name]
    with pytest.raises(SavedRoundError, match=f"^{name} is missing"):
        decode_round(content)
