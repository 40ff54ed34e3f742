"""What changes a cluster beside the scheduler and its users: kubelets, another scheduler, nodes that come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.programs.simulation import workload
from tests.programs.simulation.api_server import (
    NODES,
    PODS,
    ApiServer,
    Object,
    Refused,
    finished,
    merged,
    stamp,
)
from tests.programs.simulation.event_queue import EventQueue


def leaving(pod: Object) -> bool:
    """Whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def fits(pods: list[Object], node: Object, guest: Object) -> str:
    """Return what a node lacks for one more pod by a kubelet's rule, "" if it takes it."""
    offered = workload.allocatable(node)
    for resource, amount in workload.requests(guest).items():
        used = sum(workload.held(each).get(resource, 0) for each in pods)
        if used + amount > offered.get(resource, 0):
            return resource
    return ""


def requests_of(pod: Object) -> dict[str, str]:
    """Return what the container of a pod asks for."""
    return dict(pod["spec"]["containers"][0]["resources"]["requests"])


def _resized(pod: Object) -> bool:
    """Whether a running pod asks for something else than it has been given."""
    return requests_of(pod) != pod["status"]["containerStatuses"][0]["allocatedResources"]


class Kubelets:
    """Each runs the pods of its node: admits them by its own rule, resizes, ends and removes them.

    A kubelet of a node in ``down`` does nothing.
    """

    def __init__(self, queue: EventQueue, api: ApiServer) -> None:
        self._queue = queue
        self._api = api
        self.down: set[str] = set()
        self.lasting = False
        """Pods that run go on running."""
        self.is_prepared: Callable[[Object], bool] = lambda _pod: True
        """Whether a pod has the devices that it claims: none is started before."""
        self._resizing: set[str] = set()

    def pod_changed(self, kind: str, pod: Object) -> None:
        """Take a change of a pod."""
        random = self._queue.random
        if kind == "DELETED" or not pod["spec"].get("nodeName") or finished(pod):
            return
        if leaving(pod):
            self._queue.after(0.1 + 2.0 * random.random(), lambda: self._take_away(pod))
        elif pod["status"]["phase"] == "Pending":
            self._queue.after(0.05 + random.random() * 0.5, lambda: self._admit(pod))
        elif (
            pod["status"]["phase"] == "Running"
            and _resized(pod)
            and pod["metadata"]["uid"] not in self._resizing
        ):
            self._resizing.add(pod["metadata"]["uid"])
            self._queue.after(0.1 + random.random() * 2, lambda: self._resize(pod))

    def look_anew(self) -> None:
        """Take all pods as they are: the server has come back from a copy."""
        for pod in self._api.all(PODS):
            self.pod_changed("MODIFIED", pod)
            if pod["status"]["phase"] == "Running" and not leaving(pod):
                self._end_in_time(pod)
            elif finished(pod):
                self._queue.after(self._queue.random.expovariate(1 / 10), partial(self._clean, pod))

    def _unattended(self, node: str, again: Callable[[], None]) -> bool:
        if node in self.down:
            self._queue.after(1.0, again)
            return True
        return False

    def _take_away(self, given: Object) -> None:
        pod = self._mine(given)
        if pod is None or not leaving(pod):
            return
        if not self._unattended(pod["spec"]["nodeName"], lambda: self._take_away(given)):
            self._api.remove(PODS, pod)

    def _mine(self, given: Object) -> Object | None:
        """Return the present state of a pod, None if it is gone, or waits again: the server came back from a copy."""
        pod = self._api.current(PODS, given)
        return pod if pod is not None and pod["spec"].get("nodeName") else None

    def _admit(self, given: Object) -> None:
        pod = self._mine(given)
        if pod is None or finished(pod) or leaving(pod) or pod["status"]["phase"] != "Pending":
            return
        name = pod["spec"]["nodeName"]
        node = self._api.find(NODES, "", name)
        if node is None or self._unattended(name, lambda: self._admit(given)):
            return
        if not self.is_prepared(pod):
            self._queue.after(1.0, lambda: self._admit(given))
            return
        lacks = fits(self._running_on(name), node, pod)
        if lacks:
            self._queue.tell(f"kubelet {name} refuses {pod['metadata']['name']}: OutOf{lacks}")
            self._end(pod, "Failed", f"OutOf{lacks}")
            return
        condition = {"type": "Initialized", "status": "True", "lastTransitionTime": stamp(self._queue.wall())}
        asked = requests_of(pod)
        status = {
            **pod["status"],
            "phase": "Running",
            "containerStatuses": workload.container_status(asked, asked),
        }
        status["conditions"] = merged(status.get("conditions", ()), [condition])
        running = self._api.replace(PODS, {**pod, "status": status})
        self._end_in_time(running)

    def _end_in_time(self, running: Object) -> None:
        if not running["metadata"]["labels"].get("lasting"):
            self._queue.after(self._queue.random.expovariate(1 / 15), lambda: self._finish(running))

    def _running_on(self, name: str) -> list[Object]:
        return [
            each
            for each in self._api.all(PODS)
            if each["spec"].get("nodeName") == name and each["status"]["phase"] == "Running"
        ]

    def _resize(self, given: Object) -> None:
        """Allocate what a pod asks for by now, if there is room; the container follows a moment later."""
        pod = self._mine(given)
        node = self._api.find(NODES, "", given["spec"]["nodeName"])
        if (
            pod is None
            or node is None
            or pod["status"]["phase"] != "Running"
            or leaving(pod)
            or not _resized(pod)
        ):
            self._resizing.discard(given["metadata"]["uid"])
            return
        name, uid = node["metadata"]["name"], pod["metadata"]["uid"]
        if self._unattended(name, lambda: self._resize(given)):
            return
        others = [each for each in self._running_on(name) if each["metadata"]["uid"] != uid]
        lacks = fits(others, node, pod)
        asked, status = requests_of(pod), dict(pod["status"])
        if lacks:
            alone = fits([], node, pod)
            condition = {"type": "PodResizePending", "status": "True"}
            condition["reason"] = "Infeasible" if alone else "Deferred"
            status["conditions"] = merged(status.get("conditions", ()), [condition])
            if status["conditions"] != pod["status"].get("conditions"):
                self._queue.tell(f"kubelet {name} puts {pod['metadata']['name']} off: {condition['reason']}")
                self._api.replace(PODS, {**pod, "status": status})
            self._queue.after(2.0, lambda: self._resize(given))
            return
        self._queue.tell(f"kubelet {name} resizes {pod['metadata']['name']} to {asked}")
        actual = pod["status"]["containerStatuses"][0]["resources"]["requests"]
        status["containerStatuses"] = workload.container_status(asked, actual)
        status["conditions"] = [
            each for each in status.get("conditions", ()) if each["type"] != "PodResizePending"
        ]
        self._api.replace(PODS, {**pod, "status": status})
        self._queue.after(self._queue.random.random(), lambda: self._carried_out(given))

    def _carried_out(self, given: Object) -> None:
        """The container has what was allocated to it."""
        self._resizing.discard(given["metadata"]["uid"])
        pod = self._api.current(PODS, given)
        if pod is not None and pod["status"]["phase"] == "Running":
            allocated = pod["status"]["containerStatuses"][0]["allocatedResources"]
            statuses = workload.container_status(allocated, allocated)
            self._api.replace(PODS, {**pod, "status": {**pod["status"], "containerStatuses": statuses}})

    def _finish(self, given: Object) -> None:
        pod = self._mine(given)
        if pod is None or pod["status"]["phase"] != "Running" or leaving(pod) or self.lasting:
            return
        if not self._unattended(pod["spec"]["nodeName"], lambda: self._finish(given)):
            self._end(pod, self._queue.random.choice(("Succeeded", "Succeeded", "Failed")), "")

    def _end(self, pod: Object, phase: str, reason: str) -> None:
        status = {**pod["status"], "phase": phase}
        if reason:
            status["reason"] = reason
        ended = self._api.replace(PODS, {**pod, "status": status})
        self._queue.after(self._queue.random.expovariate(1 / 10), lambda: self._clean(ended))

    def _clean(self, given: Object) -> None:
        pod = self._api.current(PODS, given)
        if pod is not None and finished(pod):
            self._api.remove(PODS, pod)


