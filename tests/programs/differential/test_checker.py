"""The checker itself, on cases as the Kubernetes documentation tells them: each rule kept, and each rule broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.programs.differential.checker import Rule, broken_rules
from tests.programs.differential.world import (
    Cluster,
    HostPort,
    Node,
    NodeTerm,
    Pod,
    PodSpec,
    PodTerm,
    Requirement,
    Spread,
    Taint,
    Toleration,
)

ROOM = {"cpu": 1000, "memory": 8, "pods": 5}
WEB = (Requirement("app", "In", ("web",)),)
HERE = ("default",)
EXISTS = (Requirement("app", "Exists"),)


def cluster(zones: str = "aab", **running: str) -> Cluster:
    """Nodes n0, n1, … in the zones given ("-": without the label); ``running`` puts pods of app=NAME on n<i> each."""
    nodes = {}
    for index, zone in enumerate(zones):
        labels = {"host": f"n{index}"} | ({} if zone == "-" else {"zone": zone})
        nodes[f"n{index}"] = Node(f"n{index}", ROOM, labels)
    made = Cluster(nodes, namespaces={"default": {"team": "x"}, "other": {"team": "y"}})
    for app, places in running.items():
        for number, at in enumerate(places):
            made.pods[f"{app}-{number}"] = Pod(PodSpec(app, labels={"app": app}), f"n{at}")
    return made


def pod(**content: object) -> PodSpec:
    return PodSpec("web", labels={"app": "web"}, **content)  # type: ignore[arg-type]  # fields by name


def verdicts(made: Cluster, spec: PodSpec) -> list[list[Rule]]:
    return [broken_rules(made, spec, name) for name in made.nodes]


def changed(made: Cluster, name: str, **content: object) -> Cluster:
    made.nodes[name] = replace(made.nodes[name], **content)  # type: ignore[arg-type]  # fields by name
    return made


# --- the node --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "spec", "rules"),
    [
        ({"unschedulable": True}, {}, [Rule.CORDON]),
        ({"unschedulable": True}, {"tolerations": (Toleration(operator="Exists"),)}, []),
        ({"not_ready": True}, {}, [Rule.NOT_READY]),
        ({"taints": (Taint("k", "v", "NoSchedule"),)}, {}, [Rule.TAINT]),
        ({"taints": (Taint("k", "v", "NoExecute"),)}, {}, [Rule.TAINT]),
        ({"taints": (Taint("k", "v", "PreferNoSchedule"),)}, {}, []),
        ({"taints": (Taint("k", "v", "NoSchedule"),)}, {"tolerations": (Toleration("k", "Equal", "v"),)}, []),
        (
            {"taints": (Taint("k", "v", "NoSchedule"),)},
            {"tolerations": (Toleration("k", "Equal", "w"),)},
            [Rule.TAINT],
        ),
        (
            {"taints": (Taint("k", "v", "NoSchedule"),)},
            {"tolerations": (Toleration("k", "Exists", "", "NoExecute"),)},
            [Rule.TAINT],
        ),
        ({}, {"node_name": "n1"}, [Rule.NODE_NAME]),
        ({}, {"node_selector": {"zone": "a"}}, []),
        ({}, {"node_selector": {"zone": "b"}}, [Rule.NODE_AFFINITY]),
        ({}, {"node_terms": ()}, [Rule.NODE_AFFINITY]),
        ({}, {"node_terms": (NodeTerm(),)}, [Rule.NODE_AFFINITY]),
        ({}, {"node_terms": (NodeTerm((Requirement("zone", "NotIn", ("b",)),)),)}, []),
        ({}, {"node_terms": (NodeTerm((Requirement("none", "NotIn", ("b",)),)),)}, []),
        ({}, {"node_terms": (NodeTerm((Requirement("none", "DoesNotExist"),)),)}, []),
        ({}, {"node_terms": (NodeTerm(), NodeTerm((Requirement("zone", "Exists"),)))}, []),
        ({"labels": {"size": "7"}}, {"node_terms": (NodeTerm((Requirement("size", "Gt", ("6",)),)),)}, []),
        (
            {"labels": {"size": "x"}},
            {"node_terms": (NodeTerm((Requirement("size", "Lt", ("6",)),)),)},
            [Rule.NODE_AFFINITY],
        ),
        ({}, {"node_terms": (NodeTerm(fields=(Requirement("metadata.name", "In", ("n0",)),)),)}, []),
        (
            {},
            {"node_terms": (NodeTerm(fields=(Requirement("metadata.name", "NotIn", ("n0",)),)),)},
            [Rule.NODE_AFFINITY],
        ),
        ({}, {"volumes": ((NodeTerm((Requirement("zone", "In", ("a",)),)),),)}, []),
        (
            {},
            {
                "volumes": (
                    (NodeTerm((Requirement("zone", "In", ("a",)),)),),
                    (NodeTerm((Requirement("zone", "In", ("b",)),)),),
                )
            },
            [Rule.VOLUMES],
        ),
        ({}, {"requests": {"cpu": 1000, "memory": 8}}, []),
        ({}, {"requests": {"cpu": 1001}}, [Rule.RESOURCES]),
        ({}, {"requests": {"example.com/gpu": 1}}, [Rule.RESOURCES]),
        ({}, {"requests": {"example.com/gpu": 0}}, []),
        ({"allocatable": {"cpu": 1000}}, {}, [Rule.RESOURCES]),
    ],
)
def test_rules_about_a_node(node: dict, spec: dict, rules: list[Rule]):
    assert broken_rules(changed(cluster(), "n0", **node), pod(**spec), "n0") == rules


def test_running_pods_take_room_also_while_they_end():
    made = cluster("a")
    made.pods["big"] = Pod(pod(requests={"cpu": 900}), "n0", terminating=True)
    assert verdicts(made, pod(requests={"cpu": 101})) == [[Rule.RESOURCES]]
    assert verdicts(made, pod(requests={"cpu": 100})) == [[]]


def test_a_pod_without_requests_fits_an_overcommitted_node_while_it_has_pods_left():
    made = cluster("a")
    made.pods["huge"] = Pod(pod(requests={"cpu": 5000}), "n0")
    assert verdicts(made, pod()) == [[]]
    made.pods.update({f"small-{n}": Pod(pod(), "n0") for n in range(4)})
    assert verdicts(made, pod()) == [[Rule.RESOURCES]]


@pytest.mark.parametrize(
    ("taken", "wanted", "free"),
    [
        (HostPort(80), HostPort(80), False),
        (HostPort(80), HostPort(81), True),
        (HostPort(80), HostPort(80, "UDP"), True),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), True),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80), False),
        (HostPort(80), HostPort(80, "TCP", "10.0.0.1"), False),
    ],
)
def test_ports(taken: HostPort, wanted: HostPort, free: bool):
    made = cluster("aa")
    made.pods["taker"] = Pod(pod(ports=(taken,)), "n0")
    assert verdicts(made, pod(ports=(wanted,))) == [[] if free else [Rule.PORTS], []]


# --- affinity --------------------------------------------------------------------------------------------------------


def near(key: str, selector: tuple[Requirement, ...] | None = WEB, **content: object) -> PodTerm:
    return PodTerm(key, selector, content.pop("namespaces", HERE), **content)  # type: ignore[arg-type]


NO_AFFINITY = [Rule.AFFINITY]


@pytest.mark.parametrize(
    ("zones", "running", "spec", "expected"),
    [
        ("aab", {"db": "0"}, pod(affinity=(near("zone", EXISTS),)), [[], [], NO_AFFINITY]),
        ("aab", {"web": "2"}, pod(affinity=(near("zone"),)), [NO_AFFINITY, NO_AFFINITY, []]),
        ("aab", {}, pod(affinity=(near("zone"),)), [[], [], []]),
        ("a-b", {}, pod(affinity=(near("zone"),)), [[], NO_AFFINITY, []]),
        ("a-b", {"web": "1"}, pod(affinity=(near("zone"),)), [[], NO_AFFINITY, []]),
        (
            "aab",
            {},
            pod(affinity=(near("zone", (Requirement("app", "In", ("db",)),)),)),
            [NO_AFFINITY] * 3,
        ),
        ("aab", {"web": "0"}, pod(affinity=(near("zone", None),)), [NO_AFFINITY] * 3),
        ("aab", {"web": "0"}, pod(affinity=(near("zone"), near("host"))), [[], NO_AFFINITY, NO_AFFINITY]),
        # one pod has to match all terms: neither the db nor the web pod does
        (
            "aab",
            {"web": "0", "db": "0"},
            pod(affinity=(near("zone"), near("zone", (Requirement("app", "In", ("db",)),)))),
            [NO_AFFINITY] * 3,
        ),
        ("aab", {"web": "0"}, pod(affinity=(near("zone", namespaces=("other",)),)), [NO_AFFINITY] * 3),
    ],
)
def test_affinity(zones: str, running: dict[str, str], spec: PodSpec, expected: list[list[Rule]]):
    assert verdicts(cluster(zones, **running), spec) == expected


def test_the_first_of_a_group_is_not_free_once_any_of_it_runs():
    made = cluster("ab", web="1")
    made.pods["web-0"] = made.pods["web-0"]._replace(terminating=True)
    assert verdicts(made, pod(affinity=(near("zone"),))) == [NO_AFFINITY, []]
    made.pods["web-0"] = made.pods["web-0"]._replace(node="gone")
    assert verdicts(made, pod(affinity=(near("zone"),))) == [[], []]


@pytest.mark.parametrize(
    ("namespaces", "by_label", "found"),
    [
        (("default",), None, False),
        (("other",), None, True),
        ((), (Requirement("team", "In", ("y",)),), True),
        ((), (Requirement("team", "In", ("x",)),), False),
        (("default",), (Requirement("team", "In", ("y",)),), True),
        ((), (), True),
    ],
)
def test_namespaces_of_a_term(namespaces: tuple, by_label: tuple | None, found: bool):
    made = cluster("ab")
    made.pods["there"] = Pod(PodSpec("db", "other", {"app": "db"}), "n0")
    term = PodTerm("zone", (Requirement("app", "In", ("db",)),), namespaces, by_label)
    assert verdicts(made, pod(affinity=(term,))) == [[] if found else NO_AFFINITY, NO_AFFINITY]
    assert verdicts(made, pod(anti_affinity=(term,))) == [[Rule.ANTI_AFFINITY] if found else [], []]


def test_anti_affinity_and_its_mirror():
    made = cluster("aab-", web="0")
    shy = pod(anti_affinity=(near("zone"),))
    assert verdicts(made, shy) == [[Rule.ANTI_AFFINITY], [Rule.ANTI_AFFINITY], [], []]
    made = cluster("aab-")
    made.pods["shy"] = Pod(replace(shy, name="shy", labels={"app": "shy"}), "n0")
    assert verdicts(made, pod()) == [[Rule.EXISTING_ANTI_AFFINITY], [Rule.EXISTING_ANTI_AFFINITY], [], []]
    assert verdicts(made, replace(pod(), labels={"app": "db"})) == [[], [], [], []]


def test_a_node_without_the_key_is_no_domain():
    made = cluster("--", web="0")
    assert verdicts(made, pod(anti_affinity=(near("zone"),))) == [[], []]
    assert verdicts(made, pod(anti_affinity=(near("host"),))) == [[Rule.ANTI_AFFINITY], []]


# --- spread ----------------------------------------------------------------------------------------------------------

FULL, NO_KEY = [Rule.SPREAD], [Rule.SPREAD_KEY]


def over(key: str = "zone", selector: tuple[Requirement, ...] | None = WEB, **content: object) -> Spread:
    return Spread(key, selector, **content)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("zones", "running", "spec", "expected"),
    [
        # two zones of two nodes, three pods: the fourth only fits the emptier zone
        ("aabb", {"web": "012"}, pod(spreads=(over(),)), [FULL, FULL, [], []]),
        # ... and with the rule on hosts as well only on its empty node
        ("aabb", {"web": "012"}, pod(spreads=(over(), over("host"))), [FULL * 2, FULL * 2, FULL, []]),
        # conflicting: both zones are closed, one by each rule
        ("aab", {"web": "00122"}, pod(spreads=(over(), over("host"))), [FULL * 2, FULL, FULL]),
        ("aab", {"web": "0"}, pod(spreads=(over(max_skew=2),)), [[], [], []]),
        ("aab-", {"web": "0"}, pod(spreads=(over(),)), [FULL, FULL, [], NO_KEY]),
        # the selector does not match the pod itself: it does not add to the skew
        ("ab", {"db": "0"}, pod(spreads=(over(selector=(Requirement("app", "In", ("db",)),)),)), [[], []]),
        ("ab", {"db": "00"}, pod(spreads=(over(selector=(Requirement("app", "In", ("db",)),)),)), [FULL, []]),
        # fewer domains than wanted: the emptiest counts as empty
        ("ab", {"web": "01"}, pod(spreads=(over(),)), [[], []]),
        ("ab", {"web": "01"}, pod(spreads=(over(min_domains=3),)), [FULL, FULL]),
        ("abc", {"web": "012"}, pod(spreads=(over(min_domains=3),)), [[], [], []]),
        ("ab", {"web": "00"}, pod(spreads=(over(selector=()),)), [[], []]),
        ("ab", {"web": "00"}, pod(spreads=(over(selector=None),)), [[], []]),
        ("ab", {"web": "00"}, pod(spreads=(over(do_not_schedule=False),)), [[], []]),
        ("--", {}, pod(spreads=(over(do_not_schedule=False),)), [[], []]),
    ],
)
def test_spread(zones: str, running: dict[str, str], spec: PodSpec, expected: list[list[Rule]]):
    assert verdicts(cluster(zones, **running), spec) == expected


def test_domains_that_the_pod_may_not_use_count_unless_told_otherwise():
    made = cluster("abc", web="01")  # zone c is empty, but closed to the pod
    closed = {"node_terms": (NodeTerm((Requirement("zone", "NotIn", ("c",)),)),)}
    assert verdicts(made, pod(spreads=(over(),), **closed))[0] == []
    assert verdicts(made, pod(spreads=(over(honor_affinity=False),), **closed))[0] == FULL
    tainted = changed(cluster("abc", web="01"), "n2", taints=(Taint("k", "", "NoSchedule"),))
    assert verdicts(tainted, pod(spreads=(over(),)))[0] == FULL
    assert verdicts(tainted, pod(spreads=(over(honor_taints=True),)))[0] == []


def test_pods_that_end_or_live_elsewhere_do_not_count():
    made = cluster("ab", web="0")
    made.pods["web-0"] = made.pods["web-0"]._replace(terminating=True)
    made.pods["elsewhere"] = Pod(PodSpec("web-too", "other", {"app": "web"}), "n0")
    assert verdicts(made, pod(spreads=(over(),))) == [[], []]


def test_domains_have_the_keys_of_all_hard_rules():
    made = cluster("aab", web="01")
    made.nodes["n2"] = replace(made.nodes["n2"], labels={"zone": "b"})  # zone b has no host: it is no domain
    both = pod(spreads=(over(), over("host", max_skew=5)))
    assert verdicts(made, both) == [[], [], NO_KEY]
    soft = pod(spreads=(over(), over("host", do_not_schedule=False)))
    assert verdicts(made, soft) == [FULL, FULL, []]
