"""Trees of groups whose pods are divided over nodes by a rule, while pods go and come."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import names
from tests.programs.end_to_end.test_disruption_mode import make_objects, serve_trees
from tests.programs.end_to_end.test_gangs import stage
from tests.support.cluster import pod

RULE = {"kubernetes.io/hostname": {"type": "spread", "partitions": 2, "factor": 2}}


def member(name: str) -> dict[str, Any]:
    return pod(name, cpu="500m", schedulingGroup={"podGroupName": "left"})


async def test_pods_are_divided_over_nodes_and_a_new_one_takes_the_place_of_a_lost_one(tmp_path):
    async with stage(tmp_path, nodes=3) as on:
        serve_trees(on)
        root, left, _ = make_objects({"single": {}}, 1)
        left["spec"]["schedulingPolicy"] = {"gang": {"minCount": 4}}
        left["metadata"]["annotations"] = {"sakkara.group.constraints": json.dumps(RULE)}
        for each in (root, left):
            on.create(each)
        for name in names("left", 4):
            on.create(member(name))
        await on.until(lambda: len(on.scene.placed()) == 4, "the group runs")
        before = dict(on.scene.placed())
        assert sorted(Counter(before.values()).values()) == [2, 2]
        on.scene.operations.delete(PODS, "default", "left-0000")
        await on.until(lambda: "left-0000" not in on.pods(), "a pod is gone")
        on.create(member("left-0009"))
        await on.until(lambda: "left-0009" in on.scene.placed(), "a pod takes its place")
        assert on.scene.placed()["left-0009"] == before["left-0000"]
        on.scene.check_sound()


async def test_a_rule_that_no_nodes_can_keep_is_told(tmp_path):
    async with stage(tmp_path, nodes=1) as on:
        serve_trees(on)
        root, left, _ = make_objects({"single": {}}, 1)
        left["metadata"]["annotations"] = {"sakkara.group.constraints": json.dumps(RULE)}
        for each in (root, left, *map(member, names("left", 2))):
            on.create(each)

        def told() -> str:
            conditions = on.pods()["left-0000"].get("status", {}).get("conditions", [])
            return " ".join(each.get("message", "") for each in conditions)

        words = "group left must have its 2 pods in exactly 2 domains, a multiple of 2 in each"
        await on.until(lambda: words in told(), "the message names the rule")
        assert not on.scene.placed()
