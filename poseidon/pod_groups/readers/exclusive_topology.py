"""Reads groups of JobSets and LeaderWorkerSets that each get a domain of nodes for themselves (``exclusive-topology``).

The controllers create most pods of a group only after the first pod has a node, and restrict them to its domain. The
first pod must therefore go to a domain with room for all pods of the group. Each group is therefore read as a tree
that states how many pods it will have. The controllers restart a group if one of its pods is lost, so the group is
disrupted as a whole.
"""

from __future__ import annotations

from collections.abc import Collection

from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing.defects import shorten
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.pod_groups.composites import GroupNode
from poseidon.pod_groups.demands import Demand, count_wanted
from poseidon.pod_groups.group_names import (
    DISAGGREGATED_SLICE,
    JOB_SET_BY_SELECTOR,
    JOB_SET_DOMAIN,
    LWS,
    LWS_DOMAIN,
    SUBGROUP_DOMAIN,
    DomainTerms,
    MemberPart,
    ObjectKey,
)
from poseidon.pod_groups.slices import SET, SLICE, find_slice_topology
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm

SUBGROUP_INDEX = f"{LWS}/subgroup-index"
"""Label of a LeaderWorkerSet's pods: the index of the pod's subgroup."""
SIZE, SUBGROUP_SIZE, SUBGROUP_POLICY = f"{LWS}/size", f"{LWS}/subgroup-size", f"{LWS}/subgroup-policy-type"
"""Annotations of a LeaderWorkerSet's pods: size of the group, size of its subgroups, and where the leader is."""
ANNOTATIONS = (
    *(JOB_SET_BY_SELECTOR, JOB_SET_DOMAIN, LWS_DOMAIN),
    *(SUBGROUP_DOMAIN, SIZE, SUBGROUP_SIZE, SUBGROUP_POLICY),
)
"""All annotations by which pods ask for a domain for their group or its subgroups."""
LEADER_EXCLUDED = "LeaderExcluded"
"""The subgroup policy with which the leader is in no subgroup."""

MOST_PODS = 100_000
"""Largest size of a group that is taken into account when the first pod's domain is chosen."""
MOST_SUBGROUPS = 512
"""Most subgroups of a group that has a domain of its own.

More subgroups would be more kinds of pods than a gang may have.
"""
MOST_APART = 40
"""Most subgroups that are placed together if subgroups have domains of their own, but the group has not.

With subgroups, each has affinities that select all others, and a gang may have no more of these affinities. If a
group has more subgroups, each pod is placed by its affinity alone.
"""

LEADER = "leader"
"""Name of the group that contains the leader, if the leader is in no subgroup."""


def read_domain_part(pod: Pod) -> MemberPart:
    """Return what a pod of a LeaderWorkerSet states about its group, by its annotations and labels.

    In a slice of a DisaggregatedSet, the pod's role is its group of the LeaderWorkerSet.
    """
    found, labels = pod.metadata.annotations, pod.metadata.labels
    if domain := find_slice_topology(pod):
        role = f"{labels.get(f'{LWS}/name', '')}-{labels.get(f'{LWS}/group-index', '')}"
        return MemberPart(role, domains=DomainTerms(found.get(SIZE, ""), domain))
    terms = DomainTerms(
        *(found.get(key, "") for key in (SIZE, LWS_DOMAIN, SUBGROUP_SIZE, SUBGROUP_DOMAIN, SUBGROUP_POLICY))
    )
    index = labels.get(SUBGROUP_INDEX, "")
    role = "" if not terms.subgroup_size else _name_subgroup(index) if index else LEADER
    return MemberPart(role, domains=terms)


def read_exclusive_job_demand(found: ScaledOwner, domain: str) -> Demand:
    """Read a Job of a JobSet, whose first pods must go to a domain with room for all pods that run at the same time."""
    fault = key_fault(domain)
    if fault:
        return Demand(problem=f"annotation {JOB_SET_DOMAIN}: {fault}")
    size = min(count_wanted(found), MOST_PODS)
    node = GroupNode(found.metadata.name, least=1, within=(domain,), expected=size, expected_alike=True)
    return Demand(1, size=size, nodes=(node,), disrupted_whole=True)


def read_demand_by_domain(source: ObjectKey, stated: Collection[MemberPart]) -> Demand | None:
    """Return the demand of a group of a kind in ``GROUPS_BY_DOMAIN``, by what its pods state; None without pods."""
    read = read_slice_demand if source.kind == DISAGGREGATED_SLICE else read_leader_worker_demand
    return read(source.name, stated)


def read_leader_worker_demand(name: str, stated: Collection[MemberPart]) -> Demand | None:
    """Return the demand of a LeaderWorkerSet's group, by what its pods state; None without pods.

    Workers may request less than their leader, so a domain that seems too small for all pods is still allowed, but is
    the last choice.
    """
    terms = max((each.domains for each in stated), default=None)
    if terms is None:
        return None
    if fault := _find_fault(terms):
        return Demand(problem=fault)
    size, within = int(terms.size), (terms.domain,) if terms.domain else ()
    if terms.subgroup_size:
        return _of_subgroups(name, terms, size, {each.role for each in stated})
    node = GroupNode(name, least=1, within=within, expected=size)
    return Demand(1, size=size, nodes=(node,), disrupted_whole=True)


