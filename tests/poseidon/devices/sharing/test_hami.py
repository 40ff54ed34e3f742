"""Parts of GPUs as HAMi has them: inventories, claims, annotations, and one pod of a node after another."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.sharing import hami
from poseidon.embedding import load_configuration
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd, apply_status, build_status
from poseidon.lifecycle.actions import Bind
from poseidon.manifests.loader import load_manifests
from poseidon.offline.plan import make_plan
from protos.firmament.v1 import scheduler_pb2 as pb

OLD = "GPU-a,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,0,true:GPU-b,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,1,false:"
NEW = json.dumps(
    [
        {"id": "GPU-a", "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-A100", "health": True},
        {"id": "GPU-b", "count": 10, "devmem": 40960, "devcore": 100, "type": "NVIDIA-A100", "health": True},
    ]
)
SHARING = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
devices: {sharing: [hami]}
"""


def node(name="n1", inventory=NEW):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {hami.INVENTORY: inventory} if inventory else {}},
        "status": {"allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"}},
    }


def pod(name, *containers, node_name="", **annotations):
    """A pod; of each container what it states besides one GPU, None for one without."""
    told = {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()}
    listed = [
        {"name": f"c{number}", "image": "i", "resources": {"limits": {} if each is None else dict(each)}}
        for number, each in enumerate(containers)
    ]
    spec = {"containers": listed, **({"nodeName": node_name} if node_name else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": told},
        "spec": spec,
    }


def gpu(count=1, memory=None, cores=None, percent=None):
    stated = {"nvidia.com/gpu": str(count)}
    for key, value in (("gpumem", memory), ("gpucores", cores), ("gpumem-percentage", percent)):
        if value is not None:
            stated[f"nvidia.com/{key}"] = str(value)
    return stated


def plan(tmp_path, *objects, sharing=True):
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    (tmp_path / "configuration").write_text(SHARING)
    configuration = load_configuration(tmp_path / "configuration" if sharing else None)
    return make_plan(load_manifests([str(tmp_path / "all.yaml")]), configuration, 1_716_199_325.0)


def allocated(made):
    return {each.pod.partition("/")[2]: each.annotations[hami.ALLOCATED] for each in made.bindings}


def test_inventories_of_either_form_are_read_and_gpus_that_are_not_healthy_are_none():
    assert hami.read_inventory(OLD) == [
        hami.Gpu("GPU-a", 10, 32768, 100, "NVIDIA-Tesla V100-PCIE-32GB", 0, "")
    ]
    assert [gpu.id for gpu in hami.read_inventory(NEW)] == ["GPU-a", "GPU-b"]
    with pytest.raises(ValueError, match="seven parts"):
        hami.read_inventory("GPU-a,10")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" + "9" * 5_000 + "]",
        '[{"id": "a", "devmem": 1e400}]',
        "[null]",
        '[{"id": "\\ud800"}]',
        "a,b",
    ],
)
def test_a_node_whose_gpus_cannot_be_read_takes_other_pods(tmp_path, text):
    made = plan(tmp_path, node("n1", text), pod("p", None))
    assert [each.node for each in made.bindings] == ["n1"]


def test_a_pod_is_annotated_as_the_device_plugin_expects(tmp_path):
    made = plan(tmp_path, node(inventory=OLD), pod("p", gpu(memory=3000)))
    [binding] = made.bindings
    assert binding.as_json()["annotations"] == {
        "hami.io/vgpu-devices-allocated": "GPU-a,NVIDIA,3000,0:;",
        "hami.io/vgpu-devices-to-allocate": "GPU-a,NVIDIA,3000,0:;",
        "hami.io/vgpu-node": "n1",
        "hami.io/bind-time": "1716199325",
        "hami.io/bind-phase": "allocating",
    }


def test_containers_without_gpus_have_an_empty_part(tmp_path):
    made = plan(tmp_path, node(), pod("p", None, gpu(2, memory=1024, cores=30)))
    assert allocated(made) == {"p": ";GPU-a,NVIDIA,1024,30:GPU-b,NVIDIA,1024,30:;"}


