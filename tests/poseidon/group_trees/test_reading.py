"""What ConfigMaps say, and what is said about bad ones."""

from __future__ import annotations

import json

import pytest

from poseidon.group_trees.spec.constraints import LevelRule, read_constraints
from poseidon.group_trees.spec.groups import read_group, read_pod_group
from poseidon.group_trees.spec.tree import read_tree
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_groups import PodGroup, PodGroupSpec


def tree(value, **more):
    texts = {key.replace("_", "-"): json.dumps(each) for key, each in more.items()}
    return read_tree({"tree": value if isinstance(value, str) else json.dumps(value), **texts})


def texts(found):
    return [str(each) for each in found]


# --- groups -------------------------------------------------------------------------------------------------


def test_a_group_as_the_proposal_writes_it():
    reading = read_group(
        {
            "name": "group-a",
            "size": "8",
            "priority": "-3",
            "constraints": '{"rack": {"type": "pack"},\n "node": {"type": "spread", "min": 2, "max": 4}}',
            "status": "Bound",
        }
    )
    assert (reading.defects, reading.remarks) == ((), ())
    spec = reading.spec
    assert (spec.name, spec.size, spec.priority) == ("group-a", 8, -3)
    assert json.loads(spec.payload("ns")) == {
        "group": "ns/group-a",
        "constraints": {
            "rack": {"type": "pack", "hard": False},
            "node": {"type": "spread", "hard": False, "min": 2, "max": 4},
        },
    }


@pytest.mark.parametrize(("value", "beyond"), [(-(2**31), -(2**31) - 1), (2**31 - 1, 2**31)])
def test_priorities_are_those_of_kubernetes(value, beyond):
    assert read_group({"priority": str(value)}).spec.priority == value
    [text] = texts(read_group({"priority": str(beyond)}).defects)
    assert f"data.priority: {beyond} is out of range" in text


def test_what_a_group_leaves_out():
    spec = read_group({}).spec
    assert (spec.name, spec.size, spec.priority, dict(spec.constraints)) == ("default-group", 1, None, {})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"size": "0"}, "data.size: 0 is out of range; write 1 or more"),
        ({"size": "many"}, "data.size: 'many' is no whole number; write 1 or more"),
        ({"priority": "high"}, "data.priority: 'high' is no whole number; write one from"),
        ({"constraints": '{"rack": '}, "data.constraints: is not JSON: "),
        ({"constraints": "[]"}, "data.constraints: [] is not what is expected here; write a map"),
        ({"constraints": '{"rack": {}, "rack": {}}'}, "data.constraints: 'rack' is given twice"),
        ({"constraints": '{"rack": 2}'}, "data.constraints.rack: 2 is no rule"),
        ({"constraints": '{"rack": {"hard": 1}}'}, "data.constraints.rack.hard: 1 is neither true nor false"),
        ({"constraints": '{"rack": {"min": 0, "max": 2}}'}, "data.constraints.rack.min: 0 is out of range"),
        ({"constraints": '{"rack": {"factor": "2"}}'}, 'data.constraints.rack.factor: "2" is out of range'),
        (
            {"size": "8", "constraints": '{"node": {"min": 5, "max": 4}}'},
            "data.constraints.node.min: 5 is more than max, 4; lower min or raise max",
        ),
        (
            {"size": "10", "constraints": '{"node": {"factor": 4}}'},
            "data.constraints.node.factor: 10 pods are no multiple of 4; make the size 8 or 12, or change the factor",
        ),
        (
            {"size": "4", "constraints": '{"rack": {"partitions": 5}}'},
            "data.constraints.rack.partitions: 5 partitions are more than 4 pods can fill; lower it",
        ),
        (
            {"size": "4", "constraints": '{"rack": {"partitions": 3, "min": 2, "max": 3}}'},
            "data.constraints.rack.partitions: 3 partitions with at least 2 pods each are more than 4 pods",
        ),
        (
            {"size": "3", "constraints": '{"rack": {"min": 4, "max": 5}}'},
            "data.constraints.rack.min: 4 is more than the 3 pods of the group",
        ),
    ],
)
def test_a_group_that_makes_no_sense(data, expected):
    [defect, *more] = texts(read_group(data).defects)
    assert defect.startswith(expected)
    assert not more


def test_what_is_said_in_vain():
    found = read_constraints(
        '{"a": {"type": "spraed"}, "b": {"min": 2}, "c": {"hard": true, "partitions": 2}, "d": {"kind": 1}}',
        "x",
    )
    assert found.defects == ()
    assert [each.partition(":")[0] for each in found.remarks] == ["x.a.type", "x.b.min", "x.c", "x.d"]
    assert found.spec == {
        "a": LevelRule(),
        "b": LevelRule(),
        "c": LevelRule(hard=True),
        "d": LevelRule(),
    }


