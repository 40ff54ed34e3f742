"""What a running bridge has recorded is decided again, pod for pod."""

from __future__ import annotations

import asyncio

from poseidon.recording.recording_files import read_recording
from poseidon.simulate.recorded.replaying import decide_again
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.device_claims import ClaimSimulation
from poseidon.testbed.controllers.device_driver import DriverSimulation
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.seeding import NodeShape
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.deploy.test_rights_in_use import DEFINITIONS
from tests.poseidon.queues.objects import LABEL as QUEUE
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.programs.end_to_end.test_gangs import LABEL as GANG
from tests.support.cluster import pod
from tests.support.device_objects import claim_template, device_class, node_with_devices, pod_with_device
from tests.support.waiting import until

SECRET = "hunter2-not-for-others"
QUEUES = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
queues: {source: [kueue], admission: poseidon}
"""
CONTROLLERS = (KubeletSimulation, ClaimSimulation, DriverSimulation)


async def test_a_recording_gives_the_decisions_that_were_made(tmp_path):
    folder = tmp_path / "recorded"
    more = ("--record", str(folder))
    async with scene(tmp_path, more_for_bridge=more) as s:
        await s.nodes(12, [NodeShape("small", cpu="4", memory="16Gi")])
        await s.start()
        await s.until_solver(lambda counts: counts.machines == 12)
        env = [{"name": "main", "image": "work", "env": [{"name": "PASSWORD", "value": SECRET}]}]
        await s.pods(names("secret", 1), containers=env)
        for wave, cpu in enumerate(("100m", "500m", "1500m")):
            await s.pods(names(f"wave{wave}", 10), cpu=cpu)
        await s.until_bound(31)
        for number in range(5):  # one after another: rounds without a network
            await s.pods([f"alone-{number}"], cpu="250m")
            await s.until_bound(32 + number)
        await s.pods(names("big", 20), cpu="3")
        await until(lambda: len(s.events("FailedScheduling")) > 0, within=SECONDS)
        bound = s.count_bound()
        s.operations.delete(PODS, "default", "wave2-0000")
        s.operations.delete(PODS, "default", "wave2-0001")
        await s.nodes(2, [NodeShape("large", cpu="16")], prefix="more")
        await s.until_bound(bound + 5)
        await s.stack.bridge.stop(15.0)
        await s.stack.start_bridge()
        held = await s.solver_counts()
        await s.nodes(1, [NodeShape("large", cpu="16")], prefix="last")
        await s.until_solver(lambda counts: counts.machines == held.machines + 1 and not counts.assumed)
        placed = len(s.placed())
        await s.pods(names("late", 5), cpu="100m")
        await s.until_bound(placed + 5)
        await s.stack.bridge.stop(15.0)
        made = s.count_bound()
        assert s.stack.bridge.alive is False

    found = decide_again(read_recording(folder))
    assert found.first == []
    assert (found.streams, found.partial, found.refused) == (2, 0, 0)
    assert found.same == found.decisions >= made
    assert found.rounds > 7
    for entry in read_recording(folder):
        assert SECRET not in str(entry)


def labelled(name, cpu="1", **labels):
    made = pod(name, cpu=cpu, terminationGracePeriodSeconds=0)
    made["metadata"]["labels"] = labels
    return made


def gang(name, members, cpu="1"):
    """A PodGroup and its pods."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members},
    }
    return [group, *(labelled(each, cpu, **{GANG: name}) for each in names(name, members))]


def two_queues():
    """Two teams with quota for four CPUs each, that lend to each other and take back what is theirs."""
    found = [flavor()]
    for team in ("north", "south"):
        reclaim = {"reclaimWithinCohort": "Any"}
        found.append(cluster_queue(team, quotas(cpu="4"), cohort="all", preemption=reclaim))
        found.append(local_queue(team, team, "default"))
    return found


async def test_gangs_claims_of_devices_and_queues_are_decided_again(tmp_path):
    folder, config = tmp_path / "recorded", tmp_path / "config.yaml"
    config.write_text(QUEUES)
    more = ("--record", str(folder))
    async with scene(tmp_path, ClusterOptions(graceful=True), config=config, more_for_bridge=more) as s:

        def create(*objects):
            for each in objects:
                create_object(s.operations, each)

        running = [asyncio.create_task(drive(each(s.operations.store))) for each in CONTROLLERS]
        create(*DEFINITIONS, *two_queues(), device_class(), claim_template())
        await s.nodes(4, [NodeShape("small", cpu="6", memory="16Gi")])
        create(*(node_with_devices(f"devices-{number}", 2) for number in range(2)))
        await s.start(own_solver=True)
        create(*(labelled(each, **{QUEUE: "north"}) for each in names("borrowing", 7)))
        await s.until_bound(7)
        create(*gang("large", 6, "2"), *gang("endless", 50, "4"))
        create(*map(pod_with_device, names("device", 6)))
        await s.until_bound(7 + 6 + 4)
        create(*(labelled(each, **{QUEUE: "south"}) for each in names("reclaiming", 4)))
        await until(lambda: s.count_bound() == 17 + 4, within=SECONDS)
        await until(lambda: len(s.placed()) == 17 + 4 - 3, within=SECONDS)
        s.operations.delete(PODS, "default", "large-0000")
        create(*(labelled(each, "100m") for each in names("small", 5)))
        await until(lambda: s.count_bound() == 17 + 4 + 5, within=SECONDS)
        await s.stack.bridge.stop(15.0)
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    found = decide_again(read_recording(folder))
    assert found.first == []
    assert (found.streams, found.partial, found.refused) == (1, 0, 0)
    assert found.same == found.decisions >= 17 + 4 + 5 + 3
    rounds = [entry.round for entry in read_recording(folder) if entry.HasField("round")]
    deltas = [delta for each in rounds for delta in each.deltas]
    assert sum(delta.kind == pb.Delta.PREEMPT for delta in deltas) == 3
    assert sum(bool(delta.allocations) for delta in deltas) >= 4
