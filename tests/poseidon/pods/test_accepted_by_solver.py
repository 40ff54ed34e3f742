"""Whatever stands in the API server, the solver's decoder accepts what the translation makes of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from firmament.wire.events import events_from_proto
from poseidon.bridge.solver_stream import events
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.nodes.machines import machine
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import PriorityResolver
from poseidon.pods.tasks import translate_pod
from protos.firmament.v1 import scheduler_pb2 as pb

WORDS = st.sampled_from(["", "a", "b", "zone", "metadata.name"])
QUANTITIES = st.sampled_from(["1", "100m", "-1", "x", "1Gi", "1e99", "9007199254740992", "0", 3, 0.5])
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "example.com/gpu", ""]), QUANTITIES, max_size=3
)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "Near"])
VALUES = st.lists(st.sampled_from(["", "a", "5", "-3", "99999999999999999999"]), max_size=2)
REQUIREMENTS = st.lists(
    st.fixed_dictionaries({"key": WORDS, "operator": OPERATORS, "values": VALUES}), max_size=2
)
TERMS = st.fixed_dictionaries({}, optional={"matchExpressions": REQUIREMENTS, "matchFields": REQUIREMENTS})
AFFINITY = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
            {"nodeSelectorTerms": st.lists(TERMS, max_size=2)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(-1, 101), "preference": TERMS}), max_size=2
        ),
    },
)
KEYS = st.sampled_from(["", "a", "kubernetes.io/hostname", "-bad", "x/y/z", "a" * 64])
SELECTORS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(KEYS, WORDS, max_size=2),
        "matchExpressions": st.lists(
            st.fixed_dictionaries({"key": KEYS, "operator": OPERATORS, "values": VALUES}), max_size=2
        ),
    },
)
POD_TERMS = st.fixed_dictionaries(
    {"topologyKey": KEYS},
    optional={
        "labelSelector": SELECTORS,
        "namespaceSelector": SELECTORS,
        "namespaces": st.lists(st.sampled_from(["ns", "", "No"]), max_size=2),
        "matchLabelKeys": st.lists(KEYS, max_size=2),
        "mismatchLabelKeys": st.lists(KEYS, max_size=2),
    },
)
POD_AFFINITY = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(POD_TERMS, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries(
                {"weight": st.sampled_from([-1, 0, 1, 100, 101, 2**40]), "podAffinityTerm": POD_TERMS}
            ),
            max_size=2,
        ),
    },
)
COUNTS = st.sampled_from([-1, 0, 1, 5, 2**31 - 1, 2**31, 2**62])
POLICIES = st.sampled_from(["", "Honor", "Ignore", "Odd"])
SPREAD = st.fixed_dictionaries(
    {"topologyKey": KEYS},
    optional={
        "maxSkew": COUNTS,
        "minDomains": COUNTS,
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway", "", "Odd"]),
        "labelSelector": SELECTORS,
        "matchLabelKeys": st.lists(KEYS, max_size=2),
        "nodeAffinityPolicy": POLICIES,
        "nodeTaintsPolicy": POLICIES,
    },
)
PORTS = st.fixed_dictionaries(
    {},
    optional={
        "containerPort": st.sampled_from([-1, 0, 80, 65535, 70000, 2**40]),
        "hostPort": st.sampled_from([-1, 0, 80, 65535, 70000, 2**40]),
        "protocol": st.sampled_from(["", "TCP", "UDP", "SCTP", "ICMP"]),
        "hostIP": st.sampled_from(["", "0.0.0.0", "10.0.0.1", "::1", "localhost"]),
    },
)
EFFECTS = st.sampled_from(["", "NoSchedule", "PreferNoSchedule", "NoExecute", "Odd"])
TOLERATIONS = st.fixed_dictionaries(
    {
        "key": WORDS,
        "operator": st.sampled_from(["", "Equal", "Exists", "Odd"]),
        "value": WORDS,
        "effect": EFFECTS,
    }
)
CONTAINERS = st.fixed_dictionaries(
    {"resources": st.fixed_dictionaries({"requests": RESOURCES, "limits": RESOURCES})},
    optional={
        "restartPolicy": st.just("Always"),
        "ports": st.lists(PORTS, max_size=2),
        "image": st.sampled_from(["", "a", "r.example:5000/b"]),
    },
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p"), "uid": st.just("u")},
            optional={
                "namespace": st.just("ns"),
                "labels": st.dictionaries(KEYS, WORDS, max_size=3),
                "creationTimestamp": st.sampled_from(["1900-01-01T00:00:00Z", "odd", "2026-01-01T00:00:00Z"]),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(CONTAINERS, max_size=2)},
            optional={
                "initContainers": st.lists(CONTAINERS, max_size=2),
                "overhead": RESOURCES,
                "resources": st.fixed_dictionaries({"requests": RESOURCES, "limits": RESOURCES}),
                "affinity": st.fixed_dictionaries(
                    {},
                    optional={
                        "nodeAffinity": AFFINITY,
                        "podAffinity": POD_AFFINITY,
                        "podAntiAffinity": POD_AFFINITY,
                    },
                ),
                "topologySpreadConstraints": st.lists(SPREAD, max_size=2),
                "hostNetwork": st.booleans(),
                "resourceClaims": st.just([{"name": "gpu"}]),
                "tolerations": st.lists(TOLERATIONS, max_size=3),
                "nodeSelector": st.dictionaries(WORDS, WORDS, max_size=2),
                "priority": st.integers(-(2**40), 2**40),
            },
        ),
    }
)
NODES = st.fixed_dictionaries(
    {"metadata": st.just({"name": "n"})},
    optional={
        "spec": st.fixed_dictionaries(
            {
                "taints": st.lists(
                    st.fixed_dictionaries({"key": WORDS, "value": WORDS, "effect": EFFECTS}), max_size=3
                )
            }
        ),
        "status": st.fixed_dictionaries(
            {"allocatable": RESOURCES},
            optional={
                "images": st.lists(
                    st.fixed_dictionaries(
                        {
                            "names": st.lists(st.sampled_from(["a:latest", "a@sha256:0"]), max_size=2),
                            "sizeBytes": st.sampled_from([-1, 0, 10**9, 2**63]),
                        }
                    ),
                    max_size=2,
                )
            },
        ),
    },
)


@given(value=PODS)
def test_pods(value):
    pod = convert_object(value, Pod)
    table = ClassTable()
    found = translate_pod(pod, table, PriorityResolver())
    messages = [pb.Event(task_class=table.message(found.task_class)), *events.encode_pending([found])]
    messages.extend(events.encode_placed([(found, "n", False)]))
    assert len(events_from_proto(messages)) == 3


@given(value=NODES)
def test_nodes(value):
    message, _ = machine(convert_object(value, Node))
    assert len(events_from_proto([pb.Event(machine=message)])) == 1
