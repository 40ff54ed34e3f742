"""Trees of groups of Kubernetes: who is in them, in whichever order objects come, and what makes no sense."""

from __future__ import annotations

import sys
from itertools import permutations

import pytest
from msgspec.structs import replace

from poseidon import plan
from poseidon.kube.api.metadata import Condition, ObjectMeta
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pod_groups import (
    CompositeGangPolicy,
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositePolicy,
    GangPolicy,
    GroupPolicy,
    NativePodGroup,
    NativePodGroupSpec,
    NativePodGroupStatus,
    SchedulingConstraints,
    TemplateReference,
    TopologyConstraint,
)
from poseidon.pod_groups.composites import FARTHEST_ROOT, CompositeTrees
from poseidon.pod_groups.group_names import COMPOSITE_POD_GROUP, NATIVE_POD_GROUP, ObjectKey
from poseidon.pod_groups.groups import Groups
from poseidon.pods.priority_classes import PriorityResolver
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pod_groups.objects import pod


def metadata(uid, name, rules):
    annotations = {"sakkara.group.constraints": rules} if rules else {}
    return ObjectMeta(name=name, namespace="default", uid=uid, annotations=annotations)


def composite(name, parent="", least=2, key="", rules="", **spec):
    policy = CompositePolicy(CompositeGangPolicy(least)) if least is not None else CompositePolicy()
    found = CompositePodGroupSpec(
        parent_composite_pod_group_name=parent,
        scheduling_policy=policy,
        scheduling_constraints=SchedulingConstraints((TopologyConstraint(key),) if key else ()),
    )
    return CompositePodGroup(metadata=metadata(f"c-{name}", name, rules), spec=replace(found, **spec))


def leaf(name, parent="", least=1, key="", rules="", **spec):
    policy = GroupPolicy(GangPolicy(least)) if least is not None else GroupPolicy()
    found = NativePodGroupSpec(
        scheduling_policy=policy,
        scheduling_constraints=SchedulingConstraints((TopologyConstraint(key),) if key else ()),
        parent_composite_pod_group_name=parent,
    )
    return NativePodGroup(metadata=metadata(f"p-{name}", name, rules), spec=replace(found, **spec))


def put(groups, found):
    kind = COMPOSITE_POD_GROUP if isinstance(found, CompositePodGroup) else NATIVE_POD_GROUP
    groups.put_source(kind, found.metadata.uid, found)
    for uid, each in groups.take_regrouped():
        groups.put_pod(uid, each)


TREE = (composite("root", key="zone"), leaf("a", "root", 2, "rack"), leaf("b", "root", 1))


def asked(groups, uid="pod-x"):
    group = groups.group_of(uid)
    return groups.job(group), groups.waits_for(group)


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_a_tree_is_one_job_in_whichever_order_objects_and_pods_come(order):
    groups = Groups()
    for index in order:
        if index == 3:
            groups.put_pod("pod-x", pod("x", native="a"))
        else:
            put(groups, TREE[index])
    job, waits = asked(groups)
    assert not waits
    assert job.id == "CompositePodGroup/default/root"
    assert job.min_members == 3
    assert [(each.name, each.parent, each.least, [*each.within]) for each in job.groups] == [
        ("root", "", 2, ["zone"]),
        ("a", "root", 2, ["rack"]),
        ("b", "root", 1, []),
    ]
    group = groups.group_of("pod-x")
    assert group is not None
    assert groups.place_in_tree(group, "pod-x").group == "a"


@pytest.mark.parametrize("order", [*permutations(range(5))])
def test_a_pod_follows_its_group_from_tree_to_tree_until_it_is_below_the_root(order):
    """While groups on the way to the root are missing, the topmost known one stands for the root."""
    groups = Groups()
    objects = (
        composite("root", least=1),
        composite("middle", "root"),
        *(leaf(each, "middle") for each in "ab"),
    )
    for index in order:
        if index == 4:
            groups.put_pod("pod-x", pod("x", native="a"))
        else:
            put(groups, objects[index])
    job, waits = asked(groups)
    assert not waits
    assert job.id == "CompositePodGroup/default/root"
    assert [each.name for each in job.groups] == ["root", "middle", "a", "b"]
    groups.remove_pod("pod-x")
    put(groups, composite("root", least=2))
    assert groups.group_of("pod-x") is None


