"""Imitates the controller of ResourceClaims: makes claims from the templates that pods name.

Pods that an API server has stored (they have a ``resourceVersion``) stay as its controller left them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from poseidon.kube.api.devices import (
    POD_CLAIM_NAME,
    ClaimMeta,
    ResourceClaim,
    ResourceClaimTemplate,
)
from poseidon.kube.api.metadata import KubeStruct, OwnerReference
from poseidon.kube.api.pod_groups import NativePodGroup
from poseidon.kube.api.pods import Pod, PodClaimStatus
from poseidon.manifests.controllers.volumes import was_held

_Templates = Mapping[tuple[str, str], ResourceClaimTemplate]
_GroupClaims = dict[tuple[str, str, str, str | None], str]
"""Names of claims of PodGroups, "" before they are made.

The key is the namespace, the group, the group's name for the claim, and the template.
"""


def play_claim_controller(
    objects: Iterable[KubeStruct], pods: Sequence[Pod], groups: Iterable[NativePodGroup] = ()
) -> tuple[tuple[KubeStruct, ...], tuple[Pod, ...]]:
    """Return devices with all claims, and the pods, whose status names the claims made for them.

    If pods of one PodGroup name a claim of the group in the same way, they share one claim. Claims refer to pods by
    ``namespace/name``, because this is the uid of a pod in an input.
    """
    found = list(objects)
    templates = {
        (each.metadata.namespace, each.metadata.name): each
        for each in found
        if isinstance(each, ResourceClaimTemplate)
    }
    claims = [_rename_pods(each) for each in found if isinstance(each, ResourceClaim)]
    others = [each for each in found if not isinstance(each, ResourceClaim | ResourceClaimTemplate)]
    taken = {(each.metadata.namespace, each.metadata.name) for each in claims}
    of_groups = {
        (group.metadata.namespace, group.metadata.name, each.name, each.resource_claim_template_name): ""
        for group in groups
        for each in group.spec.resource_claims
    }
    served = []
    for pod in pods:
        if not pod.spec.resource_claims or pod.terminal or pod.spec.node_name or was_held(pod.metadata):
            served.append(pod)
            continue
        statuses, made = _make_claims(pod, templates, taken, of_groups)
        claims += made
        served.append(replace(pod, status=replace(pod.status, resource_claim_statuses=statuses)))
    return (*others, *claims), tuple(served)


def _rename_pods(claim: ResourceClaim) -> ResourceClaim:
    """Return a claim whose owners and users are identified by name instead of uid."""
    metadata, status = claim.metadata, claim.status
    namespace = metadata.namespace
    owners = tuple(replace(owner, uid="") for owner in metadata.owner_references)
    reserved = tuple(
        replace(each, uid=f"{namespace}/{each.name}") if each.resource == "pods" else each
        for each in status.reserved_for
    )
    return ResourceClaim(
        replace(metadata, owner_references=owners, uid=f"{namespace}/{metadata.name}"),
        claim.spec,
        replace(status, reserved_for=reserved),
    )


def _make_claims(
    pod: Pod, templates: _Templates, taken: set[tuple[str, str]], of_groups: _GroupClaims
) -> tuple[tuple[PodClaimStatus, ...], list[ResourceClaim]]:
    """Return the claims that a pod's status names, and the claims that are made now.

    ``taken`` has the namespaces and names that are in use.
    """
    namespace = pod.metadata.namespace
    group = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group is not None else ""
    statuses = {each.name: each for each in pod.status.resource_claim_statuses}
    made = []
    for each in pod.spec.resource_claims:
        template = templates.get((namespace, each.resource_claim_template_name or ""))
        if each.resource_claim_name is not None or each.name in statuses or template is None:
            continue
        shared = (namespace, group, each.name, each.resource_claim_template_name)
        name = of_groups.get(shared, "")
        if not name:
            owner, kind = (group, "PodGroup") if shared in of_groups else (pod.metadata.name, "Pod")
            name = _free_name(f"{owner}-{each.name}", namespace, taken)
            made.append(_claim_for(namespace, _name_owner(kind, owner), each.name, name, template))
        if shared in of_groups:
            of_groups[shared] = name
        statuses[each.name] = PodClaimStatus(each.name, name)
    return tuple(statuses.values()), made


def _free_name(wanted: str, namespace: str, taken: set[tuple[str, str]]) -> str:
    name, number = wanted, 0
    while (namespace, name) in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add((namespace, name))
    return name


def _name_owner(kind: str, name: str) -> OwnerReference:
    version = "v1" if kind == "Pod" else "scheduling.k8s.io/v1alpha2"
    return OwnerReference(api_version=version, kind=kind, name=name, controller=True)


def _claim_for(
    namespace: str, owner: OwnerReference, what: str, name: str, template: ResourceClaimTemplate
) -> ResourceClaim:
    described = template.spec
    metadata = ClaimMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}/{name}",
        labels=described.metadata.labels,
        annotations={**described.metadata.annotations, POD_CLAIM_NAME: what},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata, described.spec)
