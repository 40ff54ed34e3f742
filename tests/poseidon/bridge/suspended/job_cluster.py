"""A bridge's state and a solver in this process, with an API server of Jobs and pods, and the controller of Jobs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import jsonpatch

from poseidon.bridge.state import BridgeState
from poseidon.embedding import EmbeddedScheduler, load_configuration
from poseidon.kube.api.collections import QUEUED_JOBS, QUEUED_OWNERS
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.kinds import BY_NAME
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.suspension_writer import SuspensionEnd, SuspensionWrite
from poseidon.lifecycle.actions import AnnounceGroup, Bind, Evict
from poseidon.lifecycle.placements import parts_of
from poseidon.queues.options import QueueOptions
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas
from tests.poseidon.queues.test_known_queues import uid_of

NAMESPACE = "shop"


def job(
    name: str, pods: int = 2, *, cpu: str = "1", suspend: bool = True, queue: str = "users", **more: Any
) -> dict:
    """A Job in a queue; ``more`` is in its pods' spec."""
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"job-{name}",
            "labels": {LABEL: queue} if queue else {},
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": suspend,
            "template": {
                "spec": {
                    "schedulerName": "poseidon",
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
                    **more,
                }
            },
        },
        "status": {},
    }


@dataclass
class JobCluster:
    """What happens happens when a test says so; ``settle`` lets everything happen."""

    cpu: str = "4"
    nodes: tuple[str, ...] = ("n1", "n2")
    queues: tuple[dict, ...] = ()
    now: float = 1000.0
    state: BridgeState = field(init=False)
    jobs: dict[str, dict] = field(default_factory=dict)
    pods: dict[str, dict] = field(default_factory=dict)
    writes: list[SuspensionWrite] = field(default_factory=list)
    """Those that have been carried out."""
    events: list[AnnounceGroup] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    unanswered: list[SuspensionWrite] = field(default_factory=list)
    holds_writes: bool = False
    """Writes wait in ``unanswered``."""
    creates_pods: bool = True
    """The controller of Jobs works."""
    serial: int = 0

    def __post_init__(self) -> None:
        if not self.queues:
            self.queues = flavor(), cluster_queue("team", quotas(cpu=8)), local_queue("users", "team")
        self.restart()

    def restart(self) -> None:
        """Begin with a new bridge and a new solver, which know what the API server holds."""
        options = QueueOptions(source=("kueue",), admission="poseidon")
        configuration = load_configuration(None).model_copy(
            update={"queues": options, "scheduler_names": ("poseidon",)}
        )
        self.scheduler = EmbeddedScheduler(configuration, lambda: self.now)
        self.state = BridgeState(
            configuration, self.scheduler.needs, clock=lambda: self.now, wall=lambda: self.now
        )
        assert self.state.queues is not None
        self.state.queues.follows_owners = True
        self.unanswered.clear()
        self.state.nodes_changed([present(node(name, cpu=self.cpu)) for name in self.nodes])
        for each in self.queues:
            self.tell_queue(each)
        for each in self.jobs.values():
            self.show_job(each)
        for each in self.pods.values():
            self.show_pod(each)
        self.state.begin()
        self.scheduler.apply(self.state.snapshot())

    def tell_queue(self, each: dict) -> None:
        """Let the watch show a queue."""
        kind: Any = BY_NAME[each["apiVersion"].rpartition("/")[0], each["kind"]]
        self.state.handlers[kind]([Change(uid_of(each), convert_object(each, kind.struct))])

    def show_job(self, each: dict, kind: str = "Job") -> None:
        """Let the watch show an object that owns pods as it is now, or was."""
        resource = QUEUED_JOBS if kind == "Job" else QUEUED_OWNERS[kind]
        found = convert_object(copy.deepcopy(each), QueuedOwner)
        self.state.make_owner_taker(kind, resource)([Change(found.metadata.uid, found)])

    def show_pod(self, each: dict) -> None:
        """Let the watch show a pod."""
        self.state.pods_changed([Change(each["metadata"]["uid"], convert_object(each, Pod))])

    def create(self, *made: dict) -> None:
        """Create Jobs."""
        for each in made:
            self.jobs[each["metadata"]["name"]] = each
            self.show_job(each)

    def change(self, name: str, **spec: Any) -> None:
        """Change the spec of a Job, as its user does."""
        self.jobs[name]["spec"].update(spec)
        self.jobs[name]["metadata"]["generation"] += 1
        self.show_job(self.jobs[name])

    def delete(self, name: str) -> None:
        """Delete a Job, and its pods."""
        gone = self.jobs.pop(name)
        self.state.make_owner_taker("Job", QUEUED_JOBS)([Change(gone["metadata"]["uid"], None)])
        for uid in [uid for uid, pod in self.pods.items() if self._owner(pod) == name]:
            self.remove(uid)

    @staticmethod
    def _owner(pod: dict) -> str:
        return str(pod["metadata"]["ownerReferences"][0]["name"])

    def remove(self, uid: str) -> None:
        """Delete a pod."""
        del self.pods[uid]
        self.state.pods_changed([Change(uid, None)])

    def list_pods(self, name: str) -> list[dict]:
        """The pods of a Job."""
        return [pod for pod in self.pods.values() if self._owner(pod) == name]

    def finish(self, name: str) -> None:
        """Let a Job end, and its pods."""
        found = self.jobs[name]
        for pod in self.list_pods(name):
            self.remove(pod["metadata"]["uid"])
        found["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        self.show_job(found)

    def places(self, name: str) -> list[str]:
        """Where the pods of a Job are."""
        return sorted(pod["spec"].get("nodeName", "") for pod in self.list_pods(name))

    def is_suspended(self, name: str) -> bool:
        """Whether a Job is suspended."""
        return bool(self.jobs[name]["spec"]["suspend"])

    # --- what happens --------------------------------------------------------------------------------------

    def control(self) -> None:
        """Let the controller of Jobs create and delete pods."""
        for name, each in self.jobs.items():
            present_pods = self.list_pods(name)
            if each["spec"]["suspend"]:
                for pod in present_pods:
                    self.remove(pod["metadata"]["uid"])
                continue
            if not self.creates_pods or each["status"].get("conditions"):
                continue
            for _ in range(each["spec"]["parallelism"] - len(present_pods)):
                self.serial += 1
                uid = f"pod-{self.serial}"
                template = copy.deepcopy(each["spec"]["template"])
                metadata = {
                    **template.get("metadata", {}),
                    "name": f"{name}-{self.serial}",
                    "namespace": NAMESPACE,
                    "uid": uid,
                    "labels": {
                        **template.get("metadata", {}).get("labels", {}),
                        **{f"{prefix}job-name": name for prefix in ("", "batch.kubernetes.io/")},
                        **{
                            f"{prefix}controller-uid": each["metadata"]["uid"]
                            for prefix in ("", "batch.kubernetes.io/")
                        },
                    },
                    "ownerReferences": [
                        {"kind": "Job", "name": name, "uid": each["metadata"]["uid"], "controller": True}
                    ],
                }
                tolerations = [
                    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
                    for key in ("not-ready", "unreachable")
                ]
                spec = {
                    **template["spec"],
                    "priority": template["spec"].get("priority", 0),
                    "tolerations": tolerations,
                }
                self.pods[uid] = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
                self.show_pod(self.pods[uid])

    def act(self) -> None:
        """Carry out what the bridge asks for, and tell the solver."""
        self.carry_out_actions()
        self.scheduler.report(self.state.take_reports())
        self.scheduler.apply(self.state.take_events())

    def carry_out_actions(self) -> None:
        """Carry out what the bridge asks for."""
        while actions := self.state.take_actions():
            for action in actions:
                if isinstance(action, SuspensionWrite):
                    self.unanswered.append(action)
                elif isinstance(action, Bind):
                    self._bind(action)
                elif isinstance(action, Evict):
                    self.evicted.append(action.pod.uid)
                    self.state.eviction_ended(EvictionOutcome(EvictionRequest(*action)))
                    self.remove(action.pod.uid)
                elif isinstance(action, AnnounceGroup):
                    self.events.append(action)
                else:
                    assert "[" not in str(getattr(action, "pod", "")), action
            if not self.holds_writes:
                self.answer()

    def answer(self) -> None:
        """Carry out the writes that have been asked for, and answer them."""
        writes, self.unanswered = self.unanswered, []
        for write in writes:
            self.state.suspension_written(self.carry_out(write))

    def carry_out(self, write: SuspensionWrite) -> SuspensionEnd:
        """Carry out a write, as an API server does."""
        found = next((each for each in self.jobs.values() if each["metadata"]["uid"] == write.uid), None)
        if found is None:
            return SuspensionEnd(write, "not found")
        try:
            changed = jsonpatch.apply_patch(found, write.list_operations())
        except jsonpatch.JsonPatchException:
            return SuspensionEnd(write, "has changed", overtaken=True)
        if changed != found:
            changed["metadata"]["generation"] += 1
            self.writes.append(write)
            self.jobs[found["metadata"]["name"]] = changed
        return SuspensionEnd(write)

    def show_all(self) -> None:
        """Let the watch show all Jobs as they are."""
        for each in self.jobs.values():
            self.show_job(each)

    def round(self, most: int = 250) -> None:
        """Run a round, and carry it out in parts of at most so many deltas."""
        self.act()
        for part in parts_of(self.scheduler.run_round(), most):
            self.state.on_round(part)
            self.carry_out_actions()
        self.act()

    def settle(self, rounds: int = 4) -> None:
        """Let everything happen that is due."""
        for _ in range(rounds):
            self.now += 1.0
            self.state.expire()
            self.round()
            self.show_all()
            self.control()
            self.act()

    def _bind(self, action: Bind) -> None:
        pod = self.pods.get(action.pod.uid)
        request = BindRequest(*action.pod, action.node)
        if pod is None:
            self.state.binding_ended(BindOutcome(request, BindResult.GONE, "gone"))
            return
        refusal = self.state.refusal(action.pod.uid, action.node)
        if refusal:
            self.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, refusal))
            return
        assert not pod["spec"].get("nodeName"), "bound twice"
        pod["spec"]["nodeName"] = action.node
        self.state.binding_ended(BindOutcome(request, BindResult.BOUND))
        self.show_pod(pod)