def test_pods_wait_for_the_group_that_is_missing():
    groups = Groups()
    put(groups, leaf("a", "middle"))
    put(groups, composite("root"))
    groups.put_pod("pod-x", pod("x", native="a"))
    assert asked(groups)[1] == "waits for CompositePodGroup default/middle, which does not exist"
    put(groups, composite("middle", "root"))
    assert asked(groups)[0].id == "CompositePodGroup/default/root"
    groups.remove_source("c-root")
    assert asked(groups)[1] == "waits for CompositePodGroup default/root, which does not exist"


def test_a_pod_leaves_the_tree_with_its_group():
    groups = Groups()
    for each in TREE:
        put(groups, each)
    groups.put_pod("pod-x", pod("x", native="a"))
    put(groups, leaf("a", "", 2))
    job, _ = asked(groups)
    assert job.id == "scheduling.k8s.io/PodGroup/default/a"
    assert not job.groups


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ((composite("root", "two"), composite("two", "root"), leaf("a", "root")), "remove the circle"),
        ((composite("root"), leaf("a", "root", None)), "is basic in a group that is a gang"),
        ((composite("root", least=0), leaf("a", "root")), "minGroupCount: 0 is out of range"),
        ((composite("root"), leaf("a", "root", 0)), "minCount: 0 is out of range"),
        ((composite("root", key="no label!"), leaf("a", "root")), "topology[0].key"),
        (
            (composite("root", rules="{"), leaf("a", "root")),
            "root: metadata.annotations[sakkara.group.constraints]",
        ),
        (
            (composite("root", rules='{"zone": {"min": 2}}'), leaf("a", "root")),
            ".zone.min: counts only together with max",
        ),
        ((composite("root", rules='{"no label!": {}}'), leaf("a", "root")), ".no label!: "),
        (
            (composite("root", disruption_mode={"all": {}}), leaf("a", "root")),
            "is Single in a group whose mode is All",
        ),
        (
            (
                composite("root", workload_ref=TemplateReference("one")),
                leaf("a", "root", workload_ref=TemplateReference("two")),
            ),
            "names 2 Workloads (one, two)",
        ),
        (
            (
                composite("root"),
                composite("c2", "root"),
                composite("c3", "c2"),
                composite("c4", "c3"),
                leaf("a", "c4"),
            ),
            "is on level 5; a tree has at most 4",
        ),
    ],
)
def test_what_makes_no_sense_holds_the_pods_back_and_says_why(objects, words):
    groups = Groups()
    for each in objects:
        put(groups, each)
    groups.put_pod("pod-x", pod("x", native="a"))
    assert words in asked(groups)[1]


def look_at(groups):
    job, waits = asked(groups)
    assert not waits
    return [
        (each.name, each.parent, each.least, [*each.within], [*each.rather_within], each.apart)
        for each in job.groups
    ]


def test_rules_by_level_spread_the_groups_in_a_group_and_pack_pods():
    groups = Groups()
    groups.put_pod("pod-x", pod("x", native="a"))
    spread = '{"zone": {"type": "spread", "hard": true}}'
    put(groups, composite("root", rules=spread))
    put(groups, leaf("a", "root", 2, rules='{"zone": {"hard": true}, "rack": {}}'))
    put(groups, leaf("b", "root", key="rack"))
    assert look_at(groups) == [
        ("root", "", 2, [], [], True),
        ("a", "root", 2, ["zone"], ["rack"], False),
        ("place of b", "root", 1, ["zone"], [], False),
        ("b", "place of b", 1, ["rack"], [], False),
    ]
    put(groups, composite("root"))
    assert [each[1:4] for each in look_at(groups)] == [
        ("", 2, []),
        ("root", 2, ["zone"]),
        ("root", 1, ["rack"]),
    ]


def test_rules_by_level_divide_the_members_of_groups():
    groups = Groups()
    groups.put_pod("pod-x", pod("x", native="a"))
    put(groups, composite("root", key="zone", rules='{"rack": {"type": "spread"}}'))
    put(groups, leaf("a", "root", rules='{"rack": {"partitions": 2, "min": 2, "max": 4, "factor": 2}}'))
    put(groups, leaf("b", "root", rules='{"host": {"type": "spread", "hard": true}, "zone": {"hard": true}}'))
    job, _ = asked(groups)
    assert [(each.name, [*each.within], [*each.divided]) for each in job.groups] == [
        ("root", ["zone"], [pb.LevelRule(label="rack", spread=True)]),
        ("a", [], [pb.LevelRule(label="rack", partitions=2, least=2, most=4, factor=2)]),
        ("b", ["zone"], [pb.LevelRule(label="host", spread=True, hard=True)]),
    ]


