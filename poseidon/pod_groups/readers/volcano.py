"""Reads Volcano's PodGroups: plain gangs, and trees of groups if they have a network topology or subgroups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.hyper_nodes import Tiers, name_tier
from poseidon.kube.api.pod_groups import (
    VolcanoPodGroup,
    VolcanoPodGroupSpec,
    VolcanoSubGroups,
    VolcanoTopology,
)
from poseidon.kube.parsing.defects import shorten
from poseidon.pod_groups.composites import GroupNode, count_fewest
from poseidon.pod_groups.demands import MAX_MEMBERS, Demand, read_least_room
from poseidon.pod_groups.group_names import VOLCANO_TASK, MemberPart
from poseidon.pod_rules.label_selectors import matches_labels

HARD, SOFT = "hard", "soft"
MOST_POLICIES = 64
"""Most entries of a ``spec.subGroupPolicy``, because each pod is compared with all entries."""
POLICIES = "spec.subGroupPolicy"


def read_volcano_group_demand(found: VolcanoPodGroup, stated: Collection[MemberPart], tiers: Tiers) -> Demand:
    """Return the demand of a Volcano PodGroup; ``stated``: what the group's pods state about it.

    As in Volcano, counts by task are ignored if ``minMember`` is less than their sum.
    """
    spec = found.spec
    problem = _find_fault(spec)
    least_room, defects = read_least_room(spec.min_resources)
    if problem or defects:
        return Demand(problem=problem or defects)
    by_task = {task: count for task, count in sorted(spec.min_task_member.items()) if count}
    elastic = spec.min_member < sum(by_task.values())
    by_task = {} if elastic else by_task
    nodes: tuple[GroupNode, ...] = ()
    if is_tree(found):
        nodes, problem = _list_nodes(found, stated, by_task, tiers)
        if problem:
            return Demand(problem=problem)
    return Demand(
        max(spec.min_member, count_fewest(nodes)),
        ignored=_list_ignored(spec, elastic=elastic),
        by_role={} if nodes else by_task,
        roles="task",
        least_room=least_room,
        priority_class=spec.priority_class_name,
        nodes=nodes,
    )


def is_tree(found: VolcanoPodGroup) -> bool:
    """Return whether a PodGroup has a network topology or subgroups."""
    return found.spec.network_topology is not None or bool(found.spec.sub_group_policy)


def find_part(found: VolcanoPodGroup, metadata: ObjectMeta) -> MemberPart:
    """Return a pod's group in a tree: by the first subgroup policy that matches its labels, else by its task."""
    task = metadata.annotations.get(VOLCANO_TASK, "")
    if not is_tree(found):
        return MemberPart(task)
    labels = metadata.labels
    policies = found.spec.sub_group_policy[:MOST_POLICIES]
    for name, policy in zip(_name_policies(policies), policies, strict=True):
        if policy.label_selector is not None and not matches_labels(policy.label_selector, labels):
            continue
        values = [labels.get(key, "") for key in policy.match_label_keys]
        # As in Volcano, a pod is in no subgroup if it lacks one of the labels, or if the policy names no label.
        if values and all(values):
            return MemberPart(f"{name}/{'-'.join(values)}", inside=name)
    return MemberPart(f"pods of {task}" if task else "other pods", task=task)


def _name_policies(policies: Sequence[VolcanoSubGroups]) -> list[str]:
    """Return unique names for policies, without the slashes and blanks that names of other groups have."""
    names: dict[str, None] = {}
    for index, each in enumerate(policies):
        name = each.name.replace("/", "_").replace(" ", "_") or f"subgroups-{index}"
        while name in names:
            name = f"{name}-{index}"
        names[name] = None
    return [*names]


