"""Does what the controller of resource claims does: makes claims from the templates that pods name.

Pods that an API server has held (``resourceVersion``) stay as its controller left them.
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
from poseidon.kube.api.pods import Pod, PodClaimStatus
from poseidon.manifests.controllers.volumes import was_held

_Templates = Mapping[tuple[str, str], ResourceClaimTemplate]


def play_claim_controller(
    objects: Iterable[KubeStruct], pods: Sequence[Pod]
) -> tuple[tuple[KubeStruct, ...], tuple[Pod, ...]]:
    """Return devices and all claims, also those made for pods, and the pods, whose status names their claims.

    Claims refer to pods by ``namespace/name``, which is the uid of a pod here.
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
    served = []
    for pod in pods:
        if not pod.spec.resource_claims or pod.terminal or pod.spec.node_name or was_held(pod.metadata):
            served.append(pod)
            continue
        statuses, made = _make_claims(pod, templates, taken)
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
    pod: Pod, templates: _Templates, taken: set[tuple[str, str]]
) -> tuple[tuple[PodClaimStatus, ...], list[ResourceClaim]]:
    """Return the claims in a pod's status, and the claims that are made now. ``taken``: namespaces and names in use."""
    namespace = pod.metadata.namespace
    statuses = {each.name: each for each in pod.status.resource_claim_statuses}
    made = []
    for each in pod.spec.resource_claims:
        template = templates.get((namespace, each.resource_claim_template_name or ""))
        if each.resource_claim_name is not None or each.name in statuses or template is None:
            continue
        name = _free_name(f"{pod.metadata.name}-{each.name}", namespace, taken)
        statuses[each.name] = PodClaimStatus(each.name, name)
        made.append(_claim_for(pod, each.name, name, template))
    return tuple(statuses.values()), made


def _free_name(wanted: str, namespace: str, taken: set[tuple[str, str]]) -> str:
    name, number = wanted, 0
    while (namespace, name) in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add((namespace, name))
    return name


def _claim_for(pod: Pod, what: str, name: str, template: ResourceClaimTemplate) -> ResourceClaim:
    namespace, described = pod.metadata.namespace, template.spec
    metadata = ClaimMeta(
        name=name,
        namespace=namespace,
        uid=f"{namespace}/{name}",
        labels=described.metadata.labels,
        annotations={**described.metadata.annotations, POD_CLAIM_NAME: what},
        owner_references=(
            OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, controller=True),
        ),
    )
    return ResourceClaim(metadata, described.spec)