def test_the_rules_of_a_group_without_a_tree_are_ignored_and_it_says_so():
    groups = Groups()
    put(groups, leaf("a", "", rules='{"zone": {"hard": true}}'))
    groups.put_pod("pod-x", pod("x", native="a"))
    group = groups.group_of("pod-x")
    assert group is not None
    assert "give spec.parentCompositePodGroupName" in groups.not_honoured(group)


def test_a_basic_tree_needs_nothing_as_a_whole():
    groups = Groups()
    put(groups, composite("root", least=None))
    put(groups, leaf("a", "root", 3))
    groups.put_pod("pod-x", pod("x", native="a"))
    job, waits = asked(groups)
    assert (job.min_members, waits, [each.least for each in job.groups]) == (0, "", [0, 3])


def test_groups_of_trees_may_forbid_their_pods_to_evict_others():
    groups = Groups()
    put(groups, composite("root", preemption_policy="Never"))
    put(groups, leaf("a", "root"))
    groups.put_pod("pod-x", pod("x", native="a"))
    group = groups.group_of("pod-x")
    assert group is not None
    assert groups.place_in_tree(group, "pod-x").never_preempts


@pytest.mark.parametrize(
    ("spec", "never"),
    [
        ({"priority_class_name": "meek"}, True),
        ({"priority_class_name": "bold"}, False),
        ({"priority_class_name": "missing"}, False),
        ({"priority_class_name": "meek", "preemption_policy": "PreemptLowerPriority"}, False),
        ({"priority_class_name": "meek", "priority": 5}, False),
    ],
)
def test_in_files_the_class_of_a_tree_says_whether_its_pods_evict_others(spec, never):
    """Admission writes priority and policy of the class into the object."""
    classes = (
        PriorityClass(ObjectMeta(name="meek"), 5, preemption_policy="Never"),
        PriorityClass(ObjectMeta(name="bold"), 5),
    )
    groups = Groups(priorities=PriorityResolver(classes))
    put(groups, composite("root", **spec))
    put(groups, leaf("a", "root"))
    groups.put_pod("pod-x", pod("x", native="a"))
    group = groups.group_of("pod-x")
    assert group is not None
    assert groups.place_in_tree(group, "pod-x").never_preempts is never


def test_each_group_says_whether_it_is_disrupted_as_a_whole():
    groups = Groups()
    put(groups, composite("root"))
    put(groups, leaf("a", "root", disruption_mode={"all": {}}))
    put(groups, leaf("b", "root", disruption_mode={"single": {}}))
    groups.put_pod("pod-x", pod("x", native="a"))
    job, _ = asked(groups)
    assert not job.disrupted_whole
    assert {each.name: each.disrupted_whole for each in job.groups} == {"root": False, "a": True, "b": False}


@pytest.mark.parametrize("upwards", [True, False])
def test_a_chain_of_thousands_of_groups_is_refused_without_walking_it_for_each(upwards):
    length = 2_000
    groups, trees = Groups(), CompositeTrees()
    groups.put_pod("pod-x", pod("x", native="a"))
    put(groups, leaf("a", "c0"))
    chain = [composite(f"c{number}", f"c{number + 1}") for number in range(length - 1)]
    chain.append(composite(f"c{length - 1}"))
    for each in chain if upwards else reversed(chain):
        key = ObjectKey(COMPOSITE_POD_GROUP, "default", each.metadata.name)
        put(groups, each)
        trees.put(key, each)
        assert len(list(trees.walk(key))) <= FARTHEST_ROOT + 2
    root = trees.find_root(ObjectKey(COMPOSITE_POD_GROUP, "default", "c0"))
    assert root.name == f"c{FARTHEST_ROOT}"
    assert "a tree has at most 4 levels" in trees.list_nodes(root)[1]
    assert "a tree has at most 4 levels" in asked(groups)[1]


