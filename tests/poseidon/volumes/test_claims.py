"""Claims are bound before their pods: the whole bridge between a simulated API server and a scripted solver."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.node_rules import SELECTED_NODE
from poseidon.testbed.controllers.volumes import Provisioning, VolumeSimulation
from poseidon.testbed.seeding import NodeShape, node
from poseidon.volumes.binding import VolumeOptions
from poseidon.volumes.requirements import IN_USE
from tests.poseidon.bridge.scripted_solver import TAKEN, ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.poseidon.bridge.test_bridge import Api, bound_pods, bridging
from tests.support.cluster import pod
from tests.support.storage import HOSTNAME, claim, storage_class, using, volume
from tests.support.waiting import until


class Provisioner:
    """Does what the test says, and remembers what it was asked."""

    def __init__(self):
        self.answer = Provisioning.PROVIDE
        self.asked = []

    def __call__(self, given, chosen):
        self.asked.append((given["metadata"]["name"], chosen))
        return self.answer


@pytest.fixture
def provisioner():
    return Provisioner()


@pytest.fixture
async def cluster(provisioner):
    cluster = SimulatedCluster()
    await cluster.start()
    for obj in (node("n1", NodeShape(), zone="a"), node("n2", NodeShape(), zone="b"), storage_class()):
        create_object(cluster.operations, obj)
    volumes = VolumeSimulation(cluster.operations.store, provisioner=provisioner)
    running = asyncio.create_task(drive(volumes))
    yield cluster
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await cluster.stop()


@pytest.fixture
async def api(cluster):
    api = Api(cluster.url)
    yield api
    await api.transport.close()


@pytest.fixture
def create(cluster):
    def created(*objects):
        for obj in objects:
            create_object(cluster.operations, obj)

    return created


@asynccontextmanager
async def scheduling(cluster, **options):
    solver = ScriptedSolver()
    solver.place_all = True
    async with running_solver(solver) as port, bridging(cluster, port, **options):
        yield solver


async def claims(api):
    items = await api.items("/api/v1/persistentvolumeclaims")
    return {item["metadata"]["name"]: item for item in items}


async def messages(api):
    """What has been said of pods that were not scheduled."""
    events = await api.items("/api/v1/events")
    return [event["message"] for event in events if event["reason"] == "FailedScheduling"]


async def test_claims_are_provisioned_for_the_node_and_bound_first(cluster, api, create, provisioner):
    names = [f"p{index}" for index in range(10)]
    create(*(claim(name) for name in names), *(pod(name, volumes=using(name)) for name in names))
    async with scheduling(cluster) as solver:
        await until(lambda: len(solver.reports) == 10)
    assert all(report.bound for report in solver.reports)
    assert all(state == BOUND for state, _ in solver.states().values())
    bound = await bound_pods(api)
    assert set(bound.values()) == {"n1", "n2"}
    for name, found in (await claims(api)).items():
        assert found["status"]["phase"] == "Bound"
        assert found["metadata"]["annotations"][SELECTED_NODE] == bound[name]
    assert sorted(provisioner.asked) == sorted(bound.items())


async def test_a_provisioner_that_fails_sends_the_pod_back(cluster, api, create, provisioner):
    provisioner.answer = Provisioning.REFUSE
    create(claim("c"), pod("p", volumes=using("c")))
    async with scheduling(cluster) as solver:
        solver.place_all = False
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: solver.reports)
        [report] = solver.reports
        assert (report.bound, report.retry) == (False, True)
        assert report.reason == 'provisioning of persistentvolumeclaim "c" for node n1 failed'
        await until(lambda: solver.states() and set(solver.states().values()) == {(PENDING, "")})
        assert await bound_pods(api) == {}
        assert await until(lambda: messages(api)) == [f"volumes could not be bound: {report.reason}"]
        provisioner.answer = Provisioning.PROVIDE
        solver.round()
        await until(lambda: len(solver.reports) == 2)
        assert solver.reports[1].bound
    assert await bound_pods(api) == {"p": "n1"}


async def test_a_binding_that_takes_too_long_is_given_up(cluster, api, create, provisioner):
    provisioner.answer = Provisioning.HANG
    create(claim("c"), pod("p", volumes=using("c")))
    async with scheduling(
        cluster, configuration=BridgeConfiguration(volumes=VolumeOptions(bind_timeout=0.2))
    ) as solver:
        solver.place_all = False
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: solver.reports)
        [report] = solver.reports
        assert (report.bound, report.retry) == (False, True)
        assert report.reason == "volumes were not bound within 0.2 s: c"
        # The choice stands: a volume may yet come.
        await until(lambda: PENDING in {state for state, _ in solver.states().values()})
        assert (await claims(api))["c"]["metadata"]["annotations"][SELECTED_NODE] == "n1"
    assert await bound_pods(api) == {}


async def test_a_bridge_that_begins_anew_goes_on_where_the_other_stopped(cluster, api, create, provisioner):
    provisioner.answer = Provisioning.HANG
    create(claim("c"), pod("p", volumes=using("c")))
    async with scheduling(cluster):
        await until(lambda: provisioner.asked)
    assert await bound_pods(api) == {}
    async with scheduling(cluster) as solver:
        solver.place_all = False
        await until(lambda: solver.synced and solver.view.classes)
        [rule] = solver.rules()
        assert [field.values for term in rule.terms for field in term.fields] == [["n1"]]
        solver.round()
        volumes = VolumeSimulation(cluster.operations.store)
        volumes.advance(0.0)
        volumes.advance(0.0)
        await until(lambda: solver.reports)
        assert solver.reports[0].bound
    assert await bound_pods(api) == {"p": "n1"}


async def test_local_volumes_are_given_one_by_one(cluster, api, create):
    create(
        storage_class("local", provisioner="kubernetes.io/no-provisioner"),
        *(volume(f"disk-{index}", storage_class="local", at=(HOSTNAME, ["n1"])) for index in range(3)),
        *(claim(f"c{index}", storage_class="local") for index in range(4)),
        *(pod(f"p{index}", volumes=using(f"c{index}")) for index in range(4)),
    )
    async with scheduling(cluster) as solver:
        solver.place_all = False
        await until(lambda: solver.synced)
        offered = solver.offers("n1")
        assert [amount for name, amount in offered.items() if name.startswith("available-volumes-local")] == [
            3
        ]
        assert not [name for name in solver.offers("n2") if name.startswith("available-volumes")]
        solver.round(only="n1")
        await until(lambda: len(solver.reports) == 4)
        refused = [report for report in solver.reports if not report.bound]
        assert [report.reason for report in refused] == [
            "node(s) didn't find available persistent volumes to bind"
        ]
    assert len(await bound_pods(api)) == 3
    used = [found["spec"].get("volumeName") for found in (await claims(api)).values()]
    assert sorted(name for name in used if name) == ["disk-0", "disk-1", "disk-2"]


async def test_pods_wake_when_what_they_wait_for_comes(cluster, api, create):
    create(
        storage_class("now", waits=False, provisioner="kubernetes.io/no-provisioner"),
        claim("unbound", storage_class="now"),
        pod("a", volumes=using("missing")),
        pod("b", volumes=using("unbound")),
    )
    async with scheduling(cluster) as solver:
        await until(lambda: solver.synced)
        expected = {
            '0/2 nodes are available: persistentvolumeclaim "missing" not found.',
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        }

        async def told():
            return set(await messages(api)) == expected

        await until(told)
        assert not solver.view.tasks
        create(volume("one", storage_class="now"))
        await until(lambda: len(solver.reports) == 1)
        create(claim("missing"))
        await until(lambda: len(solver.reports) == 2)
    assert set(await bound_pods(api)) == {"a", "b"}


async def test_one_pod_at_a_time_uses_what_is_for_one_pod(cluster, api, create):
    create(
        claim("c", modes=("ReadWriteOncePod",)),
        pod("a", volumes=using("c")),
        pod("b", volumes=using("c")),
    )
    async with scheduling(cluster) as solver:
        await until(lambda: solver.reports)
        [(first, _)] = (await bound_pods(api)).items()

        async def is_told() -> bool:
            """The pod is told before that that its claim's volume is not known yet, if a round comes in between."""
            return await messages(api) == [TAKEN]

        await until(is_told)
        [uid] = [uid for uid, (state, _) in solver.states().items() if state == PENDING]
        assert solver.in_use(uid)
        assert [rule.reason for rule in solver.rules() if rule.in_use] == [IN_USE]
        await api.transport.delete(f"/api/v1/namespaces/default/pods/{first}")
        await until(lambda: len(solver.reports) == 2)
    assert set(await bound_pods(api)) == {"a", "b"} - {first}


