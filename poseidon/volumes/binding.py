"""Binds claims once their pod has a node: starts, follows and gives up bindings.

The bindings are not stored by this process: the API server has a claim's annotation and the claim that a volume
names, so a restarted process continues from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from poseidon.kube.write.volume_claim_writer import ClaimWrite, GiveVolume, SelectNode
from poseidon.volumes.available import AvailableVolumes
from poseidon.volumes.catalogue import Catalogue
from poseidon.volumes.matching import reaches
from poseidon.volumes.records import Claim
from poseidon.volumes.requirements import NONE_TO_BIND
from protos.configuration.sections import PositiveDuration, Section


@dataclass(slots=True)
class _UnderWay:
    """A pod whose claims are being bound for its node.

    ``missing``: claims that are not bound yet; ``chosen``: claims that the watch has shown with this node in their
    annotation.
    """

    node: str
    claims: tuple[str, ...]
    deadline: float
    missing: set[str] = field(default_factory=set)
    chosen: set[str] = field(default_factory=set)


class VolumeOptions(Section):
    """The section ``volumes``: ``bind_timeout`` (10 m) is how long the claims of a pod may take to be bound.

    ``capacity_scoring`` (off) prefers nodes where the driver has the greatest share of its capacity left after volumes
    were made.
    """

    bind_timeout: PositiveDuration = 600.0
    capacity_scoring: bool = False


class VolumeBindings:
    """The bindings of claims that are under way, by pod."""

    def __init__(self, storage: Catalogue, available: AvailableVolumes, options: VolumeOptions) -> None:
        self._storage = storage
        self._available = available
        self._seconds = options.bind_timeout
        self._under_way: dict[str, _UnderWay] = {}
        self._waiting: dict[str, set[str]] = {}
        self._writes: list[ClaimWrite] = []
        self._settled: dict[str, str] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._under_way

    def begin(self, uid: str, node: str, claims: tuple[str, ...], now: float) -> str:
        """Start to bind a pod's claims for a node; return why that is impossible, "" if it has begun.

        ``take_settled`` returns the outcome later, or at once if no claim has to be bound first.
        """
        pod = _UnderWay(node, claims, now + self._seconds)
        writes: list[ClaimWrite] = []
        for key in claims:
            problem = self._begin_claim(uid, pod, key, writes)
            if problem:
                for each in claims:
                    if each not in self._waiting:
                        self._available.release(each)
                return problem
        self._under_way[uid] = pod
        for key in claims:
            self._waiting.setdefault(key, set()).add(uid)
        self._writes.extend(writes)
        for key in claims:
            if uid in self._under_way:
                self._look(uid, pod, key)
        return ""

    def claim_changed(self, key: str) -> None:
        """Continue the bindings of a claim that has changed, or whose volume has changed."""
        claim = self._storage.claim(key)
        if claim is None or claim.bound:
            self._available.release(key)
        for uid in list(self._waiting.get(key, ())):
            pod = self._under_way.get(uid)
            if pod is not None:
                self._look(uid, pod, key)

    def node_gone(self, name: str) -> None:
        """Give up the bindings for a machine that no longer exists."""
        for uid in [uid for uid, pod in self._under_way.items() if pod.node == name]:
            self._settle(uid, f"node {name} is gone")

    def note_failure(self, write: ClaimWrite, reason: str) -> None:
        """Give up the bindings of a pod for which a write has failed for good."""
        if write.pod in self._under_way:
            self._settle(write.pod, reason)

    def expire(self, now: float) -> None:
        """Give up bindings that have taken too long."""
        late = [uid for uid, pod in self._under_way.items() if pod.deadline <= now]
        for uid in late:
            names = ", ".join(sorted(key.partition("/")[2] for key in self._under_way[uid].missing))
            self._settle(uid, f"volumes were not bound within {self._seconds:g} s: {names}")

    def abandon(self, uid: str) -> None:
        """Give up the bindings of a pod that was deleted, or will not be bound any more."""
        self._forget(uid)
        self._settled.pop(uid, None)

    @property
    def has_news(self) -> bool:
        """Whether ``take_writes`` or ``take_settled`` has results to return."""
        return bool(self._writes or self._settled)

    def take_writes(self) -> list[ClaimWrite]:
        """Return the writes to carry out, each once."""
        writes, self._writes = self._writes, []
        return writes

    def take_settled(self) -> dict[str, str]:
        """Return the bindings that have ended since the last call, by uid of the pod: "" for success, else why not."""
        settled, self._settled = self._settled, {}
        return settled

    # --- private steps -------------------------------------------------------------------------------------

    def _begin_claim(self, uid: str, pod: _UnderWay, key: str, writes: list[ClaimWrite]) -> str:
        claim = self._storage.claim(key)
        if claim is None:
            return f'persistentvolumeclaim "{key.partition("/")[2]}" not found'
        pod.missing.add(key)
        if claim.bound or self._storage.volume_for(claim) is not None:
            return ""
        for other in self._waiting.get(key, ()):
            if self._under_way[other].node != pod.node:
                return _elsewhere(claim, self._under_way[other].node)
        provision = self._storage.provision(claim.storage_class)
        if provision is not None and provision.dynamic:
            return self._select(uid, pod, claim, writes)
        return self._give(uid, pod, claim, writes)

    @staticmethod
    def _select(uid: str, pod: _UnderWay, claim: Claim, writes: list[ClaimWrite]) -> str:
        if claim.selected_node and claim.selected_node != pod.node:
            return _elsewhere(claim, claim.selected_node)
        if not claim.selected_node:
            namespace, _, name = claim.key.partition("/")
            writes.append(SelectNode(uid, namespace, name, claim.uid, pod.node))
        return ""

    def _give(self, uid: str, pod: _UnderWay, claim: Claim, writes: list[ClaimWrite]) -> str:
        if claim.profile is None:
            return ""
        volume = self._available.reserve(claim.key, claim.profile, pod.node)
        if volume is None:
            return NONE_TO_BIND
        if claim.key not in self._waiting:
            namespace, _, name = claim.key.partition("/")
            writes.append(
                GiveVolume(uid, namespace, name, claim.uid, volume.name, volume.uid, volume.version)
            )
        return ""

    def _look(self, uid: str, pod: _UnderWay, key: str) -> None:
        """Check the state of a claim's binding; end the pod's bindings if all claims are bound or one has failed."""
        claim = self._storage.claim(key)
        name = key.partition("/")[2]
        if claim is None:
            self._settle(uid, f'persistentvolumeclaim "{name}" not found')
        elif claim.lost:
            self._settle(uid, f'persistentvolumeclaim "{name}" is lost')
        elif claim.deleting:
            self._settle(uid, f'persistentvolumeclaim "{name}" is being deleted')
        elif claim.bound:
            self._note_arrival(uid, pod, claim)
        elif claim.selected_node == pod.node:
            pod.chosen.add(key)
        elif claim.selected_node:
            self._settle(uid, _elsewhere(claim, claim.selected_node))
        elif key in pod.chosen:
            # The provisioner reports a failure by removing the annotation with the node.
            self._settle(uid, f'provisioning of persistentvolumeclaim "{name}" for node {pod.node} failed')

    def _note_arrival(self, uid: str, pod: _UnderWay, claim: Claim) -> None:
        volume = self._storage.volume(claim.volume)
        labels = self._available.machines.get(pod.node)
        if volume is None:
            return  # volumes and claims have separate watches: this volume has not been seen yet
        if labels is None or not reaches(volume.rules, pod.node, labels):
            self._settle(uid, f'persistentvolume "{volume.name}" cannot be reached from node {pod.node}')
            return
        pod.missing.discard(claim.key)
        if not pod.missing:
            self._settle(uid, "")

    def _settle(self, uid: str, reason: str) -> None:
        self._forget(uid)
        self._settled[uid] = reason

    def _forget(self, uid: str) -> None:
        pod = self._under_way.pop(uid, None)
        if pod is None:
            return
        for key in pod.claims:
            self._waiting[key].discard(uid)
            if not self._waiting[key]:
                del self._waiting[key]
                self._available.release(key)


def _elsewhere(claim: Claim, node: str) -> str:
    name = claim.key.partition("/")[2]
    return f'persistentvolumeclaim "{name}" is being bound for node {node}'