def list_tree(count: int) -> list[object]:
    """A tree of so many groups of a pod each, as files describe it."""
    version = "scheduling.k8s.io/v1alpha3"
    found: list[object] = [
        {"apiVersion": version, "kind": "CompositePodGroup", "metadata": {"name": "root"}},
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "1"}},
        },
    ]
    for number in range(count):
        group = {"parentCompositePodGroupName": "root", "schedulingPolicy": {"gang": {"minCount": 1}}}
        found.append(
            {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": f"g{number}"}, "spec": group}
        )
        spec = {
            "schedulerName": "poseidon",
            "schedulingGroup": {"podGroupName": f"g{number}"},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        }
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})
    return found


def count_calls(work):
    """The calls of functions that a piece of work makes."""
    calls = 0

    def note(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def test_the_work_for_a_tree_grows_with_its_size():
    count_calls(lambda: plan(list_tree(20)))  # modules are imported by the first
    small, large = (count_calls(lambda size=size: plan(list_tree(size))) for size in (100, 300))
    assert large < 3.5 * small


def test_a_status_of_a_group_in_a_tree_costs_the_same_however_large_the_tree_is():
    def write_statuses(size):
        groups = Groups()
        for found in (composite("root"), *(leaf(f"g{number}", "root") for number in range(size))):
            put(groups, found)
        for number in range(size):
            groups.put_pod(f"pod-{number}", pod(str(number), native=f"g{number}"))
        groups.take_changes(), groups.take_moved()
        written = replace(leaf("g0", "root"), status=NativePodGroupStatus((Condition("Seen", "True"),)))
        return count_calls(lambda: (put(groups, written), groups.take_changes(), groups.take_moved()))

    assert write_statuses(10) == write_statuses(100)


def test_a_topology_constraint_that_keeps_a_gang_waiting_is_called_that():
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
    }
    found: list[object] = [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": spec,
        }
    ]
    for number in range(2):
        node = {"metadata": {"name": f"n{number}", "labels": {"rack": f"r{number}"}}}
        found.append(
            {"apiVersion": "v1", "kind": "Node", **node, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}
        )
        member = {
            "schedulerName": "poseidon",
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        }
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": member})
    reasons = {each.reason for each in plan(found).pending}
    assert [reason.partition("because of ")[2].partition(")")[0] for reason in reasons] == [
        "the topology constraint by rack or cpu"
    ]


def test_pods_that_have_succeeded_are_taken_off_the_group_that_they_were_in():
    groups = Groups()
    for each in TREE:
        put(groups, each)
    groups.put_pod("pod-x", pod("x", native="a"))
    groups.put_pod("pod-y", pod("y", native="a", node="n1", phase="Succeeded"))
    groups.put_pod("pod-z", pod("z", native="b", node="n1", phase="Succeeded"))
    job, _ = asked(groups)
    assert [(each.name, each.least) for each in job.groups] == [("root", 2), ("a", 1), ("b", 0)]


def test_the_root_of_groups_in_a_circle_is_the_first_by_name():
    trees = CompositeTrees()
    for name, parent in (("c", "a"), ("a", "b"), ("b", "c"), ("below", "c"), ("alone", "")):
        trees.put(ObjectKey(COMPOSITE_POD_GROUP, "default", name), composite(name, parent))
    roots = [
        trees.find_root(ObjectKey(COMPOSITE_POD_GROUP, "default", name)).name for name in ("a", "b", "c")
    ]
    assert roots == ["a", "a", "a"]
    assert trees.find_root(ObjectKey(COMPOSITE_POD_GROUP, "default", "below")).name == "a"
    assert trees.find_root(ObjectKey(COMPOSITE_POD_GROUP, "default", "alone")).name == "alone"
    assert trees.find_root(ObjectKey(NATIVE_POD_GROUP, "default", "unknown")).name == "unknown"


def test_a_walk_meets_parents_first_and_each_group_once():
    trees = CompositeTrees()
    for name, parent in (("root", "middle"), ("middle", "root")):
        trees.put(ObjectKey(COMPOSITE_POD_GROUP, "default", name), composite(name, parent))
    trees.put(ObjectKey(NATIVE_POD_GROUP, "default", "leaf"), leaf("leaf", "middle"))
    walked = [each.name for each in trees.walk(ObjectKey(COMPOSITE_POD_GROUP, "default", "root"))]
    assert walked == ["root", "middle", "leaf"]
    leaves = trees.list_leaves(ObjectKey(COMPOSITE_POD_GROUP, "default", "root"))
    assert [each.name for each in leaves] == ["leaf"]
