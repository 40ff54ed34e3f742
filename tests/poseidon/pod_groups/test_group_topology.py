"""Groups in queues ask for the topologies of their queue's flavors; other groups have nothing to do with these."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.pod_groups.group_names import NATIVE_POD_GROUP, POD_GROUP, kueue_group
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.topology_annotations import REQUIRED
from poseidon.pods.priority_classes import PriorityResolver
from tests.poseidon.bridge import objects
from tests.poseidon.pod_groups.objects import native, pod, pod_group

RACKS, ROOMS = TopologyLevels("racks", ("rack",)), TopologyLevels("rooms", ("room", "rack"))


def member(name, *, size="2", level="rack"):
    """A pod of the pod group "g" of a queue of Kueue."""
    made = objects.pod(name)
    labels = {"kueue.x-k8s.io/pod-group-name": "g"}
    notes = {"kueue.x-k8s.io/pod-group-total-count": size} | ({REQUIRED: level} if level else {})
    return replace(made, metadata=replace(made.metadata, labels=labels, annotations=notes))


class Queued:
    """Groups, of which some are in a queue; ``topologies`` are those of its flavors."""

    def __init__(self, *topologies, level="rack"):
        self.topologies = topologies
        self.groups = Groups()
        self.groups.find_owner_gang = lambda _, found: kueue_group(found)
        self.groups.find_topologies = lambda uid: self.topologies if uid in ("pod-a", "pod-b") else ()
        self.groups.put_source(POD_GROUP, "1", pod_group("plain", 1))
        for each in (member("a", level=level), member("b", level=level), pod("c", group="plain")):
            self.groups.put_pod(each.metadata.uid, each)
        self.groups.take_changes()

    def look(self, name="a"):
        """Within which labels a group's pods must be, and what it waits for."""
        group = self.groups.group_of(f"pod-{name}")
        assert group is not None
        within = [label for node in self.groups.job(group).groups for label in node.within]
        return within, self.groups.waits_for(group)


def test_a_group_is_placed_by_the_topology_that_has_its_level():
    queued = Queued(RACKS, ROOMS)
    assert queued.look() == (["rack of Topology racks"], "")
    queued.topologies = (TopologyLevels("halls", ("hall",)), ROOMS)
    assert queued.look() == (["rack of Topology rooms"], "")
    assert queued.look() == (["rack of Topology rooms"], ""), "and again"
    queued.topologies = ()
    within, wait = queued.look()
    assert within == []
    assert wait.startswith("Pod group (kueue.x-k8s.io) default/g: ")
    assert "no flavor of its queue has one" in wait


def test_without_annotations_or_queue_no_topology_matters():
    queued = Queued(RACKS, level="")
    assert queued.look() == ([], "")
    assert queued.look("c") == ([], "")
    queued.groups.find_topologies = None
    assert queued.look() == ([], "")


def test_only_groups_in_queues_change_with_the_topologies_of_flavors():
    queued = Queued(RACKS)
    assert queued.groups.take_changes() == []
    queued.groups.queues_changed()
    assert [change.group.member.name for change in queued.groups.take_changes()] == ["default/g"]


def test_only_groups_that_name_a_priority_class_change_with_these():
    groups = Groups(priorities=PriorityResolver())
    for name, priority_class in (("plain", ""), ("named", "high")):
        found = native(name, 1)
        spec = replace(found.spec, priority_class_name=priority_class)
        groups.put_source(NATIVE_POD_GROUP, f"uid-{name}", replace(found, spec=spec))
        groups.put_pod(f"pod-{name}", pod(name, native=name))
    groups.put_pod("pod-unknown", pod("unknown", group="unknown"))
    groups.take_changes()
    groups.priorities_changed()
    assert [change.group.member.name for change in groups.take_changes()] == ["default/named"]
