"""PodGroups of Volcano with a network topology or subgroups, as trees of groups; and what makes no sense."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest

from poseidon.kube.api.other_projects.hyper_nodes import NO_TIERS, Tiers
from poseidon.kube.api.pod_groups import VolcanoPodGroup
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.group_names import VOLCANO_POD_GROUP
from poseidon.pod_groups.groups import Groups
from tests.poseidon.pod_groups.test_composites import count_calls

ONE, TWO, THREE = (f"topology.volcano.sh/tier-{tier}" for tier in (1, 2, 3))
TIERS = Tiers((1, 2, 3), {"rack": 1, "zone": 2})
PARTITION = "volcano.sh/partition-id"


def hard(tier: int) -> dict[str, Any]:
    return {"mode": "hard", "highestTierAllowed": tier}


def policy(name: str, size: int, least: int = 0, **more: Any) -> dict[str, Any]:
    """As Volcano's controller makes it of a task with partitions."""
    selector = {"matchLabels": {"volcano.sh/task-spec": name}}
    keys = {"labelSelector": selector, "matchLabelKeys": [PARTITION]}
    return {"name": name, "subGroupSize": size, "minSubGroups": least, **keys, **more}


def member(index: int, task: str, partition: str = "") -> Pod:
    labels = {"volcano.sh/task-spec": task} | ({PARTITION: partition} if partition else {})
    annotations = {"scheduling.k8s.io/group-name": "job", "volcano.sh/task-spec": task}
    metadata = {"name": f"p{index}", "namespace": "default", "labels": labels, "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": {}}, Pod)


def make_object(**spec: Any) -> VolcanoPodGroup:
    metadata = {"name": "job", "namespace": "default", "uid": "uid-job"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, VolcanoPodGroup)


class Scene:
    """Groups that hear of a PodGroup, its pods and the tiers, and take pods again as a bridge does."""

    def __init__(self) -> None:
        self.groups = Groups()
        self.pods: dict[str, Pod] = {}

    def put_object(self, **spec: Any) -> None:
        self.groups.put_source(VOLCANO_POD_GROUP, "uid-job", make_object(**spec))
        for uid, pod in self.groups.take_regrouped():
            self.groups.put_pod(uid, pod)

    def put_pods(self, *members: Pod) -> None:
        for each in members:
            self.groups.put_pod(each.metadata.name, each)

    @property
    def group(self) -> Group:
        found = next(iter(self.groups))
        assert not self.groups.waits_for(found)
        return found

    def list_groups(self) -> list[tuple[str, str, int, list[str], list[str]]]:
        return [
            (each.name, each.parent, each.least, [*each.within], [*each.rather_within])
            for each in self.groups.job(self.group).groups
        ]

    @property
    def least(self) -> int:
        return self.groups.job(self.group).min_members


MEMBERS = (member(0, "worker", "0"), member(1, "worker", "1"), member(2, "worker", "0"), member(3, "ps"))
SPEC = {
    "minMember": 5,
    "minTaskMember": {"worker": 4, "ps": 1},
    "networkTopology": hard(2),
    "subGroupPolicy": [policy("worker", 2, networkTopology=hard(1))],
}


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_partitions_are_subgroups_of_their_task_whichever_comes_first(order):
    scene = Scene()
    steps = (
        lambda: scene.put_object(**SPEC),
        lambda: scene.put_pods(*MEMBERS),
        lambda: scene.groups.set_tiers(TIERS),
    )
    for index in order:
        steps[index]()
    assert scene.list_groups() == [
        ("all of job", "", 2, [TWO], [ONE]),
        ("worker", "all of job", 2, [], []),
        ("worker/0", "worker", 2, [ONE], []),
        ("worker/1", "worker", 2, [ONE], []),
        ("pods of ps", "all of job", 1, [], []),
    ]
    assert scene.least == 5
    found = [scene.groups.place_in_tree(scene.group, f"p{index}").group for index in range(4)]
    assert found == ["worker/0", "worker/1", "worker/0", "pods of ps"]


def test_fewer_pods_may_be_enough_whatever_subgroups_they_are_in():
    scene = Scene()
    scene.put_object(minMember=3, minTaskMember={"worker": 4}, subGroupPolicy=[policy("worker", 2, least=1)])
    scene.put_pods(*MEMBERS[:3], member(4, "worker", "1"))
    assert scene.list_groups()[0] == ("all of job", "", 1, [], [])
    assert scene.list_groups()[1] == ("worker", "all of job", 1, [], [])
    assert scene.least == 3


def test_a_pod_without_the_label_is_in_no_subgroup():
    scene = Scene()
    scene.put_object(minMember=2, subGroupPolicy=[policy("worker", 2), {"name": "by nothing"}])
    scene.put_pods(member(0, "worker", "0"), member(1, "worker"), member(2, ""))
    assert [each[0] for each in scene.list_groups()] == [
        "all of job",
        "worker",
        "worker/0",
        "other pods",
        "pods of worker",
    ]


def test_policies_that_change_move_pods_to_other_groups():
    scene = Scene()
    scene.put_pods(*MEMBERS)
    scene.put_object(minMember=2, minTaskMember={"worker": 1})
    assert not scene.list_groups()
    scene.put_object(minMember=2, subGroupPolicy=[policy("worker", 2)])
    assert scene.groups.place_in_tree(scene.group, "p1").group == "worker/1"
    again = {**policy("all", 4), "labelSelector": {}, "matchLabelKeys": ["volcano.sh/task-spec"]}
    scene.put_object(minMember=2, subGroupPolicy=[again])
    assert scene.groups.place_in_tree(scene.group, "p1").group == "all/worker"
    scene.put_object(minMember=2)
    assert not scene.list_groups()