@dataclass
class Rival:
    """Another scheduler, which binds pods of its own where they fit by what the API server shows at that moment."""

    queue: EventQueue
    api: ApiServer
    every: float = 2.0
    active: bool = True
    careless: float = 0.1
    meddling: float = 0.1
    """Share of its acts that are about pods which are not its own."""
    nominating: float = 0.2
    """Share of its pods that wait for a while, nominated for their node, and are bound if there is room then."""
    _serial: int = 0

    def begin(self) -> None:
        """Act from now on."""
        self.queue.after(self.queue.random.random(), self._act)

    def _act(self) -> None:
        random = self.queue.random
        self.queue.after(random.expovariate(1 / self.every), self._act)
        nodes = self.api.all(NODES)
        if not self.active or not nodes:
            return
        theirs = [pod for pod in self.api.all(PODS) if pod["spec"]["schedulerName"] == workload.RIVAL]
        if len(theirs) > 6 or (theirs and random.random() < 0.3):
            self.api.delete_pod(random.choice(theirs))
            return
        node = random.choice(nodes)
        if random.random() < self.meddling:
            self._meddle(node)
            return
        self._serial += 1
        made = workload.pod(
            f"rival{self._serial}",
            workload.random_requests(random),
            scheduler=workload.RIVAL,
            labels={"lasting": "yes"},
        )
        name = node["metadata"]["name"]
        if random.random() < self.nominating:
            self._nominate(made, name)
            return
        here = [p for p in self.api.all(PODS) if p["spec"].get("nodeName") == name and not finished(p)]
        if fits(here, node, made) and random.random() >= self.careless:
            return
        pod = self.api.create(PODS, made)
        self.queue.tell(f"rival binds {pod['metadata']['name']} to {name}")
        try:
            self.api.bind(pod, name)
        except Refused as refused:
            self.queue.tell(f"rival is refused: {refused}")

    def _nominate(self, made: Object, name: str) -> None:
        made["spec"]["priority"] = self.queue.random.choice((0, 10, 500))
        made["status"]["nominatedNodeName"] = name
        pod = self.api.create(PODS, made)
        self.queue.tell(f"rival nominates {pod['metadata']['name']} for {name}")
        self.queue.after(self.queue.random.random() * 5, lambda: self._bind_nominated(pod, name))

    def _bind_nominated(self, given: Object, name: str) -> None:
        pod, node = self.api.current(PODS, given), self.api.find(NODES, "", name)
        if pod is None or leaving(pod) or pod["spec"].get("nodeName"):
            return
        here = [p for p in self.api.all(PODS) if p["spec"].get("nodeName") == name and not finished(p)]
        if node is None or fits(here, node, pod):
            self.api.delete_pod(pod)
        else:
            self.queue.tell(f"rival binds {pod['metadata']['name']} to {name}")
            self.api.bind(pod, name)

    def _meddle(self, node: Object) -> None:
        """Bind a pod that another scheduler is to bind."""
        name = node["metadata"]["name"]
        here = [p for p in self.api.all(PODS) if p["spec"].get("nodeName") == name and not finished(p)]
        found = [
            pod
            for pod in self.api.all(PODS)
            if not pod["spec"].get("nodeName")
            and not leaving(pod)
            and not {"app", workload.GROUP, workload.TREE} & pod["metadata"]["labels"].keys()
            and "resourceClaims" not in pod["spec"]
            and not fits(here, node, pod)
        ]
        if found:
            pod = self.queue.random.choice(found)
            self.queue.tell(f"rival binds {pod['metadata']['name']} to {name}")
            self.api.bind(pod, name)

    def leave(self) -> None:
        """Stop, and take all its pods away."""
        self.active = False
        for pod in self.api.all(PODS):
            if pod["spec"]["schedulerName"] == workload.RIVAL:
                self.api.delete_pod(pod)


