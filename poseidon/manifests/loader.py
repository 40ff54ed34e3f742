"""Loads a cluster from paths: returns its objects, or raises an error with all defects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.nodes import Node, PriorityClass, Service
from poseidon.kube.api.pod_groups import DisruptionBudget, NativePodGroup, ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.workloads import CronJob, DaemonSet
from poseidon.manifests.admission.admit import play_admission
from poseidon.manifests.admission.claims import ClaimAdmission
from poseidon.manifests.admission.whole_workloads import list_workloads
from poseidon.manifests.alternatives import one_of_each
from poseidon.manifests.controllers.device_claims import play_claim_controller
from poseidon.manifests.controllers.expansion import expand, list_scaled_owners
from poseidon.manifests.controllers.volumes import play_volume_controllers
from poseidon.manifests.defaulting import complete_documents
from poseidon.manifests.disruption_budgets import count_budgets
from poseidon.manifests.documents import Document, Given, read_documents
from poseidon.manifests.inventory import Inventory, take_inventory
from poseidon.manifests.missing_references import missing_references
from poseidon.manifests.warning_phrases import list_names
from poseidon.manifests.workloads.table import Families, expand_families
from poseidon.pods.tasks import get_qualified_name


class ManifestError(ValueError):
    """Raised if manifests cannot be used.

    ``lines`` has one line per defect: file, object, field, what is wrong, and what to do.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@dataclass(frozen=True, slots=True)
class Manifests:
    """A cluster as the input describes it."""

    nodes: tuple[Node, ...]
    """Nodes of the cluster."""
    namespaces: tuple[Namespace, ...]
    """Namespaces, with their labels."""
    pods: tuple[Pod, ...]
    """Pods of the input, and those that its workloads would create; a uid is ``namespace/name``, and unique."""
    priority_classes: tuple[PriorityClass, ...]
    """PriorityClasses of the cluster."""
    warnings: tuple[str, ...]
    """Warnings about the input, one line each, for people."""
    for_models: tuple[KubeStruct, ...] = ()
    """Objects that only cost models or pod groups use."""
    storage: tuple[KubeStruct, ...] = ()
    """Claims, volumes, storage classes and CSI nodes."""
    devices: tuple[KubeStruct, ...] = ()
    """Devices, device classes and device claims."""
    owners: tuple[tuple[str, ScaledOwner], ...] = ()
    """Number of pods of each workload, with the workload's kind."""
    budgets: tuple[DisruptionBudget, ...] = ()
    """PodDisruptionBudgets of the cluster."""
    daemon_sets: tuple[ObjectMeta, ...] = ()
    """Metadata of the cluster's DaemonSets."""
    services: tuple[Service, ...] = ()
    """Services of the cluster."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why the API server would refuse pods, by the pod's uid."""
    suspended: tuple[Pod, ...] = ()
    """Pods that are created only when a queue resumes their owners; ``pods`` lacks them."""
    set_aside: tuple[str, ...] = ()
    """Those of the ``warnings`` that are about single objects which are used in part or not at all."""
    is_live: bool = False
    """Whether the objects come from a live cluster, directly or through saved files; then no object is refused."""


def load_manifests(
    paths: Iterable[Given], kustomized: Iterable[str] = (), *, strict: bool = False
) -> Manifests:
    """Read files, folders, ``-`` (standard input), a program's content, and folders with kustomizations.

    If an object is given with different contents, the last counts; if ``strict``, this is a defect. Raises
    ``ManifestError`` with all defects.
    """
    defects: list[str] = []
    warnings: list[str] = []
    held = complete_documents(read_documents(paths, defects, warnings, kustomized))
    documents = list(one_of_each(held, defects if strict else warnings, strict=strict))
    families = expand_families(documents)
    warnings += families.warnings
    inventory = take_inventory([*documents, *families.groups], defects, warnings)
    if defects:
        raise ManifestError(defects)
    is_live = any(each.held for each in documents)
    return _complete(inventory, warnings, families, is_live=is_live)


def build_live_manifests(documents: Iterable[Document], left_out: Iterable[str]) -> Manifests:
    """Return the cluster that live objects describe; unusable objects are left out with a warning.

    ``documents`` are marked as ``held``; ``left_out`` has a line about each object that could not be parsed.
    """
    warnings = [*left_out]
    inventory = take_inventory(one_of_each(complete_documents(documents), warnings), [], warnings)
    return _complete(inventory, warnings, is_live=True)


def _complete(
    inventory: Inventory, warnings: list[str], families: Families | None = None, *, is_live: bool
) -> Manifests:
    """Return the manifests of an input, with pods that controllers would create, and warnings about the whole input.

    ``families`` has the pods that controllers of other projects would create.
    """
    set_aside = tuple(warnings)
    expansion = expand(inventory)
    families = families or Families()
    created = (*expansion.pods, *families.pods, *expansion.suspended, *families.suspended)
    later = {pod.metadata.uid for pod in (*expansion.suspended, *families.suspended)}
    names = {pod.metadata.uid for pod in created}
    # A pod that has ended has released its resources, and its name is free for a replacement.
    existing = [pod for pod in inventory.pods if not (pod.terminal and pod.metadata.uid in names)]
    owners = (*list_scaled_owners(inventory.workloads), *families.owners)
    admission = play_admission(
        (*existing, *created),
        inventory.runtime_classes,
        inventory.limit_ranges,
        inventory.quotas,
        list_workloads((*expansion.suspended, *families.suspended), owners),
    )
    groups = [each for each in inventory.for_models if isinstance(each, NativePodGroup)]
    devices, pods = play_claim_controller(inventory.devices, tuple(admission.pods), groups)
    refused = admission.refused
    admitted = [pod for pod in pods if pod.metadata.uid not in refused] if refused else pods
    warnings.extend(_warn_of_cron_jobs(inventory.cron_jobs))
    warnings.extend(admission.warnings)
    claims = ClaimAdmission(inventory.limit_ranges, inventory.quotas)
    storage = play_volume_controllers((*inventory.storage, *expansion.claims), admitted, claims.admit)
    refused = {**dict(claims.list_refusals(pods)), **refused}
    named = (*storage, *claims.not_admitted)
    warnings.extend(missing_references(pods, inventory.priority_classes, inventory.namespaces, named))
    return Manifests(
        nodes=tuple(inventory.nodes),
        namespaces=tuple(inventory.namespaces),
        pods=tuple(pod for pod in pods if pod.metadata.uid not in later) if later else pods,
        priority_classes=tuple(inventory.priority_classes),
        warnings=tuple(warnings),
        for_models=tuple(inventory.for_models),
        storage=storage,
        devices=devices,
        owners=owners,
        suspended=tuple(pod for pod in pods if pod.metadata.uid in later),
        budgets=tuple(count_budgets(inventory.budgets, admitted)),
        daemon_sets=tuple(each.metadata for _, each in inventory.workloads if isinstance(each, DaemonSet)),
        services=tuple(inventory.services),
        refused=refused,
        set_aside=set_aside,
        is_live=is_live,
    )


def _warn_of_cron_jobs(cron_jobs: Sequence[CronJob]) -> Iterator[str]:
    """Yield a warning if the input has CronJobs, which start pods later; a plan is for the present moment."""
    if not cron_jobs:
        return
    first = cron_jobs[0].metadata
    names = list_names((get_qualified_name(each.metadata) for each in cron_jobs), 1)
    yield (
        f"CronJob {names}: starts pods when it is due, none of which are planned; "
        f"to plan a run, add the Job that `kubectl create job NAME --from=cronjob/{first.name} -n {first.namespace} "
        "--dry-run=client -o yaml` prints"
    )
