"""Reads ElasticQuotas of Koordinator and of scheduler-plugins as trees of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from poseidon.kube.api.metadata import ObjectMeta, Resources
from poseidon.kube.api.other_projects.queues import ElasticQuota, ElasticQuotaSpec, KoordinatorQuota
from poseidon.kube.parsing.defects import Defect
from poseidon.pods.requests_and_limits import amounts
from poseidon.queues.model import QuotaTrees
from poseidon.queues.plain_trees import PlainQuota, grow_trees
from poseidon.queues.quota_reading import read_reference

PLUGINS_ROOT = "ElasticQuotas/all"
"""The quota above all ElasticQuotas of scheduler-plugins, which together may use at most the sum of their ``min``."""

_PREFIX = "quota.scheduling.koordinator.sh"
PARENT, IS_PARENT, LENDS, TREE = (
    f"{_PREFIX}/{key}" for key in ("parent", "is-parent", "allow-lent-resource", "tree-id")
)
"""Labels of Koordinator's ElasticQuotas: parent's name, whether it has children, whether it lends, tree's name."""
WEIGHT, NAMESPACES = f"{_PREFIX}/shared-weight", f"{_PREFIX}/namespaces"
"""Annotations of Koordinator's ElasticQuotas: amounts by resource, and a list of namespaces, both as JSON."""

KOORDINATOR_ROOT = "koordinator-root-quota"
"""The name of the ElasticQuota of Koordinator that is above all others."""


def name_elastic_quota(metadata: ObjectMeta) -> str:
    """Return the name of the quota that stands for an ElasticQuota of scheduler-plugins."""
    return f"ElasticQuota/{metadata.namespace or 'default'}/{metadata.name}"


def name_koordinator_quota(name: str) -> str:
    """Return the name of the quota that stands for a Koordinator ElasticQuota, whose name is unique in the cluster."""
    return f"KoordinatorQuota/{name}"


def read_elastic_quotas(found: Iterable[ElasticQuota]) -> QuotaTrees:
    """Return the quotas of scheduler-plugins' ElasticQuotas, which may borrow what others leave of ``min``."""
    quotas: list[PlainQuota] = []
    first: dict[str, str] = {}
    for each in sorted(found, key=lambda quota: (quota.metadata.namespace, quota.metadata.name)):
        defects: list[Defect] = []
        nominal, limit = _read_bounds(each.spec, defects)
        namespace = each.metadata.namespace or "default"
        counts = first.setdefault(namespace, each.metadata.name)
        problem = f"ElasticQuota {counts} counts for this namespace; a namespace has one"
        quotas.append(
            PlainQuota(
                name_elastic_quota(each.metadata),
                PLUGINS_ROOT,
                nominal if counts == each.metadata.name else {},
                limit,
                defects=defects,
                problem="" if counts == each.metadata.name else problem,
            )
        )
    return grow_trees(quotas, {PLUGINS_ROOT: False} if quotas else {}, fair=False, open_ended=False)


def _read_bounds(
    spec: ElasticQuotaSpec, defects: list[Defect]
) -> tuple[Mapping[str, int], Mapping[str, int]]:
    nominal = amounts(spec.min, "spec.min", defects)
    limit = amounts(spec.max, "spec.max", defects) if spec.max is not None else {}
    for resource, amount in nominal.items():
        if resource in limit and amount > limit[resource]:
            problem = f"is more than spec.max.{resource}; lower it, or raise that"
            defects.append(Defect(f"spec.min.{resource}", problem))
    return nominal, limit


def read_koordinator(found: Iterable[KoordinatorQuota]) -> QuotaTrees:
    """Return the quotas of Koordinator's ElasticQuotas, with one tree for each ``tree-id``."""
    quotas = [_read_koordinator_quota(each) for each in found]
    roots = {quota.parent: True for quota in quotas if quota.parent.endswith(KOORDINATOR_ROOT)}
    roots |= {name_koordinator_quota(KOORDINATOR_ROOT): True} if quotas else {}
    return grow_trees(quotas, roots, fair=True, open_ended=True)


def _read_koordinator_quota(quota: KoordinatorQuota) -> PlainQuota:
    labels, defects = quota.metadata.labels, list[Defect]()
    nominal, limit = _read_bounds(quota.spec, defects)
    tree, name = read_reference(labels.get(TREE, ""), f"label {TREE}", defects), quota.metadata.name
    root = f"{tree}/{KOORDINATOR_ROOT}" if tree else KOORDINATOR_ROOT
    parent = read_reference(labels.get(PARENT, ""), f"label {PARENT}", defects) or KOORDINATOR_ROOT
    above = root if parent == KOORDINATOR_ROOT else parent
    return PlainQuota(
        name_koordinator_quota(name),
        "" if name == KOORDINATOR_ROOT else name_koordinator_quota(above),
        nominal,
        limit,
        lends=labels.get(LENDS) != "false",
        weight=_read_weight(quota.metadata, limit, defects),
        defects=defects,
        ignored="; ".join(_list_ignored(quota.metadata)),
    )


def _read_weight(metadata: ObjectMeta, limit: Mapping[str, int], defects: list[Defect]) -> float:
    """Return a quota's weight, in CPUs: the amount of cpu in its annotation.

    As in Koordinator, ``limit`` (``spec.max``) counts where the annotation is missing. Without cpu, the first resource
    in alphabetical order counts.
    """
    given = limit
    if WEIGHT in metadata.annotations:
        path = f"annotation {WEIGHT}"
        try:
            stated = msgspec.json.decode(metadata.annotations[WEIGHT], type=Resources)
        except msgspec.MsgspecError:
            defects.append(Defect(path, 'is no map of amounts; write one such as {"cpu": "40"}'))
            return 1.0
        given = amounts(stated, path, defects)
    amount = given.get("cpu") or next((given[key] for key in sorted(given)), 0)
    return float(amount) / 1000 if amount else 1.0


def _list_ignored(metadata: ObjectMeta) -> Iterator[str]:
    stated = metadata.annotations.get(WEIGHT, "")
    if stated.count(":") > 1:
        yield f"annotation {WEIGHT}: counts by its first resource, cpu if it is there"


def list_namespaces(metadata: ObjectMeta) -> list[str]:
    """Return the namespaces that a Koordinator quota's annotation lists; none if it is malformed."""
    try:
        return msgspec.json.decode(metadata.annotations.get(NAMESPACES, "[]"), type=list[str])
    except msgspec.MsgspecError:
        return []


def is_parent(metadata: ObjectMeta) -> bool:
    """Return whether a Koordinator quota has quotas below it, and so has no pods itself."""
    return metadata.labels.get(IS_PARENT) == "true"
