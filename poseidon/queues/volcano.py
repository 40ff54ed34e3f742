"""Reads queues of Volcano and of KAI as trees of quotas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from poseidon.kube.api.other_projects.queues import KaiQueue, KaiResource, VolcanoQueue
from poseidon.kube.parsing.defects import Defect
from poseidon.pods.requests_and_limits import amounts
from poseidon.queues.model import BEST_EFFORT, STRICT, UNLIMITED, QuotaTrees
from poseidon.queues.plain_trees import PlainQuota, grow_trees
from poseidon.queues.quota_reading import read_reference

VOLCANO_ROOT = "VolcanoQueue/root"
"""The name of the quota above all queues of Volcano, whether or not an object describes it."""
KAI_ROOT = "KaiQueues/all"
"""The name of the quota above all queues of KAI; no object describes it."""

MOST_WEIGHT = 2**31 - 1

_KAI_UNITS = (("cpu", "cpu", 1), ("gpu", "nvidia.com/gpu", 1), ("memory", "memory", 1_000_000))
"""Fields of KAI's queues, each with its resource and the number of the protocol's units in one unit of KAI."""


def name_volcano_queue(name: str) -> str:
    """Return the name of the quota that stands for a queue of Volcano."""
    return f"VolcanoQueue/{name}"


def name_kai_queue(name: str) -> str:
    """Return the name of the quota that stands for a queue of KAI."""
    return f"KaiQueue/{name}"


def read_volcano(queues: Iterable[VolcanoQueue]) -> QuotaTrees:
    """Return the quotas of Volcano's queues: ``deserved`` is a queue's own amount, the rest is borrowed by weight."""
    found = [_read_volcano_queue(each) for each in queues]
    return grow_trees(found, {VOLCANO_ROOT: True} if found else {}, fair=True, open_ended=True)


def _read_volcano_queue(queue: VolcanoQueue) -> PlainQuota:
    spec, defects = queue.spec, list[Defect]()
    name = name_volcano_queue(queue.metadata.name)
    limit = amounts(spec.capability, "spec.capability", defects)
    deserved = amounts(spec.deserved, "spec.deserved", defects)
    guarantee = amounts(spec.guarantee.resource, "spec.guarantee.resource", defects)
    if not 1 <= spec.weight <= MOST_WEIGHT:
        defects.append(Defect("spec.weight", f"{spec.weight} is out of range; give 1 or more"))
    for resource, amount in (*deserved.items(), *guarantee.items()):
        if amount > limit.get(resource, UNLIMITED):
            problem = f"is more than spec.capability.{resource}; lower it, or raise that"
            defects.append(Defect(f"spec.deserved.{resource}", problem))
    nominal = {**guarantee, **{key: max(each, guarantee.get(key, 0)) for key, each in deserved.items()}}
    parent = read_reference(spec.parent, "spec.parent", defects)
    closed = queue.status.state in ("Closed", "Closing")
    return PlainQuota(
        name,
        "" if name == VOLCANO_ROOT else name_volcano_queue(parent or "root"),
        nominal,
        limit,
        guarantee,
        weight=float(max(spec.weight, 1)),
        order=STRICT if spec.dequeue_strategy == "fifo" else BEST_EFFORT,
        reclaimable=spec.reclaimable is not False,
        defects=defects,
        problem="is closed; open it (vcctl queue operate -a open)" if closed else "",
        ignored=(
            "spec.priority: is not honoured; queues are ordered by their shares, pods by their priority"
            if spec.priority
            else ""
        ),
    )


def read_kai(queues: Iterable[KaiQueue]) -> QuotaTrees:
    """Return the quotas of KAI's queues: ``quota`` is a queue's own amount, the rest is borrowed by weight."""
    found = [_read_kai_queue(each) for each in queues]
    return grow_trees(found, {KAI_ROOT: True} if found else {}, fair=True, open_ended=True)


def _read_kai_queue(queue: KaiQueue) -> PlainQuota:
    spec, defects = queue.spec, list[Defect]()
    parent = read_reference(spec.parent_queue, "spec.parentQueue", defects)
    made = PlainQuota(
        name_kai_queue(queue.metadata.name),
        name_kai_queue(parent) if parent else KAI_ROOT,
        defects=defects,
        ignored="; ".join(_list_ignored_by_kai(queue)),
    )
    if spec.resources is None:
        return made
    nominal: dict[str, int] = {}
    limit: dict[str, int] = {}
    weights: list[float] = []
    for field, resource, unit in _KAI_UNITS:
        given: KaiResource = getattr(spec.resources, field)
        path = f"spec.resources.{field}"
        quota = _read_kai_amount(given.quota, unit, f"{path}.quota", defects)
        most = _read_kai_amount(given.limit, unit, f"{path}.limit", defects)
        weight = given.over_quota_weight
        if weight is not None and not (math.isfinite(weight) and weight >= 0):
            defects.append(Defect(f"{path}.overQuotaWeight", f"{weight} is out of range; give 0 or more"))
        elif weight is not None:
            weights.append(weight)
        nominal[resource] = UNLIMITED if quota is None else quota
        if most is not None:
            limit[resource] = max(most, 0 if quota is None else quota)
    made.nominal, made.limit, made.weight = nominal, limit, max(weights, default=1.0)
    return made


def _read_kai_amount(given: float, unit: int, path: str, defects: list[Defect]) -> int | None:
    """Return an amount of a KAI queue in the protocol's unit; None for -1, which means no limit."""
    if given == -1:
        return None
    if not (math.isfinite(given) and given >= 0):
        defects.append(Defect(path, f"{given:g} is out of range; give 0 or more, or -1 for no limit"))
        return 0
    return min(int(given * unit), UNLIMITED)


def _list_ignored_by_kai(queue: KaiQueue) -> Iterator[str]:
    for name, given in (
        ("priority", queue.spec.priority),
        ("preemptMinRuntime", queue.spec.preempt_min_runtime),
        ("reclaimMinRuntime", queue.spec.reclaim_min_runtime),
    ):
        if given:
            yield f"spec.{name}: is not honoured"
    resources = queue.spec.resources
    given_weights = {
        weight
        for field, _, _ in _KAI_UNITS
        if resources is not None and (weight := getattr(resources, field).over_quota_weight) is not None
    }
    if len(given_weights) > 1:
        yield "spec.resources: the largest overQuotaWeight counts for all resources"
