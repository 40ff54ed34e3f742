"""However pods come and go: the solver's classes are those that all selectors seen so far ask for."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from poseidon.bridge.state import BridgeState
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.lifecycle.actions import Bind
from poseidon.pods.visibility import SelectorIndex, list_reads
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge import objects
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND, PENDING, SolverView
from tests.poseidon.pods.pods_with_rules import LABELS, NAMESPACES, SPECS, make
from tests.support.effort import examples
from tests.support.task_classes import class_content

NODES = ["n1", "n2"]


class Cluster(RuleBasedStateMachine):
    """Pods with selectors and labels that appear, are bound, change, end and are forgotten by the solver."""

    def __init__(self):
        super().__init__()
        self.state = BridgeState()
        self.view = SolverView()
        self.view.apply(self.state.snapshot())
        self.pods = {}
        self.serial = 0
        self.onlookers = SelectorIndex()
        self.binds = []

    @initialize()
    def begin(self):
        self.state.nodes_changed([objects.present(objects.node(name)) for name in NODES])

    def _show(self, uid):
        """Deliver a pod as it is, and note what its selectors look at if the solver is to know of it."""
        parts = self.pods[uid]
        pod = make(uid, *parts["content"], node=parts["node"], deleting=parts["deleting"])
        if parts["node"] or not parts["deleting"]:
            self.onlookers.observe(list_reads(class_content(pod)[0]))
        parts["pod"] = pod
        self.state.pods_changed([Change(uid, pod)])

    @rule(
        spec=SPECS,
        labels=LABELS,
        namespace=st.sampled_from(sorted(NAMESPACES)),
        node=st.sampled_from(["", "", *NODES]),
    )
    def create(self, spec, labels, namespace, node):
        self.serial += 1
        uid = f"p{self.serial}"
        self.pods[uid] = {"content": (spec, labels, namespace), "node": node, "deleting": False}
        self._show(uid)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), labels=LABELS)
    def relabel(self, data, labels):
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        spec, _, namespace = self.pods[uid]["content"]
        self.pods[uid]["content"] = (spec, labels, namespace)
        self._show(uid)

    @precondition(lambda self: any(parts["node"] for parts in self.pods.values()))
    @rule(data=st.data())
    def terminate(self, data):
        bound = sorted(uid for uid, parts in self.pods.items() if parts["node"])
        uid = data.draw(st.sampled_from(bound))
        self.pods[uid]["deleting"] = True
        self._show(uid)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete(self, data):
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        del self.pods[uid]
        self.state.pods_changed([Change(uid, None)])

    @rule()
    def tell(self):
        self.view.report(self.state.take_reports())
        self.view.apply(self.state.take_events())

    @rule()
    def new_stream(self):
        self.view = SolverView()
        self.view.apply(self.state.snapshot())

    @rule()
    def place(self):
        """The solver places what it knows to be pending; bindings stay under way."""
        self.tell()
        result = pb.RoundResult(round=1)
        for uid in [uid for uid, task in self.view.tasks.items() if task.state == PENDING]:
            self.view.place(uid, NODES[0])
            result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=NODES[0])
        self.state.on_round(result)
        self.binds += [action.pod for action in self.state.take_actions() if isinstance(action, Bind)]

    @precondition(lambda self: self.binds)
    @rule(succeeds=st.booleans())
    def bind(self, succeeds):
        pod = self.binds.pop(0)
        request = BindRequest(pod.uid, pod.namespace, pod.name, NODES[0])
        if succeeds and pod.uid in self.pods:
            self.state.binding_ended(BindOutcome(request, BindResult.BOUND))
            self.pods[pod.uid]["node"] = NODES[0]
            self._show(pod.uid)
        else:
            self.state.binding_ended(BindOutcome(request, BindResult.FAILED, "500"))

    def teardown(self):
        while self.binds:
            self.bind(succeeds=True)
        for _ in range(2):
            self.tell()
        assert self.state.take_events() == []
        assert sorted(self.view.tasks) == sorted(self.pods)
        for uid, parts in self.pods.items():
            task = self.view.tasks[uid]
            assert task.state == (BOUND if parts["node"] else PENDING)
            content, _ = class_content(parts["pod"], onlookers=self.onlookers)
            assert task.task_class == content.SerializeToString(deterministic=True)
        assert all(task.state != ASSUMED for task in self.view.tasks.values())


Cluster.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=30)
TestCluster = Cluster.TestCase


def settled(state, view):
    view.report(state.take_reports())
    view.apply(state.take_events())
    return view


def spread(name, labels, **more):
    rule = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return make(name, {"topologySpreadConstraints": [rule]}, labels, "a", **more)


def test_a_first_list_is_told_once_in_its_final_classes():
    """The pods whose labels count stand before the one that makes them count."""
    state = BridgeState()
    pods = [make(f"p{index}", {}, {"app": "web", "pod": str(index)}, "a") for index in range(20)]
    pods.append(spread("last", {"app": "web"}))
    state.pods_changed([objects.present(pod) for pod in pods])
    events = state.snapshot()
    assert sum(event.HasField("task_class") for event in events) == 2
    assert sum(len(event.tasks.uids) for event in events) == 21


def test_running_pods_of_any_scheduler_are_told_anew_when_someone_looks_at_them():
    state, view = BridgeState(), SolverView()
    state.nodes_changed([objects.present(objects.node("n1"))])
    view.apply(state.snapshot())
    foreign = make("old", {"schedulerName": "other"}, {"app": "web"}, "a", node="n1")
    state.pods_changed([objects.present(foreign)])
    settled(state, view)
    before = view.tasks["old"].task_class
    state.pods_changed([objects.present(spread("new", {}))])
    settled(state, view)
    seen = pb.TaskClass.FromString(view.tasks["old"].task_class)
    assert view.tasks["old"].task_class != before
    assert (dict(seen.labels), seen.namespace) == ({"app": "web"}, "a")
    assert view.tasks["old"].state == BOUND


def test_a_pod_that_begins_to_end_is_told_anew():
    state, view = BridgeState(), SolverView()
    state.nodes_changed([objects.present(objects.node("n1"))])
    view.apply(state.snapshot())
    state.pods_changed([objects.present(make("calm", {}, {}, "a", node="n1"))])
    settled(state, view)
    assert not pb.TaskClass.FromString(view.tasks["calm"].task_class).terminating
    state.pods_changed([objects.present(make("calm", {}, {}, "a", node="n1", deleting=True))])
    settled(state, view)
    seen = view.tasks["calm"]
    assert (seen.state, seen.machine) == (BOUND, "n1")
    assert pb.TaskClass.FromString(seen.task_class).terminating


def namespace(name, uid, **labels):
    return Change(uid, Namespace(metadata=ObjectMeta(name=name, uid=uid, labels=labels)))


def test_namespaces_travel_as_records():
    state, view = BridgeState(), SolverView()
    state.handlers[kinds.NAMESPACE]([namespace("a", "1", team="x"), namespace("b", "2")])
    view.apply(state.snapshot())
    assert view.records == {
        ("Namespace", "a"): b'{"labels": {"kubernetes.io/metadata.name": "a", "team": "x"}}',
        ("Namespace", "b"): b'{"labels": {"kubernetes.io/metadata.name": "b"}}',
    }
    state.handlers[kinds.NAMESPACE]([namespace("a", "1", team="x"), Change("2", None)])
    view.apply(state.take_events())
    assert [name for _, name in view.records] == ["a"]
    assert state.take_events() == []
    # The new one of a name is listed before the old one is known to be gone.
    state.handlers[kinds.NAMESPACE]([namespace("a", "3"), Change("1", None)])
    view.apply(state.take_events())
    assert view.records["Namespace", "a"] == b'{"labels": {"kubernetes.io/metadata.name": "a"}}'
    view = SolverView()
    view.apply(state.snapshot())
    assert [name for _, name in view.records] == ["a"]
