"""Checks, right before a binding is posted, whether the node may still take the pod.

The solver decides with a snapshot of the cluster, and some time passes until the binding is posted. Meanwhile other
schedulers bind pods, and people cordon nodes. The API server does not check whether a pod fits: it accepts a binding
that no longer fits, and the kubelet then fails the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from poseidon.nodes.machines import Machines
from poseidon.pod_rules.taint_toleration import is_tolerated
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb

PODS = "pods"
"""The resource that counts pods: every pod uses one."""

_SOFT_EFFECT = "PreferNoSchedule"
_CORDONED = pb.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_NOT_READY = pb.Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Pairs of resource and amount, each resource once; equal requests may share one tuple."""


class Absent(NamedTuple):
    """Task classes of pods that are counted on a node although they do not use it, now or when a binding arrives.

    ``now``: pods that are to be bound to the node once other pods have left it. ``later``: pods that will have left
    the node when the binding arrives, and pods that will be bound after the checked pod.
    """

    now: tuple[int, ...] = ()
    later: tuple[int, ...] = ()


def _nobody() -> Absent:
    return Absent()


class _NodeState(NamedTuple):
    """A machine's allocatable amounts, and its taints that keep pods away, each with its text for people."""

    machine: pb.Machine
    allocatable: dict[str, int]
    hard_taints: tuple[tuple[pb.Taint, str], ...]


class BindCheck:
    """A check whether a node still accepts a pod of a class, by the solver's rules.

    The rules are: capacity, cordon, readiness, and taints except ``PreferNoSchedule``. Selectors are not checked again,
    because labels of nodes change seldom.
    """

    def __init__(self, machines: Machines, requested: Requested, classes: ClassTable) -> None:
        self._machines = machines
        self._requested = requested
        self._classes = classes
        self._nodes: dict[str, _NodeState] = {}
        self._requests: dict[int, Amounts] = {}
        self._interned: dict[Amounts, Amounts] = {}

    def requests(self, task_class: int) -> Amounts:
        """Return the amounts that a pod of a class requests on its node.

        Classes with equal requests share one tuple.
        """
        known = self._requests.get(task_class)
        if known is None:
            message = self._classes.message(task_class)
            amounts = {quantity.resource: quantity.amount for quantity in message.requests} | {PODS: 1}
            known = tuple(sorted(amounts.items()))
            known = self._requests[task_class] = self._interned.setdefault(known, known)
        return known

    def forget_classes(self, numbers: Iterable[int]) -> None:
        """Remove classes that no pod has any more."""
        for number in numbers:
            self._requests.pop(number, None)
        self._interned = {amounts: amounts for amounts in self._requests.values()}

    def refusal(
        self,
        task_class: int,
        node: str,
        absent: Callable[[], Absent] = _nobody,
        shared: Callable[[], Mapping[str, int]] = dict,
    ) -> str:
        """Return why a pod of the class, already counted on the node, must not be bound to it.

        "" if the pod may be bound.

        The pod must fit beside the pods that are on the node now. Later it must also fit beside the pods that wait
        for victims to leave, because these pods keep their capacity. ``absent`` is called only if the counted pods do
        not all fit together. ``shared`` are amounts of the pod that other pods on the node use already.
        """
        machine = self._machines.get(node)
        if machine is None:
            return f"node {node} is gone"
        state = self._nodes.get(node)
        if state is None or state.machine is not machine:
            state = self._nodes[node] = _describe_node(machine)
        for taint, words in state.hard_taints:
            if not is_tolerated(taint, self._classes.message(task_class).tolerations):
                return f"node {node} {words} now"
        used = self._requested.get_requested(node)
        lacking = self._lacking(task_class, node, state, used)
        if lacking:
            own = shared()
            lacking = next(
                (
                    lacks
                    for others in absent()
                    if (
                        lacks := self._lacking(
                            task_class, node, state, self._subtract_pods(used, others), own
                        )
                    )
                ),
                "",
            )
        return lacking

    def _lacking(
        self,
        task_class: int,
        node: str,
        state: _NodeState,
        used: Mapping[str, int],
        shared: Mapping[str, int] = MappingProxyType({}),
    ) -> str:
        for resource, amount in self.requests(task_class):
            offered = state.allocatable.get(resource, 0)
            if used.get(resource, 0) > offered and amount > shared.get(resource, 0):
                others = used[resource] - amount
                return (
                    f"node {node} has too little {resource} left: {amount} needed, "
                    f"{others} of {offered} in use by now"
                )
        return ""

    def _subtract_pods(self, used: Mapping[str, int], classes: Iterable[int]) -> Mapping[str, int]:
        left = dict(used)
        for task_class in classes:
            for resource, amount in self.requests(task_class):
                left[resource] = left.get(resource, 0) - amount
        return left

    def forget(self, node: str) -> None:
        """Remove a node that has been deleted."""
        self._nodes.pop(node, None)


def _describe_node(machine: pb.Machine) -> _NodeState:
    hard_taints = [
        (taint, f"has the untolerated taint {{{taint.key}: {taint.value}}}")
        for taint in machine.taints
        if taint.effect != _SOFT_EFFECT
    ]
    if machine.unschedulable:
        hard_taints.insert(0, (_CORDONED, "is unschedulable"))
    if machine.not_ready:
        hard_taints.append((_NOT_READY, "is not ready"))
    allocatable = {quantity.resource: quantity.amount for quantity in machine.allocatable}
    return _NodeState(machine, allocatable, tuple(hard_taints))


class Requested:
    """Sums of the pods' requests by node, updated pod by pod.

    Every pod counts on at most one node. The counted amounts of each pod are remembered, so calls may come in any
    order and be repeated: the sums always equal those of a recount.
    """

    def __init__(self) -> None:
        self._charged: dict[str, tuple[str, Amounts]] = {}
        self._used: dict[str, dict[str, int]] = {}

    def put(self, uid: str, node: str, requests: Amounts) -> None:
        """Count a pod's requests on this node and on no other; ``node`` "" counts them nowhere."""
        charge = (node, requests)
        before = self._charged.get(uid)
        if before == charge:
            return
        if before is not None:
            self.drop(uid)
        if not node:
            return
        self._charged[uid] = charge
        used = self._used.get(node)
        if used is None:
            self._used[node] = dict(requests)
            return
        for resource, amount in requests:
            used[resource] = used.get(resource, 0) + amount

    def drop(self, uid: str) -> None:
        """Stop counting the requests of a pod that is counted on a node."""
        before = self._charged.pop(uid, None)
        if before is None:
            return
        node, requests = before
        used = self._used.setdefault(node, {})
        for resource, amount in requests:
            used[resource] -= amount
            if not used[resource]:
                del used[resource]
        if not used:
            del self._used[node]

    def get_requested(self, node: str) -> Mapping[str, int]:
        """Return the sums of requests on a node, without resources that no pod requests."""
        return self._used.get(node, {})
