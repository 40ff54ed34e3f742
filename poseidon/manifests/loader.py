"""Loads a cluster from paths: returns its nodes and pods, or raises an error with all defects."""

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
from poseidon.manifests.budgets import count_budgets
from poseidon.manifests.controllers.device_claims import play_claim_controller
from poseidon.manifests.controllers.expansion import expand, list_scaled_owners
from poseidon.manifests.controllers.volumes import play_volume_controllers
from poseidon.manifests.defaulting import as_held
from poseidon.manifests.documents import Document, Given, read_documents
from poseidon.manifests.inventory import Inventory, take_inventory
from poseidon.manifests.missing import missing_references
from poseidon.manifests.wording import list_names
from poseidon.manifests.workloads.table import Families, expand_families
from poseidon.pods.tasks import get_qualified_name


class ManifestError(ValueError):
    """Manifests that cannot be used. ``lines``: one line per defect: file, object, field, fault and remedy."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@dataclass(frozen=True, slots=True)
class Manifests:
    """A cluster as the input describes it."""

    nodes: tuple[Node, ...]
    """Nodes."""
    namespaces: tuple[Namespace, ...]
    """Namespaces, with their labels."""
    pods: tuple[Pod, ...]
    """Pods of the input, and those that its workloads would create; uids are ``namespace/name``, and unique."""
    priority_classes: tuple[PriorityClass, ...]
    """PriorityClasses."""
    warnings: tuple[str, ...]
    """Lines for people."""
    for_models: tuple[KubeStruct, ...] = ()
    """Objects that only cost models or pod groups use."""
    storage: tuple[KubeStruct, ...] = ()
    """Claims, volumes, storage classes and CSI nodes."""
    devices: tuple[KubeStruct, ...] = ()
    """Devices, device classes and device claims."""
    owners: tuple[tuple[str, ScaledOwner], ...] = ()
    """Sizes of workloads, with their kinds."""
    budgets: tuple[DisruptionBudget, ...] = ()
    """PodDisruptionBudgets."""
    daemon_sets: tuple[ObjectMeta, ...] = ()
    """Metadata of DaemonSets."""
    services: tuple[Service, ...] = ()
    """Services."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reason, by uid, for each pod that the API server would refuse."""
    suspended: tuple[Pod, ...] = ()
    """Pods that are created only once their owners, which are in queues, are resumed; not part of ``pods``."""
    set_aside: tuple[str, ...] = ()
    """Those ``warnings`` that concern single objects, which are used only in part or not at all."""
    is_live: bool = False
    """Whether the input is a live cluster, or saved from one; then no object is refused."""


def load_manifests(
    paths: Iterable[Given], kustomized: Iterable[str] = (), *, strict: bool = False
) -> Manifests:
    """Read files, folders, ``-`` (standard input), content passed by a program, and kustomizations in
    ``kustomized``.

    Of an object that is given with different contents the last counts; with ``strict`` it is a defect. Raises
    ``ManifestError`` listing all defects.
    """
    defects: list[str] = []
    warnings: list[str] = []
    held = as_held(read_documents(paths, defects, warnings, kustomized))
    documents = list(one_of_each(held, defects if strict else warnings, strict=strict))
    families = expand_families(documents)
    warnings += families.warnings
    inventory = take_inventory([*documents, *families.groups], defects, warnings)
    if defects:
        raise ManifestError(defects)
    is_live = any(each.held for each in documents)
    return _complete(inventory, warnings, families, is_live=is_live)


def build_live_manifests(documents: Iterable[Document], left_out: Iterable[str]) -> Manifests:
    """Return the cluster that live objects describe; unusable objects are left out with a warning, not refused.

    ``documents`` are ``held``; ``left_out``: a line about each object that could not be parsed.
    """
    warnings = [*left_out]
    inventory = take_inventory(one_of_each(as_held(documents), warnings), [], warnings)
    return _complete(inventory, warnings, is_live=True)


def _complete(
    inventory: Inventory, warnings: list[str], families: Families | None = None, *, is_live: bool
) -> Manifests:
    """Return the manifests of an input: adds what controllers would create, and warnings about the input as a whole.

    ``families``: the pods that controllers of other projects would create.
    """
    set_aside = tuple(warnings)
    expansion = expand(inventory)
    families = families or Families()
    created = (*expansion.pods, *families.pods, *expansion.suspended, *families.suspended)
    later = {pod.metadata.uid for pod in (*expansion.suspended, *families.suspended)}
    names = {pod.metadata.uid for pod in created}
    # A pod that has ended frees its resources, and its name for its replacement.
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
    """Yield a warning if there are CronJobs: they start pods at times of their own, and a plan is for the present
    moment.
    """
    if not cron_jobs:
        return
    first = cron_jobs[0].metadata
    names = list_names((get_qualified_name(each.metadata) for each in cron_jobs), 1)
    yield (
        f"CronJob {names}: starts pods when it is due, none of which are planned; "
        f"to plan a run, add the Job that `kubectl create job NAME --from=cronjob/{first.name} -n {first.namespace} "
        "--dry-run=client -o yaml` prints"
    )
