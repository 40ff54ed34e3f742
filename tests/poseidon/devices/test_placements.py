"""Devices through the bridge as a whole: whatever fails, none is had twice, none is lost, and pods get theirs.

A server that checks versions, an API watch that lags behind, a solver that goes by records alone, and a bridge that may
begin anew at any moment.
"""

from __future__ import annotations

import json
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.devices import ClaimConsumer
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.device_claim_writer import (
    DeviceClaimWrite,
    RefusedWriteError,
    WriteEnd,
    build_status,
)
from poseidon.lifecycle.actions import Bind
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.bridge.solver_view import ASSUMED, PENDING, SolverView
from tests.poseidon.devices.objects import allocation, claim, pod_of_template, with_claims
from tests.support.effort import examples

NODES = ("n1", "n2")
DEVICES = ("d0", "d1")


class Cluster:
    """An API server, a bridge that sees it late, and a solver that sees what the bridge says."""

    def __init__(self, random, pods):
        self.random = random
        self.now, self.version = 0.0, 1
        self.claims, self.pods = {}, {}
        for index in range(pods):
            name = f"p{index}"
            if random.random() < 0.25:
                left = allocation("d0") if random.random() < 0.3 else None  # by whom, nobody knows
                self.put_claim(claim("shared", given=left))
                self.pods[name] = with_claims(pod_of_template(name), "shared")
            else:
                self.pods[name] = pod_of_template(name)
            if any(not each.resource_claim_name for each in self.pods[name].spec.resource_claims):
                self.put_claim(claim(f"{name}-gpu", owner=name))
        self.start()

    def put_claim(self, found):
        self.version += 1
        metadata = replace(found.metadata, resource_version=str(self.version))
        self.claims[found.metadata.name] = replace(found, metadata=metadata)

    # --- the bridge and its solver -------------------------------------------------------------------------

    def start(self):
        """Begin anew: a bridge that knows nothing but what the server has."""
        self.state = BridgeState(
            BridgeConfiguration(), clock=lambda: self.now, wall=lambda: 1_767_225_600.0 + self.now
        )
        self.unseen, self.writes, self.binds = [], [], []
        self.state.nodes_changed([present(node(each)) for each in NODES])
        self.state.device_claims_changed([present(each) for each in self.claims.values()])
        self.state.pods_changed([present(each) for each in self.pods.values()])
        self.new_stream()

    def new_stream(self):
        self.view, self.chosen = SolverView(), {}
        self.view.apply(self.state.snapshot())

    def sync(self):
        for action in self.state.take_actions():
            if isinstance(action, DeviceClaimWrite):
                self.writes.append(action)
            elif isinstance(action, Bind):
                self.binds.append(action)
        self.view.report(self.state.take_reports())
        self.view.apply(self.state.take_events())

    def taken(self):
        """What the solver takes to be in use: by records, and by its own placements."""
        records = [json.loads(each) for (kind, _), each in self.view.records.items() if kind == "DeviceClaim"]
        given = [each["allocation"] for each in records if each["allocation"]]
        given += [
            each
            for uid, chosen in self.chosen.items()
            if uid in self.view.tasks and self.view.tasks[uid].state == ASSUMED
            for each in chosen.values()
        ]
        return {(each["pool"], each["device"]) for one in given for each in one["devices"]["results"]}

    def run_round(self):
        self.sync()
        uids = [uid for uid, task in self.view.tasks.items() if task.state == PENDING]
        self.random.shuffle(uids)
        result = pb.RoundResult(round=1)
        for uid in uids:
            wanted = self.claims_of(uid)
            machine = self.choose(uid, wanted)
            if machine is None:
                result.unscheduled.add(tasks=[uid], message="cannot allocate all claims")
                continue
            self.view.place(uid, machine)
            delta = result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=machine)
            for name, devices in self.chosen[uid].items():
                delta.allocations.add(name=name, allocation=json.dumps(devices))
        self.state.on_round(result)
        self.sync()

    def claims_of(self, uid):
        return list(pb.TaskClass.FromString(self.view.tasks[uid].task_class).claims)

    def choose(self, uid, wanted):
        """Choose a node and devices for a task; note them in ``chosen``."""
        for machine in self.random.sample(NODES, len(NODES)):
            taken, chosen = self.taken(), {}
            for each in wanted:
                known = json.loads(self.view.records["DeviceClaim", each.claim]) if each.claim else {}
                given = known.get("allocation")
                if given:
                    fits = given["devices"]["results"][0]["pool"] == machine
                else:
                    free = [d for d in DEVICES if (machine, d) not in taken]
                    fits = bool(free)
                    if fits:
                        chosen[each.name] = allocation(free[0], node=machine)
                        taken.add((machine, free[0]))
                if not fits:
                    break
            else:
                self.chosen[uid] = chosen
                return machine
        return None

    # --- the API server ------------------------------------------------------------------------------------

    def show(self):
        """Let the watch show the next change, or some."""
        for _ in range(self.random.randint(1, 3)):
            if not self.unseen:
                break
            found = self.unseen.pop(0)
            if hasattr(found.spec, "containers"):
                self.state.pods_changed([present(found)])
            else:
                self.state.device_claims_changed([present(found)])
        self.sync()

    def carry_out(self, *, harm):
        """Carry out the oldest write, as the writer does: upon the claim as it is; the answer may be lost."""
        if not self.writes:
            return
        write = self.writes.pop(0)
        fate = self.random.random() if harm else 1.0
        if fate < 0.1:
            self.end(WriteEnd(write, "no answer", unsure=True))
            return
        end = self.make(write)
        self.end(WriteEnd(write, "no answer", unsure=True) if fate < 0.25 else end)

    def make(self, write):
        found = self.claims[write.claim.metadata.name]
        try:
            change = build_status(found, write)
        except RefusedWriteError as error:
            return WriteEnd(write, str(error), found)
        if change is not None:
            given = change.get("allocation", found.status.allocation)
            reserved = msgspec.convert(change["reservedFor"] or (), tuple[ClaimConsumer, ...])
            status = replace(found.status, allocation=given, reserved_for=reserved)
            self.put_claim(replace(found, status=status))
            found = self.claims[found.metadata.name]
            self.unseen.append(found)
        self.check_devices()
        return WriteEnd(write, claim=found)

    def end(self, end):
        self.state.device_claim_written(end)
        self.sync()

    def bind(self, *, harm):
        """Bind the oldest pod; a kubelet takes it only with claims that are reserved for it."""
        if not self.binds:
            return
        pod, machine, _ = self.binds.pop(0)
        fate = self.random.random() if harm else 1.0
        result = BindResult.BOUND
        if self.state.refusal(pod.uid, machine) or fate < 0.15:
            result = BindResult.WITHHELD
        elif fate < 0.3:
            result = BindResult.FAILED
        if result is BindResult.BOUND or (result is BindResult.FAILED and fate < 0.2):
            self.run(pod.name, machine)
        request = BindRequest(pod.uid, pod.namespace, pod.name, machine)
        self.state.binding_ended(BindOutcome(request, result, "" if result is BindResult.BOUND else "no"))
        self.sync()

    def run(self, name, machine):
        found = self.pods[name]
        if found.spec.node_name:
            return
        assert self.holds(name, machine), f"{name} is bound without its devices"
        self.pods[name] = replace(found, spec=replace(found.spec, node_name=machine))
        self.unseen.append(self.pods[name])

    def holds(self, name, machine):
        wanted = [each.resource_claim_name for each in self.pods[name].spec.resource_claims]
        names = [each or f"{name}-gpu" for each in wanted]
        return all(
            (found := self.claims[each]).status.allocation
            and found.status.allocation["devices"]["results"][0]["pool"] == machine
            and f"pod-{name}" in [consumer.uid for consumer in found.status.reserved_for]
            for each in names
        )

    def check_devices(self):
        """No device is in the status of two claims."""
        had = [
            (each["pool"], each["device"])
            for found in self.claims.values()
            if found.status.allocation
            for each in found.status.allocation["devices"]["results"]
        ]
        assert len(had) == len(set(had)), had

    def step(self, *, harm=True):
        self.now += self.random.choice((0.0, 0.1, 3.0))
        self.state.expire()
        self.sync()
        what = self.random.random()
        if what < 0.3:
            self.show()
        elif what < 0.55:
            self.carry_out(harm=harm)
        elif what < 0.75:
            self.bind(harm=harm)
        elif what < 0.95 or not harm:
            self.run_round()
        elif what < 0.97:
            # What was on its way arrives before the next process has read anything, or never.
            for write in self.writes:
                if self.random.random() < 0.5:
                    self.make(write)
            self.start()
        else:
            self.new_stream()


@pytest.mark.parametrize("seed", range(examples(60)))
def test_no_device_is_had_twice_and_none_is_lost(seed):
    random = Random(seed)
    cluster = Cluster(random, pods=random.randint(1, 6))
    for _ in range(120):
        cluster.step()
        cluster.check_devices()
    for _ in range(400):
        cluster.step(harm=False)
    for found in cluster.claims.values():
        if found.status.allocation:
            assert found.status.reserved_for, f"{found.metadata.name} has devices that nobody uses"
        for consumer in found.status.reserved_for:
            assert cluster.pods[consumer.name].spec.node_name, f"{consumer.name} waits, and keeps its devices"
    bound = [each for each in cluster.pods.values() if each.spec.node_name]
    assert len(bound) == len(cluster.pods) or len(cluster.taken()) == len(NODES) * len(DEVICES)
