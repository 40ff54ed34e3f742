"""Applies ResourceQuotas: counts what the pods of a namespace use, and refuses pods that would exceed a quota.

Follows the evaluator of pods in ``k8s.io/kubernetes/pkg/quota/v1/evaluator/core`` and the ResourceQuota admission
plugin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from poseidon.kube.api.namespaces import ResourceQuota, ScopeRequirement
from poseidon.kube.api.pods import Container, Pod
from poseidon.kube.parsing.defects import Defect
from poseidon.manifests.amounts import format_amount, parse_amount, unit_of
from poseidon.manifests.warning_phrases import list_names
from poseidon.pods.requests_and_limits import (
    BEST_EFFORT,
    effective_limits,
    effective_requests,
    quality_of_service,
)
from poseidon.pods.tasks import get_qualified_name

_STATED = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
"""Resources for which every container has to state an amount if a quota limits them."""

_PLAIN = ("cpu", "memory", "ephemeral-storage")
_COUNTS = ("pods", "count/pods")


def usage_of(pod: Pod) -> dict[str, int]:
    """Return what a pod uses, by the names that quotas have for it."""
    known: list[Defect] = []  # The code that reads the pod's requests reports these faults.
    found = dict.fromkeys(_COUNTS, 1)
    for name, amount in effective_requests(pod.spec, known).items():
        found[f"requests.{name}"] = amount
        if name in _PLAIN or name.startswith("hugepages-"):
            found[name] = amount
    for name, amount in effective_limits(pod.spec, known).items():
        if name in _PLAIN:
            found[f"limits.{name}"] = amount
    return found


class ResourceQuotaUse:
    """Keeps the use that counts against each quota: that of the input's pods, or that in the quota's status."""

    def __init__(self, quotas: Sequence[ResourceQuota], admitted: Iterable[Pod]) -> None:
        self._of: dict[str, list[ResourceQuota]] = defaultdict(list)
        for each in quotas:
            self._of[each.metadata.namespace].append(each)
        self._used: dict[str, dict[str, int]] = {}
        for pod in admitted:
            if not pod.terminal:
                usage = usage_of(pod) if pod.metadata.namespace in self._of else {}
                for quota in self._matching(pod):
                    self._add(quota, usage)
        for each in quotas:
            used = self._used.setdefault(_key(each), {})
            for name, value in each.status.used.items():
                used[name] = max(used.get(name, 0), parse_amount(name, value))

    def admit(self, pod: Pod) -> str:
        """Add a pod's use unless a quota refuses the pod; return the reason in the API server's words, or ""."""
        matching = self._matching(pod)
        if not matching:
            return ""
        usage = usage_of(pod)
        for quota in matching:
            problem = _explain_unstated(quota, pod) or describe_excess(
                quota, self._used.get(_key(quota), {}), usage
            )
            if problem:
                return problem
        for quota in matching:
            self._add(quota, usage)
        return ""

    def withdraw(self, pod: Pod) -> None:
        """Subtract the use of a pod that was admitted."""
        usage = {name: -amount for name, amount in usage_of(pod).items()}
        for quota in self._matching(pod):
            self._add(quota, usage)

    def warn_of_unknown_scopes(self) -> Iterator[str]:
        """Yield a warning if quotas have scopes that this program does not know."""
        users: dict[str, None] = {}
        entries: dict[str, None] = {}
        for quota in (each for quotas in self._of.values() for each in quotas):
            found = [key for key in _scopes(quota) if key not in _SCOPES]
            entries |= dict.fromkeys(found)
            users |= {_key(quota): None} if found else {}
        if users:
            yield f"ResourceQuota {list_names(users, 1)}: spec.scopes: {list_names(entries)} is ignored"

    def _matching(self, pod: Pod) -> list[ResourceQuota]:
        return [each for each in self._of.get(pod.metadata.namespace, ()) if _covers(each, pod)]

    def _add(self, quota: ResourceQuota, usage: Mapping[str, int]) -> None:
        used = self._used.setdefault(_key(quota), {})
        for name, amount in usage.items():
            used[name] = used.get(name, 0) + amount


def describe_excess(quota: ResourceQuota, used: Mapping[str, int], usage: Mapping[str, int]) -> str:
    """Return in the API server's words by how much a request exceeds a quota, or "" if it does not."""
    hard = {name: parse_amount(name, value) for name, value in quota.spec.hard.items()}
    beyond = sorted(
        name for name, limit in hard.items() if usage.get(name) and used.get(name, 0) + usage[name] > limit
    )
    if not beyond:
        return ""

    def show(amounts: Mapping[str, int]) -> str:
        return ",".join(f"{name}={format_amount(name, amounts.get(name, 0))}" for name in beyond)

    name = quota.metadata.name
    return f"exceeded quota: {name}, requested: {show(usage)}, used: {show(used)}, limited: {show(hard)}"


