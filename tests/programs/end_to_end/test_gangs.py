"""Gangs and preemption with both processes: whatever goes wrong in between, all is as one rule says in the end."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.controllers.kubelet import STOP_SECONDS, KubeletSimulation
from poseidon.testbed.objects.resources import PODS, PRIORITY_CLASSES
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.support.cluster import pod
from tests.support.time_limits import stretch
from tests.support.waiting import until

LABEL = "scheduling.x-k8s.io/pod-group"
SHAPE = NodeShape("four", cpu="4", memory="16Gi")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "kind": "PodGroup"},
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}],
    },
}


class Stage:
    """A scene with PodGroups, priorities, and kubelets whose time a test moves."""

    def __init__(self, s):
        self.scene = s
        self.kubelets = KubeletSimulation(s.operations.store)
        self.now = 0.0

    def create(self, found):
        create_object(self.scene.operations, found)

    def group(self, name, members, **spec):
        self.create(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minMember": members, **spec},
            }
        )

    def pod(self, name, *, group="", stop="0", **more):
        made = pod(name, **{"cpu": "1", **more})
        made["metadata"]["annotations"] = {STOP_SECONDS: stop}
        if group:
            made["metadata"]["labels"] = {LABEL: group}
        self.create(made)

    def pods(self):
        return {each["metadata"]["name"]: each for each in self.scene.listed(PODS)}

    def status(self, group):
        resource = self.scene.operations.registry.of_kind("scheduling.x-k8s.io/v1alpha1", "PodGroup")
        found = {each["metadata"]["name"]: each for each in self.scene.listed(resource)}
        return found[group].get("status", {})

    async def until(self, condition, what=""):
        """Wait until something holds, while the kubelets do what is due by now."""

        def holds():
            self.kubelets.advance(self.now)
            return condition()

        await until(holds, within=SECONDS, what=what)

    def nodes_of(self, prefix):
        placed = self.scene.placed()
        return {name: node for name, node in placed.items() if name.startswith(prefix)}


@asynccontextmanager
async def stage(folder, nodes=2, *, own_solver=False):
    async with scene(folder, ClusterOptions(graceful=True)) as s:
        made = Stage(s)
        made.create(CRD)
        for name, value in (("low", 1), ("middle", 5), ("high", 1000)):
            create_object(
                s.operations,
                {
                    "apiVersion": PRIORITY_CLASSES.api_version,
                    "kind": PRIORITY_CLASSES.kind,
                    "metadata": {"name": name},
                    "value": value,
                },
            )
        await s.nodes(nodes, [SHAPE])
        await s.start(own_solver=own_solver)
        yield made


async def test_a_gang_in_any_order_with_a_refused_member_and_a_replacement(tmp_path):
    async with stage(tmp_path) as on:
        refusal = Fault(".*/pods/g-0001/binding", "POST", times=1, code=403, reason="Forbidden")
        on.scene.cluster.faults.add(refusal)
        for name in names("g", 4):
            on.pod(name, group="train")
        on.pod("other")
        await on.until(lambda: "other" in on.scene.placed())
        assert on.nodes_of("g") == {}
        on.group("train", 4)
        await on.until(lambda: len(on.nodes_of("g")) == 4, "the gang is whole")
        assert refusal.hits == 1
        await on.until(lambda: on.status("train").get("phase") == "Running", "its status says so")
        assert on.status("train")["running"] == 4
        on.scene.operations.delete(PODS, "default", "g-0002")
        await on.until(lambda: "g-0002" not in on.pods())
        on.pod("g-0009", group="train")
        await on.until(lambda: "g-0009" in on.scene.placed(), "a replacement joins")
        assert set(on.nodes_of("g")) == {"g-0000", "g-0001", "g-0003", "g-0009"}


async def test_a_gang_that_does_not_fit_leaves_its_place_to_others(tmp_path):
    async with stage(tmp_path) as on:
        on.group("train", 9)
        for name in names("g", 9):
            on.pod(name, group="train")
        for name in names("single", 8):
            on.pod(name)
        await on.until(lambda: len(on.nodes_of("single")) == 8)
        assert on.nodes_of("g") == {}
        await until(lambda: on.scene.events("FailedScheduling")["g-0000"], within=SECONDS)
        await until(lambda: on.status("train").get("phase") == "Scheduling", within=SECONDS)


async def test_bound_members_of_a_gang_that_is_not_whole_in_time_are_evicted(tmp_path):
    async with stage(tmp_path) as on:
        never = Fault(".*/pods/g-0001/binding", "POST", code=403, reason="Forbidden")
        on.scene.cluster.faults.add(never)
        on.group("train", 3, scheduleTimeoutSeconds=3)
        for name in names("g", 3):
            on.pod(name, group="train")
        await on.until(lambda: set(on.nodes_of("g")) == {"g-0000", "g-0002"}, "two are bound")
        await on.until(lambda: set(on.pods()) == {"g-0001"}, "they are evicted")
        await until(lambda: on.scene.events("GangFailed")["train"], within=SECONDS)
        expected = {"g-0000": 1, "g-0002": 1}
        await until(lambda: on.scene.events("Preempted") == expected, within=SECONDS)


@pytest.mark.parametrize("killed", ["", "bridge", "solver"])
async def test_a_preemptor_waits_for_victims_that_take_thirty_seconds(tmp_path, killed):
    async with stage(tmp_path, nodes=1, own_solver=killed == "solver") as on:
        on.pod("low", cpu="3", stop="30", priorityClassName="low", terminationGracePeriodSeconds=60)
        await on.until(lambda: on.pods()["low"]["status"].get("phase") == "Running")
        on.pod("high", cpu="3", priorityClassName="high")
        await on.until(lambda: "deletionTimestamp" in on.pods()["low"]["metadata"], "the victim leaves")
        await on.until(lambda: on.pods()["high"]["status"].get("nominatedNodeName"), "the place is named")
        if killed:
            s = on.scene
            child = s.stack.bridge if killed == "bridge" else s.stack.solver
            child.signal(signal.SIGKILL)
            await asyncio.wait_for(child.wait(), stretch(SECONDS))
            await (s.stack.start_bridge() if killed == "bridge" else s.stack.start_solver())
            await s.until_solver(lambda counts: counts.machines == 1)
        # Less important than the preemptor: it must not take the place.
        on.pod("thief", cpu="2")
        await until(lambda: on.scene.events("FailedScheduling")["thief"], within=SECONDS)
        on.now = 29.0
        on.kubelets.advance(on.now)
        assert set(on.scene.placed()) == {"low"}
        on.now = 30.0
        await on.until(lambda: "high" in on.scene.placed(), "the preemptor is bound")
        assert set(on.scene.placed()) == {"high"}
        # A bridge that dies may take the event with it.
        told = {} if killed == "bridge" else {"low": 1}
        await until(lambda: on.scene.events("Preempted") in (told, {"low": 1}), within=SECONDS)


async def test_a_budget_protects_its_pods_while_there_is_another_choice(tmp_path):
    async with stage(tmp_path) as on:
        on.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "kept", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {LABEL: "kept"}}},
            }
        )
        on.group("kept", 1)
        # The one that is protected is the less important one.
        on.pod("kept", cpu="3", group="kept", priorityClassName="low")
        on.pod("free", cpu="3", priorityClassName="middle")
        await on.until(
            lambda: [each["status"].get("phase") for each in on.pods().values()] == ["Running"] * 2
        )
        on.pod("high", cpu="3", priorityClassName="high")
        await on.until(lambda: "high" in on.scene.placed())
        assert set(on.scene.placed()) == {"kept", "high"}
        await until(lambda: on.scene.events("Preempted") == {"free": 1}, within=SECONDS)


@pytest.mark.parametrize("killed", ["bridge", "solver"])
async def test_a_gang_whose_processes_die_between_decision_and_binding(tmp_path, killed):
    async with stage(tmp_path, own_solver=killed == "solver") as on:
        s = on.scene
        held = s.cluster.faults.add(Fault(".*/pods/g-000[0-2]/binding", "POST", hold=True))
        on.group("train", 6)
        for name in names("g", 6):
            on.pod(name, group="train")
        await on.until(lambda: len(on.nodes_of("g")) == 3, "half of the gang is bound")
        child = s.stack.bridge if killed == "bridge" else s.stack.solver
        child.signal(signal.SIGKILL)
        await asyncio.wait_for(child.wait(), stretch(SECONDS))
        held.release()
        await (s.stack.start_bridge() if killed == "bridge" else s.stack.start_solver())
        await on.until(lambda: len(on.nodes_of("g")) == 6, "the gang is whole")
        s.check_sound()


@pytest.mark.parametrize("replaced", [True, False])
async def test_members_that_are_deleted_while_their_gang_is_being_bound(tmp_path, replaced):
    """One that was bound and one whose binding is on its way: with others in their stead the gang is whole, without
    them it is given up.
    """
    async with stage(tmp_path) as on:
        held = on.scene.cluster.faults.add(Fault(".*/pods/g-000[2-3]/binding", "POST", hold=True))
        on.group("train", 6, scheduleTimeoutSeconds=30 if replaced else 3)
        for name in names("g", 6):
            on.pod(name, group="train")
        await on.until(lambda: len(on.nodes_of("g")) == 4, "four of six are bound")
        for name in ("g-0001", "g-0002"):
            on.scene.operations.delete(PODS, "default", name)
        held.release()
        if replaced:
            for name in ("g-0011", "g-0012"):
                on.pod(name, group="train")
            await on.until(lambda: len(on.nodes_of("g")) == 6, "the gang is whole")
            assert set(on.nodes_of("g")) == {"g-0000", "g-0003", "g-0004", "g-0005", "g-0011", "g-0012"}
        else:
            await on.until(lambda: on.pods() == {}, "what was bound of the gang is evicted")
            await until(lambda: on.scene.events("GangFailed")["train"], within=SECONDS)
        on.scene.check_sound()


async def test_a_more_important_gang_that_arrives_while_another_waits_goes_first(tmp_path):
    async with stage(tmp_path) as on:
        on.pod("filler", cpu="2", priorityClassName="high")
        await on.until(lambda: "filler" in on.scene.placed())
        on.group("small", 7)
        for name in names("low", 7):
            on.pod(name, group="small", priorityClassName="low")
        await until(lambda: on.scene.events("FailedScheduling")["low-0000"], within=SECONDS)
        on.group("large", 7)
        for name in names("high", 7):
            on.pod(name, group="large", priorityClassName="high", preemptionPolicy="Never")
        await until(lambda: on.scene.events("FailedScheduling")["high-0000"], within=SECONDS)
        assert set(on.scene.placed()) == {"filler"}
        on.scene.operations.delete(PODS, "default", "filler")
        await on.until(lambda: len(on.nodes_of("high")) == 7, "the more important gang is whole")
        assert on.nodes_of("low") == {}


async def test_a_gang_takes_the_place_of_a_whole_one(tmp_path):
    async with stage(tmp_path) as on:
        on.group("nightly", 4)
        for name in names("low", 4):
            on.pod(name, group="nightly", cpu="2", priorityClassName="low", stop="5")
        await on.until(lambda: on.status("nightly").get("phase") == "Running", "the first gang runs")
        on.group("train", 2)
        for name in names("high", 2):
            on.pod(name, group="train", cpu="3", priorityClassName="high")

        def leaving():
            return {name for name, each in on.pods().items() if "deletionTimestamp" in each["metadata"]}

        await on.until(lambda: leaving() == set(names("low", 4)), "all of the gang leave")
        assert on.nodes_of("high") == {}
        on.now = 5.0
        await on.until(lambda: len(on.nodes_of("high")) == 2, "the more important gang is whole")
        assert set(on.scene.placed()) == set(names("high", 2))
        on.scene.check_sound()


async def test_nobody_of_a_gang_is_bound_while_somebody_stays_whose_place_it_needs(tmp_path):
    async with stage(tmp_path) as on:
        for name in names("low", 4):
            on.pod(name, cpu="2", priorityClassName="low")
        await on.until(lambda: len(on.scene.placed()) == 4)
        [stays, *_] = sorted(on.scene.placed())
        refusal = Fault(f".*/pods/{stays}/eviction", "POST", code=403, reason="Forbidden")
        on.scene.cluster.faults.add(refusal)
        on.group("train", 2)
        for name in names("high", 2):
            on.pod(name, group="train", cpu="3", priorityClassName="high")

        def refused_again():
            assert on.nodes_of("high") == {}
            return refusal.hits >= 2

        await on.until(refused_again, "it has been asked twice to go")
        on.scene.cluster.faults.clear()
        await on.until(lambda: len(on.nodes_of("high")) == 2, "the gang is whole")
        on.scene.check_sound()


async def test_a_new_bridge_knows_a_gang_that_has_been_whole(tmp_path):
    """It lacks a member when the bridge comes, and for longer than its time-out; another gang's passes later."""
    async with stage(tmp_path, nodes=1) as on:
        s = on.scene
        on.group("train", 2, scheduleTimeoutSeconds=2)
        for name in names("g", 2):
            on.pod(name, group="train", cpu="1500m")
        await on.until(lambda: on.status("train").get("phase") == "Running", "the gang runs")
        s.stack.bridge.signal(signal.SIGKILL)
        await asyncio.wait_for(s.stack.bridge.wait(), stretch(SECONDS))
        s.operations.delete(PODS, "default", "g-0000")
        await on.until(lambda: "g-0000" not in on.pods())
        on.pod("foreign", cpu="2", schedulerName="other")
        await s.bind("foreign", on.scene.placed()["g-0001"])
        on.pod("g-0009", group="train", cpu="1500m")
        await s.stack.start_bridge()
        await s.until_solver(lambda counts: counts.machines == 1 and counts.bound == 2)
        await until(lambda: s.events("FailedScheduling")["g-0009"], within=SECONDS)
        s.cluster.faults.add(Fault(".*/pods/late-0001/binding", "POST", code=403, reason="Forbidden"))
        on.group("late", 2, scheduleTimeoutSeconds=2)
        for name in names("late", 2):
            on.pod(name, group="late", cpu="100m")
        await until(lambda: s.events("GangFailed")["late"], within=SECONDS)
        assert s.events("GangFailed")["train"] == 0
        assert on.nodes_of("g").keys() == {"g-0001"}
        s.operations.delete(PODS, "default", "foreign")
        await on.until(lambda: "g-0009" in on.scene.placed(), "the replacement joins")
