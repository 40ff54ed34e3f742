"""Admits PersistentVolumeClaims: checks the limits and quotas of storage.

Follows the LimitRanger admission plugin, and the evaluator of claims in
``k8s.io/kubernetes/pkg/quota/v1/evaluator/core``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from poseidon.kube.api.namespaces import LimitRange, ResourceQuota
from poseidon.kube.api.pods import Pod, claims_of
from poseidon.kube.api.storage import LEGACY_CLASS, PersistentVolumeClaim
from poseidon.manifests.admission.quotas import describe_excess, limits_pods_alone
from poseidon.manifests.amounts import parse_amount
from poseidon.manifests.controllers.volumes import was_held
from poseidon.pods.tasks import get_qualified_name
from poseidon.volumes.records import claim_record

_STORAGE = "storage"


class ClaimAdmission:
    """Admits PersistentVolumeClaims one after another.

    ``refused`` has the reasons in the API server's words, by namespace and name; ``not_admitted`` has the refused
    claims.
    """

    def __init__(self, limit_ranges: Iterable[LimitRange], quotas: Iterable[ResourceQuota]) -> None:
        self.refused: dict[tuple[str, str], str] = {}
        self.not_admitted: list[PersistentVolumeClaim] = []
        self._ranges: dict[str, list[LimitRange]] = defaultdict(list)
        for each in limit_ranges:
            self._ranges[each.metadata.namespace].append(each)
        self._quotas: dict[str, list[ResourceQuota]] = defaultdict(list)
        for quota in quotas:
            if not limits_pods_alone(quota):
                self._quotas[quota.metadata.namespace].append(quota)
        self._used: dict[str, dict[str, int]] = defaultdict(dict)

    def admit(self, claims: Sequence[PersistentVolumeClaim]) -> list[PersistentVolumeClaim]:
        """Return the admitted claims, in order; quotas first count the claims that the cluster already has."""
        if not (self._ranges or self._quotas):
            return list(claims)
        held = {_key(each) for each in claims if was_held(each.metadata) or claim_record(each).bound}
        for each in claims:
            if _key(each) in held:
                self._count(each)
        self._raise_usage_to_status()
        admitted = []
        for each in claims:
            problem = "" if _key(each) in held else self._refusal(each)
            if problem:
                words = f'persistentvolumeclaims "{each.metadata.name}" is forbidden: {problem}'
                self.refused[_key(each)] = words
                self.not_admitted.append(each)
            else:
                admitted.append(each)
        return admitted

    def list_refusals(self, pods: Iterable[Pod]) -> Iterator[tuple[str, str]]:
        """Yield uid and reason of each pod without a node that uses a refused claim."""
        for pod in pods if self.refused else ():
            if pod.spec.node_name or pod.terminal:
                continue
            for used in claims_of(pod):
                if reason := self.refused.get((pod.metadata.namespace, used.name)):
                    yield pod.metadata.uid, reason
                    break

    def _refusal(self, claim: PersistentVolumeClaim) -> str:
        namespace = claim.metadata.namespace
        faults = [problem for each in self._ranges[namespace] for problem in _violations(claim, each)]
        if faults:
            return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        usage = _usage(claim)
        for quota in self._quotas[namespace]:
            if problem := describe_excess(quota, self._used[get_qualified_name(quota.metadata)], usage):
                return problem
        self._count(claim)
        return ""

    def _count(self, claim: PersistentVolumeClaim) -> None:
        for quota in self._quotas[claim.metadata.namespace]:
            used = self._used[get_qualified_name(quota.metadata)]
            for name, amount in _usage(claim).items():
                used[name] = used.get(name, 0) + amount

    def _raise_usage_to_status(self) -> None:
        """Raise the counted use of each quota to the use in its status, if that is higher."""
        for quota in (each for quotas in self._quotas.values() for each in quotas):
            used = self._used[get_qualified_name(quota.metadata)]
            for name, value in quota.status.used.items():
                used[name] = max(used.get(name, 0), parse_amount(name, value))


def _key(claim: PersistentVolumeClaim) -> tuple[str, str]:
    return claim.metadata.namespace, claim.metadata.name


def _usage(claim: PersistentVolumeClaim) -> Mapping[str, int]:
    """Return what a claim uses, by the names that quotas have for it."""
    metadata, spec = claim.metadata, claim.spec
    size = parse_amount(_STORAGE, spec.resources.requests.get(_STORAGE, 0))
    found = {"persistentvolumeclaims": 1, "count/persistentvolumeclaims": 1, "requests.storage": size}
    if name := metadata.annotations.get(LEGACY_CLASS, spec.storage_class_name or ""):
        of_class = f"{name}.storageclass.storage.k8s.io"
        found |= {f"{of_class}/requests.storage": size, f"{of_class}/persistentvolumeclaims": 1}
    return found


def _violations(claim: PersistentVolumeClaim, limit_range: LimitRange) -> Iterator[str]:
    """Yield in the API server's words why a LimitRange refuses a claim; only the claim's requests are checked."""
    requests = claim.spec.resources.requests
    for item in limit_range.spec.limits:
        if item.type != "PersistentVolumeClaim":
            continue
        for word, bounds, sign in (("minimum", item.min, -1), ("maximum", item.max, 1)):
            for resource, bound in bounds.items():
                head = f"{word} {resource} usage per {item.type} is {bound}"
                if resource not in requests:
                    yield f"{head}. No request is specified"
                elif sign * (parse_amount(resource, requests[resource]) - parse_amount(resource, bound)) > 0:
                    yield f"{head}, but request is {requests[resource]}"
