"""Whatever happens, in whatever order: the solver ends up with the snapshot that the API server has."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind, Evict, WithdrawEviction
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge import objects
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND, PENDING, SolverView
from tests.support.effort import examples
from tests.support.pod_invariants import violations
from tests.support.task_classes import class_content

NODES = ["a", "b", "c"]
CPUS = ["100m", "200m"]


@dataclass
class ApiPod:
    """A pod as the API server has it."""

    uid: str
    scheduler: str
    cpu: str
    owner: str
    priority: int
    node: str = ""
    phase: str = "Pending"
    deleting: bool = False
    gated: bool = False

    def object(self):
        return objects.pod(
            self.uid,
            uid=self.uid,
            node=self.node,
            scheduler=self.scheduler,
            cpu=self.cpu,
            owner=self.owner,
            priority=self.priority,
            phase=self.phase,
            deleting=self.deleting,
            gated=self.gated,
        )


class Cluster(RuleBasedStateMachine):
    """An API server, a bridge's state and a solver, with everything between them delayed at will."""

    def __init__(self):
        super().__init__()
        self.state = self.make_state()
        self.view = SolverView()
        self.view.apply(self.state.snapshot())
        self.nodes = {}
        self.pods = {}
        self.serial = 0
        self.pod_watch = []
        self.node_watch = []
        self.rounds = []
        self.binds = []
        self.evictions = []
        self.binding_dependencies = {}
        self.announced = []

    def make_state(self):
        """The state under test."""
        return BridgeState()

    @initialize(pods=st.integers(0, 4), running=st.integers(0, 3), urgent=st.integers(0, 2))
    def begin(self, pods, running, urgent):
        for name in NODES[:2]:
            self.put_node(name=name, cpu="8")
        for index in range(pods):
            self.create_pod(
                cpu="100m", owner="web" if index % 2 else "", priority=0, scheduler="poseidon", gated=False
            )
        for index in range(running + urgent):  # some of whom others may take the place
            pod = ApiPod(f"r{index}", "poseidon", CPUS[0], "", 0 if index < running else 5)
            pod.node = "a" if index < running else ""
            self.pods[pod.uid] = pod
            self._emit(pod)
        self.deliver_nodes(count=3)
        self.deliver_pods(count=9)
        self.send_to_solver()

    # --- the API server -------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NODES), cpu=st.sampled_from(["4", "8"]))
    def put_node(self, name, cpu):
        if name not in self.nodes:
            self.serial += 1
            uid = f"{name}-{self.serial}"
        else:
            uid = self.nodes[name].metadata.uid
        self.nodes[name] = objects.node(name, cpu=cpu, uid=uid)
        self.node_watch.append(objects.present(self.nodes[name]))

    @rule(name=st.sampled_from(NODES))
    def delete_node(self, name):
        node = self.nodes.pop(name, None)
        if node is not None:
            self.node_watch.append(objects.gone(node))

    @rule(
        cpu=st.sampled_from(CPUS),
        owner=st.sampled_from(["", "web", "db"]),
        priority=st.sampled_from([0, 5]),
        scheduler=st.sampled_from(["poseidon", "poseidon", "poseidon", "default-scheduler"]),
        gated=st.booleans(),
    )
    def create_pod(self, cpu, owner, priority, scheduler, gated):
        self.serial += 1
        pod = ApiPod(f"p{self.serial}", scheduler, cpu, owner, priority, gated=gated)
        self.pods[pod.uid] = pod
        self._emit(pod)

    @precondition(lambda self: self.pods)
    @rule(
        data=st.data(), what=st.sampled_from(["ungate", "delete", "terminate", "finish", "resize", "repeat"])
    )
    def change_pod(self, data, what):
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if what == "ungate":
            pod.gated = False
        elif what == "terminate":
            pod.deleting = True
        elif what == "finish" and pod.node:
            pod.phase = "Succeeded"
        elif what == "resize":
            pod.cpu = CPUS[1 - CPUS.index(pod.cpu)]
        elif what == "delete":
            del self.pods[pod.uid]
            self.pod_watch.append(Change(pod.uid, None))
            return
        self._emit(pod)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), node=st.sampled_from(NODES))
    def bind_elsewhere(self, data, node):
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if not pod.node and not pod.gated and not pod.deleting:
            pod.node = node
            self._emit(pod)

    def _emit(self, pod):
        self.pod_watch.append(Change(pod.uid, pod.object()))

    # --- deliveries -------------------------------------------------------------------------------------------------

    @rule(count=st.integers(1, 5))
    def deliver_pods(self, count):
        batch, self.pod_watch = self.pod_watch[:count], self.pod_watch[count:]
        self.state.pods_changed(batch)

    @rule(count=st.integers(1, 3))
    def deliver_nodes(self, count):
        batch, self.node_watch = self.node_watch[:count], self.node_watch[count:]
        self.state.nodes_changed(batch)

    @rule()
    def relist_pods(self):
        """A version expired: what was missed comes as a list, and absences as deletions."""
        missed = {change.uid for change in self.pod_watch} - set(self.pods)
        self.pod_watch = []
        self.state.pods_changed([Change(pod.uid, pod.object()) for pod in self.pods.values()])
        self.state.pods_changed([Change(uid, None) for uid in sorted(missed)])

    @rule()
    def relist_nodes(self):
        """Of a node and its namesake that replaced it meanwhile, the new one is listed before the old is gone."""
        present = {node.metadata.uid for node in self.nodes.values()}
        missed = {change.uid for change in self.node_watch} - present
        self.node_watch = []
        self.state.nodes_changed([objects.present(node) for node in self.nodes.values()])
        self.state.nodes_changed([Change(uid, None) for uid in sorted(missed)])

    @rule()
    def send_to_solver(self):
        has_news = self.state.has_news
        reports = self.state.take_reports()
        events = self.state.take_events()
        assert has_news or not (reports or events), "nobody would have been woken to send these"
        self.view.report(reports)
        self.view.apply(events)

    @rule()
    def new_stream(self):
        self.rounds = []
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    # --- the solver and the binder ----------------------------------------------------------------------------------

    @rule(data=st.data(), at_once=st.booleans())
    def solve(self, data, at_once):
        pending = sorted(uid for uid, task in self.view.tasks.items() if task.state == PENDING)
        if not pending or not self.view.machines:
            return
        result = pb.RoundResult(round=1)
        for uid in pending:
            machine = data.draw(st.sampled_from(["", *sorted(self.view.machines)]))
            if machine:
                self.view.place(uid, machine)
                result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=machine)
            else:
                result.unscheduled.add(tasks=[uid], message="0/1 nodes are available")
        self.rounds.append(result)
        if at_once:
            self.send_to_solver()
            self.deliver_round()

    def _victims(self, uid, machine):
        """The less important pods on a machine, as the solver sees it."""
        tasks = self.view.tasks
        there = [other for other, task in tasks.items() if (task.state, task.machine) == (BOUND, machine)]
        return sorted(other for other in there if tasks[other].priority < tasks[uid].priority)

    @precondition(lambda self: self._matches())
    @rule(data=st.data())
    def preempt(self, data):
        """A round in which one pod takes the place of all less important ones of a machine."""
        self.send_to_solver()
        matches = self._matches()
        if not matches:
            return
        uid, machine = data.draw(st.sampled_from(matches))
        victims = self._victims(uid, machine)
        result = pb.RoundResult(round=1)
        for victim in victims:
            result.deltas.add(kind=pb.Delta.PREEMPT, task=victim, machine=machine)
        self.view.place(uid, machine)
        result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=machine, depends_on=victims)
        self._on_round(result)

    def _matches(self):
        """Pending tasks with the machines where some less important task is."""
        pending = [uid for uid, task in self.view.tasks.items() if task.state == PENDING]
        return sorted(
            (uid, name) for uid in pending for name in self.view.machines if self._victims(uid, name)
        )

    @rule()
    def deliver_round(self):
        if self.rounds:
            self._on_round(self.rounds.pop(0))

    def _on_round(self, result):
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE and not self.state.node_of("default", delta.task):
                self.binding_dependencies[delta.task] = list(delta.depends_on)
        self.state.on_round(result)
        self._take_actions()

    @precondition(lambda self: self.evictions)
    @rule(refused=st.booleans(), graceful=st.booleans())
    def finish_eviction(self, refused, graceful):
        self._evict(self.evictions.pop(0), refused=refused, graceful=graceful)

    def _evict(self, evict, *, refused, graceful):
        request = EvictionRequest(evict.pod, evict.node, evict.beyond_budget, evict.message)
        pod = self.pods.get(evict.pod.uid)
        if pod is None:
            self.state.eviction_ended(EvictionOutcome(request, gone=True))
        elif refused:
            self.state.eviction_ended(EvictionOutcome(request, "the budget says no"))
        else:
            self._go(pod, graceful=graceful)
            self.state.eviction_ended(EvictionOutcome(request))
        self._take_actions()

    def _go(self, pod, *, graceful):
        if graceful:
            pod.deleting = True
            self._emit(pod)
        else:
            del self.pods[pod.uid]
            self.pod_watch.append(Change(pod.uid, None))

    @precondition(lambda self: self.evictions)
    @rule()
    def withdraw_eviction(self):
        """The solver says that nobody needs the place of a pod that has not been asked to leave yet."""
        evict = self.evictions[-1]
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=pb.Delta.PREEMPT, task=evict.pod.uid, machine=evict.node, withdrawn=True)
        self.state.on_round(result)
        self._take_actions()

    @precondition(lambda self: self.binds)
    @rule(fails=st.booleans(), lost=st.booleans())
    def finish_binding(self, fails, lost):
        bind = self.binds.pop(0)
        self.state.binding_ended(self._bind(bind, fails=fails, lost=lost))
        self._take_actions()

    @precondition(lambda self: self.binds)
    @rule()
    def withhold_binding(self):
        """The binder asks whether the node still takes the pod, and posts nothing if not."""
        bind = self.binds[0]
        why = self.state.refusal(bind.pod.uid, bind.node)
        if why:
            self.binds.pop(0)
            request = BindRequest(bind.pod.uid, bind.pod.namespace, bind.pod.name, bind.node)
            self.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, why))
            self._take_actions()

    def _bind(self, bind, *, fails, lost):
        """What the API server does with a binding; ``lost``: it is done, but its answer does not arrive."""
        pod = self.pods.get(bind.pod.uid)
        request = BindRequest(bind.pod.uid, bind.pod.namespace, bind.pod.name, bind.node)
        if pod is None or pod.deleting:
            return BindOutcome(request, BindResult.GONE, "gone")
        if pod.node and pod.node != bind.node:
            return BindOutcome(request, BindResult.ELSEWHERE, "elsewhere")
        if fails and not lost:
            return BindOutcome(request, BindResult.FAILED, "500")
        if not pod.node:
            pod.node = bind.node
            self._emit(pod)
        return BindOutcome(request, BindResult.FAILED if lost else BindResult.BOUND)

    def _take_actions(self):
        for action in self.state.take_actions():
            if isinstance(action, Bind):
                assert all(action.pod.uid != other.pod.uid for other in self.binds), "bound twice at once"
                there = (self.pods.get(each) for each in self.binding_dependencies.get(action.pod.uid, ()))
                assert all(each is None or each.phase == "Succeeded" for each in there), "bound too early"
                self.binds.append(action)
            elif isinstance(action, Evict):
                assert all(action.pod.uid != other.pod.uid for other in self.evictions), (
                    "evicted twice at once"
                )
                self.evictions.append(action)
            elif isinstance(action, WithdrawEviction):
                for evict in [each for each in self.evictions if each.pod.uid == action.uid]:
                    self.evictions.remove(evict)
                    self._evict(evict, refused=True, graceful=False)
            elif isinstance(action, AnnounceUnschedulable):
                self.announced.append(action)

    @invariant()
    def the_lifecycle_is_valid(self):
        assert not violations(self.state)

    @invariant()
    def known_machines_only(self):
        # One that was just assumed on a machine is taken back once the round that says so has come.
        assert all(
            task.state != BOUND or task.machine in self.view.machines for task in self.view.tasks.values()
        )

    # --- in the end -------------------------------------------------------------------------------------------------

    def teardown(self):
        self._settle()
        self._check()
        assert not self.state.take_events(), "nothing has changed since"
        self._place_all()
        self._settle()
        self._check()

    def _place_all(self):
        """Whatever is pending now can be bound: nothing is stuck in the books of either side."""
        result = pb.RoundResult(round=1)
        if self.view.machines:
            for uid in [uid for uid, task in self.view.tasks.items() if task.state == PENDING]:
                self.view.place(uid, min(self.view.machines))
                result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=min(self.view.machines))
        self.rounds.append(result)

    def _settle(self):
        self.rounds, rounds = [], self.rounds
        for result in rounds:
            self._on_round(result)
        self._take_actions()
        while self.binds or self.evictions or self.pod_watch or self.node_watch or self._awaited():
            while self.evictions:
                self._evict(self.evictions.pop(0), refused=False, graceful=False)
            for pod in [self.pods[uid] for uid in self._awaited() if uid in self.pods]:
                self._go(pod, graceful=False)
            while self.binds:
                self._finish_one()
            self.state.pods_changed(self.pod_watch)
            self.state.nodes_changed(self.node_watch)
            self.pod_watch, self.node_watch = [], []
            self._take_actions()
        for _ in range(2):
            self.view.report(self.state.take_reports())
            self.view.apply(self.state.take_events())

    def _awaited(self):
        """Pods that are being deleted and that others wait for: they are gone in the end."""
        waited = {uid for uids in self.binding_dependencies.values() for uid in uids}
        return sorted(uid for uid in waited if uid in self.pods and self.pods[uid].deleting)

    def _finish_one(self):
        bind = self.binds.pop(0)
        self.state.binding_ended(self._bind(bind, fails=False, lost=False))
        self._take_actions()

    def _check(self):
        """Compare both ends. A pod that this process bound to a node that is gone stays away, as any other."""
        assert sorted(self.view.machines) == sorted(self.nodes)
        for name, node in self.nodes.items():
            cpu = next(q.amount for q in self.view.machines[name].allocatable if q.resource == "cpu")
            assert cpu == int(node.status.allocatable["cpu"]) * 1000
        expected = {}
        for pod in self.pods.values():
            if pod.phase == "Succeeded":
                continue
            ours = pod.scheduler == "poseidon"
            if pod.node and pod.node in self.nodes:
                expected[pod.uid] = (BOUND, pod.node, pod)
            elif not pod.node and ours and not pod.deleting and not pod.gated:
                expected[pod.uid] = (PENDING, "", pod)
        assert {uid: (task.state, task.machine) for uid, task in self.view.tasks.items()} == {
            uid: (state, machine) for uid, (state, machine, _) in expected.items()
        }
        for uid, (_, _, pod) in expected.items():
            task = self.view.tasks[uid]
            content, _ = class_content(pod.object())
            assert task.task_class == content.SerializeToString(deterministic=True)
            assert task.priority == pod.priority
            owner = f"Owner/default/ReplicaSet/{pod.owner}/uid-{pod.owner}"
            assert task.job == (owner if pod.owner and pod.scheduler == "poseidon" else "")
        assert all(task.state != ASSUMED for task in self.view.tasks.values())
        for name in NODES:
            there = [pod for pod in self.pods.values() if pod.node == name and pod.phase != "Succeeded"]
            milli = sum(int(pod.cpu.removesuffix("m")) for pod in there)
            assert self.state.requested.get_requested(name) == (
                {"cpu": milli, "pods": len(there)} if there else {}
            )
        jobs_in_use = {task.job for task in self.view.tasks.values() if task.job}
        assert jobs_in_use <= set(self.view.jobs)


Cluster.TestCase.settings = settings(max_examples=examples(2_500, slow=True), stateful_step_count=40)
TestCluster = Cluster.TestCase