async def test_a_placement_that_comes_too_late_for_a_claim_is_refused_and_tried_again(cluster, api, create):
    create(
        claim("c", modes=("ReadWriteOncePod",)),
        pod("a", volumes=using("c")),
        pod("b", volumes=using("c")),
    )
    async with scheduling(cluster) as solver:
        solver.place_all = False
        solver.places_taken = True
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: len(solver.reports) == 2)
        [refused] = [report for report in solver.reports if not report.bound]
        assert (refused.reason, refused.retry) == (IN_USE, True)
        [(first, _)] = (await bound_pods(api)).items()
        await api.transport.delete(f"/api/v1/namespaces/default/pods/{first}")
        await until(lambda: not any(map(solver.in_use, solver.view.tasks)) and len(solver.view.tasks) == 1)
        solver.round()
        await until(lambda: len(solver.reports) == 3)
    assert set(await bound_pods(api)) == {"a", "b"} - {first}


async def test_a_claim_without_its_volume_is_waited_for(cluster, api, create):
    create(claim("c", volume="v"), pod("p", volumes=using("c")))
    async with scheduling(cluster) as solver:
        told = ['0/2 nodes are available: persistentvolume "v" not found.']
        assert await until(lambda: messages(api)) == told
        assert not solver.view.tasks
        create(volume("v", to="default/c"))
        await until(lambda: solver.reports)
    assert set(await bound_pods(api)) == {"p"}