@dataclass
class Machines:
    """Nodes that come, go, fall silent and come back."""

    queue: EventQueue
    api: ApiServer
    kubelets: Kubelets
    _lost: dict[str, Object] = field(default_factory=dict)

    def silence(self, node: Object, seconds: float) -> None:
        """Let a node be not ready for a while."""
        name = node["metadata"]["name"]
        self.queue.tell(f"node {name} falls silent")
        self.kubelets.down.add(name)
        self._set_ready(node, ready=False)
        self.queue.after(seconds, lambda: self.wake(name))

    def wake(self, name: str) -> None:
        """Let a node be ready again, and exist again."""
        if name in self._lost:
            self.queue.tell(f"node {name} is back")
            self.api.create(NODES, self._lost.pop(name))
        node = self.api.find(NODES, "", name)
        if node is not None and name in self.kubelets.down:
            self.kubelets.down.discard(name)
            self._set_ready(node, ready=True)

    def wake_all(self) -> None:
        """Have all nodes back."""
        for name in [*self._lost, *sorted(self.kubelets.down)]:
            self.wake(name)
        for node in self.api.all(NODES):
            if node["spec"]:
                self.api.replace(NODES, {**node, "spec": {}})

    def cordon(self, node: Object, seconds: float) -> None:
        """Let a node take nothing new for a while."""
        self.queue.tell(f"node {node['metadata']['name']} is cordoned")
        self.api.replace(NODES, {**node, "spec": {"unschedulable": True}})

        def back() -> None:
            found = self.api.current(NODES, node)
            if found is not None:
                self.api.replace(NODES, {**found, "spec": {}})

        self.queue.after(seconds, back)

    def lose(self, node: Object, seconds: float) -> None:
        """Take a node away, and its pods with it after a moment; it comes back as another one of its name."""
        name = node["metadata"]["name"]
        self.queue.tell(f"node {name} is gone")
        self.api.remove(NODES, node)
        self._lost[name] = _new_of(node)
        self.queue.after(1.0 + self.queue.random.random() * 3, lambda: self._collect(name))
        self.queue.after(seconds, lambda: self.wake(name))

    def register_anew(self, former: list[Object]) -> None:
        """Let nodes be as they are by now, after the server has come back from a copy; ``former`` were there before."""
        present = {each["metadata"]["name"]: each for each in self.api.all(NODES)}
        for name in present.keys() & self._lost.keys():
            self.lose(present.pop(name), 1.0 + 5 * self.queue.random.random())
        for node in former:
            name = node["metadata"]["name"]
            if name not in present and name not in self._lost:
                self._lost[name] = _new_of(node)
                self.queue.after(self.queue.random.random() * 5, partial(self.wake, name))
        for name, node in present.items():
            if (name in self.kubelets.down) == _is_ready(node):
                self._set_ready(node, ready=name not in self.kubelets.down)

    def _collect(self, name: str) -> None:
        """Delete pods whose node is gone, as the collector of the control plane does."""
        if self.api.find(NODES, "", name) is None:
            for pod in self.api.all(PODS):
                if pod["spec"].get("nodeName") == name:
                    self.api.remove(PODS, pod)

    def _set_ready(self, node: Object, *, ready: bool) -> None:
        spec = {key: value for key, value in node["spec"].items() if key != "taints"}
        if not ready:
            spec["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        self.api.replace(
            NODES, {**node, "spec": spec, "status": {**node["status"], "conditions": conditions}}
        )


def _new_of(node: Object) -> Object:
    """Return a node as its kubelet registers it."""
    metadata = {key: node["metadata"][key] for key in ("name", "labels")}
    return {**node, "spec": {}, "metadata": metadata}


def _is_ready(node: Object) -> bool:
    return bool(node["status"]["conditions"][0]["status"] == "True")