def test_names_of_groups_are_unique():
    scene = Scene()
    scene.put_object(minMember=1, subGroupPolicy=[policy("a/0", 1), policy("a 0", 1), policy("", 1)])
    parts = [member(0, "a/0", "0"), member(1, "a 0", "0"), member(2, "", "0")]
    scene.put_pods(*(msgspec.structs.replace(each) for each in parts))
    names = [each[0] for each in scene.list_groups()]
    assert len(set(names)) == len(names) == 7


@pytest.mark.parametrize(
    ("topology", "within", "rather"),
    [
        (hard(1), [ONE], []),
        (hard(3), [THREE], [ONE, TWO]),
        (hard(4), [], [ONE, TWO, THREE]),
        ({"mode": "soft", "highestTierAllowed": 1}, [], [ONE, TWO, THREE]),
        ({"mode": "hard", "highestTierName": "zone"}, [TWO], [ONE]),
        ({}, [], [ONE, TWO, THREE]),
    ],
)
def test_the_highest_tier_is_a_rule_and_lower_ones_are_wishes(topology, within, rather):
    scene = Scene()
    scene.put_object(minMember=2, networkTopology=topology)
    scene.put_pods(member(0, "worker"), member(1, "worker"))
    scene.groups.set_tiers(TIERS)
    assert scene.list_groups()[0][3:] == (within, rather)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"networkTopology": hard(0)}, "spec.networkTopology: there is no HyperNode of tier 0 or below"),
        (
            {"networkTopology": {"highestTierName": "row"}},
            "spec.networkTopology.highestTierName: no HyperNode has the tierName 'row'",
        ),
        (
            {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}},
            "spec.networkTopology: has highestTierAllowed and highestTierName; give one of them",
        ),
        (
            {"networkTopology": {"mode": "hart"}},
            "spec.networkTopology.mode: 'hart' is unknown; give hard or soft",
        ),
        (
            {"subGroupPolicy": [policy("worker", 1, networkTopology=hard(0))]},
            "spec.subGroupPolicy[0].networkTopology: there is no HyperNode",
        ),
        ({"subGroupPolicy": [policy("worker", 0)]}, "spec.subGroupPolicy[0].subGroupSize: 0 is out of range"),
        (
            {"subGroupPolicy": [policy("worker", 1, -1)]},
            "spec.subGroupPolicy[0].minSubGroups: -1 is out of range",
        ),
        (
            {"subGroupPolicy": [policy("worker", 1)] * 65},
            "spec.subGroupPolicy: has 65 entries; give at most 64",
        ),
    ],
)
def test_what_makes_no_sense_is_said_and_nothing_is_placed(spec, words):
    scene = Scene()
    scene.groups.set_tiers(TIERS)
    scene.put_object(minMember=1, **spec)
    scene.put_pods(member(0, "worker", "0"))
    assert words in scene.groups.waits_for(next(iter(scene.groups)))


def test_tiers_that_come_late_reach_groups_that_waited_for_them():
    scene = Scene()
    scene.put_object(minMember=1, networkTopology=hard(1))
    scene.put_pods(member(0, "worker"), member(1, "worker"))
    found = next(iter(scene.groups))
    assert "there is no HyperNode of tier 1 or below" in scene.groups.waits_for(found)
    scene.groups.take_changes()
    scene.groups.set_tiers(NO_TIERS)
    assert not scene.groups.take_changes()
    scene.groups.set_tiers(TIERS)
    assert [(each.group.member.name, each.waits) for each in scene.groups.take_changes()] == [
        ("default/job", {"p0": "", "p1": ""})
    ]


def test_many_subgroups_take_time_in_proportion_to_their_pods():
    """Each pod is in a new subgroup, and is asked about at once, as a bridge does."""

    def take_pods(count: int) -> int:
        scene = Scene()
        scene.put_object(minMember=count, subGroupPolicy=[policy("worker", 1)])

        def take() -> None:
            for index in range(count):
                scene.put_pods(member(index, "worker", str(index)))
                group = scene.groups.group_of(f"p{index}")
                assert group is not None
                scene.groups.waits_for(group)
                scene.groups.place_in_tree(group, f"p{index}")
            assert len(scene.list_groups()) == count + 2

        return count_calls(take)

    assert take_pods(400) < 5 * take_pods(100)


def test_why_a_pod_waits_for_tasks_of_its_gang_is_known_whoever_asks_first():
    groups = Groups()
    groups.put_source(
        VOLCANO_POD_GROUP, "uid-job", make_object(minMember=2, minTaskMember={"ps": 1, "worker": 1})
    )
    for each in (member(0, "worker"), member(1, "worker"), member(2, "ps")):
        groups.put_pod(each.metadata.name, each)
    surplus = "beyond the pods that gang default/job lacks: it is placed once these are"
    assert [groups.explain_surplus(f"p{index}") for index in range(4)] == ["", surplus, "", ""]
    groups.remove_pod("p0")
    assert [groups.explain_surplus(f"p{index}") for index in (1, 2)] == ["", ""]
