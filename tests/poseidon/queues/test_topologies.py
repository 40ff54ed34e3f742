"""Topologies in queues: `poseidon plan` of files, and a bridge that hears of changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.resource import Change
from poseidon.pod_groups.topology_annotations import PREFERRED, REQUIRED, SLICE_LEVEL, SLICE_SIZE
from poseidon.pods.templates import POD_SET_GROUP
from tests.poseidon.bridge.suspended.job_cluster import JobCluster
from tests.poseidon.bridge.suspended.job_cluster import job as suspended_job
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import KUEUE, LABEL, cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_gangs_by_owner import job, owner, plan, template

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"


def topology(name="racks", levels=(BLOCK, RACK, HOST)):
    spec = {"levels": [{"nodeLabel": label} for label in levels]}
    return {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": name}, "spec": spec}


def in_topology(name="default", topology_name="racks"):
    made = flavor(name)
    made["spec"]["topologyName"] = topology_name
    return made


def place(name: str, **more):
    """A node in the block and rack that its name begins with."""
    made = node(name, **more)
    made["metadata"]["labels"] |= {BLOCK: name[0], RACK: name[1]}
    return made


NAMES = [f"{block}{rack}{number}" for block in "ab" for rack in "12" for number in "12"]
QUEUES = (
    topology(),
    in_topology(),
    cluster_queue("team", quotas(cpu=100, memory="100Gi")),
    local_queue("users", "team"),
)
CLUSTER = (*QUEUES, *(place(name, cpu=3) for name in NAMES), node("outside", cpu=16))


def asking(made: dict, **annotations: str) -> dict:
    made["spec"]["template"]["metadata"] = {"annotations": annotations}
    return made


def count_nodes(made: dict, prefix: str) -> Counter[str]:
    return Counter(each["node"] for each in made["bindings"] if each["pod"].startswith(f"shop/{prefix}"))


def messages(made: dict) -> str:
    return "\n".join(each["message"] for each in made["groups"])


def test_all_pods_of_a_job_share_a_rack(tmp_path):
    _, made = plan(tmp_path, *CLUSTER, asking(job(5), **{REQUIRED: RACK}))
    nodes = count_nodes(made, "j")
    assert len({each[:2] for each in nodes}) == 1, "racks of two blocks that have one name are two racks"
    assert sorted(nodes.values()) == [2, 3]


def test_a_job_that_no_rack_takes_waits_and_says_so(tmp_path):
    _, made = plan(tmp_path, *CLUSTER, asking(job(7), **{REQUIRED: RACK}))
    assert not made["bindings"]
    assert "needs one domain with room for its 7 pods, the roomiest takes 6" in messages(made)


def test_a_preferred_level_yields_to_the_next_one_up(tmp_path):
    _, made = plan(tmp_path, *CLUSTER, asking(job(7), **{PREFERRED: RACK}))
    nodes = count_nodes(made, "j")
    assert nodes.total() == 7
    assert len({each[0] for each in nodes}) == 1, "one block"
    assert len(nodes) == 3, "as few nodes as possible"
    _, made = plan(tmp_path, *CLUSTER, asking(job(24), **{PREFERRED: RACK}))
    assert count_nodes(made, "j").total() == 24, "nodes outside of the topology are not used"
    assert "outside" not in count_nodes(made, "j")


def test_slices_share_a_rack_each(tmp_path):
    asked = {REQUIRED: BLOCK, SLICE_LEVEL: RACK, SLICE_SIZE: "4"}
    _, made = plan(tmp_path, *CLUSTER, asking(job(8), **asked))
    nodes = count_nodes(made, "j")
    racks = Counter[str]()
    for each, count in nodes.items():
        racks[each[:2]] += count
    assert sorted(racks.values()) == [4, 4]
    assert len({each[0] for each in racks}) == 1


def test_pod_sets_of_a_job_set(tmp_path):
    def replicated(name, pods, **annotations):
        made = template()
        made["metadata"] = {"annotations": annotations}
        spec = {"parallelism": pods, "completions": pods, "template": made}
        return {"name": name, "replicas": 2, "template": {"spec": spec}}

    one = {REQUIRED: RACK, POD_SET_GROUP: "one"}
    jobs = [replicated("driver", 1, **one), replicated("workers", 2, **one), replicated("free", 3)]
    made = owner("JobSet", "jobset.x-k8s.io/v1alpha2", replicatedJobs=jobs)
    _, made = plan(tmp_path, *CLUSTER, made)
    assert len(made["bindings"]) == 12
    together = count_nodes(made, "j-driver") + count_nodes(made, "j-workers")
    assert len({each[:2] for each in together}) == 1
    assert "outside" not in count_nodes(made, "j-free")


def test_a_pod_group_shares_a_rack(tmp_path):
    pods = []
    for number in range(4):
        made = pod(f"p{number}", cpu=1)
        made["metadata"]["labels"] = {LABEL: "users", "kueue.x-k8s.io/pod-group-name": "four"}
        made["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "4", REQUIRED: RACK}
        pods.append(made)
    _, made = plan(tmp_path, *CLUSTER, *pods)
    assert len({each[:2] for each in count_nodes(made, "p")}) == 1
    assert count_nodes(made, "p").total() == 4


def test_a_level_that_no_topology_has_is_named(tmp_path):
    _, made = plan(tmp_path, *CLUSTER, asking(job(2), **{REQUIRED: "example.com/row"}))
    assert not made["bindings"]
    assert "no topology of its queue's flavors has the level example.com/row" in messages(made)


def test_a_queue_whose_topology_does_not_exist_admits_nothing(tmp_path):
    _, made = plan(tmp_path, *CLUSTER[1:], job(2))
    assert not made["bindings"]
    assert "names Topology racks, which does not exist" in str(made)


def test_without_annotations_pods_go_to_nodes_of_the_topology(tmp_path):
    _, made = plan(tmp_path, *CLUSTER, job(2))
    assert len(made["bindings"]) == 2
    assert "outside" not in count_nodes(made, "j")


@dataclass
class Racks(JobCluster):
    """Nodes in racks."""

    nodes: tuple[str, ...] = tuple(NAMES)
    queues: tuple[dict, ...] = QUEUES

    def restart(self) -> None:
        super().restart()
        nodes = [convert_object(place(name, cpu=3), Node) for name in NAMES]
        self.state.nodes_changed([Change(f"uid-{each.metadata.name}", each) for each in nodes])


def test_a_suspended_job_gets_a_rack_and_goes_on_when_its_topology_comes():
    cluster = Racks(queues=QUEUES[1:])
    cluster.create(asking(suspended_job("train", 5), **{REQUIRED: RACK}))
    cluster.settle()
    assert cluster.is_suspended("train")
    cluster.tell_queue(topology())
    cluster.settle()
    assert not cluster.is_suspended("train")
    assert len({each[:2] for each in cluster.places("train")}) == 1
    assert all(cluster.places("train"))


def test_a_job_that_waits_for_a_level_goes_on_when_the_topology_gets_it():
    cluster = Racks(queues=(topology(levels=(BLOCK, HOST)), *QUEUES[1:]))
    cluster.create(asking(suspended_job("train", 5), **{REQUIRED: RACK}))
    cluster.settle()
    assert cluster.is_suspended("train")
    cluster.tell_queue(topology())
    cluster.settle()
    assert len({each[:2] for each in cluster.places("train")}) == 1


def test_a_pod_that_replaces_another_goes_to_its_rack():
    cluster = Racks()
    cluster.create(asking(suspended_job("train", 4), **{REQUIRED: RACK}))
    cluster.settle()
    (rack,) = {each[:2] for each in cluster.places("train")}
    cluster.remove(cluster.list_pods("train")[0]["metadata"]["uid"])
    cluster.settle()
    assert len(cluster.places("train")) == 4
    assert {each[:2] for each in cluster.places("train")} == {rack}
