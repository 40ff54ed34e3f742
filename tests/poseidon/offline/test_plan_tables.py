"""The tables and the last line that a plan is printed as: headings, order of rows, shares, words and units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from poseidon.offline.move_costs import PaidMove
from poseidon.offline.plan import Binding, NodeUse, Pending, Plan, Preemption, Round
from poseidon.offline.planned_groups import PlannedGroup
from poseidon.offline.planned_queues import PlannedQueue, QueueUse
from poseidon.offline.tables import print_plan, print_queues
from poseidon.queues.model import UNLIMITED

NOTHING = Plan((), (), (), (), (), Round(), ())
BOUND = replace(
    NOTHING,
    bindings=(Binding("a/p", "n1"), Binding("a/q", "n1")),
    nodes=(
        NodeUse("n1", 3, {"cpu": 4000, "memory": 1000}, {"cpu": 1000, "memory": 995}),
        NodeUse("n2", 0, {"cpu": 4000}, {"cpu": 4000}),
    ),
    round=Round(tasks=2, cost=12, seconds={"solve": 0.25, "admit": 0.75}),
)


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]):
    def print_lines(plan: Plan, *, wide: bool = False) -> list[str]:
        print_plan(plan, wide=wide)
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    return print_lines


def test_a_plan_of_nothing_is_one_line(lines):
    assert lines(NOTHING) == ["0 pods bound to 0 nodes of 0, 0 pending."]


def test_pods_and_the_nodes_that_they_come_to(lines):
    assert lines(BOUND) == [
        "POD NODE",
        "a/p n1",
        "a/q n1",
        "",
        "NODE NEW PODS PODS CPU MEMORY",
        "n1 2 3 75% 0%",
        "",
        "2 pods bound to 1 node of 2, 0 pending; cost 12 points, flow certified, 1000 ms.",
    ]


def test_a_node_that_states_no_amount_has_no_share(lines):
    bare = replace(BOUND, nodes=(NodeUse("n1", 1, {"cpu": 8, "memory": 0}, {"cpu": -2}),))
    assert "n1 2 1 125% -" in lines(bare)


def test_pods_that_follow_others_say_which(lines):
    after = replace(BOUND, bindings=(Binding("a/p", "n1", ("a/q", "a/r")), Binding("a/q", "n1")))
    assert lines(after)[:3] == ["POD NODE AFTER", "a/p n1 a/q, a/r", "a/q n1"]


def test_pods_that_preempt_are_no_bound_pods(lines):
    bindings = (Binding("a/p", "n1"), Binding("a/high", "n2", ("a/low",)))
    found = lines(replace(BOUND, bindings=bindings, preemptions=(Preemption("a/low", "n2", "a/high"),)))
    assert found[:9] == [
        "POD NODE",
        "a/p n1",
        "",
        "PREEMPTING POD NODE WAITS FOR",
        "a/high n2 a/low",
        "",
        "PREEMPTED POD NODE FOR",
        "a/low n2 a/high",
        "",
    ]
    assert found[-1].startswith("1 pod bound to 1 node of 2, 1 waits for 1 pod to make way, 0 pending; ")


def test_several_wait(lines):
    bindings = (Binding("a/x", "n1", ("a/low",)), Binding("a/y", "n2", ("a/low",)))
    preemptions = (Preemption("a/low", "n1", "a/x"), Preemption("a/less", "n2", "a/y"))
    found = lines(replace(BOUND, bindings=bindings, preemptions=preemptions))
    assert found[-1].startswith("0 pods bound to 0 nodes of 2, 2 wait for 2 pods to make way, 0 pending; ")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"gap": 0.00004}, "flow certified, 1000 ms"),
        ({"gap": 0.00006}, "flow certified, at most 0.01% of it for rules, 1000 ms"),
        (
            {"gap": 0.5, "certified": False},
            "flow not certified, at most 50.00% of it could be saved, 1000 ms",
        ),
        ({"certified": False}, "flow not certified, at most 0.00% of it could be saved, 1000 ms"),
    ],
)
def test_what_is_proved_of_the_cost(lines, figures, words):
    assert lines(replace(BOUND, round=replace(BOUND.round, **figures)))[-1].endswith(f"points, {words}.")


@pytest.mark.parametrize(("cost", "words"), [(None, "1000 ms."), (0.0, "1000 ms. Total network cost 0.")])
def test_network_cost_is_told_where_there_is_any_network(lines, cost, words):
    assert lines(replace(BOUND, round=replace(BOUND.round, network_cost=cost)))[-1].endswith(words)


def test_waiting_pods_are_counted_by_workload_or_each_is_told(lines):
    reason = "0/1 nodes are available: 1 Insufficient cpu."
    pending = (Pending("a/w-1", reason), Pending("a/w-2", reason))
    waiting = replace(NOTHING, pending=pending, workloads={"a/w-1": "a/w", "a/w-2": "a/w"})
    short, wide = lines(waiting), lines(waiting, wide=True)
    assert short[:2] == ["PENDING PODS REASON", "a/w 2 Insufficient cpu (1 of 1 node)"]
    assert wide[:3] == ["PENDING POD REASON", f"a/w-1 {reason}", f"a/w-2 {reason}"]
    assert short[-1] == wide[-1] == "0 pods bound to 0 nodes of 0, 2 pending."


def test_devices_are_told_where_asked(lines):
    with_device = replace(BOUND, bindings=(Binding("a/p", "n1", devices=("gpu: d/p/0", "gpu: d/p/1")),))
    assert "POD DEVICE" not in lines(with_device)
    assert lines(with_device, wide=True)[3:6] == ["POD DEVICE", "a/p gpu: d/p/0", "a/p gpu: d/p/1"]


def test_moves_and_groups(lines):
    group = PlannedGroup(
        "a/g", "Waiting", {"z1": {"n1": ("p", "q")}, "z2": {"n2": ("r",)}}, frozenset("pqrs"), "lacks 1 pod"
    )
    moved = replace(NOTHING, migrations=(PaidMove("a/p", "n1", "n2", 1234.6),), groups=(group,))
    assert lines(moved)[:6] == [
        "MIGRATED POD FROM TO SAVES",
        "a/p n1 n2 1,235",
        "",
        "GROUP STATUS PODS NODES MESSAGE",
        "a/g Waiting 3 of 4 2 lacks 1 pod",
        "",
    ]
    ranked = lines(replace(moved, groups=(replace(group, ranks={"p": 1, "q": 0}),)))
    tree = [line.lstrip("└├─│ ") for line in ranked[6:11]]
    assert tree == ["a/g (Waiting)", "z1 (2)", "n1: p (1), q (0)", "z2 (1)", "n2: r"]


QUEUES = (
    PlannedQueue("Cohort/all", "", 0, 1, 2, (), "no flavors"),
    PlannedQueue(
        "ClusterQueue/a",
        "Cohort/all",
        1,
        1,
        0,
        (
            QueueUse("default", "cpu", 4000, 1500, 0, 500),
            QueueUse("spot", "memory", UNLIMITED, 1024**3, 0, 0),
        ),
    ),
    PlannedQueue("ClusterQueue/b", "Cohort/all", 30, 0, 2, ()),
)


def test_queues_are_a_tree_with_a_row_for_each_flavor_and_resource(capsys):
    print_queues(QUEUES)
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == [
        *("QUEUE", "ADMITTED", "WAITING", "FLAVOR", "RESOURCE", "NOMINAL", "USED", "BORROWED", "LENT"),
    ]
    assert [row.split() for row in rows] == [
        ["Cohort/all", "1", "2", "no", "flavors"],
        ["ClusterQueue/a", "1", "0", "default", "cpu", "4", "1500m", "0", "500m"],
        ["spot", "memory", "no", "limit", "1Gi", "0", "0"],
        ["ClusterQueue/b", "0", "2"],
    ]
    assert [len(row) - len(row.lstrip()) for row in (rows[0], rows[1], rows[3])] == [0, 2, 40]


def test_queues_say_when_their_pods_start(capsys):
    print_queues(QUEUES, {"ClusterQueue/a": ("1m", "2h")})
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.endswith("FIRST IN   LAST IN")
    assert [row.split()[-2:] == ["1m", "2h"] for row in rows] == [False, True, False, False]
