"""The true use of pods; simulated metrics report it late, in part, or wrongly.

A pod's use is stated in its annotation ``simulated.poseidon.io/usage``, in JSON:

    {"cpu": "300m", "memory": "85%", "noise": 0.2}

Amounts are quantities, or percentages of what the pod requests. A resource that the annotation does not name is used
as requested. With ``noise`` 0.2, the use of cpu varies by up to 20 %. Each pod with ``noise`` draws a new figure
every minute; pods with the same ``together`` draw the same figure. The same annotation on a node states what the node
uses in addition to its pods. Pods use nothing before they run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.node_rules import amount, parse_quantity
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

USAGE = "simulated.poseidon.io/usage"
"""Annotation that states the use of a pod or node."""

NOISE_PERIOD = 60.0
"""Seconds after which a new figure for the noise is drawn."""

_RESOURCES = ("cpu", "memory")
_CLASS_LABEL, _QUALITY_LABEL = "koordinator.sh/priority-class", "koordinator.sh/qosClass"
_CLASSES = {9: "koord-prod", 7: "koord-mid", 5: "koord-batch", 3: "koord-free"}
"""Koordinator's priority classes by thousands of ``spec.priority``."""


class Use(NamedTuple):
    """The use of cpu in milli-cores, and of memory in bytes."""

    cpu: int = 0
    memory: int = 0

    def plus(self, other: Use) -> Use:
        """Return the sum of this use and another one."""
        return Use(self.cpu + other.cpu, self.memory + other.memory)


class RunningPod(NamedTuple):
    """A pod that runs on a node, and its average use."""

    namespace: str
    """Namespace of the pod."""
    name: str
    """Name of the pod."""
    node: str
    """The node on which the pod runs."""
    priority: str
    """The pod's priority class, as koordlet sees it."""
    mean: Use
    """Average use of the pod."""
    noise: float
    """Share by which the pod's use varies, from 0 to 1."""
    draws: str
    """Name of the pod's random draws; pods with the same name vary alike."""

    def use_at(self, time: float) -> Use:
        """Return the pod's use at a time, which is the same in every run."""
        if not self.noise:
            return self.mean
        draw = hashlib.blake2b(f"{self.draws}/{int(time // NOISE_PERIOD)}".encode(), digest_size=8).digest()
        share = int.from_bytes(draw) / 2**63 - 1.0
        return Use(max(0, round(self.mean.cpu * (1.0 + self.noise * share))), self.mean.memory)


class _Profile(NamedTuple):
    """The content of the annotation `USAGE`."""

    mean: Use
    noise: float = 0.0
    together: str = ""


class TrueUse:
    """Reads nodes and running pods from a store, and returns their true use at any time."""

    def __init__(self, store: Store) -> None:
        self._pods = Follower(store.collection("pods"))
        self._nodes = Follower(store.collection("nodes"))
        self._running: dict[str, RunningPod] = {}
        self._on_node: dict[str, dict[str, RunningPod]] = {}
        self._own: dict[str, Use] = {}

    def refresh(self) -> None:
        """Read what has changed in the store."""
        anew, changes = self._nodes.take_changes()
        if anew:
            self._own.clear()
        for gone, record in changes:
            if gone:
                self._own.pop(record.name, None)
            else:
                self._own[record.name] = _profile(decode(record), requests=Use()).mean
        anew, changes = self._pods.take_changes()
        if anew:
            self._running.clear()
            self._on_node.clear()
        for gone, record in changes:
            running = self._running.pop(record.key, None)
            if running is not None:
                del self._on_node[running.node][record.key]
            if not gone:
                self._enter(record)

    @property
    def nodes(self) -> Iterable[str]:
        """The names of all nodes."""
        return self._own.keys()

    def pods_on(self, node: str) -> Iterable[RunningPod]:
        """Return the pods that run on a node."""
        return self._on_node.get(node, {}).values()

    def own_use(self, node: str) -> Use:
        """Return what a node uses in addition to its pods."""
        return self._own.get(node, Use())

    def of_node(self, node: str, time: float) -> Use:
        """Return what a node and its pods use together at a time."""
        total = self.own_use(node)
        for pod in self.pods_on(node):
            total = total.plus(pod.use_at(time))
        return total

    def _enter(self, record: Record) -> None:
        pod = decode(record)
        node = pod["spec"].get("nodeName") or ""
        if not node or (pod.get("status") or {}).get("phase") != "Running":
            return
        profile = _profile(pod, requests=_requests(pod["spec"]))
        draws = profile.together or record.uid
        running = RunningPod(
            record.namespace, record.name, node, _priority_class(pod), profile.mean, profile.noise, draws
        )
        self._running[record.key] = running
        self._on_node.setdefault(node, {})[record.key] = running


def _priority_class(pod: Object) -> str:
    """Return Koordinator's priority class of a pod, by the pod's label, else its priority, else its QoS class."""
    labels = pod["metadata"].get("labels") or {}
    if labels.get(_CLASS_LABEL) in _CLASSES.values():
        return str(labels[_CLASS_LABEL])
    named = _CLASSES.get((pod["spec"].get("priority") or 0) // 1000)
    if named and _CLASS_LABEL not in labels:
        return named
    quality = labels.get(_QUALITY_LABEL) or ("BE" if pod["status"].get("qosClass") == "BestEffort" else "LS")
    return "koord-batch" if quality == "BE" else "koord-prod"


def _requests(spec: Object) -> Use:
    """Return the sum of what the pod's containers request."""
    total = Use()
    for container in spec.get("containers") or ():
        given = (container.get("resources") or {}).get("requests") or {}
        total = total.plus(Use(*(amount(name, str(given.get(name, 0))) for name in _RESOURCES)))
    return total


def _profile(obj: Object, *, requests: Use) -> _Profile:
    """Return the content of the annotation `USAGE`; an annotation that cannot be read counts as absent."""
    text = (obj["metadata"].get("annotations") or {}).get(USAGE)
    if text is None:
        return _Profile(requests)
    try:
        given = msgspec.json.decode(text, type=dict[str, str | int | float])
        noise = float(given.pop("noise", 0.0))
        together = str(given.pop("together", ""))
        parts = [
            _part(name, str(given.get(name, "100%")), whole) for name, whole in requests._asdict().items()
        ]
    except (ValueError, msgspec.MsgspecError):
        return _Profile(requests)
    return _Profile(Use(*parts), min(max(noise, 0.0), 1.0), together)


def _part(resource: str, given: str, whole: int) -> int:
    """Return an amount that is stated as a quantity or as a percentage of ``whole``.

    Raises ``ValueError`` if the text is neither.
    """
    value = parse_quantity(given.removesuffix("%"))
    if value is None:
        raise ValueError(f"{given!r} is not a quantity")
    return round(whole * value / 100) if given.endswith("%") else amount(resource, given)
