"""Decides which decisions are allowed, by quota, free resources, policies of preemption, and needless evictions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from benchmarks.judge.queues.cases import Amounts, Case, Decision, Workload
from benchmarks.judge.queues.quotas import count_in_case, iterate_keys


def list_faults(case: Case, decision: Decision) -> list[str]:
    """Return the faults of a decision, [] if it is allowed."""
    if decision.evicted is None:
        return []
    victims = decision.evicted
    faults = [*_check_quotas(case, decision, victims), *_check_room(case, decision, victims)]
    return faults or [*_check_victims(case, decision, victims)]


def _check_quotas(case: Case, decision: Decision, gone: Collection[str]) -> Iterator[str]:
    """Yield the workloads that exceed a quota once the workloads ``gone`` have left."""
    count = count_in_case(case, gone)
    known = {name: given.use for name, given in decision.given.items() if given.use is not None}
    for name, use in known.items():
        count.book(case.known[name].queue, use)
    for name, use in known.items():
        queue = case.known[name].queue
        for flavor, resource in iterate_keys(use):
            left = count.count_left(queue, (flavor, resource))
            if left < 0:
                yield f"{name}: {queue} has {-left} too little {resource} of flavor {flavor}"


def _check_room(case: Case, decision: Decision, gone: Collection[str]) -> Iterator[str]:
    """Yield the machines that are overcommitted once the workloads ``gone`` have left."""
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in case.workloads:
        for machine, amounts in each.places.items() if each.name not in gone else ():
            used[machine].update(amounts)
    new: set[str] = set()
    for given in decision.given.values():
        for machine, amounts in (given.places or {}).items():
            used[machine].update(amounts)
            new.add(machine)
    for machine in sorted(new & case.machines.keys()):
        room: Amounts = case.machines[machine]
        for resource, amount in used[machine].items():
            if amount > room.get(resource, 0):
                yield f"machine {machine}: {amount} {resource} of {room.get(resource, 0)} are used"


def _check_victims(case: Case, decision: Decision, victims: Collection[str]) -> Iterator[str]:
    for name in victims:
        if not _may_go(case, decision, name, victims):
            yield f"{name}: nobody who comes may evict it"
        elif not case.fair and _is_in_vain(case, decision, {*victims} - {name}):
            yield f"{name}: leaves in vain"


def _is_in_vain(case: Case, decision: Decision, rest: Collection[str]) -> bool:
    """Return whether evicting only ``rest`` would be enough for all workloads that come, and policies allow it.

    False if it is not known what they use.
    """
    if any(given.use is None for given in decision.comes.values()):
        return False
    if any(_check_quotas(case, decision, rest)) or any(_check_room(case, decision, rest)):
        return False
    preemptors = [case.known[each] for each in decision.given]
    return all(
        any(_may_evict(case, preemptor, case.known[name], decision, rest) for preemptor in preemptors)
        for name in rest
    )


def _may_go(case: Case, decision: Decision, name: str, gone: Collection[str]) -> bool:
    """Return whether some incoming workload may evict a workload if all of ``gone`` leave."""
    victim = case.known[name]
    preemptors = [case.known[each] for each in decision.given]
    return any(
        _needs_room_of(preemptor, victim, decision) or _may_evict(case, preemptor, victim, decision, gone)
        for preemptor in preemptors
    )


def _needs_room_of(preemptor: Workload, victim: Workload, decision: Decision) -> bool:
    """Return whether a workload is more important than another and uses one of its machines."""
    places = decision.given[preemptor.name].places or {}
    return preemptor.priority > victim.priority and bool(places.keys() & victim.places.keys())


def _may_evict(
    case: Case, preemptor: Workload, victim: Workload, decision: Decision, gone: Collection[str]
) -> bool:
    """Return whether the policies of a queue let a workload evict another."""
    policy: Mapping[str, Any] = case.queues[preemptor.queue].get("preemption") or {}
    above = preemptor.priority - victim.priority
    if preemptor.queue == victim.queue:
        within = policy.get("withinClusterQueue") or "Never"
        if within == "LowerOrNewerEqualPriority":
            return above > 0 or (above == 0 and victim.created >= preemptor.created)
        return within == "LowerPriority" and above > 0
    count = count_in_case(case)
    ways = count.list_above(preemptor.queue), count.list_above(victim.queue)
    use = decision.given[preemptor.name].use
    keys = [*iterate_keys(victim.use or {})] if use is None else [*iterate_keys(use)]
    for name, given in decision.given.items() if case.fair else ():
        if (
            name != preemptor.name
        ):  # with fair shares, a workload that joins a queue may cause evictions in it for a third queue
            count.book(case.known[name].queue, given.use or {})
    borrows = any(count.count_borrowed(victim.queue, key) for key in keys)
    if ways[0][-1] != ways[1][-1] or not borrows:
        return False
    borrow: Mapping[str, Any] = policy.get("borrowWithinCohort") or {}
    most = borrow.get("maxPriorityThreshold")
    while_borrowing = (borrow.get("policy") or "Never") != "Never" and above > 0
    if while_borrowing and (most is None or victim.priority <= most):
        return True
    reclaim = policy.get("reclaimWithinCohort") or "Never"
    own_side = [node for node in ways[0] if node not in ways[1]][-1]
    within = case.fair or use is None or not _borrows_after(case, decision, gone, own_side, preemptor)
    return within and (reclaim == "Any" or (reclaim == "LowerPriority" and above > 0))


def _borrows_after(
    case: Case, decision: Decision, gone: Collection[str], node: str, preemptor: Workload
) -> bool:
    """Return whether a node of a tree borrows of what a workload uses, once the workloads ``gone`` have left.

    Of others that come, only those count that are more important, or as important and older: the rest come after it.
    """
    count = count_in_case(case, gone)
    for name, given in decision.given.items():
        known = case.known[name]
        if (-known.priority, known.created) <= (-preemptor.priority, preemptor.created):
            count.book(known.queue, given.use or {})
    keys = iterate_keys(decision.given[preemptor.name].use or {})
    return any(count.count_borrowed(node, key) for key in keys)
