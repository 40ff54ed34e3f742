"""A further rule about machines, one file and its registration, where bridge and solver are processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import pytest

from poseidon.testbed.api_server.operations import MERGE_PATCH
from poseidon.testbed.harness.child import Process, start_anew
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.seeding import NodeShape
from tests.firmament.core.rules import with_admitted_namespaces
from tests.firmament.core.rules.admitted_namespaces import KEY, NOT_ADMITTED
from tests.programs.end_to_end.scene import SECONDS, Scene, names, scene
from tests.support import preloaded
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")

ROOT = Path(__file__).resolve().parents[3]


async def launch(command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> Process:
    """Start the bridge as it is, and the solver with one more rule."""
    program, *arguments = command
    if program != "firmament":
        return await preloaded.fork(command, log, environment)
    paths = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    return await start_anew(
        [with_admitted_namespaces.__name__, *arguments], log, {**environment, "PYTHONPATH": paths}
    )


def admit(s: Scene, node: str, namespaces: str) -> None:
    patch = {"metadata": {"annotations": {KEY: namespaces}}}
    s.operations.patch(NODES, "", node, MERGE_PATCH, patch)


def reasons(s: Scene) -> dict[str, str]:
    """What the conditions of pods that wait say, by pod."""
    return {
        pod["metadata"]["name"]: condition["message"]
        for pod in s.listed(PODS)
        for condition in pod.get("status", {}).get("conditions", ())
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


async def test_both_processes_keep_to_it_say_so_and_try_again_once_a_node_changes(tmp_path):
    async with scene(tmp_path, launch=launch) as s:
        own, other = await s.nodes(2, [NodeShape("small", cpu="4")])
        admit(s, own, "default")
        admit(s, other, "bank")
        await s.start(own_solver=True)
        await s.pods(names("p", 5), cpu="1")
        await s.until_bound(4)
        assert set(s.placed().values()) == {own}
        await until(lambda: len(reasons(s)) == 1, within=SECONDS)
        (message,) = reasons(s).values()
        assert message.startswith(f"0/2 nodes are available: 1 Insufficient cpu, 1 {NOT_ADMITTED.value}.")
        admit(s, other, "bank,default")
        await s.until_bound(5)
        assert set(s.placed().values()) == {own, other}
        s.check_sound()
