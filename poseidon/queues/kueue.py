"""Reads Kueue's ClusterQueues, Cohorts and ResourceFlavors as trees of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from poseidon.kube.api.other_projects.kueue_topology import KueueTopology, get_levels, iterate_faults
from poseidon.kube.api.other_projects.queues import (
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    QueuePreemption,
    ResourceFlavor,
)
from poseidon.kube.parsing.defects import Defect, list_defects, shorten
from poseidon.kube.parsing.label_syntax import label_defects
from poseidon.pod_rules.label_selectors import parse_requirements
from poseidon.queues.model import (
    ANY,
    BEST_EFFORT,
    BORROWING_FIRST,
    LOWER_OR_NEWER,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    PREEMPTION_FIRST,
    STRICT,
    TRY_NEXT_FLAVOR,
    Flavor,
    PreemptionPolicies,
    QuotaNode,
    QuotaTrees,
)
from poseidon.queues.quota_reading import ReadQuotas, find_cycles, read_groups, read_reference, read_weight

DRAINED = "HoldAndDrain"
"""The value of ``stopPolicy`` with which Kueue also evicts the workloads that a queue has admitted."""

STOPPED = ("Hold", DRAINED)
"""Values of ``stopPolicy`` with which a queue admits no pods."""

INVALID = "InvalidSpec"
"""The reason in the condition of an object whose spec is malformed, so that none of its amounts count."""

_FEW = 3


def name_cluster_queue(name: str) -> str:
    """Return the name of the quota that stands for a ClusterQueue."""
    return f"ClusterQueue/{name}"


def name_cohort(name: str) -> str:
    """Return the name of the quota that stands for a Cohort."""
    return f"Cohort/{name}"


def read_kueue(
    queues: Iterable[ClusterQueue],
    cohorts: Iterable[Cohort],
    flavors: Iterable[ResourceFlavor],
    topologies: Iterable[KueueTopology] = (),
    *,
    fair: bool,
    strategies: Sequence[str] = (),
    pod_set_flavors: str = "Any",
) -> QuotaTrees:
    """Return the quotas of Kueue's objects.

    ``fair``: whether shares decide which queue borrows. ``strategies``: the comparisons of shares after which pods may
    be evicted, all if none is given. ``pod_set_flavors``: as in `QuotaNode`. A malformed queue is among the quotas,
    with its problem; other queues are not affected.
    """
    flavors = list(flavors)
    known = _read_flavors(flavors, {each.metadata.name: each for each in topologies})
    quotas = {each.name: each for each in (_read_cohort(cohort, known, fair=fair) for cohort in cohorts)}
    ignored: dict[str, str] = {}
    for queue in queues:
        quota = _read_queue(queue, known, fair=fair)
        if fair:
            quota = replace(quota, preemption=replace(quota.preemption, strategies=tuple(strategies)))
        quotas[quota.name] = replace(quota, pod_set_flavors=pod_set_flavors)
        if text := "; ".join(_list_ignored(queue)):
            ignored[quota.name] = text
    for quota in list(quotas.values()):
        if quota.parent and quota.parent not in quotas:  # a cohort that no object describes
            quotas[quota.parent] = QuotaNode(quota.parent, fair=fair)
    _mark_unusable(quotas)
    return QuotaTrees(tuple(quotas.values()), tuple(known.values()), ignored)


def _mark_unusable(quotas: dict[str, QuotaNode]) -> None:
    """Set the problem of a faulty cohort on all queues below it, and make cohorts in a circle roots."""
    for name in list(find_cycles({name: each.parent for name, each in quotas.items()})):
        parent = quotas[name].parent.replace("/", " ")
        problem = f"the way up from {parent} goes in a circle; give one of the cohorts there another parent"
        quotas[name] = replace(quotas[name], parent="", problem=problem, reason="CohortCycle")
    faulty = {name: each for name, each in quotas.items() if each.problem and name.startswith("Cohort/")}
    # For each quota, the nearest faulty cohort (the quota itself or a cohort above it), "" for none.
    nearest = {"": "", **{name: name for name in faulty}}
    for name, quota in list(quotas.items()) if faulty else ():
        passed, above = [], quota.parent
        while above not in nearest:
            passed.append(above)
            above = quotas[above].parent
        found = nearest[above]
        nearest.update(dict.fromkeys(passed, found))
        if found and not quota.problem:
            text = f"{found.replace('/', ' ')}: {faulty[found].problem}"
            quotas[name] = replace(quota, problem=text, reason=faulty[found].reason)


def _read_flavors(
    flavors: Sequence[ResourceFlavor], topologies: Mapping[str, KueueTopology]
) -> dict[str, Flavor]:
    """Return flavors by name, each with the levels of its topology, or with the problem of that topology."""
    found = {}
    for each in flavors:
        name, flavor = each.spec.topology_name, _read_flavor(each)
        topology = topologies.get(name)
        if topology is None:
            problem = f"Topology {shorten(name)}, which does not exist" if name else ""
        else:
            problem = "".join(f"Topology {name}: {fault}" for fault in list(iterate_faults(topology))[:1])
        if problem:
            flavor = replace(flavor, problem=f"spec.topologyName: names {problem}")
        elif topology is not None:
            flavor = replace(flavor, topology=get_levels(topology))
        found[flavor.name] = flavor
    return found


def _read_flavor(found: ResourceFlavor) -> Flavor:
    spec = found.spec
    return Flavor(
        found.metadata.name,
        dict(spec.node_labels),
        tuple({"key": each.key, "value": each.value, "effect": each.effect} for each in spec.node_taints),
        tuple(
            {"key": each.key, "operator": each.operator, "value": each.value, "effect": each.effect}
            for each in spec.tolerations
        ),
    )


def _read_cohort(cohort: Cohort, flavors: Mapping[str, Flavor], *, fair: bool) -> QuotaNode:
    spec = cohort.spec
    named = spec.parent_name or spec.parent
    read = read_groups(spec.resource_groups, shared=bool(named))
    parent = read_reference(named, "spec.parentName", read.defects)
    weight = read_weight(spec.fair_sharing, read.defects)
    problem, reason = _find_fault(read, flavors)
    node = QuotaNode(
        name_cohort(cohort.metadata.name),
        name_cohort(parent) if parent else "",
        weight=weight,
        fair=fair,
        problem=problem,
        reason=reason,
    )
    return _with_quotas(node, read)


def _read_queue(queue: ClusterQueue, flavors: Mapping[str, Flavor], *, fair: bool) -> QuotaNode:
    spec = queue.spec
    named = spec.cohort_name or spec.cohort
    read = read_groups(spec.resource_groups, shared=bool(named))
    defects = read.defects
    cohort = read_reference(named, "spec.cohortName", defects)
    weight = read_weight(spec.fair_sharing, defects)
    if spec.namespace_selector is not None:
        parse_requirements(spec.namespace_selector, "spec.namespaceSelector", defects)
    order = _choose(spec.queueing_strategy, (BEST_EFFORT, STRICT), "spec.queueingStrategy", defects)
    fungibility = spec.flavor_fungibility or FlavorFungibility()
    when_can_borrow = _choose(
        fungibility.when_can_borrow,
        (MAY_STOP_SEARCH, TRY_NEXT_FLAVOR, "Borrow"),
        "spec.flavorFungibility.whenCanBorrow",
        defects,
    )
    when_can_preempt = _choose(
        fungibility.when_can_preempt,
        (TRY_NEXT_FLAVOR, MAY_STOP_SEARCH, "Preempt"),
        "spec.flavorFungibility.whenCanPreempt",
        defects,
    )
    preference = _choose(
        fungibility.preference,
        (BORROWING_FIRST, PREEMPTION_FIRST),
        "spec.flavorFungibility.preference",
        defects,
    )
    _choose(spec.stop_policy, ("None", *STOPPED), "spec.stopPolicy", defects)
    preemption = _read_preemption(spec.preemption or QueuePreemption(), defects)
    problem, reason = _find_fault(read, flavors)
    checks = list(_list_checks(queue))
    if not problem and queue.metadata.deletion_timestamp is not None:
        problem, reason = "is being deleted", "Terminating"
    elif not problem and spec.stop_policy in STOPPED:
        problem, reason = f"is stopped; set spec.stopPolicy to None instead of {spec.stop_policy}", "Stopped"
    elif not problem and checks:
        names = ", ".join(checks[:_FEW])
        problem = f"admission checks are not carried out here ({names}); remove them, or let Kueue admit"
        reason = "AdmissionCheckNotFound"
    node = QuotaNode(
        name_cluster_queue(queue.metadata.name),
        name_cohort(cohort) if cohort else "",
        weight=weight,
        order=order,
        when_can_borrow=TRY_NEXT_FLAVOR if when_can_borrow == TRY_NEXT_FLAVOR else MAY_STOP_SEARCH,
        when_can_preempt=TRY_NEXT_FLAVOR if when_can_preempt == TRY_NEXT_FLAVOR else MAY_STOP_SEARCH,
        preference=preference,
        preemption=preemption,
        fair=fair,
        problem=problem,
        reason=reason,
    )
    return _with_quotas(node, read)


def _with_quotas(node: QuotaNode, read: ReadQuotas) -> QuotaNode:
    """Return ``node`` with the amounts that its object states; unchanged if the object is malformed."""
    if node.reason == INVALID:
        return node
    return replace(
        node,
        covered=tuple(read.covered),
        nominal=read.nominal,
        borrowing=read.borrowing,
        lending=read.lending,
    )


def _find_fault(read: ReadQuotas, flavors: Mapping[str, Flavor]) -> tuple[str, str]:
    """Return the problem of an object's quotas as a text and as one word; both are "" if the object has no problem."""
    if read.defects:
        return list_defects(read.defects, _FEW), INVALID
    missing = [name for name in read.flavors if name not in flavors]
    if missing:
        names = ", ".join(shorten(name) for name in missing[:_FEW])
        return f"ResourceFlavor {names} does not exist; create it, or remove it here", "FlavorNotFound"
    faulty = [
        Defect(f"ResourceFlavor {name}: {defect.field}", defect.problem)
        for name in read.flavors
        for defect in label_defects(flavors[name].labels, "spec.nodeLabels")
    ]
    if faulty:
        return list_defects(faulty, _FEW), "InvalidFlavor"
    unusable = (name for name in read.flavors if flavors[name].problem)
    problem = next((f"ResourceFlavor {name}: {flavors[name].problem}" for name in unusable), "")
    return (problem, "TopologyNotFound") if problem else ("", "")