def read_slice_demand(name: str, stated: Collection[MemberPart]) -> Demand | None:
    """Return the demand of a DisaggregatedSet's slice, by what its pods state; None without pods.

    Its first pods go to a domain with room for all groups that have pods already, each at its full size. The first
    pods' groups come first; later groups follow one by one. A group is disrupted as a whole, because its controller
    restarts it if it loses a pod.
    """
    groups = {each.role: each.domains for each in sorted(stated)}
    if not groups:
        return None
    if fault := next(filter(None, map(_find_fault, groups.values())), ""):
        return Demand(problem=fault)
    if len(groups) > MOST_SUBGROUPS:
        return Demand(
            problem=f"its {len(groups)} groups are too many; at most {MOST_SUBGROUPS} are placed in one domain"
        )
    domain = max(each.domain for each in groups.values())
    root = GroupNode(name, least=1, within=(domain,), expected=len(groups), expected_alike=True)
    nodes = [
        GroupNode(role, name, least=1, disrupted_whole=True, expected=int(each.size))
        for role, each in groups.items()
    ]
    size = sum(each.expected for each in nodes)
    return Demand(1, size=size, nodes=(root, *nodes), kept_terms=(KeptTerm((SET, SLICE), domain),))


def _find_fault(terms: DomainTerms) -> str:
    """Return what is wrong with the annotations of a group, "" for nothing."""
    for key, domain in ((LWS_DOMAIN, terms.domain), (SUBGROUP_DOMAIN, terms.subgroup_domain)):
        if domain and (fault := key_fault(domain)):
            return f"annotation {key}: {fault}"
    for key, count in ((SIZE, terms.size), (SUBGROUP_SIZE, terms.subgroup_size)):
        wanted = key == SIZE or count or terms.subgroup_domain
        if wanted and not _is_count(count):
            return f"annotation {key}: {shorten(repr(count))} is no number of pods; give 1 to {MOST_PODS:,}"
    return ""


def _of_subgroups(name: str, terms: DomainTerms, size: int, roles: Collection[str]) -> Demand:
    """Return the demand of a group of ``size`` pods in subgroups; ``roles``: the subgroups that have pods.

    Subgroups that have pods begin together or not at all. The pods go to a domain with room for all subgroups; if no
    domain has so much room, to one with room for the existing pods.
    """
    each = int(terms.subgroup_size)
    subgroups = find_subgroup(size - 1, size, each) + 1
    if subgroups > MOST_APART and not terms.domain:
        return Demand(size=size)
    if subgroups > MOST_SUBGROUPS:
        return Demand(
            problem=f"annotation {SUBGROUP_SIZE}: {each} divides {size} pods into {subgroups} subgroups; at most "
            f"{MOST_SUBGROUPS} are placed in one domain, give {-(-size // MOST_SUBGROUPS)} or more"
        )
    within = (terms.domain,) if terms.domain else ()
    inside_of = (terms.subgroup_domain,) if terms.subgroup_domain else ()
    alone = terms.policy == LEADER_EXCLUDED
    sizes = _list_subgroups(size, each, alone=alone)
    nodes = [GroupNode(LEADER, name, least=1)] if alone else []
    nodes += [
        GroupNode(_name_subgroup(str(index)), name, least=1, within=inside_of, expected=count)
        for index, count in enumerate(sizes)
    ]
    root = GroupNode(
        name,
        least=1,
        within=within,
        apart=bool(terms.subgroup_domain),
        expected=sum(each.name in roles for each in nodes),
        expected_alike=True,
    )
    return Demand(
        1, size=size, nodes=(root, *nodes), disrupted_whole=True, kept_terms=_list_kept_terms(terms)
    )


def _list_kept_terms(terms: DomainTerms) -> tuple[KeptTerm, ...]:
    """Return the affinities of a group's pods that the rules of its tree guarantee.

    A group's domain contains no subgroups of other groups, so only the group's own subgroups matter.
    """
    if not terms.domain:
        return ()
    found = [KeptTerm((f"{LWS}/group-key",), terms.domain)]
    if terms.subgroup_domain:
        found.append(KeptTerm((f"{LWS}/subgroup-key",), terms.subgroup_domain, apart=True))
    return tuple(found)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST_PODS


def _list_subgroups(size: int, each: int, *, alone: bool) -> list[int]:
    """Return the number of pods of each subgroup, by its index; ``alone``: the leader is in no subgroup."""
    sizes = [0] * (find_subgroup(size - 1, size, each) + 1)
    for index in range(1 if alone else 0, size):
        sizes[find_subgroup(index, size, each)] += 1
    return sizes


def find_subgroup(index: int, size: int, each: int) -> int:
    """Return the index of the subgroup that a group's member is in; ``each``: size of a subgroup.

    If the members without the leader (index 0) form full subgroups, the leader is added to the first subgroup.
    """
    return max(0, index - 1) // each if (size - 1) % each == 0 else index // each


def _name_subgroup(index: str) -> str:
    return f"subgroup {index}"
