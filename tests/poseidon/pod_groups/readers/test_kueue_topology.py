"""Kueue's annotations about topology as trees of groups, and what makes no sense in them."""

from __future__ import annotations

import json

import pytest

from poseidon.group_trees.spec.constraints import LevelRule
from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.api.pod_groups import OwnedPods
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.group_names import MemberPart
from poseidon.pod_groups.readers.kueue_topology import list_stated_pods, read_topology_demand
from poseidon.pod_groups.topology_annotations import (
    PREFERRED,
    REQUIRED,
    SLICE_LAYERS,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
    find_role,
)
from poseidon.pods.templates import POD_SET_GROUP

RACKS = TopologyLevels("racks", ("block", "rack", "host"))
BLOCK, RACK, HOST = (f"{level} of Topology racks" for level in RACKS.labels)


def read(*sets: OwnedPods, topologies=(RACKS,), least=None) -> Demand:
    total = sum(each.count for each in sets)
    return read_topology_demand(
        Demand(total if least is None else least, size=total), "train", sets, topologies
    )


def read_one(count=8, *, ended=False, **annotations: str) -> Demand:
    keys = {
        "required": REQUIRED,
        "preferred": PREFERRED,
        "unconstrained": UNCONSTRAINED,
        "slice_level": SLICE_LEVEL,
        "slice_size": SLICE_SIZE,
        "layers": SLICE_LAYERS,
    }
    return read(OwnedPods("", count, {keys[key]: value for key, value in annotations.items()}, ended))


def test_a_required_level_binds_and_finer_ones_are_wishes():
    (node,) = read_one(required="block").nodes
    assert (node.name, node.least, node.within, node.rather_within) == ("train", 8, (BLOCK,), (HOST, RACK))
    (node,) = read_one(required="host").nodes
    assert (node.within, node.rather_within) == ((HOST,), ())


def test_a_preferred_level_is_a_wish_on_nodes_of_the_topology():
    (node,) = read_one(preferred="rack").nodes
    assert (node.within, node.rather_within) == (("Topology racks",), (HOST, RACK, BLOCK))
    (node,) = read_one(unconstrained="true").nodes
    assert (node.within, node.rather_within) == (("Topology racks",), ())


def test_slices_divide_the_pods_by_multiples():
    (node,) = read_one(required="block", slice_level="rack", slice_size="4").nodes
    assert node.divided == ((RACK, LevelRule(factor=4)),)
    layers = json.dumps([{"topology": "rack", "size": 4}, {"topology": "host", "size": 2}])
    (node,) = read_one(layers=layers).nodes
    assert node.divided == ((RACK, LevelRule(factor=4)), (HOST, LevelRule(factor=2)))
    (node,) = read_one(7, ended=True, slice_level="rack", slice_size="4").nodes
    assert node.divided == (), "pods that have succeeded leave no whole slice"


def test_pod_sets_have_places_of_their_own_or_one_by_the_name_of_their_group():
    driver = OwnedPods("driver", 1, {REQUIRED: "rack", POD_SET_GROUP: "one"})
    workers = OwnedPods(
        "workers", 4, {REQUIRED: "rack", POD_SET_GROUP: "one", SLICE_LEVEL: "host", SLICE_SIZE: "2"}
    )
    other = OwnedPods("other", 3)
    nodes = {each.name: each for each in read(driver, workers, other).nodes}
    assert [*nodes] == ["all of train", "pod set group one", "driver", "workers", "other"]
    assert nodes["all of train"].least == 2
    group = nodes["pod set group one"]
    assert (group.parent, group.least, group.within) == ("all of train", 2, (RACK,))
    assert nodes["workers"].divided == ((HOST, LevelRule(factor=2)),)
    assert nodes["driver"].within == nodes["other"].within == ()
    assert [nodes[name].least for name in ("driver", "workers", "other")] == [1, 4, 3]


def test_a_job_may_begin_with_fewer_pods():
    (node,) = read(OwnedPods("", 8, {REQUIRED: "rack"}), least=2).nodes
    assert node.least == 2


def test_the_first_topology_counts_that_has_all_levels():
    other = TopologyLevels("rows", ("row", "host"))
    (node,) = read(OwnedPods("", 2, {REQUIRED: "rack"}), topologies=(other, RACKS)).nodes
    assert node.within == (RACK,)
    (node,) = read(OwnedPods("", 2, {REQUIRED: "host"}), topologies=(other, RACKS)).nodes
    assert node.within == ("host of Topology rows",)


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({REQUIRED: "rack", PREFERRED: "rack"}, "exclude each other"),
        ({REQUIRED: "row"}, "no topology of its queue's flavors has the level row"),
        ({REQUIRED: ""}, "is empty"),
        ({UNCONSTRAINED: "yes"}, "'yes' is not true or false"),
        ({SLICE_LEVEL: "rack"}, "is no number of pods"),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "-1"}, "is no number of pods"),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "3"}, "8 pods cannot be divided into slices of 3"),
        ({REQUIRED: "rack", SLICE_LEVEL: "block", SLICE_SIZE: "4"}, "above the level"),
        ({REQUIRED: "rack", SLICE_SIZE: "4"}, "no level is named"),
        ({SLICE_LAYERS: "["}, "is not JSON"),
        ({SLICE_LAYERS: "{}"}, "is not a list"),
        ({SLICE_LAYERS: "[1]"}, "[0].topology: missing"),
        ({SLICE_LAYERS: '[{"topology": "rack", "size": true}]'}, "is no number of pods"),
        ({SLICE_LAYERS: "[]", SLICE_SIZE: "4"}, "excludes"),
        (
            {SLICE_LAYERS: '[{"topology": "rack", "size": 4}, {"topology": "host", "size": 3}]'},
            "[1].size: 3 does not divide 4",
        ),
        (
            {SLICE_LAYERS: '[{"topology": "host", "size": 4}, {"topology": "rack", "size": 2}]'},
            "above the level",
        ),
    ],
)
def test_what_makes_no_sense_is_said(annotations, words):
    found = read(OwnedPods("", 8, annotations))
    assert words in found.problem
    assert not found.nodes


def test_pod_sets_of_one_group_ask_for_the_same():
    sets = [
        OwnedPods(role, 2, {REQUIRED: level, POD_SET_GROUP: "one"})
        for role, level in (("a", "rack"), ("b", "host"))
    ]
    assert "ask for different levels" in read(*sets).problem


def test_without_a_topology_nothing_is_placed():
    assert (
        "no flavor of its queue has one" in read(OwnedPods("", 2, {REQUIRED: "rack"}), topologies=()).problem
    )


def test_the_pods_of_a_pod_group_say_what_they_ask_for():
    asks = MemberPart(topology=((REQUIRED, "rack"),))
    (found,) = list_stated_pods([asks, MemberPart(role="x", topology=asks.topology)], 3)
    assert (found.count, found.annotations) == (3, {REQUIRED: "rack"})
    assert not list_stated_pods([MemberPart()], 3)
    assert "different things" in read(*list_stated_pods([asks, MemberPart()], 3)).problem


@pytest.mark.parametrize(
    ("labels", "role"),
    [
        ({}, ""),
        ({"jobset.sigs.k8s.io/replicatedjob-name": "workers"}, "workers"),
        ({"leaderworkerset.sigs.k8s.io/worker-index": "0"}, "leader"),
        ({"leaderworkerset.sigs.k8s.io/worker-index": "3"}, "workers"),
        ({"ray.io/group": "headgroup"}, "headgroup"),
    ],
)
def test_labels_say_in_which_pod_set_a_pod_is(labels, role):
    assert find_role(labels) == role
