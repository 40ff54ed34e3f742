"""The verdicts, as both processes give them.

``make test`` starts processes for some of the cases only: ``test_plan`` and ``test_bridge`` hold each verdict, and that
a bridge comes to it.
"""

from __future__ import annotations

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.programs.end_to_end.test_served_versions import definition
from tests.programs.newer_features.cases import CASES, as_ours
from tests.support.waiting import until

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
ONE_OF = 4
SOME = [
    pytest.param(case, id=case.name, marks=[pytest.mark.full] if number % ONE_OF else [])
    for number, case in enumerate(CASES)
]


@pytest.mark.parametrize("case", SOME)
async def test_the_verdict(tmp_path, case):
    async with scene(tmp_path) as s:
        create_object(s.operations, NAMESPACE)
        if any(each["kind"] == "PodGroup" for each in case.objects):
            create_object(s.operations, definition("v1beta1"))
        for each in case.objects:
            create_object(s.operations, as_ours(each))
        await s.start()

        def decided():
            pods = {each["metadata"]["name"]: each for each in s.listed(PODS)}
            chosen = {name: chosen_node(pods[name]) for name in case.bound}
            told = all(message(pods[name]).startswith(begins) for name, begins in case.pending.items())
            return told and all(chosen.values())

        await until(decided, within=SECONDS, what=case.name)
        pods = {each["metadata"]["name"]: each for each in s.listed(PODS)}
        for name, nodes in case.bound.items():
            assert chosen_node(pods[name]) in nodes.split()
        for name, begins in case.pending.items():
            assert not chosen_node(pods[name]), begins


def chosen_node(pod):
    return pod["spec"].get("nodeName", "")


def message(pod):
    """What the PodScheduled condition says."""
    conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
    return conditions.get("PodScheduled", {}).get("message", "")
