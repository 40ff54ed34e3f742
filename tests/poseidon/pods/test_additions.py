"""What other objects add to a pod's class: claims, groups, trees, kept nodes, queues."""

from __future__ import annotations

from poseidon.devices.needs import ClaimNeed
from poseidon.pod_rules.pod_affinity import ANYWHERE, GROUP_LABEL, Colocation
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm
from poseidon.pod_rules.tolerations_from_flavors import GivenToleration
from poseidon.pods.classes import LEAST_SURPLUS, ClassTable
from poseidon.pods.tree_place import NO_TREE, TreePlace
from poseidon.volumes.requirements import NO_NEEDS, VolumeNeeds
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.builders import make_pod


class Scene:
    """A table with one pod, which has further additions."""

    def __init__(self, **spec) -> None:
        self.table = ClassTable()
        self.traits = self.table.traits(make_pod(**spec))

    @property
    def message(self) -> pb.TaskClass:
        return self.table.message(self.traits.task_class)


def test_a_pod_without_additions_has_none():
    message = Scene().message
    assert (message.machine, message.queue, message.group) == ("", "", "")
    assert not message.never_preempts
    assert not message.claims
    assert not message.tolerations
    assert not message.affinity
    assert message.id == 1


def test_a_kept_node_is_the_only_one_and_nobody_leaves_for_it():
    scene = Scene()
    scene.traits = scene.table.set_node(scene.traits, "n1")
    assert (scene.message.machine, scene.message.never_preempts) == ("n1", True)
    scene.traits = scene.table.set_node(scene.traits, "")
    assert scene.traits.task_class == 1
    assert not scene.message.never_preempts


def test_a_queue_adds_its_quota_and_what_its_flavors_tolerate():
    scene = Scene(tolerations=[{"key": "own", "operator": "Exists"}])
    given = (GivenToleration("k", "Equal", "v"),)
    scene.traits = scene.table.set_queue(scene.traits, "ClusterQueue/q", given)
    assert scene.message.queue == "ClusterQueue/q"
    found = [(each.key, each.operator, each.value, each.effect) for each in scene.message.tolerations]
    assert found == [("own", "Exists", "", ""), ("k", "Equal", "v", "NoSchedule")]


def test_a_tree_adds_its_group_and_may_forbid_to_evict():
    scene = Scene()
    scene.traits = scene.table.set_tree(scene.traits, TreePlace("g"))
    assert (scene.message.group, scene.message.never_preempts) == ("g", False)
    scene.traits = scene.table.set_tree(scene.traits, TreePlace("g", never_preempts=True))
    assert scene.message.never_preempts
    peaceful = Scene(preemptionPolicy="Never")
    peaceful.traits = peaceful.table.set_tree(peaceful.traits, TreePlace("g"))
    assert peaceful.message.never_preempts


def test_a_group_in_one_domain_is_an_affinity_of_its_pods_to_each_other():
    scene = Scene()
    scene.traits = scene.table.set_colocation(scene.traits, Colocation("ns/g", ("zone", "rack")))
    assert scene.message.labels[GROUP_LABEL] == "ns/g"
    assert [each.topology_key for each in scene.message.affinity] == ["zone", "rack"]
    [label] = scene.message.affinity[0].selector.labels
    assert (label.key, label.operator, list(label.values)) == (GROUP_LABEL, "In", ["ns/g"])
    assert scene.message.affinity[0].selector.HasField("namespaces_by_label")
    scene.traits = scene.table.set_colocation(scene.traits, ANYWHERE)
    assert scene.traits.task_class == 1


def test_a_group_without_domain_and_a_pod_with_defects_get_no_affinity():
    scene = Scene()
    scene.traits = scene.table.set_colocation(scene.traits, Colocation("ns/g", ()))
    assert not scene.message.affinity
    assert not scene.message.labels
    odd = Scene(tolerations=[{"key": "k", "effect": "?"}])
    odd.traits = odd.table.set_colocation(odd.traits, Colocation("ns/g", ("zone",)))
    assert odd.message.invalid
    assert not odd.message.affinity


def test_claims_of_devices_and_needs_of_volumes_are_added():
    scene = Scene()
    scene.traits = scene.table.set_devices(scene.traits, (ClaimNeed("gpu", "ns/c"),))
    assert [(each.name, each.claim) for each in scene.message.claims] == [("gpu", "ns/c")]
    scene.traits = scene.table.set_needs(scene.traits, VolumeNeeds(requests=(("attachable", 2),)))
    assert [(each.resource, each.amount) for each in scene.message.requests] == [("attachable", 2)]
    assert [each.name for each in scene.message.claims] == ["gpu"]
    scene.traits = scene.table.set_devices(scene.table.set_needs(scene.traits, NO_NEEDS), ())
    assert scene.traits.task_class == 1


def test_affinities_that_a_tree_keeps_are_left_out():
    term = {
        "topologyKey": "rack",
        "labelSelector": {"matchExpressions": [{"key": "part", "operator": "In", "values": ["x"]}]},
    }
    pod = make_pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    pod.metadata.labels["part"] = "x"
    table = ClassTable()
    traits = table.traits(pod)
    table.refresh()
    assert len(table.message(traits.task_class).affinity) == 1
    kept = TreePlace("g", kept_terms=(KeptTerm(("part",), "rack"),))
    assert not table.message(table.set_tree(traits, kept).task_class).affinity
    other = TreePlace("g", kept_terms=(KeptTerm(("part",), "zone"),))
    assert len(table.message(table.set_tree(traits, other).task_class).affinity) == 1


def test_equal_additions_are_the_same_traits():
    scene = Scene()
    assert scene.table.set_tree(scene.traits, NO_TREE) is scene.traits
    one = scene.table.set_node(scene.traits, "n1")
    assert scene.table.set_node(scene.traits, "n1") is one
    assert one is not scene.traits


def test_classes_are_forgotten_only_when_there_are_many():
    table = ClassTable()
    kept = table.traits(make_pod(nodeSelector={"a": "kept"}))
    for number in range(LEAST_SURPLUS - 2):
        table.intern(make_pod(nodeSelector={"a": str(number)}))
    assert table.forget_unused() == []
    table.intern(make_pod(nodeSelector={"a": "last"}))
    assert table.has_surplus
    gone = table.forget_unused()
    assert len(gone) == LEAST_SURPLUS - 1
    assert kept.task_class not in gone
    assert len(table) == 1
    assert table.intern(make_pod(nodeSelector={"a": "new"})) == LEAST_SURPLUS + 1
