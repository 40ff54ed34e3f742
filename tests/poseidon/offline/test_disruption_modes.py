"""``poseidon plan`` with trees of groups that run: one group goes, or the tree, as ``disruptionMode`` says."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node, pod


def group(name, least, mode, parent=""):
    composite = not parent
    field = "minGroupCount" if composite else "minCount"
    spec = {"schedulingPolicy": {"gang": {field: least}}, "disruptionMode": mode}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    return {
        "apiVersion": f"scheduling.k8s.io/{'v1alpha3' if composite else 'v1beta1'}",
        "kind": "CompositePodGroup" if composite else "PodGroup",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": spec,
    }


def runs(name, on, group, **spec):
    return pod(name, phase="Running", nodeName=on, cpu=2, schedulingGroup={"podGroupName": group}, **spec)


SINGLE: dict[str, dict[str, str]] = {"single": {}}
ALL: dict[str, dict[str, str]] = {"all": {}}


@pytest.mark.parametrize(
    ("of_root", "of_group", "needed", "gone"),
    [
        (SINGLE, SINGLE, 1, {"a1"}),
        (SINGLE, ALL, 1, {"b0"}),
        (SINGLE, SINGLE, 2, {"a1"}),
        (SINGLE, ALL, 2, {"a0", "a1", "b0"}),
        (ALL, ALL, 1, {"a0", "a1", "b0"}),
    ],
)
def test_as_much_of_a_tree_goes_as_its_groups_say(run, write, of_root, of_group, needed, gone):
    """Group a has two pods and needs one, and the tree needs one group or both."""
    objects = [
        node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2"),
        group("tree", needed, of_root), group("a", 1, of_group, "tree"), group("b", 1, of_group, "tree"),
        runs("a0", "n1", "a", priority=1), runs("a1", "n2", "a", priority=0), runs("b0", "n3", "b", priority=1),
        pod("high", cpu=2, priority=100),
    ]  # fmt: skip
    found = run("plan", "-f", write(*objects), "-o", "json").json
    assert {each["pod"].removeprefix("shop/") for each in found["preemptions"]} == gone
    assert "shop/high" in {each["pod"] for each in found["bindings"]}
