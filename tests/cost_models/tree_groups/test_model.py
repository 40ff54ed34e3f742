"""The overlay: its arguments, what it reads of records and labels, and what it says of bad ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cost_models.api.parsed_records import BadRecordError
from cost_models.checks.sample_inputs import Case, ordinary_machines, ordinary_shapes
from cost_models.conformance import check_model
from cost_models.group_terms import GROUP_RECORD, TREE_RECORD, LevelRule, plans_groups
from cost_models.interface import MachineColumns, ModelArgumentError
from cost_models.registry import load_model
from cost_models.tree_groups.records import parse_group, parse_tree
from cost_models.tree_groups.topology import Topology
from cost_models.tree_groups.trees import RACK_LABEL


def columns(
    *names: str, labels: dict[str, dict[str, str]] | None = None, **records: Mapping[str, object]
) -> MachineColumns:
    """Machines by name; ``records``: payloads by kind and name."""
    some = ordinary_machines()
    rows = [0] * len(names)
    given = {
        kind: {name: json.dumps(each).encode() for name, each in named.items()}
        for kind, named in records.items()
    }
    return replace(
        some,
        names=list(names),
        capacity=some.capacity[rows],
        free=some.free[rows],
        running=some.running[rows],
        labels=[(labels or {}).get(name, {}) for name in names],
        annotations=[{}] * len(names),
        usage=some.usage[rows],
        usage_time=some.usage_time[rows],
        records=given,
    )


def tree(given: dict[str, object], *levels: str) -> dict[str, object]:
    return {"tree": {"levels": list(levels), "tree": given}}


TREE = tree({"a": {"m": {}, "n": {}}, "b": {"o": {}}}, "rack", "node")


def test_it_conforms_also_with_records():
    rules = {"g": {"group": "ns/g", "constraints": {"rack": {"partitions": 2}, "blade": {}}}}
    machines = columns("m", "n", "x", TopologyTree=TREE, TopologyGroup=rules)
    check_model(Topology(), [Case("with a tree", machines, ordinary_shapes())])
    assert plans_groups(Topology())


def test_a_tree_by_record_names_levels_from_the_bottom_and_leaves_others_outside():
    terms = Topology().topology_terms(columns("m", "o", "x", TopologyTree=TREE))
    assert terms.levels == ("rack", "node")
    assert terms.paths == (("a", "m"), ("b", "o"), None)


def test_machines_higher_up_are_units_of_their_own_and_unnamed_levels_have_no_name():
    given = tree({"z": {"a": {"m": {}}}, "o": {}}, "node")
    terms = Topology().topology_terms(columns("m", "o", TopologyTree=given))
    assert terms.levels == ("", "", "node")
    assert terms.paths == (("z", "a", "m"), ("o", "o", "o"))


def test_labels_give_the_tree_where_no_record_does():
    labels = {"m": {"t/zone": "z", "rack": "r"}, "n": {"t/zone": "z"}}
    model = Topology(nodeLabels=["t/zone", "rack"])
    terms = model.topology_terms(columns("m", "n", labels=labels))
    assert (terms.levels, terms.paths) == (("zone", "rack", "node"), (("z", "r", "m"), None))
    assert model.topology_terms(columns("m", labels=labels, TopologyTree=TREE)).levels == ("rack", "node")


def test_labels_with_one_short_name_keep_their_own():
    model = Topology(nodeLabels=["a/rack", "b/rack", "c/node"])
    assert model.topology_terms(columns()).levels == ("a/rack", "b/rack", "c/node", "node")


def test_racks_by_label_if_every_machine_has_it_else_all_side_by_side():
    labels = {"m": {RACK_LABEL: "r"}, "n": {RACK_LABEL: "s"}}
    assert Topology().topology_terms(columns("m", "n", labels=labels)).paths == (("r", "m"), ("s", "n"))
    terms = Topology().topology_terms(columns("m", "n", "o", labels=labels))
    assert (terms.levels, terms.paths) == (("node",), (("m",), ("n",), ("o",)))


def test_constraints_as_the_proposal_reads_them():
    given = {
        "rack": {"type": "spread", "partitions": 2},
        "node": {"min": 2, "max": 4, "factor": 2},
        "z": {"min": 3},
    }
    group = parse_group(json.dumps({"group": "ns/g", "constraints": given}).encode())
    assert group.levels == {
        "rack": LevelRule("spread", partitions=2),
        "node": LevelRule("pack", least=2, most=4, factor=2),
        "z": LevelRule(),
    }
    assert parse_group(b'{"group": "ns/g"}').levels == {}


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        ("[]", "is not a JSON object"),
        ("{", "is not valid JSON"),
        ('{"constraints": {"rack": []}}', r"constraints: rack is \[\]; it must be a map"),
        (
            '{"constraints": {"rack": {"min": -1}}}',
            "constraints: rack: min is -1; it must be a positive integer",
        ),
        ('{"constraints": {"rack": {"min": 5, "max": 2}}}', "constraints: rack: min 5 is above max 2"),
        ('{"constraints": {"rack": {"hard": 1}}}', "constraints: rack: hard is 1; it must be true or false"),
    ],
)
def test_groups_that_make_no_sense(payload: str, fault: str):
    with pytest.raises(BadRecordError, match=fault):
        parse_group(payload.encode())


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        ('{"levels": [], "tree": {"a": {}}}', r"levels is \[\]"),
        ('{"tree": {}}', "tree is missing or empty"),
        ('{"tree": {"a": 1}}', "tree: a is 1; it must be a map"),
        ('{"tree": {"a": {"m": {}}, "b": {"m": {}}}}', "tree: node m is there twice, as b/m as well"),
    ],
)
def test_trees_that_make_no_sense(payload: str, fault: str):
    with pytest.raises(BadRecordError, match=fault):
        parse_tree(payload.encode())


def test_bad_records_are_told_and_count_as_none():
    machines = replace(
        columns("m"),
        records={TREE_RECORD: {"tree": b"{"}, GROUP_RECORD: {"g": b"[]", "h": b'{"constraints": {"x": {}}}'}},
    )
    terms = Topology().topology_terms(machines)
    assert terms.levels == ("node",)
    assert terms.groups["g"].levels == {}
    assert [note.split(":")[0] for note in terms.notes] == [
        "TopologyTree tree",
        "TopologyGroup g",
        "TopologyGroup h",
    ]
    assert Topology().assess(machines, ordinary_shapes()).notes == terms.notes


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({"domainChoice": "any"}, "domainChoice is 'any'; it must be one of best-fit, roomiest, cheapest"),
        ({"nodeLabels": []}, "nodeLabels is"),
        ({"nodeLabels": "rack"}, "nodeLabels is 'rack'"),
        ({"topologyConfigMapNameSpace": ""}, "topologyConfigMapNameSpace is ''"),
        ({"other": 1}, "unknown argument 'other'"),
    ],
)
def test_bad_arguments_are_refused(args: dict[str, object], fault: str):
    with pytest.raises(ModelArgumentError, match=fault):
        load_model("topology", args)
