"""Gangs in the forms of other schedulers, through `plan`: all or nothing, and what is not honoured is named."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from tests.poseidon.offline.objects import node, pod

KOORDINATOR = "gang.scheduling.koordinator.sh"
LABEL = "pod-group.scheduling.sigs.k8s.io"
VOLCANO = "scheduling.k8s.io/group-name"


def plan(tmp_path, *objects, args=()):
    """The plan, reasons by pod, and warnings."""
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    result = CliRunner().invoke(main, ["plan", "-f", str(path), "-o", "json", *args])
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)
    reasons = {each["pod"].removeprefix("shop/"): each["reason"] for each in made["pending"]}
    return {each["pod"].removeprefix("shop/") for each in made["bindings"]}, reasons, result.stderr


def group(version, name="g", annotations=None, namespace="shop", **spec):
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "spec": spec,
    }


def sigs(name="g", annotations=None, **spec):
    return group("scheduling.sigs.k8s.io/v1alpha1", name, annotations, **spec)


def volcano(name="g", **spec):
    return group("scheduling.volcano.sh/v1beta1", name, **spec)


def plugins(name="g", **spec):
    return group("scheduling.x-k8s.io/v1alpha1", name, **spec)


def member(name, *, labels=None, annotations=None, namespace="shop", cpu=1, **spec):
    metadata = {"namespace": namespace, "labels": labels or {}, "annotations": annotations or {}}
    return pod(name, cpu=cpu, metadata=metadata, **spec)


def members(count, prefix="g", **more):
    return [member(f"{prefix}-{index}", **more) for index in range(count)]


FORMS = {
    "sigs label": (sigs(minMember=3), {"labels": {LABEL: "g"}}),
    "sigs annotation": (sigs(minMember=3), {"annotations": {f"{KOORDINATOR}/name": "g"}}),
    "lightweight labels": (None, {"labels": {f"{LABEL}/name": "g", f"{LABEL}/min-available": "3"}}),
    "annotations": (
        None,
        {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": "3"}},
    ),
    "volcano annotation": (volcano(minMember=3), {"annotations": {VOLCANO: "g"}}),
    "volcano's own annotation": (
        volcano(minMember=3),
        {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
    ),
    "volcano label": (volcano(minMember=3), {"labels": {VOLCANO: "g"}}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_gang_of_any_form_is_placed_whole_or_not_at_all(form, tmp_path):
    found, borne = FORMS[form]
    objects = [*([found] if found else ()), *members(3, **borne)]
    bound, reasons, _ = plan(tmp_path, node("w", cpu=2), *objects)
    assert bound == set()
    assert "needs 3 places at once" in reasons["g-0"]
    bound, _, warned = plan(tmp_path, node("w", cpu=3), *objects)
    assert bound == {"g-0", "g-1", "g-2"}
    assert warned == ""


@pytest.mark.parametrize("form", FORMS)
def test_a_gang_that_lacks_pods_says_how_many(form, tmp_path):
    found, borne = FORMS[form]
    bound, reasons, _ = plan(tmp_path, node("w"), *([found] if found else ()), *members(2, **borne))
    assert bound == set()
    assert "waits for members: 2 of 3 exist" in reasons["g-0"]


@pytest.mark.parametrize(
    ("borne", "said"),
    [
        ({"labels": {LABEL: "g"}}, "nor do its pods say how many of them go together"),
        ({"annotations": {f"{KOORDINATOR}/name": "g"}}, "nor do its pods say how many of them go together"),
        (
            {"annotations": {VOLCANO: "g"}},
            "waits for PodGroup (scheduling.volcano.sh) shop/g, which does not",
        ),
        ({"annotations": {"yunikorn.apache.org/task-group-name": "g"}}, "not understood here"),
        (
            {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": "three"}},
            "annotation gang.scheduling.koordinator.sh/min-available: 'three' is no number of pods",
        ),
        (
            {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": "0"}},
            "give at least 1",
        ),
        (
            {"labels": {f"{LABEL}/name": "g", f"{LABEL}/min-available": "two"}},
            "label pod-group.scheduling.sigs.k8s.io/min-available: 'two' is no number of pods",
        ),
        (
            {
                "annotations": {
                    f"{KOORDINATOR}/name": "g",
                    f"{KOORDINATOR}/min-available": "2",
                    f"{KOORDINATOR}/groups": "[oops",
                }
            },
            "annotation gang.scheduling.koordinator.sh/groups: '[oops' is no list of gangs",
        ),
    ],
)
def test_a_form_that_makes_no_sense_binds_nothing_and_says_so(borne, said, tmp_path):
    bound, reasons, _ = plan(tmp_path, node("w"), *members(2, **borne), pod("single"))
    assert bound == {"single"}
    assert said in reasons["g-0"]
    assert said in reasons["g-1"]


def test_one_bad_value_holds_the_gang_and_nobody_else(tmp_path):
    good = {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": "2"}}
    bad = {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": "x"}}
    others = {"annotations": {f"{KOORDINATOR}/name": "h", f"{KOORDINATOR}/min-available": "1"}}
    bound, reasons, _ = plan(
        tmp_path, node("w"), *members(2, **good), member("g-2", **bad), *members(2, "h", **others)
    )
    assert bound == {"h-0", "h-1"}
    assert reasons.keys() == {"g-0", "g-1", "g-2"}


def test_the_most_that_one_of_its_pods_states_counts(tmp_path):
    def stated(least):
        return {"annotations": {f"{KOORDINATOR}/name": "g", f"{KOORDINATOR}/min-available": least}}

    bound, reasons, _ = plan(tmp_path, node("w"), member("g-0", **stated("1")), member("g-1", **stated("3")))
    assert bound == set()
    assert "2 of 3 exist" in reasons["g-0"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (
            volcano(minMember=2, queue="gold"),
            "spec.queue 'gold': is not honoured; annotate the pods with scheduling.volcano.sh/queue-name",
        ),
        (
            volcano(minMember=2, minTaskMember={"a": 3}),
            "spec.minTaskMember: comes to more than spec.minMember",
        ),
        (volcano(minMember=2, priorityClassName="gone"), "there is no PriorityClass 'gone'"),
        (
            sigs(minMember=2, annotations={f"{KOORDINATOR}/match-policy": "only-waiting"}),
            "annotation gang.scheduling.koordinator.sh/match-policy: 'only-waiting' is not honoured",
        ),
        (
            sigs(minMember=2, annotations={f"{KOORDINATOR}/waiting-time": "soon"}),
            "annotation gang.scheduling.koordinator.sh/waiting-time: 'soon' is no duration",
        ),
        (
            sigs(minMember=2, annotations={f"{KOORDINATOR}/network-topology-spec": "{}"}),
            "network-topology-spec: is not honoured",
        ),
    ],
)
def test_what_is_not_honoured_is_named_in_one_line(form, said, tmp_path):
    borne = {"annotations": {VOLCANO: "g"}} if "volcano" in form["apiVersion"] else {"labels": {LABEL: "g"}}
    bound, _, warned = plan(tmp_path, node("w"), form, *members(2, **borne))
    assert bound == {"g-0", "g-1"}
    [line] = warned.splitlines()
    assert line.startswith("warning: PodGroup shop/g: ")
    assert said in line


@pytest.mark.parametrize(
    ("cpu", "bound"),
    [(3, set()), (4, {"ps-0", "worker-0", "worker-1", "extra-0"}), (6, None)],
)
def test_each_task_of_volcano_needs_its_pods(cpu, bound, tmp_path):
    pods = [
        member(f"{task}-{index}", annotations={VOLCANO: "g", "volcano.sh/task-spec": task})
        for task, count in (("extra", 3), ("ps", 1), ("worker", 2))
        for index in range(count)
    ]
    made = volcano(minMember=4, minTaskMember={"worker": 2, "ps": 1})
    found, reasons, _ = plan(tmp_path, node("w", cpu=cpu), made, *pods)
    assert found == ({each["metadata"]["name"] for each in pods} if bound is None else bound)
    if cpu == 3:
        assert "beyond the pods that gang shop/g lacks" in reasons["extra-1"]


def test_a_task_of_volcano_that_lacks_pods_is_named(tmp_path):
    made = volcano(minMember=3, minTaskMember={"worker": 2, "ps": 1})
    pods = [
        member(f"g-{index}", annotations={VOLCANO: "g", "volcano.sh/task-spec": "worker"})
        for index in range(3)
    ]
    bound, reasons, _ = plan(tmp_path, node("w"), made, *pods)
    assert bound == set()
    assert reasons["g-0"] == "gang shop/g waits for members: task ps has 0 of 1"


def bundled(name, gangs, least="2"):
    return {
        "annotations": {
            f"{KOORDINATOR}/name": name,
            f"{KOORDINATOR}/min-available": least,
            f"{KOORDINATOR}/groups": json.dumps(gangs),
        }
    }


@pytest.mark.parametrize(("cpu", "count"), [(3, 0), (4, 4)])
def test_gangs_that_are_bundled_go_together_or_not_at_all(cpu, count, tmp_path):
    gangs = ["shop/a", "shop/b"]
    bound, reasons, _ = plan(
        tmp_path,
        node("w", cpu=cpu),
        *members(2, "a", **bundled("a", gangs)),
        *members(2, "b", **bundled("b", gangs)),
    )
    assert len(bound) == count
    assert not reasons or "needs 4 places at once" in reasons["a-0"]


def test_gangs_are_bundled_by_their_pod_groups_too_and_across_namespaces(tmp_path):
    note = {f"{KOORDINATOR}/groups": '["shop/a", "other/b"]'}
    objects = (
        sigs("a", note, minMember=2),
        group("scheduling.sigs.k8s.io/v1alpha1", "b", note, "other", minMember=2),
        *members(2, "a", labels={LABEL: "a"}),
        *members(2, "b", labels={LABEL: "b"}, namespace="other"),
    )
    assert plan(tmp_path, node("w", cpu=3), *objects)[0] == set()
    assert plan(tmp_path, node("w", cpu=4), *objects)[0] == {"a-0", "a-1", "other/b-0", "other/b-1"}


def test_a_bundle_waits_for_a_gang_that_nothing_describes(tmp_path):
    bound, reasons, _ = plan(tmp_path, node("w"), *members(2, "a", **bundled("a", ["shop/a", "shop/b"])))
    assert bound == set()
    assert (
        "gang shop/b, which is to go together with the others, is not described by anything" in reasons["a-0"]
    )


@pytest.mark.parametrize(
    ("least", "bound", "said"),
    [
        ({"cpu": "2"}, 2, ""),
        ({"cpu": "5"}, 0, "too little room left of cpu"),
        ({"cpu": "2", "example.com/gpu": 1}, 0, "too little room left of example.com/gpu"),
        ({"cpu": "much"}, 0, "spec.minResources.cpu: "),
        ({"cpu": "-1"}, 0, "spec.minResources.cpu: "),
        ("cpu", 0, "spec.minResources: is not a map of resources to amounts"),
        ({"cpu": ["1"]}, 0, "spec.minResources.cpu: is not an amount"),
        ({}, 2, ""),
        (None, 2, ""),
    ],
)
@pytest.mark.parametrize("make", [plugins, sigs, volcano])
def test_no_member_is_placed_while_the_cluster_cannot_hold_the_least_resources(
    make, least, bound, said, tmp_path
):
    borne = {
        "labels": {"scheduling.x-k8s.io/pod-group" if make is plugins else LABEL: "g"}
        if make is not volcano
        else {VOLCANO: "g"}
    }
    found, reasons, _ = plan(tmp_path, node("w"), make(minMember=2, minResources=least), *members(2, **borne))
    assert len(found) == bound
    assert said in reasons.get("g-0", "")


def test_a_gang_of_one_waits_for_the_least_resources_too(tmp_path):
    objects = volcano(minMember=1, minResources={"cpu": 8}), *members(2, annotations={VOLCANO: "g"})
    assert plan(tmp_path, node("w"), *objects)[0] == set()
    assert plan(tmp_path, node("w"), node("v"), *objects)[0] == {"g-0", "g-1"}


@pytest.mark.parametrize("stated", [{"priorityClassName": "high"}, {"priority": 1000}])
def test_a_group_with_a_higher_priority_comes_first(stated, tmp_path):
    def native(name, **spec):
        policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        return group("scheduling.k8s.io/v1beta1", name, **policy, **spec)

    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    pods = [
        member(f"{name}-{index}", schedulingGroup={"podGroupName": name})
        for name in ("early", "late")
        for index in range(2)
    ]
    bound, _, warned = plan(
        tmp_path, node("w", cpu=2), high, native("early"), native("late", **stated), *pods
    )
    assert bound == {"late-0", "late-1"}
    assert warned == ""


def test_volcano_orders_groups_by_their_priority_class(tmp_path):
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    pods = [
        member(f"{name}-{index}", annotations={VOLCANO: name}) for name in ("a", "b") for index in range(2)
    ]
    groups = volcano("a", minMember=2), volcano("b", minMember=2, priorityClassName="high")
    assert plan(tmp_path, node("w", cpu=2), high, *groups, *pods)[0] == {"b-0", "b-1"}


def test_a_gang_whose_pods_are_for_several_schedulers_says_so(tmp_path):
    label = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    one = member("g-0", schedulerName="poseidon", **label)
    other = member("g-1", schedulerName="elsewhere", **label)
    bound, reasons, _ = plan(tmp_path, node("w"), plugins(minMember=2), one, other)
    assert bound == set()
    assert reasons["g-0"] == reasons["g-1"]
    assert "several schedulers (shop/g-1 (elsewhere), shop/g-0 (poseidon))" in reasons["g-0"]
    bound, reasons, _ = plan(
        tmp_path, node("w"), plugins(minMember=2), one, other, args=["--scheduler-name", "poseidon"]
    )
    assert bound == set()
    assert "1 of 2 are for this scheduler, and shop/g-1 (elsewhere) is for another" in reasons["g-0"]


def test_pods_for_another_scheduler_do_not_hold_up_a_gang_that_is_whole_without_them(tmp_path):
    label = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    ours = members(2, schedulerName="poseidon", **label)
    other = member("g-9", schedulerName="elsewhere", **label)
    bound, _, _ = plan(
        tmp_path, node("w"), plugins(minMember=2), *ours, other, args=["--scheduler-name", "poseidon"]
    )
    assert bound == {"g-0", "g-1"}
    bound, _, _ = plan(tmp_path, node("w"), plugins(minMember=2), *ours, other)
    assert {"g-0", "g-1"} <= bound
