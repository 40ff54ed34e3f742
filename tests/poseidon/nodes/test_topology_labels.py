"""Topologies of Kueue as labels of machines: the way to a node's domain of each level."""

from __future__ import annotations

import msgspec
import pytest

from poseidon.kube.api.other_projects.kueue_topology import KueueTopology, iterate_faults
from poseidon.nodes.topology_labels import TopologyLabels

BLOCK, RACK = "example.com/block", "example.com/rack"


def make(name: str, *labels: str) -> KueueTopology:
    levels = [{"nodeLabel": label} for label in labels]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"levels": levels}}, KueueTopology)


def test_racks_of_two_blocks_with_one_name_are_told_apart():
    known = TopologyLabels()
    known.put("uid", make("racks", BLOCK, RACK))
    known.note_node("n0", {BLOCK: "a", RACK: "r1"})
    known.note_node("n1", {BLOCK: "b", RACK: "r1"})
    known.note_node("n2", {RACK: "r1"})
    found = dict(known.take_labels())
    assert found == {
        f"n{number}": {
            "Topology racks": "racks",
            f"{BLOCK} of Topology racks": block,
            f"{RACK} of Topology racks": f"{block}/r1",
        }
        for number, block in enumerate("ab")
    }, "a node without one of the labels is not in the topology"
    assert not [*known.take_labels()], "each change is told once"


def test_changes_of_topologies_and_nodes_are_told():
    known = TopologyLabels()
    known.note_node("n0", {BLOCK: "a", RACK: "r1"})
    assert not [*known.take_labels()], "nobody asks for labels yet"
    known.put("uid", make("racks", BLOCK))
    assert [name for name, _ in known.take_labels()] == ["n0"]
    known.put("uid", make("racks", BLOCK))
    assert not [*known.take_labels()]
    known.note_node("n0", {RACK: "r1"})
    assert [*known.take_labels()] == [("n0", {})]
    known.note_node("n0", {BLOCK: "c"})
    known.remove("uid")
    known.remove("uid")
    assert not [*known.take_labels()]
    known.forget_node("n0")
    known.put("uid", make("racks", BLOCK))
    assert not [*known.take_labels()]


def test_a_topology_that_ends_takes_its_labels_along():
    known = TopologyLabels()
    known.put("uid", make("racks", BLOCK))
    known.note_node("n0", {BLOCK: "a"})
    assert [name for name, labels in known.take_labels() if labels] == ["n0"]
    known.remove("another")
    assert not [*known.take_labels()]
    known.remove("uid")
    assert [*known.take_labels()] == [("n0", {})]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ((), "has 0 entries"),
        (("",), "spec.levels[0].nodeLabel"),
        (("a b",), "spec.levels[0].nodeLabel"),
        ((RACK, BLOCK, RACK), "spec.levels[2].nodeLabel: 'example.com/rack' is there twice"),
        (tuple(f"l{number}" for number in range(17)), "has 17 entries; give 1 to 16"),
    ],
)
def test_a_topology_that_makes_no_sense_labels_nothing(labels, words):
    found = make("bad", *labels)
    assert words in next(iterate_faults(found))
    known = TopologyLabels()
    known.put("uid", found)
    known.note_node("n0", dict.fromkeys((*labels, BLOCK), "a"))
    assert not [*known.take_labels()]
