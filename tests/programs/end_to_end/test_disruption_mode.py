"""Trees of groups that a more important pod meets: one group goes, or all of the tree, as ``disruptionMode`` says."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.custom_resources import definition
from tests.programs.end_to_end.scene import names
from tests.programs.end_to_end.test_gangs import Stage, stage
from tests.support.cluster import pod

GROUPS = ("left", "right")


def make_objects(mode: dict[str, Any], groups: int) -> list[dict[str, Any]]:
    """Return a tree of two gangs of two pods each, of which ``groups`` are enough."""
    root = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "tree", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minGroupCount": groups}}, "disruptionMode": mode},
    }
    gangs = [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "parentCompositePodGroupName": "tree",
                "schedulingPolicy": {"gang": {"minCount": 2}},
                "disruptionMode": mode,
            },
        }
        for name in GROUPS
    ]
    return [root, *gangs]


def serve_trees(on: Stage) -> None:
    """Let the API server serve the kinds of trees."""
    for version, plural, kind in (
        ("v1beta1", "podgroups", "PodGroup"),
        ("v1alpha3", "compositepodgroups", "CompositePodGroup"),
    ):
        status: dict[str, object] = {"status": {}}
        create_object(
            on.scene.operations, definition("scheduling.k8s.io", version, plural, kind, subresources=status)
        )


@pytest.mark.parametrize(
    ("mode", "groups", "gone"),
    [({"single": {}}, 1, 2), ({"single": {}}, 2, 4), ({"all": {}}, 1, 4)],
    ids=["a group can be spared", "no group can be spared", "all or none"],
)
async def test_what_can_be_spared_goes_or_all(tmp_path, mode, groups, gone):
    async with stage(tmp_path) as on:
        serve_trees(on)
        for each in make_objects(mode, groups):
            on.create(each)
        for name in GROUPS:
            for member in names(name, 2):
                made = pod(member, cpu="2", priorityClassName="low", schedulingGroup={"podGroupName": name})
                on.create(made)
        await on.until(lambda: len(on.scene.placed()) == 4, "the tree runs")
        before = dict(on.scene.placed())
        on.pod("high", cpu="3", priorityClassName="high")
        await on.until(lambda: "high" in on.scene.placed(), "the more important pod has a node")
        stayed = on.scene.placed().keys() & before.keys()
        assert len(stayed) == 4 - gone
        assert len({name.partition("-")[0] for name in stayed}) <= 1, "a group of which a part is left"
        on.scene.check_sound()
