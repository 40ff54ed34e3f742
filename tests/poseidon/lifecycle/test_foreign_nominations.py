"""Pods of other schedulers that are nominated for a node: the solver is told, for as long as that is so."""

from __future__ import annotations

import json

import pytest

from tests.poseidon.bridge.objects import gone, pod, present
from tests.poseidon.bridge.test_state import Harness

KIND = "ForeignNomination"


def nominated(node="n1", *, scheduler="default-scheduler", priority=7, **more):
    return pod("theirs", scheduler=scheduler, priority=priority, nominated=node, **more)


def told(scene):
    return {name: json.loads(payload) for (kind, name), payload in scene.view.records.items() if kind == KIND}


def test_it_is_told_with_node_priority_and_requests():
    scene = Harness()
    scene.pods(present(nominated()))
    [(uid, content)] = told(scene).items()
    assert uid == "pod-theirs"
    assert (content["machine"], content["priority"], content["requests"]["pods"]) == ("n1", 7, 1)
    assert content["requests"]["cpu"] > 0
    scene.pods(present(nominated("n2")))
    assert told(scene)[uid]["machine"] == "n2"
    scene.new_stream()
    assert told(scene)[uid]["machine"] == "n2", "a new solver is told too"


@pytest.mark.parametrize(
    "after",
    [
        lambda: gone(pod("theirs")),
        lambda: present(nominated(node="")),
        lambda: present(pod("theirs", scheduler="default-scheduler", node="n1")),
        lambda: present(nominated(phase="Failed")),
    ],
    ids=["deleted", "nominated no more", "bound", "failed"],
)
def test_it_ends(after):
    scene = Harness()
    scene.pods(present(nominated()))
    assert told(scene)
    scene.pods(after())
    assert not told(scene)


def test_ours_are_not_among_them():
    scene = Harness()
    scene.pods(present(nominated(scheduler="poseidon")))
    assert not told(scene)