def test_a_pod_group_with_rules_in_its_annotation():
    rules = {"sakkara.group.constraints": '{"node": {"factor": 2}}'}
    found = PodGroup(metadata=ObjectMeta(name="g", annotations=rules), spec=PodGroupSpec(min_member=4))
    reading = read_pod_group(found)
    assert (reading.spec.size, reading.spec.priority, reading.defects) == (4, None, ())
    assert reading.spec.constraints == {"node": LevelRule(factor=2)}
    odd = PodGroup(metadata=ObjectMeta(name="g", annotations=rules), spec=PodGroupSpec(min_member=5))
    [defect] = texts(read_pod_group(odd).defects)
    assert defect.startswith("annotation sakkara.group.constraints.node.factor: 5 pods are no multiple of 2")


# --- trees --------------------------------------------------------------------------------------------------


def test_a_tree_as_the_proposal_writes_it():
    reading = read_tree(
        {
            "name": "cluster-tree",
            "resource-names": '[ "cpu", "nvidia.com/gpu" ]',
            "level-names": '[ "rack", "node" ]',
            "tree": '{"rack-1": {"n3": {}}, "rack-0": {"n2": {}, "n1": {}}}\n',
        }
    )
    assert (reading.defects, reading.remarks) == ((), ())
    assert dict(reading.spec.paths) == {
        "n1": ("rack-0", "n1"),
        "n2": ("rack-0", "n2"),
        "n3": ("rack-1", "n3"),
    }
    assert list(reading.spec.paths) == ["n1", "n2", "n3"]
    assert json.loads(reading.spec.payload()) == {
        "name": "cluster-tree",
        "levels": ["rack", "node"],
        "resources": ["cpu", "nvidia.com/gpu"],
        "tree": {"rack-0": {"n1": {}, "n2": {}}, "rack-1": {"n3": {}}},
    }


def test_what_a_tree_leaves_out():
    spec = tree({"r": {"n": {}}}).spec
    assert (spec.name, spec.levels, spec.resources) == ("default-tree", ("rack", "node"), ("cpu", "memory"))


def test_units_of_one_name_in_two_places_are_two_units():
    reading = tree(
        {"row-0": {"rack": {"n1": {}}}, "row-1": {"rack": {"n2": {}}}}, level_names=["row", "rack", "node"]
    )
    assert reading.defects == ()
    assert dict(reading.spec.paths) == {"n1": ("row-0", "rack", "n1"), "n2": ("row-1", "rack", "n2")}


def test_a_node_above_the_others_is_a_unit_of_its_own():
    spec = tree({"rack-0": {"n1": {}}, "n2": {}}).spec
    assert dict(spec.paths) == {"n1": ("rack-0", "n1"), "n2": ("n2", "n2")}
    assert json.loads(spec.payload())["tree"] == {"rack-0": {"n1": {}}, "n2": {}}


def test_levels_are_named_from_the_bottom():
    deeper = tree({"row": {"rack": {"n": {}}}})
    assert deeper.spec.levels == ("level 1", "rack", "node")
    assert "1 of 3 levels have no name" in deeper.remarks[0]
    flatter = tree({"r": {"n": {}}}, level_names=["row", "rack", "node"])
    assert flatter.spec.levels == ("rack", "node")
    assert "row names none of them" in flatter.remarks[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "data.tree: missing"),
        ({}, "data.tree: is empty"),
        ('{"rack-0": {"n1": {}}', "data.tree: is not JSON: "),
        ("[]", "data.tree: [] is not what is expected here; write a map"),
        ('{"r": {"n1": {}, "n1": {}}}', "data.tree: 'n1' is given twice in one map"),
        (
            {"r0": {"n1": {}}, "r1": {"n1": {}}},
            "data.tree: node 'n1' stands below r0 and below r1; a node is in one place",
        ),
        ({"r0": {"n1": "x"}}, 'data.tree: r0/n1: "x" is no map'),
        ({"r0": {"": {}}}, "data.tree: a unit below r0 has no name"),
    ],
)
def test_a_tree_that_makes_no_sense(given, expected):
    [defect, *more] = texts(tree(given).defects)
    assert defect.startswith(expected)
    assert not more


def test_a_tree_that_is_too_deep():
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"u": deep}
    assert "more than 32 levels" in texts(tree(deep).defects)[0]
    endless = '{"u":' * 100_000 + "{}" + "}" * 100_000
    assert "nested too deeply" in texts(tree(endless).defects)[0]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (["rack", "rack"], "data.level-names: gives 'rack' twice"),
        ([], "data.level-names: is empty"),
        (["rack", 1], "data.level-names: 1 is not a name"),
        ({"a": 1}, 'data.level-names: {"a": 1} is not what is expected here; write a list'),
    ],
)
def test_names_that_make_no_sense(levels, expected):
    assert texts(tree({"r": {"n": {}}}, level_names=levels).defects)[0].startswith(expected)