def _list_nodes(
    found: VolcanoPodGroup, stated: Collection[MemberPart], by_task: dict[str, int], tiers: Tiers
) -> tuple[tuple[GroupNode, ...], str]:
    """Return the groups of a tree, parents first, and what is wrong with the tree ("" for nothing)."""
    spec = found.spec
    inside: dict[str, set[str]] = {}
    tasks: dict[str, str] = {}
    for part in stated:
        if part.inside:
            inside.setdefault(part.inside, set()).add(part.role)
        else:
            tasks[part.role] = part.task
    terms = read_topology(spec.network_topology, tiers, "spec.networkTopology")
    problem = terms.problem
    left = Counter(by_task)
    nodes: list[GroupNode] = []
    root = f"all of {found.metadata.name}"
    below = 0
    for index, (name, policy) in enumerate(
        zip(_name_policies(spec.sub_group_policy), spec.sub_group_policy, strict=True)
    ):
        own = read_topology(policy.network_topology, tiers, f"{POLICIES}[{index}].networkTopology")
        problem = problem or own.problem
        task = _find_task(policy)
        wanted = -(-left.pop(task, 0) // policy.sub_group_size)
        least = max(policy.min_sub_groups, wanted)
        if name not in inside and not least:
            continue
        below += 1
        nodes.append(GroupNode(name, root, least))
        nodes += [
            GroupNode(each, name, policy.sub_group_size, within=own.within, rather_within=own.rather_within)
            for each in sorted(inside.get(name, ()))
        ]
    for role in sorted({*tasks, *(f"pods of {task}" for task in left)}):
        task = tasks.get(role, role.removeprefix("pods of "))
        nodes.append(GroupNode(role, root, left[task]))
        below += 1
    whole = GroupNode(root, "", below, within=terms.within, rather_within=terms.rather_within)
    return (whole, *nodes), problem


def _find_task(policy: VolcanoSubGroups) -> str:
    """Return the task of a Volcano Job that a policy selects, "" for none."""
    selector = policy.label_selector
    return selector.match_labels.get(VOLCANO_TASK, "") if selector is not None else ""


def _find_fault(spec: VolcanoPodGroupSpec) -> str:
    return next(_find_faults(spec), "")


def _find_faults(spec: VolcanoPodGroupSpec) -> Iterator[str]:
    counts = {"spec.minMember": (0, spec.min_member)}
    counts |= {f"spec.minTaskMember.{task}": (0, count) for task, count in spec.min_task_member.items()}
    if len(spec.sub_group_policy) > MOST_POLICIES:
        yield f"{POLICIES}: has {len(spec.sub_group_policy)} entries; give at most {MOST_POLICIES}"
    for index, each in enumerate(spec.sub_group_policy):
        counts[f"{POLICIES}[{index}].subGroupSize"] = 1, each.sub_group_size
        counts[f"{POLICIES}[{index}].minSubGroups"] = 0, each.min_sub_groups
    for field, (fewest, count) in counts.items():
        if not fewest <= count <= MAX_MEMBERS:
            yield f"{field}: {count} is out of range; give {fewest} or more"


def _list_ignored(spec: VolcanoPodGroupSpec, *, elastic: bool) -> str:
    asked = (
        (
            elastic,
            "spec.minTaskMember: comes to more than spec.minMember, and is then not looked at, as in Volcano",
        ),
        (
            spec.queue not in ("", "default"),
            (
                f"spec.queue {shorten(repr(spec.queue))}: is not honoured; "
                "annotate the pods with scheduling.volcano.sh/queue-name"
            ),
        ),
    )
    return "; ".join(text for given, text in asked if given)


class TierTerms(NamedTuple):
    """The topology that a group requests.

    ``within``: node labels whose values its pods must share; ``rather_within``: node labels whose values they should
    share, most preferred first; ``problem``: what is wrong with the topology, "" for nothing.
    """

    within: tuple[str, ...] = ()
    rather_within: tuple[str, ...] = ()
    problem: str = ""


def read_topology(found: VolcanoTopology | None, tiers: Tiers, path: str) -> TierTerms:
    """Read a ``networkTopology``.

    As in Volcano, low tiers are preferred, and a tier above all others is the cluster.
    """
    if found is None:
        return TierTerms()
    highest, problem = _find_highest(found, tiers, path)
    if problem:
        return TierTerms(problem=problem)
    levels = tiers.levels
    if found.mode == SOFT or highest is None or (levels and highest > levels[-1]):
        return TierTerms(rather_within=tuple(map(name_tier, levels)))
    allowed = tuple(name_tier(each) for each in levels if each <= highest)
    if not allowed:
        return TierTerms(problem=f"{path}: there is no HyperNode of tier {highest} or below")
    return TierTerms(allowed[-1:], allowed[:-1])


def _find_highest(found: VolcanoTopology, tiers: Tiers, path: str) -> tuple[int | None, str]:
    """Return the highest allowed tier (None for any), and what is wrong with the topology ("" for nothing)."""
    highest, name = found.highest_tier_allowed, found.highest_tier_name
    if found.mode not in (HARD, SOFT):
        return None, f"{path}.mode: {shorten(repr(found.mode))} is unknown; give {HARD} or {SOFT}"
    if highest is not None and name:
        return None, f"{path}: has highestTierAllowed and highestTierName; give one of them"
    if name and name not in tiers.by_name:
        return None, f"{path}.highestTierName: no HyperNode has the tierName {shorten(repr(name))}"
    return (tiers.by_name[name] if name else highest), ""
