"""Rounds that a real solver has saved, and a support bundle with them, as the page shows them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from click.testing import CliRunner

from poseidon.cli import main
from poseidon.manifests.loader import load_manifests
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.seeding import NodeShape
from poseidon.ui.sources.files import FileInput, FileSource
from poseidon.ui.sources.snapshots import find_snapshots
from poseidon.ui.work.inputs import ClusterInput
from tests.poseidon.ui.objects import Wall
from tests.poseidon.ui.served import served
from tests.poseidon.ui.test_snapshots import InProcess, running
from tests.programs.end_to_end.scene import scene
from tests.support.cluster import pod
from tests.support.waiting import until

SMALL = NodeShape("small", cpu="4", memory="16Gi")


async def test_a_bundle_of_a_cluster_with_its_rounds(tmp_path):
    saved, file = tmp_path / "artefacts", tmp_path / "bundle.tar.gz"
    async with scene(tmp_path) as s:
        await s.nodes(3, [SMALL])
        for number in range(4):
            create_object(s.operations, pod(f"p{number}", cpu="1"))
        create_object(s.operations, pod("huge", cpu="9"))
        s.stack._options = replace(s.stack._options, more_for_solver=("--artefacts", str(saved)))
        await s.start(own_solver=True)
        await s.until_bound(4)
        await until(lambda: list(saved.glob("round-*")))
        words = [
            *("support-bundle", str(file), "--kubeconfig", str(s.stack.kubeconfig)),
            *(
                "--firmament",
                s.stack.solver_address,
                "--cluster-name",
                s._cluster_name,
                "--rounds",
                str(saved),
            ),
        ]
        outcome = await asyncio.to_thread(CliRunner().invoke, main, words)
        assert outcome.exit_code == 0, outcome.output
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    found = find_snapshots([str(file)], unpacked)
    assert len(found.rounds) >= 1
    assert found.rounds[0].cluster == tmp_path.name
    given = ClusterInput(tuple(found.manifests))
    files = FileInput("bundle", given, None, load_manifests(found.manifests), found.rounds, found.warnings)
    source = FileSource(files, InProcess(), Wall())
    async with running(source):
        await until(lambda: any("after a plan" in each for each in source.known.about.warnings), within=60)
        async with served(source) as (client, _):
            overview = await (await client.get("/api/v1/overview")).json()
            assert overview["pods"] == {"bound": 4, "pending": 1, "others": 0}
            first = overview["rounds"][0]
            assert first["machines"] == 3
            flow = await (await client.get(f"/api/v1/flow?round={first['round']}&groupBy=")).json()
            assert (flow["tasks"], flow["placed"]) == (first["tasks"], first["placed"])
            assert flow["rounds"] == [each["round"] for each in overview["rounds"]]
            shown = await (await client.get("/api/v1/pods/default/huge")).json()
            assert shown["verdicts"]["refused"] == 3
