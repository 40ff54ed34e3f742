"""Defines core/v1 Namespace, and the objects that limit the pods in it: LimitRange and ResourceQuota."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, Resources


class Namespace(KubeStruct, frozen=True):
    """core/v1 Namespace."""

    metadata: ObjectMeta = ObjectMeta()


class LimitRangeItem(KubeStruct, frozen=True):
    """Defaults and limits of each container or pod (``type``)."""

    type: str = ""
    max: Resources = field(default_factory=dict)
    min: Resources = field(default_factory=dict)
    default: Resources = field(default_factory=dict)
    default_request: Resources = field(default_factory=dict)
    max_limit_request_ratio: Resources = field(default_factory=dict)


class LimitRangeSpec(KubeStruct, frozen=True):
    """The items of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(KubeStruct, frozen=True):
    """core/v1 LimitRange."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopeRequirement(KubeStruct, frozen=True):
    """A condition on the pods that a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(KubeStruct, frozen=True):
    """Conditions on pods that must all hold."""

    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(KubeStruct, frozen=True):
    """The limits of a quota, by names such as ``requests.cpu`` and ``pods``, and which pods it counts."""

    hard: Resources = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class ResourceQuotaStatus(KubeStruct, frozen=True):
    """The amounts of a quota that are used."""

    used: Resources = field(default_factory=dict)


class ResourceQuota(KubeStruct, frozen=True):
    """core/v1 ResourceQuota."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
