"""Tenants that share a cluster: the bridge's state, the solver's core, and the part of an API server."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.wire.events import events_from_proto, reports_from_proto
from firmament.wire.rounds import round_to_proto
from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pods import Pod
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import AnnouncePreempted, Bind, Evict
from poseidon.pods.tasks import get_qualified_name
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.group_trees.objects import group_map
from tests.support.needs import words_of

GROUP = "sakkara.group.name"
START = 1_800_000_000.0
CRITICAL = 2_000_001_000
"""The value of system-node-critical."""


def uid_of(name):
    """The uid of a pod of the name ``namespace/name``."""
    return str(uuid5(NAMESPACE_URL, name))


def member(name, *, namespace, group, **more):
    """A pod of a topology group."""
    return labelled(pod(name, namespace=namespace, uid=uid_of(f"{namespace}/{name}"), **more), {GROUP: group})


def single(name, *, namespace, **more):
    """A pod in no group."""
    return pod(name, namespace=namespace, uid=uid_of(f"{namespace}/{name}"), **more)


def labelled(made, labels):
    return replace(made, metadata=replace(made.metadata, labels={**made.metadata.labels, **labels}))


def mirror(made):
    """What a kubelet writes into the API for a static pod."""
    notes = {"kubernetes.io/config.mirror": "0123456789abcdef"}
    return replace(made, metadata=replace(made.metadata, annotations=notes))


class Cluster:
    """Nodes of some cores each; ``pods`` are as the API server has them, by uid. Evicted pods go at once."""

    def __init__(self, nodes=("n1",), *, cpu="2", overlays=({"name": "topology"},), **configuration):
        self.now = START
        self.pods: dict[str, Pod] = {}
        self.evicted: list[str] = []
        self.said: dict[str, str] = {}
        described = SchedulerConfiguration.model_validate({"costModels": list(overlays), **configuration})
        self.core = Scheduler(
            configuration=build_core(described),
            solver=OrToolsSolver(),
            clock=lambda: self.now,
            timer=lambda: self.now,
        )
        self.state = BridgeState(
            needs=words_of("cpu_mem", *(each["name"] for each in overlays)),
            clock=lambda: self.now,
            wall=lambda: self.now,
        )
        self.state.nodes_changed([present(node(name, cpu=cpu)) for name in nodes])
        self.core.apply(events_from_proto(self.state.snapshot()))
        self.state.gangs.begin()

    # --- what people do --------------------------------------------------------------------------------------------

    def create(self, *pods):
        for each in pods:
            self.pods[each.metadata.uid] = each
        self.state.pods_changed([present(each) for each in pods])

    def delete(self, *names):
        self.state.pods_changed([gone(self.pods.pop(uid_of(name))) for name in names])

    def group(self, name, size, *, namespace, **more):
        """A ConfigMap that describes a group."""
        self.state.gangs.group_maps_changed(
            [present(group_map(name, size, namespace=namespace, uid=f"map {namespace}/{name}", **more))]
        )

    # --- what happens ----------------------------------------------------------------------------------------------

    def run(self, rounds=6, step=30.0):
        """Let the two processes talk, and rounds run, until nothing is left to do or ``rounds`` have run."""
        for _ in range(rounds):
            self.tell()
            if self.core.next_round_in() is None:
                return
            self.hear(round_to_proto(self.core.run_round()))
            self.now += step
            self.state.expire()

    def tell(self):
        """Bring the solver up to date."""
        reports = pb.BindingReports(reports=self.state.take_reports())
        self.core.report(reports_from_proto(reports))
        self.core.apply(events_from_proto(self.state.take_events()))

    def hear(self, result):
        """Carry out a round."""
        self.state.on_round(result)
        self.carry_out()

    def carry_out(self):
        while actions := self.state.take_actions():
            for action in actions:
                self._carry_out(action)

    def _carry_out(self, action):
        match action:
            case Bind(ref, where):
                made = self.pods[ref.uid]
                self.state.binding_ended(
                    BindOutcome(BindRequest(ref.uid, ref.namespace, ref.name, where), BindResult.BOUND)
                )
                self.create(replace(made, spec=replace(made.spec, node_name=where)))
            case Evict(ref, where, beyond, message):
                self.evicted.append(str(ref))
                self.state.eviction_ended(EvictionOutcome(EvictionRequest(ref, where, beyond, message)))
                self.delete(str(ref))
            case AnnouncePreempted(ref, message):
                self.said[str(ref)] = message
            case NominatedNodeWrite():
                pass

    @property
    def places(self):
        """Where pods run, by name; those that run nowhere are left out."""
        return {
            get_qualified_name(each.metadata): each.spec.node_name
            for each in self.pods.values()
            if each.spec.node_name
        }
