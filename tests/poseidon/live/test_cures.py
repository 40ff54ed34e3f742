"""`poseidon explain --cures`: a running solver finds the cures that files of the same cluster have."""

from __future__ import annotations

import json

from firmament.core.cures.running import find_cures_in_copy
from firmament.solvers.ortools_solver import OrToolsSolver
from poseidon.embedding import EmbeddedTrials, load_configuration
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.live.cluster import read_cluster
from poseidon.manifests.loader import load_manifests
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.explain import explain_pod
from poseidon.offline.plan import schedule_pods
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from tests.poseidon.live.test_explain import explain
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.programs.equivalence.clusters import NOW, small_cluster
from tests.support.cluster import pod
from tests.support.effort import examples
from tests.support.waiting import until

SMALL = NodeShape("small", cpu="4", memory="16Gi")
TRIES, MOST = 40, 5
OWNER = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}]


def owned(name, cpu, **spec):
    made = pod(name, cpu=cpu, **spec)
    made["metadata"] |= {"ownerReferences": OWNER, "labels": {"pod-template-hash": "x"}}
    return made


async def cures_of(s, name):
    found = await explain(s, name, "--cures", "-o", "json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["cures"]


async def cures_from_objects(s, name):
    async with Transport(ConnectionSettings(s.cluster.url), clock=lambda: 0.0) as transport:
        manifests = await read_cluster(transport)
    found = explain_pod(manifests, load_configuration(None), NOW, name).cures
    return json.loads(json.dumps([each.data for each in found]))


async def test_the_cures_are_those_of_the_same_objects(tmp_path):
    async with scene(tmp_path) as s:
        first, second, third = await s.nodes(3, [SMALL])
        create_object(s.operations, owned("web-0", "2", nodeName=first))
        create_object(s.operations, pod("lone", cpu="2", nodeName=second))  # nobody would replace it
        create_object(s.operations, owned("web-1", "3", nodeName=third))
        create_object(s.operations, owned("web-waits", "3"))
        create_object(s.operations, pod("chosen", nodeSelector={"pool": "db"}))
        await s.start()

        def waiting():
            pods = {each["metadata"]["name"]: each for each in s.listed(PODS)}
            return all(pods[name]["status"].get("conditions") for name in ("web-waits", "chosen"))

        await until(waiting, within=SECONDS)
        for name in ("default/web-waits", "default/chosen"):
            found = await cures_of(s, name)
            assert found, (await explain(s, name)).stdout
            assert found == await cures_from_objects(s, name)
        by_kind = {each["kind"]: each for each in await cures_of(s, "web-waits")}
        assert by_kind["fewer-replicas"]["commands"]
        assert by_kind["move-others"]["moves"] == [{"pod": "default/web-0", "from": first, "to": second}]
        shown = (await explain(s, "chosen", "--cures")).stdout
        assert "kubectl label node" in shown
        assert not await cures_of(s, "web-0")


def test_a_copy_of_a_scheduler_finds_the_cures_that_its_events_have(tmp_path):
    asked = 0
    for seed in range(examples(150)):
        path = tmp_path / f"{seed}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": small_cluster(seed)}))
        manifests, configuration = load_manifests([str(path)]), load_configuration(None)
        cluster = build_offline_cluster(manifests, configuration, NOW)
        known = tuple(cluster.state.snapshot())
        plan = schedule_pods(cluster, manifests)
        waiting = sorted(each.pod for each in plan.pending)
        if plan.preemptions or not waiting:
            continue  # victims are gone after a plan, and still there for files
        fixed = sorted(cluster.pods)[::2]
        places = {each.pod: each.node for each in plan.bindings}
        asked += 1
        trials = EmbeddedTrials(configuration, lambda: NOW, known, fixed, places)
        expected = trials.cures(waiting[:1], TRIES, MOST).get(waiting[0], ())
        copied = cluster.scheduler._scheduler
        events = copied.list_events()
        solver = OrToolsSolver(lazy=True)
        found = find_cures_in_copy(copied, events, solver, waiting[0], fixed, tries=TRIES, most=MOST)
        assert found == expected, (seed, waiting[0])
    assert asked > 3
