"""Reads LeaderWorkerSet (groups of a leader and workers) and DisaggregatedSet (several LeaderWorkerSets)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from poseidon.manifests.workloads.common.fields import (
    Value,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names
from poseidon.manifests.workloads.exclusive_topology import (
    Expressions,
    add_affinities,
    give_own_domain,
    group_key,
)
from poseidon.pod_groups.group_names import LWS, LWS_DOMAIN, SUBGROUP_DOMAIN
from poseidon.pod_groups.readers.exclusive_topology import SIZE, SUBGROUP_POLICY, SUBGROUP_SIZE, find_subgroup
from poseidon.pod_groups.slices import SET, SLICE

_ROLE = "disaggregatedset.x-k8s.io/role"
_EXCLUSIVE_SLICE, _EXCLUSIVE_TOPOLOGY = "ExclusiveSlice", "ExclusiveTopology"


def read_leader_worker_set(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - asked alike
    """Yield the leader and the workers of each group."""
    name, spec = name_of(value), mapping(value, "spec")
    made = mapping(spec, "leaderWorkerTemplate")
    size = number(made, "size", default=1)
    worker = mapping(made, "workerTemplate")
    leader = mapping(made, "leaderTemplate") or worker
    stated = mapping(value, "metadata", "annotations")
    domains = {key: given for key in (LWS_DOMAIN, SUBGROUP_DOMAIN) if (given := text(stated, key))}
    policy = mapping(made, "subGroupPolicy")
    subgroup_size = number(policy, "subGroupSize", default=0)
    annotations = {SIZE: str(size), **domains}
    excluded = text(policy, "subGroupPolicyType") == "LeaderExcluded"
    if subgroup_size:
        annotations[SUBGROUP_SIZE] = str(subgroup_size)
        annotations[SUBGROUP_POLICY] = text(policy, "subGroupPolicyType", default="LeaderWorker")
    for group in range(number(spec, "replicas", default=1)):
        leader_name = f"{name}-{group}"
        key = group_key(namespace_of(value), leader_name)
        labels = {f"{LWS}/group-key": key}
        marks = {f"{LWS}/name": name, f"{LWS}/group-index": str(group)}
        inside_of = _Subgroups(leader_name, size, subgroup_size, domains.get(SUBGROUP_DOMAIN, ""))
        together = give_own_domain(leader, domains.get(LWS_DOMAIN, ""), f"{LWS}/group-key", key)
        if size:
            own, more = inside_of.place(together, 0) if not excluded else (together, {})
            yield PodSet(
                names=(leader_name,),
                template=own,
                owner=("StatefulSet", name),
                marks={**marks, f"{LWS}/worker-index": "0"},
                labels={**labels, **more},
                annotations=annotations,
            )
        together = give_own_domain(worker, domains.get(LWS_DOMAIN, ""), f"{LWS}/group-key", key)
        for first, count in inside_of.list_workers():
            own, more = inside_of.place(together, first)
            yield PodSet(
                names=number_names(leader_name, count, first),
                template=own,
                owner=("StatefulSet", leader_name),
                marks={**marks, **more},
                labels=labels,
                annotations={**annotations, f"{LWS}/leader-name": leader_name},
                index_label=f"{LWS}/worker-index",
                first_index=first,
            )


def read_disaggregated_set(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pods of the LeaderWorkerSets that the controller makes, one for each role and slice.

    If the LeaderWorkerSet of a role is in the input, the role is left out, because its pods are read from that
    object.
    """
    name, namespace = name_of(value), namespace_of(value)
    made = {
        text(each.value, "metadata", "labels", _ROLE)
        for each in known.list_owned(namespace, ("DisaggregatedSet", name))
        if each.kind == "LeaderWorkerSet"
    }
    policy = mapping(value, "spec", "placementPolicy")
    for slice_number in range(number(value, "spec", "slices", default=1)):
        for role in items(value, "spec", "roles"):
            role_name = text(role, "name")
            if role_name in made:
                continue
            metadata = {
                "name": f"{name}-{slice_number}-{role_name}",
                "namespace": namespace,
                "annotations": mapping(role, "metadata", "annotations"),
            }
            labels = {SET: name, SLICE: str(slice_number), _ROLE: role_name}
            made_of = dict(mapping(role, "spec", "leaderWorkerTemplate"))
            for field in ("leaderTemplate", "workerTemplate"):
                if made_of.get(field):
                    made_of[field] = _place_slice(mapping(made_of, field), labels, policy)
            spec = {**mapping(role, "spec"), "leaderWorkerTemplate": made_of}
            yield from read_leader_worker_set({"metadata": metadata, "spec": spec}, known)


def _place_slice(template: Value, labels: Mapping[str, str], policy: Value) -> Value:
    """Return a template with the labels of its slice, and the affinities that the set's policy for slices demands."""
    metadata = mapping(template, "metadata")
    labelled = {**template, "metadata": {**metadata, "labels": {**mapping(metadata, "labels"), **labels}}}
    topology, kind = text(policy, "topology"), text(policy, "type")
    if not topology or kind not in (_EXCLUSIVE_SLICE, _EXCLUSIVE_TOPOLOGY):
        return labelled
    own_set: dict[str, object] = {"key": SET, "operator": "In", "values": [labels[SET]]}
    own_slice: dict[str, object] = {"key": SLICE, "operator": "In", "values": [labels[SLICE]]}
    there: dict[str, object] = {"key": SLICE, "operator": "Exists"}
    apart: list[Expressions] = [[own_set, there, {**own_slice, "operator": "NotIn"}]]
    if kind == _EXCLUSIVE_TOPOLOGY:
        apart.append([{"key": SET, "operator": "Exists"}, {**own_set, "operator": "NotIn"}, there])
    return add_affinities(labelled, topology, [[own_set, own_slice]], apart)


@dataclass(frozen=True, slots=True)
class _Subgroups:
    """The subgroups of a group of ``size`` pods: each has ``each`` pods (0: no subgroups) and a domain of its own."""

    leader: str
    size: int
    each: int
    domain: str

    def list_workers(self) -> Iterator[tuple[int, int]]:
        """Yield, for each subgroup, the index of its first worker and the number of its workers."""
        first = 1
        while first < self.size:
            last = self.size
            if self.each:
                own = find_subgroup(first, self.size, self.each)
                last = first + 1
                while last < self.size and find_subgroup(last, self.size, self.each) == own:
                    last += 1
            yield first, last - first
            first = last

    def place(self, template: Value, index: int) -> tuple[Value, dict[str, str]]:
        """Return the template and labels of the pod with this index in the group."""
        if not self.each:
            return template, {}
        own = str(find_subgroup(index, self.size, self.each))
        key = group_key(self.leader, own)
        labels = {f"{LWS}/subgroup-index": own, f"{LWS}/subgroup-key": key}
        return give_own_domain(template, self.domain, f"{LWS}/subgroup-key", key), labels
