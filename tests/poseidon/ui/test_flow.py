"""The picture of a round, by hand.

Three classes on four machines in two zones: c0 (8 tasks, 6 placed) is kept off zone b by a taint, c1 (4 tasks) may go
anywhere, c2 (1 task) likewise. Zone a is full.
"""

from __future__ import annotations

import pytest

from poseidon.explanations import Charge, Verdict
from poseidon.ui.known_rounds import KnownRounds
from poseidon.ui.views.flow.arcs import class_label, price_of
from poseidon.ui.views.flow.details import class_detail, constraint_detail, machines_detail
from poseidon.ui.views.flow.sankey import draw_sankey
from poseidon.ui.views.pods import show_pod
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.ui.objects import NOW, known, make_node, make_pod, record, store

TAINT = "node(s) had untolerated taint(s)"
APART = "node(s) didn't match pod anti-affinity rules"
ZONES = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}


def one_flow() -> pb.RoundFlow:
    return pb.RoundFlow(
        round=7,
        ended=NOW,
        stats=pb.RoundStats(certified=True, gap=0.0, cost=90),
        machines=list(ZONES),
        machine_price=[10.0, 4.0, 0.0, 0.0],
        machine_room=[0, 0, 5, 3],
        machine_saturated=[True, True, False, False],
        classes=[
            pb.FlowClass(
                name="x/web-1",
                job="Owner/x/ReplicaSet/web/uid",
                namespace="x",
                priority=3,
                tasks=8,
                placed=6,
                price=20.0,
                requests=[pb.Quantity(resource="cpu", amount=500)],
                refusals=[pb.ReasonCount(reason=TAINT, machines=2)],
                open=2,
                kept_back=[
                    pb.ReasonCount(reason=APART, machines=1),
                    pb.ReasonCount(reason=TAINT, machines=2),
                ],
            ),
            pb.FlowClass(name="x/db-1", tasks=4, placed=4, price=5.0, open=4),
            pb.FlowClass(name="x/one", tasks=1, placed=1, open=4),
        ],
        models=["m", "kubernetes"],
        arc_class=[0, 0, 1, 1, 2],
        arc_machine=[0, 1, 1, 2, 3],
        arc_tasks=[4, 2, 1, 3, 1],
        arc_cost=[2.0, 8.0, 1.0, 3.0, 0.0],
        model_cost=[2.0, 7.0, 1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        arc_uids=["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11"],
    )


def drawn(classes=30, groups=20):
    return draw_sankey(one_flow(), [7], "zone", ["zone", ""], ZONES.__getitem__, classes, groups)


def links(found):
    return {(each["source"], each["target"]): each for each in found["links"]}


def test_the_picture():
    found = drawn()
    assert (found["round"], found["tasks"], found["placed"], found["certified"]) == (7, 13, 11, True)
    nodes = {each["id"]: each for each in found["nodes"]}
    assert list(nodes) == ["c0", "c1", "c2", "g0", "g1", "k0", "used", "waiting"]
    assert nodes["c0"]["label"] == "x/ReplicaSet/web"
    assert nodes["c0"]["sub"] == "8 tasks, priority 3, 500m cpu"
    assert (nodes["c2"]["label"], nodes["c2"]["price"]) == ("x/one", None)
    # What keeps back is what the round's end says, not its beginning, and of those that wait alone.
    assert (nodes["k0"]["label"], nodes["k0"]["saturated"]) == (APART, True)
    assert (nodes["k0"]["tasks"], nodes["k0"]["sub"]) == (2, "1 class")
    assert [nodes[name]["price"] for name in ("c0", "c1", "k0")] == [20.0, 5.0, 20.0]
    assert nodes["g0"]["sub"] == "2 of 2 machines used, room for 0 more"
    assert nodes["g1"]["sub"] == "2 of 2 machines used, room for 8 more"
    assert (nodes["g0"]["saturated"], nodes["g1"]["saturated"]) == (True, False)
    assert (nodes["used"]["tasks"], nodes["waiting"]["tasks"], nodes["waiting"]["saturated"]) == (11, 2, True)


def test_its_links():
    found = drawn()
    by_ends = links(found)
    assert {ends: each["tasks"] for ends, each in by_ends.items()} == {
        ("c0", "k0"): 2,
        ("k0", "waiting"): 2,
        ("c0", "g0"): 6,
        ("c1", "g0"): 1,
        ("c1", "g1"): 3,
        ("c2", "g1"): 1,
        ("g0", "used"): 7,
        ("g1", "used"): 4,
    }
    assert by_ends["c0", "g0"]["price"] == 8.0  # 4 at 10, 2 at 4
    assert by_ends["g1", "used"]["price"] == 0.0
    assert by_ends["c0", "k0"]["price"] == 20.0
    assert found["priceMost"] == 20.0
    saturated = {ends for ends, each in by_ends.items() if each["saturated"]}
    assert saturated == {("c0", "g0"), ("c1", "g0"), ("c0", "k0"), ("k0", "waiting")}


def test_nothing_gates_what_is_placed():
    flow = one_flow()
    del flow.classes[0].kept_back[:]
    flow.classes[0].placed, flow.classes[0].tasks = 6, 6
    found = draw_sankey(flow, [7], "zone", ["zone", ""], ZONES.__getitem__, 30, 20)
    assert [each for each in found["nodes"] if each["layer"] == "constraints"] == []
    assert {each["source"][0] + each["target"][0] for each in found["links"]} == {"cg", "gu"}


def test_solvers_of_older_releases_tell_only_what_was_so_at_the_beginning():
    flow = one_flow()
    del flow.classes[0].kept_back[:]
    found = draw_sankey(flow, [7], "zone", ["zone", ""], ZONES.__getitem__, 30, 20)
    assert [each["label"] for each in found["nodes"] if each["layer"] == "constraints"] == [TAINT]
    del flow.classes[0].refusals[:]
    found = draw_sankey(flow, [7], "zone", ["zone", ""], ZONES.__getitem__, 30, 20)
    assert [each["label"] for each in found["nodes"] if each["layer"] == "constraints"] == ["not known"]


def test_what_is_not_shown_is_summed_up():
    found = drawn(classes=1, groups=20)
    nodes = {each["id"]: each for each in found["nodes"]}
    assert found["others"] == {"classes": 2, "groups": 0}
    assert (nodes["c-others"]["label"], nodes["c-others"]["tasks"]) == ("2 other classes", 5)
    assert links(found)["c-others", "g1"]["tasks"] == 4
    # one class that would stand alone behind "others" is shown by itself
    assert drawn(classes=2)["others"]["classes"] == 0
    none = drawn(groups=0)
    assert none["others"]["groups"] == 2
    together = {each["id"]: each for each in none["nodes"]}["g-others"]
    assert (together["tasks"], together["sub"]) == (11, "4 of 4 machines used, room for 8 more")


def test_layers_hold_as_much_as_comes_in():
    for found in (drawn(), drawn(classes=1, groups=0)):
        into = dict.fromkeys((each["id"] for each in found["nodes"]), 0)
        out = dict(into)
        for each in found["links"]:
            out[each["source"]] += each["tasks"]
            into[each["target"]] += each["tasks"]
        for each in found["nodes"]:
            if each["layer"] in ("constraints", "machines"):
                assert into[each["id"]] == out[each["id"]] == each["tasks"]


def test_one_class():
    found = class_detail(one_flow(), "c0", ZONES.__getitem__, 0, 1)
    assert found is not None
    assert (found["tasks"], found["placed"], found["price"], found["open"], found["total"]) == (
        8,
        6,
        20.0,
        2,
        2,
    )
    assert found["requests"] == {"cpu": "500m"}
    # 8 points and a price of 4 stand beside 2 points and a price of 10: equally dear, the first machine first
    assert found["arcs"] == [
        {
            "machine": "a1",
            "group": "a",
            "tasks": 4,
            "cost": 2,
            "machinePrice": 10,
            "models": {"m": 2, "kubernetes": 0},
        }
    ]
    later = class_detail(one_flow(), "c0", ZONES.__getitem__, 1, 1)
    assert later is not None
    assert later["arcs"][0]["models"] == {"m": 7, "kubernetes": 1}


def test_one_constraint():
    found = constraint_detail(one_flow(), "k0")
    assert found == {
        "id": "k0",
        "label": APART,
        "refusals": [{"reason": APART, "machines": 1}, {"reason": TAINT, "machines": 2}],
        "classes": [{"id": "c0", "label": "x/ReplicaSet/web", "tasks": 8, "placed": 6, "price": 20.0}],
    }


def test_one_group_of_machines():
    found = machines_detail(one_flow(), "g0", ZONES.__getitem__, "zone", 0, 1)
    assert found is not None
    assert (found["machines"], found["saturated"], found["room"], found["priceMost"]) == (2, 2, 0, 10)
    assert found["items"] == [{"machine": "a1", "price": 10, "room": 0, "saturated": True, "tasks": 4}]
    assert found["total"] == 2
    # 4 tasks for 2 and 2 tasks for 8 points
    assert found["classes"] == [
        {"id": "c0", "label": "x/ReplicaSet/web", "tasks": 6, "cost": 4},
        {"id": "c1", "label": "x/db-1", "tasks": 1, "cost": 1},
    ]


@pytest.mark.parametrize("name", ["c3", "c-1", "c", "k0", "c\u0663", "c99999999999999999999", "c-others"])
def test_names_of_nothing(name):
    assert class_detail(one_flow(), name, ZONES.__getitem__, 0, 1) is None


def test_what_a_pod_has_cost():
    price = price_of(one_flow(), "u7")
    assert price is not None
    assert (price.machine, price.cost, price.machine_price) == ("a2", 1.0, 4.0)
    assert price_of(one_flow(), "u99") is None
    found = store(*(make_node(name) for name in ZONES), make_pod("x/p", uid="u7", node="a2"))
    everything = known(found)
    everything.rounds.put_flow(one_flow())
    said = {
        name: Verdict(True, (), cost, {"m": Charge(True, 0.0, None, cost)})
        for name, cost in zip(ZONES, (0.0, 1.0, 3.0, 9.0), strict=True)
    }
    shown = show_pod(everything, record(found, "x/p"), said, None)
    # a2 costs 1 + 4; b1 would cost 3 + 0, and nothing costs less
    assert shown["price"] == {
        "round": 7,
        "node": "a2",
        "cost": 1,
        "machinePrice": 4,
        "total": 5,
        "dearer": -2,
        "models": {"m": 1, "kubernetes": 0},
    }


def test_who_took_the_room():
    """On a1 four of 500m leave 2 of 4 cores: without two of them there would be 3; a2 has 3 as it is."""
    found = store(*(make_node(name) for name in ZONES), make_pod("x/p", cpu="3"))
    everything = known(found)
    everything.rounds.put_flow(one_flow())
    refused = Verdict(False, ("Insufficient cpu",), 0.0, {}, lacks_only_room=True)
    shown = show_pod(everything, record(found, "x/p"), dict.fromkeys(("a1", "a2"), refused), None)
    assert shown["room"] == [{"class": "x/ReplicaSet/web", "tasks": 2, "node": "a1"}]


@pytest.mark.parametrize(
    ("job", "label"),
    [
        ("", "x/one"),
        ("Owner/x/ReplicaSet/web/uid", "x/ReplicaSet/web"),
        ("Owner/x/Job/a%2Fb", "x/Job/a/b"),
        ("PodGroup/x/gang", "x/gang"),
        ("short", "short"),
    ],
)
def test_what_people_call_a_class(job, label):
    assert class_label(pb.FlowClass(name="x/one", job=job)) == label


def test_rounds_are_kept_in_bounds():
    book = KnownRounds()
    book.add(pb.RoundSummary(round=number) for number in range(1, 301))
    assert (len(book.summaries()), book.latest) == (200, 300)
    assert not book.add([pb.RoundSummary(round=300)])
    for number in range(1, 31):
        book.put_flow(pb.RoundFlow(round=number))
    assert book.list_rounds() == list(range(11, 31))
    newest = book.flow(0)
    assert newest is not None
    assert newest.round == 30
    assert book.flow(3) is None
