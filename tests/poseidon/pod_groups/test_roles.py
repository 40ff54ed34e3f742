"""Which pods of a group with roles the solver gets: what each role lacks, and the oldest of the others."""

from __future__ import annotations

import pytest

from poseidon.group_trees.status.members import Member
from poseidon.kube.api.metadata import PodRef
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.group_names import MemberPart
from poseidon.pod_groups.roles import ChosenPods, choose_pods

W, P = "worker", "ps"


def pod(
    uid: str, *, created: str = "", node: str = "", phase: str = "Pending", leaving: bool = False
) -> Member:
    return Member(PodRef(uid, "ns", uid), created, node, phase, leaving, {})


def offered(demand: Demand, roles: dict[str, str], **members: Member) -> ChosenPods:
    """Choose among members, which are like any other unless given; ``roles`` by uid."""
    known = {uid: members.get(uid, pod(uid)) for uid in roles}
    return choose_pods(known, {uid: MemberPart(role) for uid, role in roles.items()}, demand)


BY_ROLE = Demand(3, by_role={P: 1, W: 2}, roles="task")


@pytest.mark.parametrize(
    ("roles", "members", "expected"),
    [
        ({"a": P, "b": W, "c": W}, {}, ChosenPods(3)),
        ({"a": P, "b": W, "c": W, "d": W}, {}, ChosenPods(3, frozenset({"d"}))),
        ({"b": W, "c": W, "d": W}, {}, ChosenPods(3, frozenset(), "task ps has 0 of 1")),
        ({"a": P, "b": W}, {}, ChosenPods(2, frozenset(), "task worker has 1 of 2")),
        ({}, {}, ChosenPods(0, frozenset(), "task ps has 0 of 1; task worker has 0 of 2")),
        ({"a": P, "b": W, "c": W}, {"b": pod("b", node="n")}, ChosenPods(3)),
        (
            {"a": P, "b": W, "c": W, "d": W},
            {"b": pod("b", node="n", phase="Running")},
            ChosenPods(3, frozenset({"d"})),
        ),
        (
            {"a": P, "b": W, "c": W},
            {"b": pod("b", node="n", phase="Failed")},
            ChosenPods(2, frozenset(), "task worker has 1 of 2"),
        ),
        (
            {"a": P, "b": W, "c": W},
            {"c": pod("c", leaving=True)},
            ChosenPods(2, frozenset(), "task worker has 1 of 2"),
        ),
        (
            {"a": P, "b": W, "c": W},
            {"c": pod("c", node="n", leaving=True)},
            ChosenPods(2, frozenset(), "task worker has 1 of 2"),
        ),
        ({"a": P, "b": W, "c": W}, {"c": pod("c", node="n", phase="Succeeded")}, ChosenPods(2)),
        (
            dict.fromkeys("bcd", W),
            {each: pod(each, node="n") for each in "bcd"},
            ChosenPods(3, frozenset(), "task ps has 0 of 1"),
        ),
    ],
)
def test_each_role_gets_what_it_lacks(roles, members, expected):
    assert offered(BY_ROLE, roles, **members) == expected


def test_the_oldest_go_first_then_by_number_then_by_uid():
    roles = dict.fromkeys(("w-10", "w-9", "w-2"), W)
    demand = Demand(1, by_role={W: 1})
    assert offered(demand, roles).beyond == {"w-10", "w-9"}
    older = {
        "w-10": pod("w-10", created="2026-01-01T00:00:00Z"),
        "w-9": pod("w-9", created="2026-01-02T00:00:00Z"),
    }
    older["w-2"] = pod("w-2", created="2026-01-03T00:00:00Z")
    assert offered(demand, roles, **older).beyond == {"w-9", "w-2"}


def test_beyond_the_roles_the_oldest_others_fill_up_to_the_least_number():
    demand = Demand(3, by_role={P: 1})
    assert offered(demand, {"a": P, "b": W, "c": W, "d": W}) == ChosenPods(3, frozenset({"d"}))
    assert offered(demand, {"a": P, "b": W}) == ChosenPods(2, frozenset(), "2 of 3 exist")
    assert offered(demand, {"a": P, "b": W}, b=pod("b", node="n")) == ChosenPods(
        2, frozenset(), "2 of 3 exist"
    )


def test_the_roles_may_need_more_than_the_group_and_more_may_have_ended_than_it_needs():
    demand = Demand(1, by_role={P: 1, W: 1})
    assert offered(demand, {"a": P, "b": W, "c": W, "d": W}) == ChosenPods(2, frozenset({"c", "d"}))
    ended = {uid: pod(uid, node="n", phase="Succeeded") for uid in "ab"}
    assert offered(demand, {"a": P, "b": W}, **ended) == ChosenPods(0)


@pytest.mark.parametrize(("phase", "needed"), [("Running", 3), ("Succeeded", 2)])
def test_of_a_whole_group_the_solver_gets_all(phase, needed):
    there = {uid: pod(uid, node="n", phase="Running") for uid in "ab"}
    found = offered(
        BY_ROLE, {"a": P, "b": W, "c": W, "d": W, "e": P}, **there, c=pod("c", node="n", phase=phase)
    )
    assert found == ChosenPods(needed)
