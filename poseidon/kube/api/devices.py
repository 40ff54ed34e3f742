"""Defines the kinds of dynamic resource allocation (resource.k8s.io/v1): devices, device classes and claims.

Specs and allocations are kept as plain JSON, because the solver reads them in Kubernetes' own structure.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import field

from poseidon.kube.api.metadata import Condition, KubeStruct, ObjectMeta

Json: TypeAlias = dict[str, Any]

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Finalizer of a claim that has devices: it keeps the claim until its devices are free again."""

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim that was made from a template: the claim's name within its pod."""

EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation, with value ``true``, of a claim that a scheduler has made for a pod's extended resources."""

MOST_CONSUMERS = 256
"""Most pods that one claim may be reserved for at the same time."""


class DeviceClass(KubeStruct, frozen=True):
    """resource.k8s.io/v1 DeviceClass: a kind of devices that claims may request."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Json = field(default_factory=dict)


class ResourceSlice(KubeStruct, frozen=True):
    """resource.k8s.io/v1 ResourceSlice: devices of one driver, and the nodes that reach them."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Json = field(default_factory=dict)


class NodeDeviceList(KubeStruct, frozen=True):
    """scheduling.koordinator.sh/v1alpha1 Device: the devices of the node that has the object's name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Json = field(default_factory=dict)


class ClaimMeta(ObjectMeta, frozen=True):
    """Metadata of a claim."""

    finalizers: tuple[str, ...] = ()


class ClaimConsumer(KubeStruct, frozen=True):
    """An object that a claim is reserved for; pods are of ``resource`` "pods" and no ``api_group``."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(KubeStruct, frozen=True):
    """A driver's report on a device that it has prepared for a claim."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = field(default="", name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(KubeStruct, frozen=True):
    """The devices that a claim has (``allocation``, None for none), and the pods that it is reserved for."""

    allocation: Json | None = None
    reserved_for: tuple[ClaimConsumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeStruct, frozen=True):
    """resource.k8s.io/v1 ResourceClaim: a request for devices, and the devices that it has."""

    metadata: ClaimMeta = ClaimMeta()
    spec: Json = field(default_factory=dict)
    status: ResourceClaimStatus = ResourceClaimStatus()


class ClaimTemplateSpec(KubeStruct, frozen=True):
    """The claim that is made for each pod that names a template."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Json = field(default_factory=dict)


class ResourceClaimTemplate(KubeStruct, frozen=True):
    """resource.k8s.io/v1 ResourceClaimTemplate."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimTemplateSpec = ClaimTemplateSpec()
