"""Affinities that a tree of groups keeps are left out of a class; all others stay."""

from __future__ import annotations

from poseidon.pod_rules.redundant_pod_affinity import KeptTerm, drop_kept_terms
from protos.firmament.v1 import scheduler_pb2 as pb

KEPT = (KeptTerm(("group",), "zone"), KeptTerm(("subgroup",), "rack", apart=True))


def term(topology_key: str, *expressions: tuple[str, ...]) -> pb.TaskTerm:
    labels = [
        pb.Requirement(key=key, operator=operator, values=values) for key, operator, *values in expressions
    ]
    return pb.TaskTerm(topology_key=topology_key, selector=pb.TaskSelector(labels=labels))


def test_only_terms_about_the_own_group_are_left_out():
    kept_together = [
        term("rack", ("group", "In", "g")),
        term("zone", ("group", "In", "another")),
        term("zone", ("group", "In", "g"), ("app", "In", "web")),
        term("zone", ("app", "In", "web")),
    ]
    kept_apart = [
        term("zone", ("group", "Exists"), ("group", "NotIn", "g")),
        term("zone", ("subgroup", "Exists"), ("subgroup", "NotIn", "s")),
        term("rack", ("subgroup", "Exists")),
        term("rack", ("subgroup", "Exists"), ("subgroup", "NotIn", "another")),
    ]
    message = pb.TaskClass(labels={"group": "g", "subgroup": "s"})
    message.affinity.extend(
        [*kept_together, term("zone", ("group", "In", "g")), term("rack", ("subgroup", "In", "s"))]
    )
    message.anti_affinity.extend(
        [*kept_apart, term("rack", ("subgroup", "Exists"), ("subgroup", "NotIn", "s"))]
    )
    drop_kept_terms(message, KEPT)
    assert [*message.affinity] == kept_together
    assert [*message.anti_affinity] == kept_apart


def test_a_group_may_be_named_by_several_labels_in_any_order():
    message = pb.TaskClass(labels={"set": "llm", "slice": "1"})
    other = term("rack", ("slice", "In", "2"), ("set", "In", "llm"))
    message.affinity.extend([term("rack", ("slice", "In", "1"), ("set", "In", "llm")), other])
    drop_kept_terms(message, [KeptTerm(("set", "slice"), "rack")])
    assert [*message.affinity] == [other]
