"""Slices of DisaggregatedSets: which pods are in one, in which domain, and what tree their pods make."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.kube.api.pod_rules import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    PodAffinity,
    PodAffinityTerm,
)
from poseidon.pod_groups.group_names import LWS
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.slices import SET, SLICE, find_slice_topology, name_slice
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm
from tests.poseidon.pod_groups.objects import pod


def near(*conditions: tuple[str, str, str], topology: str = "rack", **more: Any) -> PodAffinityTerm:
    expressions = tuple(
        LabelSelectorRequirement(key, operator, (value,)) for key, operator, value in conditions
    )
    return PodAffinityTerm(LabelSelector(match_expressions=expressions), topology_key=topology, **more)


OWN = near((SET, "In", "llm"), (SLICE, "In", "1"))
NARROWER = PodAffinityTerm(
    LabelSelector(
        match_labels={"app": "x"},
        match_expressions=(
            LabelSelectorRequirement(SET, "In", ("llm",)),
            LabelSelectorRequirement(SLICE, "In", ("1",)),
        ),
    ),
    topology_key="rack",
)


def slice_pod(
    role: str = "prefill", index: str = "0", size: str = "1", *terms: PodAffinityTerm, **labels: str
):
    made = pod(f"llm-1-{role}-{index}")
    found = {SET: "llm", SLICE: "1", f"{LWS}/name": f"llm-1-{role}", f"{LWS}/group-index": index, **labels}
    metadata = replace(made.metadata, labels=found, annotations={f"{LWS}/size": size})
    affinity = Affinity(pod_affinity=PodAffinity(terms or (OWN,)))
    return replace(made, metadata=metadata, spec=replace(made.spec, affinity=affinity))


def test_pods_of_a_slice_name_its_domain_by_their_affinity():
    assert find_slice_topology(slice_pod()) == "rack"
    assert name_slice(slice_pod()) == "llm-1"
    turned = near((SLICE, "In", "1"), (SET, "In", "llm"), topology="zone")
    assert find_slice_topology(slice_pod("prefill", "0", "1", near(("app", "In", "x")), turned)) == "zone"


@pytest.mark.parametrize(
    "term",
    [
        near((SET, "In", "llm")),
        near((SET, "In", "llm"), (SLICE, "In", "2")),
        near((SET, "In", "llm"), (SLICE, "NotIn", "1")),
        replace(OWN, namespaces=("other",)),
        replace(OWN, namespace_selector=LabelSelector()),
        PodAffinityTerm(topology_key="rack"),
        NARROWER,
    ],
)
def test_other_affinities_name_no_domain(term):
    assert find_slice_topology(slice_pod("prefill", "0", "1", term)) == ""


def test_pods_without_labels_of_a_slice_or_affinity_are_in_none():
    assert find_slice_topology(pod("a")) == ""
    alone = slice_pod()
    assert find_slice_topology(replace(alone, spec=replace(alone.spec, affinity=None))) == ""


def test_a_slice_is_a_tree_of_the_groups_of_all_roles():
    groups = Groups()
    for uid, made in enumerate((slice_pod(), slice_pod("prefill", "1"), slice_pod("decode", "0", "2"))):
        groups.put_pod(f"u{uid}", made)
    group = groups.group_of("u0")
    assert group is not None
    assert groups.group_of("u2") is group
    assert group.member.name == "default/llm-1"
    job = groups.job(group)
    root, *inside = job.groups
    assert (root.name, [*root.within], root.least, root.expected, root.expected_alike) == (
        "llm-1", ["rack"], 1, 3, True
    )  # fmt: skip
    assert [(each.name, each.parent, each.least, each.expected, each.disrupted_whole) for each in inside] == [
        ("llm-1-decode-0", "llm-1", 1, 2, True),
        ("llm-1-prefill-0", "llm-1", 1, 1, True),
        ("llm-1-prefill-1", "llm-1", 1, 1, True),
    ]
    place = groups.place_in_tree(group, "u2")
    assert (place.group, place.kept_terms) == ("llm-1-decode-0", (KeptTerm((SET, SLICE), "rack"),))
    assert groups.waits_for(group) == ""


def test_a_slice_with_a_faulty_size_waits_and_says_so():
    groups = Groups()
    groups.put_pod("u0", slice_pod("prefill", "0", "many"))
    group = groups.group_of("u0")
    assert group is not None
    assert "'many' is no number of pods" in groups.waits_for(group)


def test_a_slice_of_very_many_groups_waits_and_says_so():
    groups = Groups()
    for index in range(513):
        groups.put_pod(f"u{index}", slice_pod("prefill", str(index)))
    group = groups.group_of("u0")
    assert group is not None
    assert "its 513 groups are too many; at most 512" in groups.waits_for(group)