def _explain_unstated(quota: ResourceQuota, pod: Pod) -> str:
    """Return in the API server's words which containers lack an amount of a resource that the quota limits."""
    whole = pod.spec.resources
    missing: dict[str, list[str]] = {}
    for name in sorted(_STATED & quota.spec.hard.keys()):
        resource, limited = unit_of(name), name.startswith("limits.")

        def states(part: Container, resource: str = resource, limited: bool = limited) -> bool:
            stated = (
                part.resources.limits if limited else {**part.resources.limits, **part.resources.requests}
            )
            return resource in stated

        if resource in (whole.limits if limited else {**whole.limits, **whole.requests}):
            continue
        lacking = [
            each.name for each in (*pod.spec.containers, *pod.spec.init_containers) if not states(each)
        ]
        if lacking:
            missing[name] = sorted(lacking)
    if not missing:
        return ""
    what = "; ".join(f"{name} for: {','.join(names)}" for name, names in missing.items())
    return f"failed quota: {quota.metadata.name}: must specify {what}"


def _key(quota: ResourceQuota) -> str:
    return get_qualified_name(quota.metadata)


# --- which pods a quota counts ----------------------------------------------------------------------------------


def _best_effort(pod: Pod) -> bool:
    return quality_of_service(pod.spec) == BEST_EFFORT


def _ends(pod: Pod) -> bool:
    deadline = pod.spec.active_deadline_seconds
    return deadline is not None and deadline >= 0


def _crosses_namespaces(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    for rules in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if rules is not None:
            terms = (*rules.required, *(each.pod_affinity_term for each in rules.preferred))
            if any(each.namespaces or each.namespace_selector is not None for each in terms):
                return True
    return False


_SCOPES: Mapping[str, Callable[[Pod], bool]] = {
    "BestEffort": _best_effort,
    "NotBestEffort": lambda pod: not _best_effort(pod),
    "Terminating": _ends,
    "NotTerminating": lambda pod: not _ends(pod),
    "CrossNamespacePodAffinity": _crosses_namespaces,
    "PriorityClass": lambda pod: bool(pod.spec.priority_class_name),
}


def _scopes(quota: ResourceQuota) -> list[str]:
    selected = quota.spec.scope_selector.match_expressions
    return [*quota.spec.scopes, *(each.scope_name for each in selected)]


def limits_pods_alone(quota: ResourceQuota) -> bool:
    """Return whether a quota has scopes; all known scopes select pods, and none of them selects claims."""
    return bool(_scopes(quota))


def _covers(quota: ResourceQuota, pod: Pod) -> bool:
    """Return whether a quota counts a pod; a quota with an unknown scope counts no pod."""
    if any(scope not in _SCOPES for scope in _scopes(quota)):
        return False
    return all(_SCOPES[scope](pod) for scope in quota.spec.scopes) and all(
        _selects(each, pod) for each in quota.spec.scope_selector.match_expressions
    )


def _selects(requirement: ScopeRequirement, pod: Pod) -> bool:
    if requirement.scope_name != "PriorityClass":
        return _SCOPES[requirement.scope_name](pod) == (requirement.operator != "DoesNotExist")
    name = pod.spec.priority_class_name
    if requirement.operator in ("In", "NotIn"):
        return (name in requirement.values) == (requirement.operator == "In")
    return bool(name) == (requirement.operator != "DoesNotExist")
