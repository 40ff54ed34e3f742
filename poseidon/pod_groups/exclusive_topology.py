"""Groups of JobSets and LeaderWorkerSets that get a domain of nodes each (``exclusive-topology``).

Their controllers create most pods of a group only once the first one has a node, and bind them to its domain. So the
first one has to go where there is room for all: each group is a tree that says how many pods it will have.
"""

from __future__ import annotations

from collections.abc import Collection

from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import shorten
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.pod_groups.composites import GroupNode
from poseidon.pod_groups.demands import Demand, count_wanted
from poseidon.pod_groups.membership import (
    JOB_SET_BY_SELECTOR,
    JOB_SET_DOMAIN,
    LWS,
    LWS_DOMAIN,
    SUBGROUP_DOMAIN,
    DomainTerms,
    MemberPart,
)

SUBGROUP_INDEX = f"{LWS}/subgroup-index"
"""Label of a LeaderWorkerSet's pods."""
SIZE, SUBGROUP_SIZE, SUBGROUP_POLICY = f"{LWS}/size", f"{LWS}/subgroup-size", f"{LWS}/subgroup-policy-type"
"""Annotations of theirs."""
ANNOTATIONS = (
    *(JOB_SET_BY_SELECTOR, JOB_SET_DOMAIN, LWS_DOMAIN),
    *(SUBGROUP_DOMAIN, SIZE, SUBGROUP_SIZE, SUBGROUP_POLICY),
)
"""All annotations by which pods say what of their group has a domain of its own."""
LEADER_EXCLUDED = "LeaderExcluded"
"""The policy by which the leader is in no subgroup."""

MOST_PODS = 100_000
"""Pods for which a group may look for room."""
MOST_SUBGROUPS = 16
"""Subgroups that are placed together. Each has affinities of its own, and of those a gang may have so many; the pods of
more subgroups go by their affinities alone.
"""

LEADER = "leader"
"""The group of a leader that is in no subgroup."""


def read_domain_part(pod: Pod) -> MemberPart:
    """Return what a pod of a LeaderWorkerSet says of its part in its group."""
    found = pod.metadata.annotations
    terms = DomainTerms(
        *(found.get(key, "") for key in (SIZE, LWS_DOMAIN, SUBGROUP_SIZE, SUBGROUP_DOMAIN, SUBGROUP_POLICY))
    )
    index = pod.metadata.labels.get(SUBGROUP_INDEX, "")
    role = "" if not terms.subgroup_size else _name_subgroup(index) if index else LEADER
    return MemberPart(role, domains=terms)


def of_exclusive_job(found: ScaledOwner, domain: str) -> Demand:
    """Read a Job of a JobSet: its first pods go where there is room for all that run at the same time."""
    fault = key_fault(domain)
    if fault:
        return Demand(problem=f"annotation {JOB_SET_DOMAIN}: {fault}")
    size = min(count_wanted(found), MOST_PODS)
    node = GroupNode(found.metadata.name, least=1, within=(domain,), expected=size, expected_alike=True)
    return Demand(1, size=size, nodes=(node,))


def of_leader_worker_group(name: str, stated: Collection[MemberPart]) -> Demand | None:
    """Read what the pods of a group of a LeaderWorkerSet say of it; None if there are none.

    Workers may ask for less than their leader: a domain with room for all of them comes first, but others will do.
    """
    terms = max((each.domains for each in stated), default=None)
    if terms is None:
        return None
    for key, domain in ((LWS_DOMAIN, terms.domain), (SUBGROUP_DOMAIN, terms.subgroup_domain)):
        if domain and (fault := key_fault(domain)):
            return Demand(problem=f"annotation {key}: {fault}")
    for key, count in ((SIZE, terms.size), (SUBGROUP_SIZE, terms.subgroup_size)):
        wanted = key == SIZE or count or terms.subgroup_domain
        if wanted and not _is_count(count):
            return Demand(
                problem=f"annotation {key}: {shorten(repr(count))} is no number of pods; give 1 to {MOST_PODS:,}"
            )
    size, within = int(terms.size), (terms.domain,) if terms.domain else ()
    if not terms.subgroup_size:
        return Demand(1, size=size, nodes=(GroupNode(name, least=1, within=within, expected=size),))
    each = int(terms.subgroup_size)
    if find_subgroup(size - 1, size, each) >= MOST_SUBGROUPS:
        return Demand(size=size)
    root = GroupNode(name, least=1, within=within, apart=bool(terms.subgroup_domain))
    inside_of = (terms.subgroup_domain,) if terms.subgroup_domain else ()
    alone = terms.policy == LEADER_EXCLUDED
    sizes = _list_subgroups(size, each, alone=alone)
    nodes = [GroupNode(LEADER, name, least=1)] if alone else []
    nodes += [
        GroupNode(_name_subgroup(str(index)), name, least=1, within=inside_of, expected=count)
        for index, count in enumerate(sizes)
    ]
    return Demand(1, size=size, nodes=(root, *nodes))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST_PODS


def _list_subgroups(size: int, each: int, *, alone: bool) -> list[int]:
    """Return the pods of each subgroup, by the index of their members; ``alone``: the leader is in none."""
    sizes = [0] * (find_subgroup(size - 1, size, each) + 1)
    for index in range(1 if alone else 0, size):
        sizes[find_subgroup(index, size, each)] += 1
    return sizes


def find_subgroup(index: int, size: int, each: int) -> int:
    """Return the subgroup of a group's member; a leader (0) that is one too many belongs to the first."""
    return max(0, index - 1) // each if (size - 1) % each == 0 else index // each


def _name_subgroup(index: str) -> str:
    return f"subgroup {index}"
