"""A cluster is upgraded under both processes: versions of groups move, disappear and appear, and nothing is lost."""

from __future__ import annotations

import copy

from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, PODS
from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.support.cluster import pod
from tests.support.waiting import until

SHAPE = NodeShape("eight", cpu="8", memory="32Gi")
NAME = "podgroups.scheduling.k8s.io"


def definition(served):
    """What Kubernetes brings itself, as far as the simulated API server tells the two apart."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "scheduling.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "podgroups", "kind": "PodGroup"},
            "versions": [{"name": served, "served": True, "storage": True, "subresources": {"status": {}}}],
        },
    }


class Upgraded:
    """A cluster whose PodGroups are served in one version, or in none."""

    def __init__(self, s):
        self.s = s
        self.version = ""

    def serve(self, version):
        """Serve groups in a version; a new one knows the objects of the other."""
        made = definition(version)
        if self.version:
            self.s.operations.patch(
                CUSTOM_RESOURCE_DEFINITIONS, "", NAME, MERGE_PATCH, copy.deepcopy({"spec": made["spec"]})
            )
        else:
            create_object(self.s.operations, made)
        self.version = version

    def withdraw(self):
        """Serve none."""
        self.s.operations.delete(CUSTOM_RESOURCE_DEFINITIONS, "", NAME)
        self.version = ""

    def group(self, name):
        """Make a gang of two."""
        found = {
            "apiVersion": f"scheduling.k8s.io/{self.version}",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }
        create_object(self.s.operations, found)

    def member(self, name, group):
        create_object(self.s.operations, pod(name, cpu="1", schedulingGroup={"podGroupName": group}))

    async def until_bound(self, *names):
        await until(lambda: set(names) <= set(self.s.placed()), within=SECONDS, what=f"{names} bound")

    async def until_said(self, name, words):
        def said():
            return any(
                each["involvedObject"]["name"] == name and words in each["message"]
                for each in self.s.listed(EVENTS)
            )

        await until(said, within=SECONDS, what=f"{name}: {words}")


async def test_groups_outlive_the_versions_in_which_they_are_served(tmp_path):
    async with scene(tmp_path) as s:
        cluster = Upgraded(s)
        cluster.serve("v1alpha2")
        await s.nodes(3, [SHAPE])
        for name in ("first", "half"):
            cluster.group(name)
        for name in ("first-0", "first-1"):
            cluster.member(name, "first")
        cluster.member("half-0", "half")
        await s.start(own_solver=True)
        await cluster.until_bound("first-0", "first-1")
        assert "half-0" not in s.placed(), "half of a gang"

        cluster.serve("v1beta1")
        cluster.group("second")
        for name in ("second-0", "second-1"):
            cluster.member(name, "second")
        cluster.member("half-1", "half")
        await cluster.until_bound("second-0", "second-1", "half-0", "half-1")

        cluster.withdraw()
        cluster.member("late-0", "late")
        cluster.member("late-1", "late")
        await cluster.until_said("late-0", "PodGroup")
        await s.pods(["plain"], cpu="1")
        await cluster.until_bound("plain")

        cluster.serve("v1alpha3")
        cluster.group("late")
        await cluster.until_bound("late-0", "late-1")
        assert len(s.placed()) == len(s.listed(PODS)) == 9
        s.check_sound()
        assert "Traceback" not in s.log("bridge") + s.log("solver")