async def test_a_pod_that_goes_while_its_claim_is_bound_leaves_no_trace(cluster, api, create, provisioner):
    provisioner.answer = Provisioning.HANG
    create(claim("c"), pod("p", volumes=using("c")))
    async with scheduling(cluster) as solver:
        await until(lambda: provisioner.asked)
        await api.transport.delete("/api/v1/namespaces/default/pods/p")
        await until(lambda: not solver.view.tasks)
        assert not solver.reports


async def test_dry_run_leaves_claims_alone(cluster, api, create, caplog):
    caplog.set_level("INFO", logger="poseidon")
    create(claim("c"), pod("p", volumes=using("c")))
    async with scheduling(cluster, dry_run=True):
        await until(lambda: "would have a claim bound claim=default/c" in caplog.text)
    assert SELECTED_NODE not in (await claims(api))["c"]["metadata"].get("annotations", {})


async def test_a_claim_that_has_changed_meanwhile_is_left_alone(cluster, api, create):
    """The volume is given away by someone else before the bridge writes, whether or not it has heard of that."""
    create(
        storage_class("local", provisioner="kubernetes.io/no-provisioner"),
        volume("disk", storage_class="local", at=(HOSTNAME, ["n1"])),
        claim("c", storage_class="local"),
        pod("p", volumes=using("c")),
    )
    async with scheduling(cluster) as solver:
        solver.place_all = False
        await until(lambda: solver.synced)
        volumes = cluster.operations.registry.of_kind("v1", "PersistentVolume")
        taken = {"spec": {"claimRef": {"namespace": "default", "name": "another"}}}
        cluster.operations.patch(volumes, "", "disk", MERGE_PATCH, taken)
        solver.round(only="n1")
        await until(lambda: solver.reports)
        assert not solver.reports[0].bound
    assert await bound_pods(api) == {}
