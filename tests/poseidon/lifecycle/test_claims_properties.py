"""Pods with claims, whatever happens in whatever order: the solver ends up with what a new bridge would tell it."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.api.resource import Change
from poseidon.kube.api.storage import SELECTED_NODE
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import Bind
from poseidon.volumes.binding import VolumeOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge import objects
from tests.poseidon.bridge.solver_view import PENDING, SolverView
from tests.poseidon.volumes.objects import present
from tests.support import storage
from tests.support.effort import examples

NODES = ["n1", "n2"]
CLAIMS = ["c1", "c2", "c3"]
LOCAL = ["disk-1", "disk-2"]


class Cluster(RuleBasedStateMachine):
    """An API server with volume controllers, a bridge's state and a solver."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.state = self._new_state()
        self.view = SolverView()
        self.claims = {}
        self.volumes = {}
        self.pods = {}
        self.binds = []
        self.serial = 0

    def _new_state(self):
        state = BridgeState(
            BridgeConfiguration(volumes=VolumeOptions(bind_timeout=10.0)), clock=lambda: self.now
        )
        state.handlers[kinds.STORAGE_CLASS](
            [
                present(storage.storage_class()),
                present(storage.storage_class("local", provisioner="kubernetes.io/no-provisioner")),
            ]
        )
        state.handlers[kinds.CSI_NODE](
            [present(storage.csi_node(name, disk_example_com=2)) for name in NODES]
        )
        labels = {name: {storage.HOSTNAME: name} for name in NODES}
        state.nodes_changed([objects.present(objects.node(name, labels=labels[name])) for name in NODES])
        return state

    @initialize()
    def begin(self):
        self.view.apply(self.state.snapshot())
        for name, node in zip(LOCAL, NODES, strict=True):
            self._put_volume(name, storage.volume(name, storage_class="local", at=(storage.HOSTNAME, [node])))

    # --- the API server -----------------------------------------------------------------------------------------

    def _put_volume(self, name, value):
        self.volumes[name] = value
        self.state.handlers[kinds.VOLUME]([present(value)])

    def _put_claim(self, name, value):
        self.claims[name] = value
        self.state.handlers[kinds.CLAIM]([present(value)])

    @rule(name=st.sampled_from(CLAIMS), kind=st.sampled_from(["fast", "local"]), alone=st.booleans())
    def create_claim(self, name, kind, alone):
        if name not in self.claims:
            modes = ("ReadWriteOncePod",) if alone and kind == "fast" else ("ReadWriteOnce",)
            self._put_claim(name, storage.claim(name, storage_class=kind, modes=modes))

    @rule(
        used=st.sets(st.sampled_from(CLAIMS), min_size=1, max_size=2),
        node=st.sampled_from(["", "", "n1"]),
        priority=st.integers(0, 2),
    )
    def create_pod(self, used, node, priority):
        self.serial += 1
        volumes = tuple(
            PodVolume(name=name, persistent_volume_claim=ClaimSource(claim_name=name))
            for name in sorted(used)
        )
        made = objects.pod(f"p{self.serial}", node=node, priority=priority)
        self._put_pod(replace(made, spec=replace(made.spec, volumes=volumes)))

    def _put_pod(self, pod):
        self.pods[pod.metadata.uid] = pod
        self.state.pods_changed([objects.present(pod)])

    @rule(data=st.data())
    def delete_pod(self, data):
        if self.pods:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            del self.pods[uid]
            self.state.pods_changed([Change(uid, None)])

    @rule(data=st.data(), answer=st.sampled_from(["provide", "provide", "refuse"]))
    def provision(self, data, answer):
        """Bind a claim whose node is chosen, or take the choice back; bind one that a volume names."""
        waiting = [name for name in sorted(self.claims) if not self.claims[name]["spec"].get("volumeName")]
        if not waiting:
            return
        name = data.draw(st.sampled_from(waiting))
        value = self.claims[name]
        kind, node = value["spec"]["storageClassName"], value["metadata"]["annotations"].get(SELECTED_NODE)
        given = [
            key for key, each in self.volumes.items() if each["spec"].get("claimRef", {}).get("name") == name
        ]
        modes = tuple(value["spec"]["accessModes"])
        if given:
            bound_to = given[0]
        elif kind == "local" or not node:
            return
        elif answer == "refuse":
            self._put_claim(name, storage.claim(name, storage_class=kind, modes=modes))
            return
        else:
            bound_to = f"pv-{name}"
            made = storage.volume(
                bound_to, to=f"default/{name}", driver="disk.example.com", at=(storage.HOSTNAME, [node])
            )
            self._put_volume(bound_to, made)
        self._put_claim(name, storage.claim(name, storage_class=kind, modes=modes, volume=bound_to))

    @rule(seconds=st.sampled_from([1.0, 20.0]))
    def wait(self, seconds):
        self.now += seconds
        self.state.expire()

    # --- solver, writers, binder --------------------------------------------------------------------------------

    @rule()
    def talk(self):
        self.view.report(self.state.take_reports())
        self.view.apply(self.state.take_events())

    @rule(data=st.data())
    def solve(self, data):
        self.talk()
        result = pb.RoundResult(round=1)
        for uid in sorted(uid for uid, task in self.view.tasks.items() if task.state == PENDING):
            machine = data.draw(st.sampled_from(["", *NODES]))
            if machine:
                self.view.place(uid, machine)
                result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=machine)
        self.state.on_round(result)

    @rule(fails=st.booleans())
    def act(self, fails):
        for action in self.state.take_actions():
            if isinstance(action, SelectNode | GiveVolume):
                self._write(action, fails=fails)
            elif isinstance(action, Bind):
                self._bind(action, fails=fails)

    def _write(self, write, *, fails):
        if fails or write.claim not in self.claims:
            self.state.claim_refused(write, "no")
        elif isinstance(write, SelectNode):
            value = self.claims[write.claim]
            if not value["spec"].get("volumeName"):
                notes = {**value["metadata"]["annotations"], SELECTED_NODE: write.node}
                self._put_claim(
                    write.claim, {**value, "metadata": {**value["metadata"], "annotations": notes}}
                )
        elif "claimRef" in self.volumes[write.volume]["spec"]:
            self.state.claim_refused(write, "has changed meanwhile")
        else:
            value = self.volumes[write.volume]
            given = {"namespace": "default", "name": write.claim, "uid": write.claim_uid}
            self._put_volume(write.volume, {**value, "spec": {**value["spec"], "claimRef": given}})

    def _bind(self, bind, *, fails):
        pod = self.pods.get(bind.pod.uid)
        request = BindRequest(bind.pod.uid, bind.pod.namespace, bind.pod.name, bind.node)
        if pod is None:
            result = BindResult.GONE
        elif fails:
            result = BindResult.FAILED
        else:
            self._check_bindable(pod, bind.node)
            result = BindResult.BOUND
            self._put_pod(replace(pod, spec=replace(pod.spec, node_name=bind.node)))
        self.state.binding_ended(BindOutcome(request, result, "" if result is BindResult.BOUND else "no"))

    def _check_bindable(self, pod, node):
        """No pod is bound before all of its claims are, nor out of reach of its volumes."""
        for used in pod.spec.volumes:
            value = self.claims[used.persistent_volume_claim.claim_name]
            made = self.volumes[value["spec"]["volumeName"]]
            [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            assert term["matchExpressions"][0]["values"] == [node]
            if value["spec"]["accessModes"] == ["ReadWriteOncePod"]:
                assert not any(
                    used in other.spec.volumes and other.spec.node_name and other is not pod
                    for other in self.pods.values()
                )

    # --- in the end ---------------------------------------------------------------------------------------------

    def teardown(self):
        for _ in range(6):
            self.now += 20.0
            self.state.expire()
            self.act(fails=False)
            self.talk()
        fresh, view = self._new_state(), SolverView()
        fresh.handlers[kinds.CLAIM]([present(value) for value in self.claims.values()])
        fresh.handlers[kinds.VOLUME]([present(value) for value in self.volumes.values()])
        fresh.pods_changed([objects.present(pod) for pod in self.pods.values()])
        view.apply(fresh.snapshot())
        assert self._seen(self.view) == self._seen(view)

    @staticmethod
    def _seen(view):
        return {uid: (task.state, task.machine, task.task_class) for uid, task in view.tasks.items()}


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=examples(120), stateful_step_count=30)
