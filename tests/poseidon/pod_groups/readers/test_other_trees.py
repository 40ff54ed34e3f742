"""Trees of groups of KAI and Grove, read from their objects: counts, levels, and faults with their fields."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.scheduler_groups import KaiPodGroup, PodGang
from poseidon.pod_groups.composites import MAX_COUNT, GroupNode
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.readers.scheduler_trees import read_kai_group_demand, read_pod_gang_demand


def kai(**spec: Any) -> Demand:
    return read_kai_group_demand(convert_object({"metadata": {"name": "g"}, "spec": spec}, KaiPodGroup))


def grove(*groups: dict[str, Any], **spec: Any) -> Demand:
    made = {"podgroups": list(groups), **spec}
    return read_pod_gang_demand(convert_object({"metadata": {"name": "g"}, "spec": made}, PodGang))


def sub(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, **fields}


def levels(required: str = "", preferred: str = "") -> dict[str, Any]:
    return {"requiredTopologyLevel": required, "preferredTopologyLevel": preferred}


def test_a_plain_group_of_kai_is_a_tree_of_one():
    found = kai(minMember=3, priorityClassName="high", topologyConstraint=levels("rack", "zone"))
    assert found.nodes == (GroupNode("g", "", 3, within=("rack",), rather_within=("zone",)),)
    assert (found.min_members, found.priority_class) == (3, "high")
    assert kai(minMember=0).nodes == (GroupNode("g", "", 0),)


def test_subgroups_of_kai_are_below_each_other_parents_first():
    found = kai(
        minMember=9,
        subGroups=[
            sub("leaf", parent="mid", minMember=2),
            sub("other", minMember=0, topologyConstraint=levels("rack", "rack")),
            sub("mid"),
        ],
    )
    assert found.nodes == (
        GroupNode("g", "", 2),
        GroupNode("other", "g", 1, within=("rack",)),
        GroupNode("mid", "g", 1),
        GroupNode("leaf", "mid", 2),
    )
    assert found.min_members == 3


def test_fewer_subgroups_may_be_enough():
    found = kai(minSubGroup=1, subGroups=[sub("a", minMember=2), sub("b", minMember=5)])
    assert found.nodes[0] == GroupNode("g", "", 1)
    assert found.min_members == 2
    inner = kai(
        subGroups=[
            sub("a", minSubGroup=1),
            sub("b", parent="a", minMember=2),
            sub("c", parent="a", minMember=3),
        ]
    )
    assert inner.nodes[1] == GroupNode("a", "g", 1)
    assert kai(minSubGroup=0, subGroups=[sub("a", minMember=2)]).nodes[0].least == 0


def test_the_root_of_a_tree_has_a_name_of_its_own():
    assert (
        kai(subGroups=[sub("g", minMember=1), sub("all of g", minMember=1)]).nodes[0].name
        == "all of all of g"
    )


OUT = "is out of range; give 0 or more"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": -1}, f"spec.minMember: -1 {OUT}"),
        ({"minMember": MAX_COUNT + 1}, f"spec.minMember: {MAX_COUNT + 1} {OUT}"),
        ({"minSubGroup": -1}, f"spec.minSubGroup: -1 {OUT}"),
        ({"subGroups": [sub("")]}, "spec.subGroups[0].name: '' is empty"),
        ({"subGroups": [sub("a"), sub("a")]}, "spec.subGroups[1].name: 'a' is there twice"),
        ({"subGroups": [sub("a", minMember=-1)]}, f"spec.subGroups[0].minMember: -1 {OUT}"),
        ({"subGroups": [sub("a", minSubGroup=-1)]}, f"spec.subGroups[0].minSubGroup: -1 {OUT}"),
        ({"subGroups": [sub("a", parent="b")]}, "spec.subGroups[0].parent: there is no group 'b'"),
        (
            {"subGroups": [sub("a", parent="b"), sub("b", parent="a"), sub("c")]},
            "spec.subGroups: some groups are in each other; remove the circle",
        ),
        ({"topologyConstraint": levels("-")}, "topology level '-' of g: "),
        ({"topologyConstraint": levels("", "-")}, "topology level '-' of g: "),
    ],
)
def test_faults_of_kais_groups_name_the_field(spec, problem):
    found = kai(**spec)
    assert found.problem.startswith(problem)
    assert found.nodes == ()


def pack(required: str | None = None, preferred: str | None = None) -> dict[str, Any]:
    return {"packConstraint": {"required": required, "preferred": preferred}}


def test_all_groups_of_a_pod_gang_go_together():
    found = grove(
        sub("a", minReplicas=2, topologyConstraint=pack("rack")),
        sub("b", minReplicas=3),
        topologyConstraint=pack(None, "zone"),
        priorityClassName="high",
    )
    assert found.nodes == (
        GroupNode("g", "", 2, rather_within=("zone",)),
        GroupNode("a", "g", 2, within=("rack",)),
        GroupNode("b", "g", 3),
    )
    assert (found.min_members, found.priority_class) == (5, "high")


def test_groups_with_a_common_constraint_are_a_level_of_their_own():
    configs = [
        {"name": "none", "podGroupNames": []},
        {"name": "pair", "podGroupNames": ["a", "c"], "topologyConstraint": pack("rack")},
    ]
    found = grove(*(sub(each, minReplicas=1) for each in "abc"), topologyConstraintGroupConfigs=configs)
    assert found.nodes == (
        GroupNode("g", "", 2),
        GroupNode("groups 1 of g", "g", 2, within=("rack",)),
        GroupNode("a", "groups 1 of g", 1),
        GroupNode("b", "g", 1),
        GroupNode("c", "groups 1 of g", 1),
    )


@pytest.mark.parametrize(
    ("groups", "spec", "problem"),
    [
        ([sub("")], {}, "spec.podgroups[0].name: '' is empty"),
        ([sub("a"), sub("a")], {}, "spec.podgroups[1].name: 'a' is there twice"),
        ([sub("a"), sub("b", minReplicas=-1)], {}, f"spec.podgroups[1].minReplicas: -1 {OUT}"),
        (
            [sub("a")],
            {"topologyConstraintGroupConfigs": [{"podGroupNames": ["b"]}]},
            "spec.topologyConstraintGroupConfigs[0].podGroupNames: there is no group 'b'",
        ),
        (
            [sub("a")],
            {"topologyConstraintGroupConfigs": [{"podGroupNames": ["a"]}, {"podGroupNames": ["a"]}]},
            "spec.topologyConstraintGroupConfigs[1].podGroupNames: group 'a' is in another one, too",
        ),
        ([sub("a", minReplicas=1, topologyConstraint=pack("-"))], {}, "topology level '-' of a: "),
    ],
)
def test_faults_of_pod_gangs_name_the_field(groups, spec, problem):
    found = grove(*groups, **spec)
    assert found.problem.startswith(problem)
    assert found.nodes == ()


def test_a_name_that_is_given_twice_in_one_constraint_is_no_fault():
    assert not grove(
        sub("a", minReplicas=1), topologyConstraintGroupConfigs=[{"podGroupNames": ["a", "a"]}]
    ).problem
