"""Claims for one pod at a time: who waits for whom, and who may evict whom."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from poseidon.volumes.claims import Rank, compute_rank
from poseidon.volumes.sole_claims import leaves_claims, list_contested, node_of_holders


@dataclass
class Pod:
    rank: Rank
    place: str = ""


def pod(priority: int, created: float = 0.0, place: str = "", uid: str = "u") -> Pod:
    return Pod(compute_rank(priority, created, uid), place)


@pytest.mark.parametrize(
    ("own", "rivals", "leaves"),
    [
        (pod(5), [], False),
        (pod(5), [pod(6)], True),
        (pod(5), [pod(4)], False),
        (pod(5, 2.0), [pod(5, 1.0)], True),
        (pod(5, 1.0), [pod(5, 2.0)], False),
        (pod(5, uid="a"), [pod(5, uid="b")], False),
        (pod(5, uid="b"), [pod(5, uid="a")], True),
        (pod(5), [pod(4, place="n1")], False),
        (pod(5), [pod(5, place="n1")], True),
        (pod(5), [pod(6, place="n1")], True),
        (pod(5), [pod(4, place="n1"), pod(3, place="n1")], False),
        (pod(5), [pod(4, place="n1"), pod(3, place="n2")], True),
        (pod(5), [pod(4, place="n1"), pod(3)], False),
    ],
)
def test_a_pod_waits_for_those_before_it_and_those_it_cannot_evict(own, rivals, leaves):
    assert leaves_claims(own, iter([("c", each) for each in rivals])) is leaves


@pytest.mark.parametrize(
    ("own", "rival", "contested"),
    [
        (pod(5), pod(4, place="n"), True),
        (pod(5), pod(5, place="n"), False),
        (pod(5), pod(6, place="n"), False),
        (pod(5), pod(4), False),
        (pod(5, place="n"), pod(6), True),
        (pod(5, place="n"), pod(5), False),
        (pod(5, place="n"), pod(4), False),
        (pod(5, place="n"), pod(4, place="m"), True),
    ],
)
def test_claims_are_contested_between_unequal_pods_of_which_the_lower_has_a_node(own, rival, contested):
    assert list_contested(own, [("c", rival), ("other", pod(5))]) == ({"c"} if contested else set())


@pytest.mark.parametrize(
    ("own", "rivals", "node"),
    [
        (pod(5), [], ""),
        (pod(5), [pod(4)], ""),
        (pod(5), [pod(4, place="n2"), pod(4, place="n1")], "n1"),
        (pod(5), [pod(5, place="n1")], ""),
        (pod(5), [pod(6, place="n1"), pod(4, place="n2")], "n2"),
        (pod(5, place="n2"), [pod(4, place="n2"), pod(4, place="n1")], "n2"),
        (pod(5, place="n3"), [pod(4, place="n1")], ""),
    ],
)
def test_a_pod_may_go_where_those_run_that_it_may_evict(own, rivals, node):
    assert node_of_holders(own, [("c", each) for each in rivals]) == node


def test_ranks_begin_with_the_highest_priority_then_the_oldest_then_the_first_uid():
    ranks = [compute_rank(*each) for each in ((9, 5.0, "z"), (5, 1.0, "b"), (5, 2.0, "a"), (5, 2.0, "c"))]
    assert ranks == sorted(ranks)
    assert ranks[0] == (-9, 5.0, "z")
