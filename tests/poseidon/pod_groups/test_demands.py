"""What groups require, read from the objects that describe them: numbers at their boundaries, and faults."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_groups import (
    CompositePodGroup,
    NativePodGroup,
    PodGroup,
    PodGroupSpec,
    ScaledOwner,
    ScaleSpec,
    ScaleStatus,
    SigsPodGroup,
)
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.pod_groups.composites import GroupNode
from poseidon.pod_groups.demands import (
    MAX_MEMBERS,
    Demand,
    combine_demands,
    count_wanted,
    list_ignored_by_native,
    name_group_in_tree,
    read_annotated_demand,
    read_least_room,
    read_native_group_demand,
    read_owner_demand,
    read_pod_group_demand,
    read_queued_owner_demand,
    read_sigs_group_demand,
    read_tree_demand,
    read_workload_demand,
    share_problem,
)
from poseidon.pod_groups.group_names import (
    NATIVE_POD_GROUP,
    VOLCANO_POD_GROUP,
    MemberPart,
    Membership,
    ObjectKey,
)
from poseidon.pod_groups.koordinator import GangTerms
from tests.poseidon.pod_groups.objects import workload


def plugins(members: int = 3, seconds: int | None = None, resources: Any = None) -> PodGroup:
    return PodGroup(
        ObjectMeta(name="g"),
        PodGroupSpec(min_member=members, schedule_timeout_seconds=seconds, min_resources=resources),
    )


@pytest.mark.parametrize(
    ("found", "demand"),
    [
        (plugins(), Demand(3)),
        (plugins(1), Demand(1)),
        (plugins(MAX_MEMBERS, 0), Demand(MAX_MEMBERS)),
        (plugins(3, MAX_MEMBERS), Demand(3, float(MAX_MEMBERS))),
        (plugins(3, 1), Demand(3, 1.0)),
        (plugins(3, None, {"cpu": "2", "memory": 1024}), Demand(3, least_room={"cpu": 2000, "memory": 1024})),
    ],
)
def test_a_pod_group_states_number_time_and_room(found, demand):
    assert read_pod_group_demand(found) == demand


RANGE = "is out of range; give how many pods are to be placed together, at least 1"
TIME = "give 1 or more, or leave it out"


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (plugins(0), f"spec.minMember: 0 {RANGE}"),
        (plugins(MAX_MEMBERS + 1), f"spec.minMember: {MAX_MEMBERS + 1} {RANGE}"),
        (plugins(0, -1), f"spec.minMember: 0 {RANGE}"),
        (plugins(1, -1), f"spec.scheduleTimeoutSeconds: -1 is negative; {TIME}"),
        (
            plugins(1, MAX_MEMBERS + 1),
            f"spec.scheduleTimeoutSeconds: {MAX_MEMBERS + 1} is out of range; {TIME}",
        ),
        (
            plugins(1, None, 5),
            "spec.minResources: is not a map of resources to amounts; correct or remove it",
        ),
        (plugins(1, -1, 5), f"spec.scheduleTimeoutSeconds: -1 is negative; {TIME}"),
    ],
)
def test_a_number_out_of_range_is_a_problem(found, problem):
    assert read_pod_group_demand(found) == Demand(problem=problem)


@pytest.mark.parametrize(
    ("stated", "room", "said"),
    [
        (None, {}, ""),
        ({}, {}, ""),
        ({"cpu": 1.5}, {"cpu": 1500}, ""),
        ([], {}, "spec.minResources: is not a map of resources to amounts; correct or remove it"),
        ({"cpu": True}, {}, "spec.minResources.cpu: is not an amount; correct or remove it"),
        ({"memory": "1", "cpu": []}, {}, "spec.minResources.cpu: is not an amount; correct or remove it"),
    ],
)
def test_least_room_is_a_map_of_amounts(stated, room, said):
    assert read_least_room(stated) == (room, said)


def sigs(members: int = 2, seconds: int | None = None, **annotations: str) -> SigsPodGroup:
    named = {
        f"gang.scheduling.koordinator.sh/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    spec = {"minMember": members, **({} if seconds is None else {"scheduleTimeoutSeconds": seconds})}
    metadata = {"name": "g", "namespace": "ns", "annotations": named}
    return convert_object({"metadata": metadata, "spec": spec}, SigsPodGroup)


def test_a_group_of_the_sigs_may_have_koordinators_annotations():
    assert read_sigs_group_demand(sigs()) == Demand(2)
    assert read_sigs_group_demand(sigs(waiting_time="1m30s")).seconds == 90.0
    assert read_sigs_group_demand(sigs(seconds=5, waiting_time="1m")).seconds == 5.0
    assert "counts as Strict" in read_sigs_group_demand(sigs(mode="odd")).ignored
    assert read_sigs_group_demand(sigs(0, groups="odd")).problem.startswith("spec.minMember")
    assert "is no list of gangs" in read_sigs_group_demand(sigs(groups="odd")).problem


def test_a_gang_that_only_its_pods_describe():
    assert read_annotated_demand([]) is None
    assert read_annotated_demand([GangTerms(waiting_time="1s")]) is None
    stated = [GangTerms("2", "annotation x", "5s"), GangTerms("3", "annotation x", "1m", mode="odd")]
    found = read_annotated_demand(stated)
    assert found is not None
    assert (found.min_members, found.seconds) == (3, 60.0)
    assert "'odd' is no mode" in found.ignored
    odd = read_annotated_demand([GangTerms("none", "annotation x")])
    assert odd == Demand(problem="annotation x: 'none' is no number of pods; give at least 1")
    groups = read_annotated_demand([GangTerms("2", "annotation x", groups="odd")])
    assert groups is not None
    assert "is no list of gangs" in groups.problem


def test_gangs_that_go_together_add_up():
    parts = {
        "a/x": Demand(2, 5.0, least_room={"cpu": 10, "memory": 1}),
        "a/y": Demand(3, 9.0, ignored="something", least_room={"cpu": 5}),
    }
    assert combine_demands(parts) == Demand(
        5,
        9.0,
        ignored="gang a/y: something",
        by_role={"a/x": 2, "a/y": 3},
        roles="gang",
        least_room={"cpu": 15, "memory": 1},
    )
    much = {each: Demand(1, least_room={"cpu": MAX_AMOUNT}) for each in ("a/x", "a/y")}
    assert combine_demands(much).least_room == {"cpu": MAX_AMOUNT}


def test_one_gang_with_a_problem_or_without_anything_keeps_all_back():
    found = combine_demands({"a/x": Demand(2), "a/y": Demand(problem="odd"), "a/z": None})
    unknown = "gang a/z, which is to go together with the others, is not described by anything"
    assert found == Demand(problem=f"gang a/y: odd; {unknown}")


@pytest.mark.parametrize(
    ("share", "demand"),
    [
        ("50%", Demand(3, size=7)),
        ("50", Demand(3, size=7)),
        (" 100% ", Demand(7, size=7)),
        ("0", Demand(0, size=7)),
        ("14", Demand(0, size=7)),
        ("15", Demand(1, size=7)),
    ],
)
def test_a_share_of_an_owners_pods_is_rounded_down(share, demand):
    assert read_owner_demand(ScaledOwner(spec=ScaleSpec(replicas=7)), share) == demand


@pytest.mark.parametrize("share", ["101", "half", "-1", "", "5%%", "1" * 10])
def test_other_shares_are_a_problem(share):
    found = read_owner_demand(ScaledOwner(), share)
    assert found.problem.endswith("is no share in percent; give 0 to 100")
    assert found.min_members == 0


def test_a_pod_without_a_share_has_no_problem_with_it():
    source = ObjectKey("Job", "ns", "j")
    assert share_problem(Membership(source)) == ""
    assert share_problem(Membership(source, share="50")) == ""
    assert "is no share" in share_problem(Membership(source, share="x"))


@pytest.mark.parametrize(
    ("spec", "succeeded", "wanted"),
    [
        (ScaleSpec(), 0, 1),
        (ScaleSpec(replicas=0), 0, 0),
        (ScaleSpec(replicas=5, parallelism=2), 9, 5),
        (ScaleSpec(replicas=-1), 0, 0),
        (ScaleSpec(replicas=MAX_MEMBERS + 1), 0, MAX_MEMBERS),
        (ScaleSpec(parallelism=4), 9, 4),
        (ScaleSpec(parallelism=0), 0, 0),
        (ScaleSpec(parallelism=4, completions=9), 0, 4),
        (ScaleSpec(parallelism=4, completions=9), 5, 4),
        (ScaleSpec(parallelism=4, completions=9), 6, 3),
        (ScaleSpec(parallelism=4, completions=9), 10, 0),
        (ScaleSpec(completions=9), 0, 1),
    ],
)
def test_how_many_pods_an_owner_wants_now(spec, succeeded, wanted):
    assert count_wanted(ScaledOwner(spec=spec, status=ScaleStatus(succeeded))) == wanted


def queued(stated: str | None) -> Demand:
    annotations = {} if stated is None else {"kueue.x-k8s.io/job-min-parallelism": stated}
    return read_queued_owner_demand(ScaledOwner(ObjectMeta(annotations=annotations), ScaleSpec(replicas=6)))


@pytest.mark.parametrize(("stated", "least"), [(None, 6), ("1", 1), ("5", 5), ("7", 6), ("999999999", 6)])
def test_an_owner_in_a_queue_goes_as_a_whole_or_as_it_states(stated, least):
    assert queued(stated) == Demand(least, size=6, disrupted_whole=True)


@pytest.mark.parametrize("stated", ["0", "-1", "", "many", "1000000000", "٣"])
def test_other_numbers_of_pods_are_a_problem(stated):
    assert queued(stated).problem.endswith("is no number of pods; give 1 or more")


def test_the_part_of_a_workload_is_found_by_name():
    found = workload("w", a=2, b=None, c=0)
    assert read_workload_demand(found, "a") == Demand(2)
    assert read_workload_demand(found, "b") == Demand()
    assert read_workload_demand(found, "c").problem == f"spec.podGroups[2].policy.gang.minCount: 0 {RANGE}"
    assert "has no group 'd'" in read_workload_demand(found, "d").problem


def kubernetes_group(count: int | None = 2, annotations: dict | None = None, **spec: Any) -> NativePodGroup:
    policy = {} if count is None else {"gang": {"minCount": count}}
    return convert_object(
        {
            "metadata": {"name": "g", "annotations": annotations or {}},
            "spec": {"schedulingPolicy": policy, **spec},
        },
        NativePodGroup,
    )


WHOLE: Any = {"all": {}}


def test_a_group_of_kubernetes_itself():
    topology = {"topology": [{"key": "zone"}, {"key": "rack"}]}
    found = read_native_group_demand(
        kubernetes_group(3, schedulingConstraints=topology, priority=7, priorityClassName="high")
    )
    assert (found.min_members, found.topology_keys, found.priority, found.priority_class) == (
        3,
        ("zone", "rack"),
        7,
        "high",
    )
    assert found.preemption_policy == "PreemptLowerPriority"
    assert not found.disrupted_whole
    assert found.ignored == ""
    assert read_native_group_demand(kubernetes_group()).preemption_policy == ""
    assert read_native_group_demand(kubernetes_group(preemptionPolicy="Never")).preemption_policy == "Never"


def test_faults_of_a_group_of_kubernetes():
    assert (
        read_native_group_demand(kubernetes_group(0)).problem
        == f"spec.schedulingPolicy.gang.minCount: 0 {RANGE}"
    )
    topology = {"topology": [{"key": "zone"}, {"key": "-"}]}
    found = read_native_group_demand(kubernetes_group(schedulingConstraints=topology))
    assert found.problem.startswith("spec.schedulingConstraints.topology[1].key: '-' is not a label key")


def test_what_a_group_of_kubernetes_asks_for_in_vain():
    assert list_ignored_by_native(kubernetes_group()) == ""
    assert list_ignored_by_native(kubernetes_group(None)) == ""
    assert list_ignored_by_native(kubernetes_group(disruptionMode=WHOLE)) == ""
    assert "is honoured for gangs alone" in list_ignored_by_native(
        kubernetes_group(None, disruptionMode=WHOLE)
    )
    annotated = kubernetes_group(annotations={"sakkara.group.constraints": "{}"})
    assert "is honoured for groups of a CompositePodGroup" in list_ignored_by_native(annotated)


def test_a_tree_needs_its_fewest_pods():
    nodes = (GroupNode("root", "", 2), GroupNode("a", "root", 3), GroupNode("b", "root", 4))
    root = convert_object(
        {
            "metadata": {"name": "root"},
            "spec": {"priority": 5, "priorityClassName": "c", "disruptionMode": WHOLE},
        },
        CompositePodGroup,
    )
    found = read_tree_demand(root, nodes, "")
    assert (found.min_members, found.priority, found.priority_class, found.nodes) == (7, 5, "c", nodes)
    assert found.disrupted_whole
    assert found.preemption_policy == "PreemptLowerPriority"
    assert read_tree_demand(root, nodes, "odd") == Demand(problem="odd")


@pytest.mark.parametrize(
    ("kind", "nodes", "name"),
    [
        (NATIVE_POD_GROUP, ("only",), "only"),
        (VOLCANO_POD_GROUP, ("only",), "role"),
        (NATIVE_POD_GROUP, ("one", "two"), "role"),
    ],
)
def test_the_only_group_of_a_tree_needs_no_name(kind, nodes, name):
    demand = Demand(nodes=tuple(GroupNode(each, "", 1) for each in nodes))
    assert name_group_in_tree(demand, Membership(ObjectKey(kind, "ns", "g")), MemberPart("role")) == name
