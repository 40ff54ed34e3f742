"""Finds changes of quotas, requests and priorities that admit a waiting workload, and tries each by a plan."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.other_projects.queues import ClusterQueue, WorkloadPriorityClass
from poseidon.manifests.amounts import format_amount
from poseidon.offline.admission_trials import AdmissionChange, AdmissionStep, AdmissionTrials, name_others
from poseidon.offline.audit.findings import format_quantity
from poseidon.pods.priority_classes import HIGHEST
from poseidon.pods.requests_and_limits import amounts
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.model import UNLIMITED, QuotaNode, Quotas

_COMBINATIONS = 64
"""The most combinations of flavors that are examined, in the queue's order."""

_MOST_TRIED = 3
"""The most combinations of flavors for which changes are tried; those that lack least come first."""

_STATED = {
    "ClusterQueue": ("nominalQuota", "borrowingLimit"),
    "KaiQueue": ("quota", "limit"),
    "VolcanoQueue": ("deserved", "capability"),
    "ElasticQuota": ("min", "max"),
    "KoordinatorQuota": ("min", "max"),
}
"""By kind of quota, its field names for the nominal amount and for the upper limit."""


@dataclass(frozen=True, slots=True)
class QuotaLack:
    """What a workload requests of a flavor, and how much of that is left for the queue, in the protocol's units."""

    flavor: str
    resource: str
    wanted: int
    left: int

    @property
    def missing(self) -> int:
        """The amount by which the request exceeds what is left."""
        return self.wanted - self.left


# --- lacking amounts ------------------------------------------------------------------------------------------------


def list_lacks(
    quota: QuotaNode, wanted: Mapping[str, int], left: Callable[[str, str], int]
) -> list[list[QuotaLack]]:
    """Return, by combination of flavors, what is lacking if a workload requests ``wanted``; least lacking first.

    An empty list means that the combination has enough. ``left`` returns how much is left of a flavor and resource.
    """
    groups = [group for group in quota.covered if not wanted.keys().isdisjoint(group.resources)]
    found = []
    for flavors in itertools.islice(itertools.product(*(group.flavors for group in groups)), _COMBINATIONS):
        every = [
            QuotaLack(flavor, resource, wanted[resource], left(flavor, resource))
            for group, flavor in zip(groups, flavors, strict=True)
            for resource in group.resources
            if wanted.get(resource, 0) > 0
        ]
        found.append([each for each in every if each.missing > 0])
    return sorted(found, key=lambda lacks: sum(each.missing / each.wanted for each in lacks))


# --- changes of quotas ----------------------------------------------------------------------------------------------


def find_quota_changes(
    trials: AdmissionTrials,
    known_queues: KnownQueues,
    quota: QuotaNode,
    lacks: Sequence[Sequence[QuotaLack]],
    ahead: Mapping[str, int],
) -> list[AdmissionChange]:
    """Return changes of the workload's own quota that admit it, for the first flavors that allow any.

    ``ahead`` has the requests of the pods that are ahead of the workload in its queue. If a smaller change does not
    admit the workload, the quota is also raised by the requests in ``ahead``.
    """
    for each in [each for each in lacks if each][:_MOST_TRIED]:
        for before in ({}, ahead) if ahead else ({},):
            missing = {
                (lack.flavor, lack.resource): lack.missing + before.get(lack.resource, 0) for lack in each
            }
            found = list(_try_amounts(trials, known_queues, quota, missing, with_ahead=bool(before)))
            if found:
                return found
    return []


def _try_amounts(
    trials: AdmissionTrials,
    known_queues: KnownQueues,
    quota: QuotaNode,
    missing: Mapping[tuple[str, str], int],
    *,
    with_ahead: bool,
) -> Iterator[AdmissionChange]:
    """Yield changes that admit the workload: a higher limit, a higher quota, or both if neither is enough."""
    limits = {
        kind: steps
        for kind, stated in (("borrowing-limit", quota.borrowing), ("limit", quota.limit))
        if (steps := list(_raise_stated(kind, quota, stated, missing)))
    }
    raised = list(_raise_stated("quota", quota, quota.nominal, missing, always=True))
    any_found = False
    for steps in (*limits.values(), raised):
        change = _try_steps(trials, known_queues, quota, steps, with_ahead=with_ahead)
        if change is not None:
            any_found = True
            yield change
    if not any_found and "limit" in limits:
        change = _try_steps(trials, known_queues, quota, [*limits["limit"], *raised], with_ahead=with_ahead)
        if change is not None:
            yield change


def _raise_stated(
    kind: str,
    quota: QuotaNode,
    stated: Quotas,
    missing: Mapping[tuple[str, str], int],
    *,
    always: bool = False,
) -> Iterator[AdmissionStep]:
    """Yield steps that raise a quota's ``stated`` amounts by ``missing``; if ``always``, also amounts that it lacks."""
    for (flavor, resource), amount in missing.items():
        before = stated.get(flavor, {}).get(resource, 0 if always else UNLIMITED)
        if before + amount < UNLIMITED:
            yield AdmissionStep(kind, quota.name, flavor, resource, before, before + amount)