def _choose(given: str, known: tuple[str, ...], path: str, defects: list[Defect]) -> str:
    """Return ``given`` if it is one of ``known``, else the first of ``known``; an unknown word adds a defect."""
    if not given:
        return known[0]
    if given not in known:
        defects.append(Defect(path, f"{shorten(repr(given))} is not one of {', '.join(known)}"))
        return known[0]
    return given


def _read_preemption(given: QueuePreemption, defects: list[Defect]) -> PreemptionPolicies:
    path, borrow = "spec.preemption", given.borrow_within_cohort
    within = (NEVER, LOWER_PRIORITY, LOWER_OR_NEWER)
    return PreemptionPolicies(
        _choose(given.within_cluster_queue, within, f"{path}.withinClusterQueue", defects),
        _choose(
            given.reclaim_within_cohort,
            (NEVER, LOWER_PRIORITY, ANY),
            f"{path}.reclaimWithinCohort",
            defects,
        ),
        _choose(
            borrow.policy if borrow is not None else "",
            (NEVER, LOWER_PRIORITY),
            f"{path}.borrowWithinCohort.policy",
            defects,
        ),
        borrow.max_priority_threshold if borrow is not None else None,
        beyond_quota=borrow is not None and borrow.policy not in ("", NEVER),
    )


def _list_checks(queue: ClusterQueue) -> Iterator[str]:
    yield from map(shorten, queue.spec.admission_checks)
    strategy = queue.spec.admission_checks_strategy
    rules = strategy.get("admissionChecks") if isinstance(strategy, dict) else None
    for rule in rules if isinstance(rules, list) else ():
        name = rule.get("name") if isinstance(rule, dict) else None
        yield shorten(str(name or "(no name)"))


def _list_ignored(queue: ClusterQueue) -> Iterator[str]:
    """Yield a text about each setting of a ClusterQueue that has no effect here."""
    if queue.spec.admission_scope is not None:
        yield "spec.admissionScope: is not honoured; what a queue has used in the past has no influence"
    if queue.spec.stop_policy == DRAINED:
        yield "spec.stopPolicy: HoldAndDrain works as Hold; pods that run are not evicted"
