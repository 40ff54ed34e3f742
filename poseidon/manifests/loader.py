"""The one entry: paths in, a cluster's nodes and pods out, or every defect at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.manifests.budgets import counted
from poseidon.manifests.documents import read_documents
from poseidon.manifests.expansion import expand
from poseidon.manifests.groups import scaled_owners
from poseidon.manifests.inventory import take_inventory
from poseidon.translate.pod import qualified_name
from poseidon.translate.priority import PriorityResolver, UnknownPriorityClassError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from poseidon.kube.batch_objects import DisruptionBudget, ScaledOwner
    from poseidon.kube.objects import KubeStruct, Namespace, Node, Pod, PriorityClass


class ManifestError(ValueError):
    """Manifests that cannot be used. ``lines``: one per defect: file, object, field, fault and remedy."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@dataclass(frozen=True, slots=True)
class Manifests:
    """What the input says of a cluster.

    ``pods`` holds those of the input and those that its workloads would create; each uid is
    ``namespace/name`` and unique. ``pinned`` maps the uid of a pod that does not exist yet to the node that
    its template names. ``storage`` holds claims, volumes, storage classes and CSI nodes, ``for_models`` objects
    that only models look at and those of groups, ``owners`` the sizes of workloads by kind, ``budgets`` what may be
    disrupted. ``warnings`` are lines for people.
    """

    nodes: tuple[Node, ...]
    namespaces: tuple[Namespace, ...]
    pods: tuple[Pod, ...]
    priority_classes: tuple[PriorityClass, ...]
    pinned: Mapping[str, str]
    warnings: tuple[str, ...]
    for_models: tuple[KubeStruct, ...] = ()
    storage: tuple[KubeStruct, ...] = ()
    owners: tuple[tuple[str, ScaledOwner], ...] = ()
    budgets: tuple[DisruptionBudget, ...] = ()


def load_manifests(paths: Iterable[str]) -> Manifests:
    """Read files, folders and ``-`` (standard input); raises ``ManifestError`` listing all defects."""
    defects: list[str] = []
    warnings: list[str] = []
    inventory = take_inventory(read_documents(paths, defects), defects, warnings)
    if defects:
        raise ManifestError(defects)
    expansion = expand(inventory)
    names = {pod.metadata.uid for pod in expansion.pods}
    # A pod that has ended makes room, also in name, for the one that replaces it.
    existing = [pod for pod in inventory.pods if not (pod.terminal and pod.metadata.uid in names)]
    pods = (*existing, *expansion.pods)
    warnings.extend(_unknown_priority_classes(pods, PriorityResolver(inventory.priority_classes)))
    return Manifests(
        nodes=tuple(inventory.nodes),
        namespaces=tuple(inventory.namespaces),
        pods=pods,
        priority_classes=tuple(inventory.priority_classes),
        pinned=expansion.pinned,
        warnings=tuple(warnings),
        for_models=tuple(inventory.for_models),
        storage=(*inventory.storage, *expansion.claims),
        owners=tuple(scaled_owners(inventory.workloads)),
        budgets=tuple(counted(inventory.budgets, pods)),
    )


def _unknown_priority_classes(pods: Iterable[Pod], priorities: PriorityResolver) -> Iterator[str]:
    """Yield one line per PriorityClass that pods name and the input lacks."""
    missing: dict[str, list[str]] = {}
    for pod in pods:
        try:
            priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            missing.setdefault(error.name, []).append(qualified_name(pod.metadata))
    for name, users in sorted(missing.items()):
        more = f" and {len(users) - 1} more" if len(users) > 1 else ""
        yield (
            f"Pod {users[0]}{more}: spec.priorityClassName: PriorityClass {name!r} is not in the input, "
            "priority 0 is assumed; add it with -f"
        )