def _try_steps(
    trials: AdmissionTrials,
    known_queues: KnownQueues,
    quota: QuotaNode,
    steps: Sequence[AdmissionStep],
    *,
    with_ahead: bool,
) -> AdmissionChange | None:
    changed = quota
    for step in steps:
        changed = _set_amount(changed, step)
    others = trials.try_quota(changed) if steps else None
    if others is None:
        return None
    text = f"{'; '.join(map(_describe_step, steps))} ({quota.name.replace('/', ' ')})"
    if with_ahead:
        text += ", which is enough for those ahead of it, too"
    return AdmissionChange(
        text + name_others(others), tuple(steps), _make_commands(known_queues, steps), others
    )


def _set_amount(quota: QuotaNode, step: AdmissionStep) -> QuotaNode:
    def put(stated: Quotas) -> Quotas:
        return {**stated, step.flavor: {**stated.get(step.flavor, {}), step.resource: step.after}}

    match step.kind:
        case "quota":
            return replace(quota, nominal=put(quota.nominal))
        case "borrowing-limit":
            return replace(quota, borrowing=put(quota.borrowing))
        case _:
            return replace(quota, limit=put(quota.limit))


def _describe_step(step: AdmissionStep) -> str:
    kind = step.subject.partition("/")[0]
    own, most = _STATED.get(kind, ("quota", "limit"))
    word = own if step.kind == "quota" else most
    before, after = (format_amount(step.resource, each) for each in (step.before, step.after))
    of = f" of flavor {step.flavor}" if step.flavor and kind == "ClusterQueue" else ""
    return f"{word} {after} instead of {before} for {step.resource}{of}"


def _make_commands(known_queues: KnownQueues, steps: Sequence[AdmissionStep]) -> tuple[str, ...]:
    """Return the command that carries out the steps, or () for objects that are not ClusterQueues."""
    found = known_queues.find_object(steps[0].subject)
    if found is None or not isinstance(found[1], ClusterQueue):
        return ()
    queue: ClusterQueue = found[1]
    operations = []
    for step in steps:
        field = _STATED["ClusterQueue"][step.kind != "quota"]
        for group, each in enumerate(queue.spec.resource_groups):
            for place, flavor in enumerate(each.flavors):
                for index, resource in enumerate(flavor.resources):
                    if (flavor.name, resource.name) == (step.flavor, step.resource):
                        path = f"/spec/resourceGroups/{group}/flavors/{place}/resources/{index}/{field}"
                        value = format_amount(step.resource, step.after)
                        operations.append({"op": "add", "path": path, "value": value})
    content = shlex.quote(json.dumps(operations, separators=(",", ":")))
    return (f"kubectl patch clusterqueue {queue.metadata.name} --type=json -p {content}",)


# --- changes of requests --------------------------------------------------------------------------------------------


def find_request_change(
    trials: AdmissionTrials,
    workload: str,
    requests: Sequence[Mapping[str, int]],
    lacks: Sequence[Sequence[QuotaLack]],
) -> AdmissionChange | None:
    """Return the largest requests with which all pods of a workload are admitted, as a change; None if none are.

    ``requests`` has the amounts of each pod by resource; if they differ between pods, no change is proposed.
    """
    for each in [each for each in lacks if each][:_MOST_TRIED]:
        steps = []
        for lack in each:
            before = requests[0].get(lack.resource, 0)
            most = format_quantity(lack.resource, max(lack.left, 0) // len(requests), down=True)
            after = amounts({lack.resource: most}, "", [])[lack.resource]
            if after <= 0 or any(asked.get(lack.resource, 0) != before for asked in requests):
                break
            steps.append(AdmissionStep("request", workload, lack.flavor, lack.resource, before, after))
        else:
            others = trials.try_requests({step.resource: step.after for step in steps})
            if others is not None:
                texts = (
                    f"{format_quantity(step.resource, step.after)} of {step.resource} instead of "
                    f"{format_quantity(step.resource, step.before)}"
                    for step in steps
                )
                text = f"each pod requests {', '.join(texts)}"
                return AdmissionChange(text + name_others(others), tuple(steps), (), others)
    return None


# --- changes of priorities ------------------------------------------------------------------------------------------


def find_priority_change(
    trials: AdmissionTrials,
    workload: str,
    before: int,
    competing: Collection[int],
    classes: Sequence[PriorityClass | WorkloadPriorityClass],
) -> AdmissionChange | None:
    """Return the change to the lowest priority that admits a workload, or None if no priority does.

    ``competing`` has the priorities of the tasks that take from the same tree of quotas; ``classes`` are the
    cluster's priority classes.
    """
    steps = sorted({each + 1 for each in competing if before <= each < HIGHEST})
    if not steps or trials.try_priority(steps[-1]) is None:
        return None
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.try_priority(steps[middle]) is not None else (middle + 1, high)
    others = trials.try_priority(steps[low])
    if others is None:
        return None
    enough = [each for each in classes if each.value >= steps[low]]
    least = min(enough, key=lambda each: each.value, default=None)
    named = "" if least is None else f" ({type(least).__name__} {least.metadata.name} has {least.value})"
    text = f"a priority of {steps[low]} or more instead of {before}{named}"
    step = AdmissionStep("priority", workload, "", "", before, steps[low])
    return AdmissionChange(text + name_others(others), (step,), (), others)
