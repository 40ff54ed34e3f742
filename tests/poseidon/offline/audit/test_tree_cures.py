"""Cures of trees of groups: coarser labels for the groups of one level, or fewer rules."""

from __future__ import annotations

import random
import re
from copy import deepcopy
from typing import Any

import pytest

from tests.poseidon.offline.audit.test_audit import audited, in_racks
from tests.poseidon.offline.objects import pod
from tests.support.effort import examples


def in_tree(name: str, parent: str = "", least: int = 2, key: str = "", rules: str = "") -> dict[str, Any]:
    kind, field = ("PodGroup", "minCount") if parent else ("CompositePodGroup", "minGroupCount")
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {field: least}}}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    if key:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    version = "scheduling.k8s.io/v1beta1" if parent else "scheduling.k8s.io/v1alpha3"
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    if rules:
        metadata["annotations"] = {"sakkara.group.constraints": rules}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


ZONE_LABEL = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("root_key", "sizes", "subject", "widened"),
    [
        # Three pods fit no rack, but a zone.
        ("", {"a": 3}, "group a", True),
        # The larger group needs a zone; the other one finds a rack.
        ("", {"a": 3, "b": 1}, "group a", True),
        # Both groups need more than a rack, and only one zone has more.
        ("", {"a": 3, "b": 3}, "the 2 groups on level 2", False),
        # Each group finds a rack, but no zone has room for both.
        (ZONE_LABEL, {"a": 2, "b": 2, "c": 2}, "group tree", False),
    ],
)
def test_the_groups_of_one_level_of_a_tree_may_go_by_a_coarser_label_or_none(
    tmp_path, root_key, sizes, subject, widened
):
    groups = [in_tree("tree", least=len(sizes), key=root_key)]
    groups += [in_tree(name, "tree", size, "rack") for name, size in sizes.items()]
    pods = [
        pod(f"{name}{index}", cpu=1, schedulingGroup={"podGroupName": name})
        for name, size in sizes.items()
        for index in range(size)
    ]
    found = audited(tmp_path, *in_racks(), *groups, *pods)
    cured = [each["text"] for each in found["cures"] if each["pod"] == "shop/a0"]
    after = f" (create it anew: the field cannot be changed); then all {len(pods)} pods that wait together have places"
    of_level = [each for each in cured if "topology constraint" in each]
    key = ZONE_LABEL if subject == "group tree" else "rack"
    assert f"do without topology constraint of {subject} by {key}{after}" in of_level
    coarser = f"{ZONE_LABEL} instead of rack in the topology constraint of {subject}{after}"
    assert (coarser in of_level) == widened


def test_a_group_of_a_tree_may_do_without_the_rule_that_divides_it(tmp_path):
    rules = '{"rack": {"partitions": 9}}'
    groups = [in_tree("tree", least=1), in_tree("a", "tree", 3, rules=rules)]
    pods = [pod(f"a{index}", cpu=1, schedulingGroup={"podGroupName": "a"}) for index in range(3)]
    found = audited(tmp_path, *in_racks(), *groups, *pods)
    cured = [each["text"] for each in found["cures"] if each["pod"] == "shop/a0"]
    assert "do without rule of group a by rack; then all 3 pods that wait together have places" in cured


def apply_cure(text: str, groups: list[dict[str, Any]]) -> bool:
    """Change groups as a cure says; returns whether it is one of a level of the tree."""
    found = re.match(
        r"(?:do without|(?P<after>\S+) instead of \S+ in the) topology constraint of "
        r"(?:group (?P<name>\S+)|the \d+ groups on level (?P<level>\d))(?: by (?P<key>\S+))?[; (]",
        text,
    )
    if found is None:
        return False
    for each in groups:
        level = "1" if each["kind"] == "CompositePodGroup" else "2"
        if found["name"] in (None, each["metadata"]["name"]) and found["level"] in (None, level):
            after = [{"key": found["after"]}] if found["after"] else []
            each["spec"]["schedulingConstraints"] = {"topology": after}
    return True


def draw_objects(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw a tree of up to three groups, and their pods, for racks that have room for two pods, and zones for four."""
    draw = random.Random(seed)
    sizes = {name: draw.randint(1, 4) for name in "abc"[: draw.randint(1, 3)]}
    groups = [in_tree("tree", least=len(sizes), key=draw.choice(("", ZONE_LABEL)))]
    groups += [in_tree(name, "tree", size, draw.choice(("rack", ZONE_LABEL))) for name, size in sizes.items()]
    pods = [
        pod(f"{name}{index}", cpu=1, schedulingGroup={"podGroupName": name})
        for name, size in sizes.items()
        for index in range(size)
    ]
    return groups, pods


def test_a_cure_that_is_carried_out_gives_all_pods_places(tmp_path, run, write):
    carried_out = 0
    for seed in range(examples(60)):
        groups, pods = draw_objects(seed)
        found = audited(tmp_path, *in_racks(), *groups, *pods)
        for text in sorted({each["text"] for each in found["cures"]}):
            changed = deepcopy(groups)
            if apply_cure(text, changed):
                after = run("plan", "-f", write(*in_racks(), *changed, *pods), "-o", "json").json
                assert len(after["bindings"]) == len(pods), f"{seed}: {text}"
                carried_out += 1
    assert carried_out > examples(60) / 3