def test_without_a_figure_a_pod_has_the_whole_memory_and_a_percentage_is_of_its_gpu(tmp_path):
    made = plan(tmp_path, node(), pod("half", gpu(percent=50)), pod("whole", gpu()))
    assert allocated(made) == {"half": "GPU-a,NVIDIA,20480,0:;", "whole": "GPU-b,NVIDIA,40960,0:;"}


@pytest.mark.parametrize(
    ("order", "expected"), [("binpack", "GPU-b"), ("spread", "GPU-a"), ("other", "GPU-a")]
)
def test_a_pod_may_want_gpus_that_others_use_much_or_little(tmp_path, order, expected):
    there = pod("there", gpu(memory=30_000), node_name="n1")
    there["metadata"]["annotations"] = {
        hami.NODE: "n1",
        hami.ALLOCATED: "GPU-b,NVIDIA,30000,0:;",
        hami.BIND_PHASE: "success",
    }
    there["status"] = {"phase": "Running"}
    asked = pod("p", gpu(memory=5_000))
    asked["metadata"]["annotations"] = {"hami.io/gpu-scheduler-policy": order}
    assert allocated(plan(tmp_path, node(), there, asked)) == {"p": f"{expected},NVIDIA,5000,0:;"}


def test_memory_cores_and_slots_are_never_given_twice(tmp_path):
    pods = [pod(f"p{n}", gpu(memory=20_000, cores=40)) for n in range(6)]
    made = plan(tmp_path, node(), *pods)
    assert len(made.bindings) == 4
    assert sorted(allocated(made).values()) == [
        *["GPU-a,NVIDIA,20000,40:;"] * 2,
        *["GPU-b,NVIDIA,20000,40:;"] * 2,
    ]
    assert {each.reason.partition(".")[0] for each in made.pending} == {
        "0/1 nodes are available: 1 cannot allocate all claims"
    }


def test_all_cores_of_a_gpu_leave_nothing_for_others(tmp_path):
    made = plan(tmp_path, node(), pod("all", gpu(memory=10, cores=100)), pod("a", gpu(memory=10)))
    assert sorted(each.partition(",")[0] for each in allocated(made).values()) == ["GPU-a", "GPU-b"]


def test_what_running_pods_have_counts(tmp_path):
    running = pod("old", gpu(), node_name="n1")
    running["metadata"]["annotations"] = {hami.ALLOCATED: "GPU-a,NVIDIA,40960,0:;"}
    made = plan(tmp_path, node(), running, pod("p", gpu(memory=1)))
    assert allocated(made) == {"p": "GPU-b,NVIDIA,1,0:;"}


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"nvidia.com/use-gputype": "v100,a40"}, ["v"]),
        ({"nvidia.com/nouse-gputype": "V100"}, ["n"]),
        ({"nvidia.com/use-gpuuuid": "GPU-b"}, ["n"]),
        ({"nvidia.com/nouse-gpuuuid": "GPU-b"}, ["n", "v"]),
        ({"nvidia.com/use-gputype": "H100"}, []),
    ],
)
def test_pods_choose_gpus_by_annotations(tmp_path, annotations, expected):
    wants = pod("p", gpu(memory=1))
    wants["metadata"]["annotations"] = annotations
    old = OLD.replace("GPU-a", "GPU-v")
    made = plan(tmp_path, node("v", old), node("n"), wants)
    nodes = {each.node for each in made.bindings}
    assert nodes <= set(expected)
    assert bool(nodes) == bool(expected)


def test_without_the_setting_nothing_is_read(tmp_path):
    made = plan(tmp_path, node(), pod("p", gpu(memory=1)), sharing=False)
    assert not made.bindings
    assert "Insufficient nvidia.com/gpu" in made.pending[0].reason


