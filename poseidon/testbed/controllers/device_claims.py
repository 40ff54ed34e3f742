"""Simulates the controller of ResourceClaims: creates claims from templates, and frees the claims of ended pods.

Like ``KubeletSimulation``, ``ClaimSimulation`` does no input or output and reads no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.objects.pods import is_over
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

CLAIMS, TEMPLATES = "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"
FINALIZER = "resource.kubernetes.io/delete-protection"
_POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


class ClaimSimulation:
    """Creates the claims for which pods name templates, and frees devices.

    When a pod has ended or no longer exists, its reservations of claims are removed. A claim without reservations
    loses its devices. If the claim was created for a pod that no longer exists, it is deleted.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods = store.collection("pods")
        self._claims, self._templates = store.collection(CLAIMS), store.collection(TEMPLATES)
        self.follows = self._pods, self._claims, self._templates
        self._followers = [Follower(each) for each in self.follows]
        self._waiting: set[str] = set()

    def advance(self, now: float) -> float | None:  # noqa: ARG002 - driven as what has to wait is
        """Handle all changes, including those that this call makes.

        The function returns None, because no work is due at a later time.
        """
        while self._take_in():
            pass
        return None

    def _take_in(self) -> bool:
        pods, claims, templates = (each.take_changes()[1] for each in self._followers)
        concerned = dict.fromkeys(record.key for _, record in claims)
        for gone, record in pods:
            if gone or _has_ended(decode(record)):
                self._waiting.discard(record.key)
                concerned.update(dict.fromkeys(self._list_claims_of(decode(record))))
            elif not gone:
                self._make_claims(record.key)
        for key in sorted(self._waiting) if templates else ():
            self._make_claims(key)
        for key in concerned:
            self._update_claim(key)
        return bool(pods or claims or templates)

    def _make_claims(self, key: str) -> None:
        """Create the claims that a pod lacks, and name them in its status."""
        record = self._pods.get(key)
        pod = decode(record) if record is not None else {}
        named = pod["spec"].get("resourceClaims") if record is not None else None
        if record is None or not named:
            return
        statuses = list(pod["status"].get("resourceClaimStatuses") or ())
        known = {each["name"] for each in statuses}
        self._waiting.discard(key)
        for each in named:
            template = each.get("resourceClaimTemplateName")
            if not template or each["name"] in known:
                continue
            found = self._templates.get(f"{record.namespace}/{template}")
            if found is None:
                self._waiting.add(key)
                continue
            made = self._store.create(self._claims, self._claim_for(pod, each["name"], decode(found)))
            statuses.append({"name": each["name"], "resourceClaimName": made.name})
        if len(statuses) > len(known):
            pod["status"]["resourceClaimStatuses"] = statuses
            self._store.replace(self._pods, record, pod)

    def _claim_for(self, pod: Object, name: str, template: Object) -> Object:
        metadata, described = pod["metadata"], template["spec"]
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        given = described.get("metadata") or {}
        return {
            "metadata": {
                "name": self._store.generate_name(f"{metadata['name']}-{name}-"),
                "namespace": metadata["namespace"],
                "labels": given.get("labels") or {},
                "annotations": {**(given.get("annotations") or {}), _POD_CLAIM_NAME: name},
                "ownerReferences": [owner],
            },
            "spec": described["spec"],
            "status": {},
        }

    def _list_claims_of(self, pod: Object) -> Iterator[str]:
        """Yield the claims that a pod names."""
        namespace = pod["metadata"]["namespace"]
        for each in pod["spec"].get("resourceClaims") or ():
            if each.get("resourceClaimName"):
                yield f"{namespace}/{each['resourceClaimName']}"
        extended = pod["status"].get("extendedResourceClaimStatus")
        for each in (*(pod["status"].get("resourceClaimStatuses") or ()), *([extended] if extended else ())):
            if each.get("resourceClaimName"):
                yield f"{namespace}/{each['resourceClaimName']}"

    def _update_claim(self, key: str) -> None:
        """Remove ended pods from a claim; delete the claim if its pod no longer exists and it has no finalizer."""
        record = self._claims.get(key)
        if record is None:
            return
        claim = decode(record)
        status = claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        live = [each for each in reserved if self._is_live(record.namespace, each)]
        changed = len(live) < len(reserved)
        if changed:
            status["reservedFor"] = live
            if not live:
                for field in ("allocation", "reservedFor", "devices"):
                    status.pop(field, None)
            claim["status"] = status
        metadata = claim["metadata"]
        free = not status.get("allocation") and not status.get("reservedFor")
        if self._is_orphan(claim) and not metadata.get("deletionTimestamp"):
            metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = self._store.now(), 0
            changed = True
        if metadata.get("deletionTimestamp") and free and FINALIZER in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [each for each in metadata["finalizers"] if each != FINALIZER]
            changed = True
        if changed:
            record = self._store.replace(self._claims, record, claim)
            if is_over(claim):
                self._store.delete(self._claims, record)

    def _is_live(self, namespace: str, consumer: Object) -> bool:
        """Return whether a consumer may still use its claim: any consumer may, except a pod that has ended."""
        if consumer.get("resource") != "pods" or consumer.get("apiGroup"):
            return True
        record = self._pods.get(f"{namespace}/{consumer['name']}")
        return record is not None and record.uid == consumer["uid"] and not _has_ended(decode(record))

    def _is_orphan(self, claim: Object) -> bool:
        """Return whether the pod for which a claim was made is gone."""
        owners: Iterable[Object] = claim["metadata"].get("ownerReferences") or ()
        pods = [each for each in owners if each.get("kind") == "Pod" and each.get("controller")]
        for owner in pods:
            record = self._pods.get(f"{claim['metadata']['namespace']}/{owner['name']}")
            if record is None or record.uid != owner["uid"]:
                return True
        return False


def _has_ended(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def is_prepared(store: Store, pod: Object) -> bool:
    """Return whether all claims of a pod have devices and are reserved for it; else kubelets do not start the pod."""
    namespace, made = pod["metadata"]["namespace"], {}
    for each in pod["status"].get("resourceClaimStatuses") or ():
        made[each["name"]] = each.get("resourceClaimName")
    for each in pod["spec"].get("resourceClaims") or ():
        name = each.get("resourceClaimName") or made.get(each["name"])
        record = store.collection(CLAIMS).get(f"{namespace}/{name}")
        status = (decode(record).get("status") or {}) if record is not None else {}
        reserved = {consumer["uid"] for consumer in status.get("reservedFor") or ()}
        if not status.get("allocation") or pod["metadata"]["uid"] not in reserved:
            return False
    return True
