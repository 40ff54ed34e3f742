"""Applies LimitRanges to the expected pods of suspended objects, as the API server will when it creates them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from poseidon.kube.api.namespaces import LimitRange
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.api.resource import Change
from poseidon.manifests.admission.limit_ranges import complete_spec, violations
from poseidon.pods.tasks import get_qualified_name


class LimitRanges:
    """The LimitRanges of all namespaces, which are applied to pods as in the API server's admission."""

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._found: defaultdict[str, dict[str, LimitRange]] = defaultdict(dict)
        self._versions: defaultdict[str, int] = defaultdict(int)

    def take_changes(self, changes: Sequence[Change[LimitRange]]) -> None:
        """Store changed LimitRanges.

        If the content of LimitRanges has changed, their namespaces get new version numbers.
        """
        for uid, found in changes:
            namespace = self._namespaces.pop(uid, "")
            former = self._found[namespace].pop(uid, None)
            if found is not None:
                namespace = self._namespaces[uid] = found.metadata.namespace
                self._found[namespace][uid] = found
            if former is None or found is None or former.spec != found.spec:
                self._versions[namespace] += 1

    def find_version(self, namespace: str) -> int:
        """Return the version of a namespace's LimitRanges: a number that grows when their content changes."""
        return self._versions.get(namespace, 0)

    def complete(self, pods: Sequence[Pod]) -> tuple[list[Pod], str]:
        """Return pods of one namespace with its default requests and limits, and why a pod would be refused, or "".

        Pods with the same spec object get the same completed spec. LimitRanges apply in the order of their names.
        """
        found = self._found.get(pods[0].metadata.namespace) if pods else None
        if not found:
            return [*pods], ""
        ranges = sorted(found.values(), key=lambda each: each.metadata.name)
        completed: dict[int, PodSpec] = {}
        for pod in pods:
            if id(pod.spec) in completed:
                continue
            spec = pod.spec
            for each in ranges:
                spec = complete_spec(spec, each)
            for each in ranges:
                problem = next(violations(spec, each), "")
                if problem:
                    return [
                        *pods
                    ], f"its pods break LimitRange {get_qualified_name(each.metadata)}: {problem}"
            completed[id(pod.spec)] = spec
        return [replace(pod, spec=completed[id(pod.spec)]) for pod in pods], ""