class Live:
    """A bridge with one node of HAMi's, and a solver that says which parts pods get."""

    def __init__(self):
        self.now, self.pods = 1_000.0, {}
        configuration = BridgeConfiguration.model_validate({"devices": {"sharing": ["hami"]}})
        self.state = BridgeState(configuration, clock=lambda: self.now, wall=lambda: self.now)
        self.state.nodes_changed([Change("n1", msgspec.convert(node(), Node))])
        list(self.state.snapshot())

    def show(self, name, version, node_name="", **annotations):
        given = pod(name, gpu(memory=3000), node_name=node_name)
        given["spec"]["schedulerName"] = "poseidon"
        given["metadata"] |= {"uid": name, "resourceVersion": str(version), "annotations": annotations}
        self.state.pods_changed([Change(name, msgspec.convert(given, Pod))])
        self.state.take_events()

    def place(self, name, device="GPU-a"):
        result = pb.RoundResult(round=1)
        delta = result.deltas.add(kind=pb.Delta.PLACE, task=name, machine="n1")
        part = hami.make_allocation("n1", name, [[hami.GpuPart(device, 3000, 0)]])
        delta.allocations.add(name=hami.DRIVER, allocation=json.dumps(part))
        self.state.on_round(result)

    def take(self):
        actions = self.state.take_actions()
        writes = [each for each in actions if isinstance(each, DeviceClaimWrite)]
        return writes, [each.pod.name for each in actions if isinstance(each, Bind)]

    def end(self, write, version):
        change = build_status(write.claim, write)
        assert change is not None
        claim = apply_status(write.claim, change)
        metadata = msgspec.structs.replace(claim.metadata, resource_version=str(version))
        self.state.device_claim_written(
            WriteEnd(write, claim=msgspec.structs.replace(claim, metadata=metadata))
        )
        return write.instead(change, self.now)


def test_a_pod_is_annotated_before_it_is_bound():
    live = Live()
    live.show("p", 1)
    live.place("p")
    ([write], bound) = live.take()
    assert bound == []
    path, patch = live.end(write, 2)
    assert path == "/api/v1/namespaces/default/pods/p"
    assert patch["metadata"]["uid"] == "p"
    assert patch["metadata"]["annotations"][hami.ALLOCATED] == "GPU-a,NVIDIA,3000,0:;"
    assert live.take() == ([], ["p"])


def test_on_a_node_the_next_pod_is_annotated_when_the_one_before_has_its_gpus():
    live = Live()
    for name in ("p", "q"):
        live.show(name, 1)
        live.place(name)
    ([write], _) = live.take()
    live.end(write, 2)
    assert live.take() == ([], ["p"])
    told = {hami.ALLOCATED: "GPU-a,NVIDIA,3000,0:;", hami.NODE: "n1", hami.BIND_PHASE: hami.ALLOCATING}
    live.show("p", 3, "n1", **told)
    assert live.take() == ([], [])
    live.show("p", 4, "n1", **{**told, hami.BIND_PHASE: "success"})
    ([write], _) = live.take()
    assert write.key == "default/q:hami"


def test_a_turn_ends_when_its_pod_is_gone_or_after_five_minutes():
    for gone in (True, False):
        live = Live()
        for name in ("p", "q"):
            live.show(name, 1)
            live.place(name)
        ([write], _) = live.take()
        if gone:
            live.state.pods_changed([Change("p", None)])
        else:
            live.end(write, 2)
            live.take()
            live.now += 301.0
            live.state.device_effects.expire()
        assert [each.key for each in live.take()[0] if each.join] == ["default/q:hami"]


def test_an_older_view_of_a_pod_does_not_take_its_gpus():
    live = Live()
    live.show("p", 1)
    live.place("p")
    ([write], _) = live.take()
    live.end(write, 5)
    live.show("p", 3)
    [record] = [
        event.record
        for event in live.state.snapshot()
        if event.HasField("record") and event.record.key.name == "default/p:hami"
    ]
    assert json.loads(record.payload)["allocation"] is not None
