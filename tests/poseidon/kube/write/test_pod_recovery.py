"""Refused pods are created again, whatever goes wrong meanwhile, over HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.pod_recovery import PodRecovery, drop_environment, make_successor
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.objects.resources import NAMESPACES, PODS
from poseidon.testbed.objects.store import decode
from tests.support.cluster import pod, running_cluster
from tests.support.waiting import until

COUNT = "example.com/count"
PATH = "/api/v1/namespaces/default/pods"


class Scene:
    def __init__(self, cluster, recovery, registry):
        self.cluster = cluster
        self.recovery = recovery
        self.registry = registry

    def fail(self, name="a", **metadata):
        body = pod(name, nodeName="n1", priorityClassName="system-node-critical")
        body["metadata"] |= {"labels": {"app": "web"}, "annotations": {"note": "kept"}, **metadata}
        body["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": "secret"}]
        status = {"phase": "Failed", "reason": "OutOfcpu"}
        record = self.cluster.operations.create(PODS, "default", {**body, "status": status}, keep_status=True)
        return PodRef(record.uid, "default", name)

    def pods(self):
        store = self.cluster.operations.store
        view = store.collection("pods").view(store.revision)
        return [decode(view.get(key)) for key in view.keys]

    async def result(self):
        """The outcome of the only recovery."""
        found = {}

        def counted():
            for metric in self.registry.collect():
                for sample in metric.samples:
                    if sample.name == "poseidon_pod_recoveries_total" and sample.value:
                        found[sample.labels["result"]] = sample.value
            return found

        await until(counted)
        [(result, count)] = found.items()
        assert count == 1
        return result


@asynccontextmanager
async def recovering(slept=None):
    async def sleep(seconds):
        if slept is not None:
            slept.append(seconds)
        await asyncio.sleep(0)

    registry = CollectorRegistry()
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic, timeout=2.0) as transport,
    ):
        environment = Environment(transport, KubeMetrics(registry), Random(1), sleep=sleep)
        recovery = PodRecovery(environment, COUNT)
        running = asyncio.create_task(recovery.run())
        try:
            yield Scene(cluster, recovery, registry)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_the_same_pod_is_pending_again():
    slept: list[float] = []
    async with recovering(slept) as scene:
        ref = scene.fail()
        scene.recovery.recreate(ref, 2, 7.0)
        assert await scene.result() == "recreated"
        [found] = scene.pods()
    assert slept[0] == 7.0
    assert found["metadata"]["uid"] != ref.uid
    assert found["metadata"]["labels"] == {"app": "web"}
    assert found["metadata"]["annotations"] == {"note": "kept", COUNT: "2"}
    assert "nodeName" not in found["spec"]
    assert found["spec"]["priority"] == 2_000_001_000
    assert found["status"]["phase"] == "Pending"


@pytest.mark.parametrize(("method", "path"), [("GET", "/a"), ("POST", "/a/eviction"), ("POST", "")])
@pytest.mark.parametrize(
    "fault",
    [
        {"code": 503},
        {"code": 429, "retry_after": 1},
        {"code": 409, "reason": "Conflict", "message": "the object has been modified"},
        {"code": 500, "after": True},
        {"cut": True},
        {"cut": True, "after": True},
    ],
    ids=["refused", "throttled", "outrun", "done-but-refused", "cut", "done-but-cut"],
)
async def test_no_single_failure_loses_the_pod(method, path, fault):
    async with recovering() as scene:
        ref = scene.fail()
        scene.cluster.faults.add(Fault(PATH + path, method=method, times=2, **fault))
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "recreated"
        [found] = scene.pods()
    assert (found["metadata"]["name"], found["status"]["phase"]) == ("a", "Pending")


async def test_creating_is_tried_until_it_works():
    async with recovering() as scene:
        ref = scene.fail()
        # The first POST is the probe.
        scene.cluster.faults.add(Fault(PATH, method="POST", skip=1, times=40, code=503))
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "recreated"
        assert [found["metadata"]["name"] for found in scene.pods()] == ["a"]


async def test_pauses_double_from_a_fifth_of_a_second_to_ten_seconds():
    slept: list[float] = []
    async with recovering(slept) as scene:
        ref = scene.fail()
        scene.cluster.faults.add(Fault(f"{PATH}/a/eviction", method="POST", times=2, code=503))
        scene.cluster.faults.add(Fault(PATH, method="POST", skip=1, times=10, code=503))
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "recreated"
    steps = [0.2, 0.4, *(min(0.2 * 2**number, 10.0) for number in range(10))]
    pauses = [each for each in slept if each]
    assert len(pauses) == len(steps)
    assert all(step / 2 <= pause <= step for pause, step in zip(pauses, steps, strict=True)), pauses


async def test_what_may_not_be_created_is_not_deleted():
    async with recovering() as scene:
        ref = scene.fail()
        scene.cluster.faults.add(
            Fault(PATH, method="POST", code=403, reason="Forbidden", message="no rights")
        )
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "failed"
        [found] = scene.pods()
    assert found["metadata"]["uid"] == ref.uid


async def test_after_the_point_of_no_return_a_lasting_refusal_leaves_the_manifest_in_the_log(caplog):
    async with recovering() as scene:
        ref = scene.fail()
        fault = scene.cluster.faults.add(Fault(PATH, method="POST", skip=1, code=403, reason="Forbidden"))
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "lost"
        assert fault.hits == 60
        assert scene.pods() == []
    assert '"note":"kept"' in caplog.text
    assert "secret" not in caplog.text


def test_what_is_logged_of_a_lost_pod_leaves_out_its_environment():
    """Environments may hold secrets, and kubectl keeps a copy of them in an annotation."""
    container = {
        "name": "main",
        "image": "i",
        "env": [{"name": "A", "value": "secret"}],
        "envFrom": [{"x": "secret"}],
    }
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "secret", "note": "kept"}
    body = {
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": notes},
        "spec": {"containers": [container], "initContainers": [container], "hostname": "h"},
    }
    shown = drop_environment(body)
    assert "secret" not in str(shown)
    plain = {"name": "main", "image": "i"}
    assert shown["spec"] == {"containers": [plain], "initContainers": [plain], "hostname": "h"}
    assert shown["metadata"] == {"name": "a", "annotations": {"note": "kept"}}
    assert "secret" in str(body), "what is created again keeps it"


@pytest.mark.parametrize("what", ["gone", "namesake", "leaving"])
async def test_what_has_changed_meanwhile_is_left_alone(what):
    async with recovering() as scene:
        ref = scene.fail(**({"finalizers": ["example.com/x"]} if what == "leaving" else {}))
        scene.cluster.operations.delete(PODS, "default", "a")
        if what == "namesake":
            scene.fail()
        before = scene.cluster.operations.store.revision
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "obsolete"
        assert scene.cluster.operations.store.revision == before


@pytest.mark.parametrize("why", ["finalizers", "its node was chosen by kubectl-create"])
async def test_obstacles_are_found_before_anything_is_deleted(why, caplog):
    async with recovering() as scene:
        if why == "finalizers":
            ref = scene.fail(finalizers=["example.com/x"])
        else:
            ref = scene.fail()
            store, pods = scene.cluster.operations.store, scene.cluster.operations.store.collection("pods")
            record = pods.get("default/a")
            found = decode(record)
            entry = {"manager": "kubectl-create", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}
            found["metadata"]["managedFields"] = [entry]
            store.replace(pods, record, found)
        scene.recovery.recreate(ref, 1, 0.0)
        assert await scene.result() == "left"
        assert len(scene.pods()) == 1
    assert why in caplog.text


async def test_what_a_controller_has_replaced_is_deleted():
    async with recovering() as scene:
        scene.recovery.delete(scene.fail())
        assert await scene.result() == "deleted"
        assert scene.pods() == []


async def test_one_failure_does_not_stop_the_others(caplog):
    async with recovering() as scene:
        first, second = scene.fail("a"), scene.fail("b")
        scene.cluster.faults.add(Fault(f"{PATH}/a", code=403, reason="Forbidden"))
        scene.recovery.recreate(first, 1, 0.0)
        scene.recovery.recreate(second, 1, 0.0)
        await until(
            lambda: {p["metadata"]["name"]: p["status"]["phase"] for p in scene.pods()}.get("b") == "Pending"
        )
        await until(lambda: "refused pod cannot be recovered pod=default/a" in caplog.text)
        await scene.recovery.wait_settled()


async def test_a_namespace_that_goes_ends_the_recovery():
    async with recovering() as scene:
        scene.cluster.operations.create(NAMESPACES, "", {"metadata": {"name": "team"}})
        scene.recovery.recreate(PodRef("x", "team", "a"), 1, 0.0)
        assert await scene.result() == "obsolete"


def test_a_successor_has_nothing_of_its_predecessors_fate():
    found = make_successor(
        {
            "metadata": {
                "name": "a",
                "namespace": "ns",
                "uid": "1",
                "resourceVersion": "2",
                "managedFields": [],
            },
            "spec": {
                "nodeName": "n1",
                "priority": 3,
                "containers": [{"name": "c"}],
                "ephemeralContainers": [],
            },
            "status": {"phase": "Failed"},
        },
        {"x": "1"},
    )
    assert found == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "ns", "annotations": {"x": "1"}},
        "spec": {"containers": [{"name": "c"}]},
    }
