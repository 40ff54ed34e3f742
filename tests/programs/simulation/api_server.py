"""An API server in memory: slow and obvious, and sharing no code with what is tried against it.

Objects are JSON values that are never changed, only replaced. Every write gets the next resourceVersion and is kept in
a log per collection, from which watches are served; ``compact`` forgets the older part of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

Object = dict[str, Any]

PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
LEAVES = "/apis/scheduling.k8s.io/v1beta1/podgroups"
COMPOSITES = "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
JOBS = "/apis/batch/v1/jobs"
_DEVICES = "/apis/resource.k8s.io/v1"
CLASSES, CLAIMS, SLICES = (
    f"{_DEVICES}/{plural}" for plural in ("deviceclasses", "resourceclaims", "resourceslices")
)
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, FLAVORS, RANKS = (
    f"{_KUEUE}/{plural}"
    for plural in ("clusterqueues", "localqueues", "cohorts", "resourceflavors", "workloadpriorityclasses")
)
SERVED = (
    PODS,
    NODES,
    GROUPS,
    BUDGETS,
    LEASES,
    JOBS,
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    COHORTS,
    FLAVORS,
    RANKS,
    "/api/v1/namespaces",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/volumeattachments",
    CLASSES,
    CLAIMS,
    SLICES,
)
_EXPIRED = "The resourceVersion for the provided watch is too old."


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request is answered with an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status, self.reason, self.message = status, reason, message


class Request(NamedTuple):
    """A request of ``client``. ``seen``: the moments up to which it knew each collection when it decided to ask."""

    client: str
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None
    seen: Mapping[str, int]


class Entry(NamedTuple):
    """One line of a log."""

    version: int
    kind: str
    object: Object
    former: Object | None
    line: bytes


@dataclass
class Collection:
    """Objects of one kind by (namespace, name), and the log of their changes."""

    objects: dict[tuple[str, str], Object] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    floor: int = 0
    watchers: list[Callable[[], None]] = field(default_factory=list)


class Copy(NamedTuple):
    """What the server held at a version, which was its so many-th write: each collection's objects, and what it still
    remembered of their changes.
    """

    version: int
    moment: int
    objects: Mapping[str, Mapping[tuple[str, str], Object]]
    logs: Mapping[str, tuple[int, tuple[Entry, ...]]]


class ApiServer:
    """The state of the cluster, and what may be asked of it. ``watchers`` of a collection are called after writes.

    ``on_binding`` and ``on_eviction`` are told before these take effect, ``on_asked`` when a client asks for them, and
    ``on_repetition`` of what it asks for although it knows that it has been done, and ``on_restored`` after the server
    has come back from a copy. ``on_resumption`` is told before a Job is resumed, ``on_claim`` before a claim of devices
    gets another status.

    Versions go back with a copy, as etcd's do. ``moment`` counts all writes and never does; within an ``epoch``, the
    time between two restorations, both grow alike.
    """

    def __init__(self, wall: Callable[[], float], served: Sequence[str] = SERVED) -> None:
        self.version = 0
        self.moment = 0
        self.epoch = 0
        self.collections = {path: Collection() for path in served}
        self.on_binding: Callable[[Request | None, Object, str], None] = lambda *_: None
        self.on_eviction: Callable[[Request, Object], None] = lambda *_: None
        self.on_asked: Callable[[Request], None] = lambda _: None
        self.on_repetition: Callable[[Request], None] = lambda _: None
        self.on_event: Callable[[Request, Object], None] = lambda *_: None
        self.on_resumption: Callable[[Request, Object], None] = lambda *_: None
        self.on_claim: Callable[[Request, Object, Object], None] = lambda *_: None
        self.on_change: Callable[[str, str, Object], None] = lambda *_: None
        self.on_restored: Callable[[Copy], None] = lambda _: None
        self._wall = wall
        self._uids = 0
        self._offsets = [0]  # of moments from versions, by epoch
        self._pages: dict[str, tuple[int, list[Object]]] = {}

    # --- what the cluster's own parts do -------------------------------------------------------------------

    def all(self, path: str) -> list[Object]:
        """Return the objects of a collection."""
        return list(self.collections[path].objects.values())

    def find(self, path: str, namespace: str, name: str) -> Object | None:
        """Return an object as it is now."""
        return self.collections[path].objects.get((namespace, name))

    def current(self, path: str, given: Object) -> Object | None:
        """Return the present state of an object that was read before, None if it is gone or a namesake there."""
        found = self.find(path, given["metadata"].get("namespace", ""), given["metadata"]["name"])
        return found if found is not None and found["metadata"]["uid"] == given["metadata"]["uid"] else None

    def create(self, path: str, given: Object) -> Object:
        """Add an object, with uid and creation time."""
        metadata = given["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if key in self.collections[path].objects:
            raise Refused(409, "AlreadyExists", f"{key[1]} already exists")
        self._uids += 1
        made = {
            **given,
            "metadata": {**metadata, "uid": f"u{self._uids:05d}", "creationTimestamp": stamp(self._wall())},
        }
        return self._write(path, "ADDED", made)

    def replace(self, path: str, given: Object) -> Object:
        """Change an object."""
        return self._write(path, "MODIFIED", given)

    def change_spec(self, path: str, given: Object, **spec: Any) -> Object:
        """Change the spec of an object that counts its generations."""
        metadata = {**given["metadata"], "generation": given["metadata"]["generation"] + 1}
        return self.replace(path, {**given, "metadata": metadata, "spec": {**given["spec"], **spec}})

    def remove(self, path: str, given: Object) -> None:
        """Delete an object at once."""
        self._write(path, "DELETED", given)

    def delete_pod(self, pod: Object) -> None:
        """Delete a pod: one that runs somewhere is left to its kubelet, which takes it away when it has ended."""
        if not pod["spec"].get("nodeName") or finished(pod):
            self.remove(PODS, pod)
        elif "deletionTimestamp" not in pod["metadata"]:
            self.replace(
                PODS, {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": stamp(self._wall())}}
            )

    def bind(self, pod: Object, node: str, request: Request | None = None) -> None:
        """Give a pod its node, as the binding subresource does."""
        name = pod["metadata"]["name"]
        if pod["spec"].get("nodeName"):
            taken = pod["spec"]["nodeName"]
            raise Refused(409, "Conflict", f'pod {name} is already assigned to node "{taken}"')
        if "deletionTimestamp" in pod["metadata"]:
            raise Refused(409, "Conflict", f"pod {name} is being deleted, cannot be assigned to a host")
        self.on_binding(request, pod, node)
        status = {key: value for key, value in pod["status"].items() if key != "nominatedNodeName"}
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(self._wall())}
        status["conditions"] = merged(status.get("conditions", ()), [condition])
        self.replace(PODS, {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})

    def compact(self, path: str) -> None:
        """Forget all but what is now: older versions cannot be watched from."""
        collection = self.collections[path]
        collection.floor = self.version
        del collection.log[:]

    # --- copies --------------------------------------------------------------------------------------------

    def copy(self) -> Copy:
        """Copy all that there is."""
        objects = {path: dict(each.objects) for path, each in self.collections.items()}
        logs = {path: (each.floor, tuple(each.log)) for path, each in self.collections.items()}
        return Copy(self.version, self.moment, objects, logs)

    def restore(self, copy: Copy) -> None:
        """Come back as a copy says: what has been written since has never happened. Watches break, lists end."""
        self.version = copy.version
        self.moment += 1
        self.epoch += 1
        self._offsets.append(self.moment - self.version)
        self._pages.clear()
        for path, collection in self.collections.items():
            collection.objects = dict(copy.objects[path])
            collection.floor, log = copy.logs[path]
            collection.log = [*log]
            collection.watchers.clear()
        self.on_restored(copy)

    def moment_of(self, version: int, epoch: int) -> int:
        """Return the moment of a version of an epoch."""
        return version + self._offsets[epoch]

    def _write(self, path: str, kind: str, given: Object) -> Object:
        self.version += 1
        self.moment += 1
        collection = self.collections[path]
        made = {**given, "metadata": {**given["metadata"], "resourceVersion": str(self.version)}}
        key = (made["metadata"].get("namespace", ""), made["metadata"]["name"])
        former = collection.objects.get(key)
        if kind == "DELETED":
            del collection.objects[key]
        else:
            collection.objects[key] = made
        line = msgspec.json.encode({"type": kind, "object": made})
        collection.log.append(Entry(self.version, kind, made, former, line))
        self.on_change(path, kind, made)
        for watcher in list(collection.watchers):
            watcher()
        return made

    # --- what clients ask ----------------------------------------------------------------------------------

    def handle(self, request: Request) -> bytes:
        """Carry a request out and return the body of the answer; raises ``Refused``."""
        path, _, query = request.path.partition("?")
        if query:
            request = request._replace(path=path, query={k: v[0] for k, v in parse_qs(query).items()})
        if request.method == "GET" and path in self.collections:
            return self._list(path, request.query)
        parts = path.strip("/").split("/")
        if path.startswith(LEASES):
            return self._about_lease(request, parts[-1])
        if request.method == "PATCH" and path.startswith(f"{CLUSTER_QUEUES}/"):
            return self._patch_queue(request, parts[4])
        if "namespaces" not in parts:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        at = parts.index("namespaces")
        namespace, kind, *rest = parts[at + 1 :]
        collection = "/" + "/".join([*parts[:at], kind])
        if kind == "events":
            return self._event(request)
        if request.method == "GET" and collection in self.collections and not rest:
            return self._list(collection, {})
        if collection not in self.collections or not rest:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        body = msgspec.json.decode(request.body) if request.body else {}
        found = self.find(collection, namespace, rest[0])
        if found is None:
            raise Refused(404, "NotFound", f'{kind} "{rest[0]}" not found')
        return self._about(request, collection, found, rest[1:], body)

    def _about(
        self, request: Request, path: str, found: Object, subresource: list[str], body: Object
    ) -> bytes:
        match request.method, subresource:
            case "GET", []:
                return msgspec.json.encode(found)
            case "PATCH", [] if path == JOBS:
                return self._patch_job(request, found, body)
            case "PATCH", _ if path == CLAIMS:
                return self._patch_claim(request, found, subresource, body)
            case "PATCH", _:
                _check_uid(found, body.get("metadata", {}).get("uid"))
                return self._patch(path, found, body)
            case "POST", ["binding"]:
                _check_uid(found, body["metadata"].get("uid"))
                self.bind(found, body["target"]["name"], request)
            case "POST", ["eviction"]:
                _check_uid(found, body["deleteOptions"]["preconditions"]["uid"])
                self._evict(request, found)
            case "DELETE", []:
                _check_uid(found, body["preconditions"]["uid"])
                self.on_eviction(request, found)
                self.delete_pod(found)
            case _:
                raise Refused(405, "MethodNotAllowed", f"{request.method} {request.path}")
        return b'{"kind":"Status","status":"Success"}'

    def _patch(self, path: str, found: Object, body: Object) -> bytes:
        status = dict(found.get("status") or {})
        for key, value in (body.get("status") or {}).items():
            if key == "conditions":
                status[key] = merged(status.get(key, ()), value)
            elif value is None:
                status.pop(key, None)
            elif key == "nominatedNodeName" and found["spec"].get("nodeName"):
                raise Refused(
                    422, "Invalid", "status.nominatedNodeName: may not be set, already bound to a node"
                )
            else:
                status[key] = value
        if status != (found.get("status") or {}):
            found = self.replace(path, {**found, "status": status})
        return msgspec.json.encode(found)

    def _patch_queue(self, request: Request, name: str) -> bytes:
        found = self.find(CLUSTER_QUEUES, "", name)
        if found is None:
            raise Refused(404, "NotFound", f'clusterqueues "{name}" not found')
        body = msgspec.json.decode(request.body or b"{}")
        _check_uid(found, body.get("metadata", {}).get("uid"))
        return self._patch(CLUSTER_QUEUES, found, body)

    def _patch_job(self, request: Request, found: Object, operations: Any) -> bytes:
        """Carry out a JSON patch of where a Job says whether it is suspended, if all that it tests holds."""
        for each in operations:
            value: Any = found
            for key in each["path"].strip("/").split("/"):
                value = value[key]
            if each["op"] == "test" and value != each["value"]:
                raise Refused(
                    422, "Invalid", f"the server rejected our request: testing {each['path']} failed"
                )
        suspended = operations[-1]["value"]
        if suspended != found["spec"]["suspend"]:
            if not suspended:
                self.on_resumption(request, found)
            found = self.change_spec(JOBS, found, suspend=suspended)
        return msgspec.json.encode(found)

    def _patch_claim(self, request: Request, found: Object, subresource: list[str], body: Object) -> bytes:
        """Change finalizers or the status of a claim, if it is of the version that the patch is made for."""
        _check_uid(found, body["metadata"].get("uid"))
        if body["metadata"].get("resourceVersion", "") not in ("", found["metadata"]["resourceVersion"]):
            raise Refused(409, "Conflict", "the object has been modified")
        metadata, status = found["metadata"], dict(found["status"])
        if subresource == ["status"]:
            for key, value in body["status"].items():
                status[key] = value
                if value is None:
                    del status[key]
            if not status.get("allocation"):
                status.pop("devices", None)
            _check_claim(found, status)
            self.on_claim(request, found, status)
        else:
            if "deletionTimestamp" in metadata:
                raise Refused(422, "Invalid", "metadata.finalizers: the object is being deleted")
            finalizers = dict.fromkeys((*metadata["finalizers"], *body["metadata"]["finalizers"]))
            metadata = {**metadata, "finalizers": [*finalizers]}
        if metadata != found["metadata"] or status != found["status"]:
            found = self.replace(CLAIMS, {**found, "metadata": metadata, "status": status})
        return msgspec.json.encode(found)

    def _evict(self, request: Request, pod: Object) -> None:
        budgets = [each for each in self.all(BUDGETS) if covers(each, pod)]
        if pod["spec"].get("nodeName") and not finished(pod) and "deletionTimestamp" not in pod["metadata"]:
            if len(budgets) > 1:
                words = "This pod has more than one PodDisruptionBudget"
                raise Refused(
                    500, "InternalError", f"{words}, which the eviction subresource does not support."
                )
            for budget in budgets:
                if budget["status"]["disruptionsAllowed"] <= 0:
                    words = "Cannot evict pod as it would violate the pod's disruption budget."
                    raise Refused(429, "TooManyRequests", words)
                allowed = budget["status"]["disruptionsAllowed"] - 1
                self.replace(
                    BUDGETS, {**budget, "status": {**budget["status"], "disruptionsAllowed": allowed}}
                )
        self.on_eviction(request, pod)
        self.delete_pod(pod)

    def _about_lease(self, request: Request, name: str) -> bytes:
        body = msgspec.json.decode(request.body) if request.body else {}
        if request.method == "POST":
            return msgspec.json.encode(self.create(LEASES, body))
        found = self.find(LEASES, "default", name)
        if found is None:
            raise Refused(404, "NotFound", f'leases "{name}" not found')
        if request.method == "PATCH":
            metadata = body["metadata"]
            if metadata["resourceVersion"] != found["metadata"]["resourceVersion"]:
                raise Refused(409, "Conflict", "the object has been modified")
            spec = {**found["spec"], **body["spec"]}
            annotations = {**found["metadata"].get("annotations", {}), **metadata.get("annotations", {})}
            found = self.replace(
                LEASES,
                {
                    **found,
                    "metadata": {**found["metadata"], "annotations": annotations},
                    "spec": {key: value for key, value in spec.items() if value is not None},
                },
            )
        return msgspec.json.encode(found)

    def _event(self, request: Request) -> bytes:
        if request.method == "POST" and request.body:
            self.on_event(request, msgspec.json.decode(request.body))
        return request.body or b"{}"

    def _list(self, path: str, query: Mapping[str, str]) -> bytes:
        token = query.get("continue", "")
        if token:
            if token not in self._pages:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
            version, items = self._pages.pop(token)
        elif query.get("resourceVersionMatch") == "Exact":
            version = int(query["resourceVersion"])
            items = self._at(path, version)
        else:
            version, items = self.version, self.all(path)
        limit = int(query.get("limit", "0")) or len(items)
        page, rest = items[:limit], items[limit:]
        metadata = {"resourceVersion": str(version)}
        if rest:
            metadata["continue"] = f"{path}:{self.version}:{len(self._pages)}:{len(rest)}"
            self._pages[metadata["continue"]] = (version, rest)
            if len(self._pages) > 20:
                del self._pages[next(iter(self._pages))]
        return msgspec.json.encode({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": page})

    def _at(self, path: str, version: int) -> list[Object]:
        """Return the objects as they were: what has been written since is taken back."""
        if version > self.version:
            words = f"Too large resource version: {version}, current: {self.version}"
            raise Refused(504, "Timeout", words)
        objects = dict(self.collections[path].objects)
        for entry in reversed(list(self.changes(path, version))):
            key = (entry.object["metadata"].get("namespace", ""), entry.object["metadata"]["name"])
            if entry.former is None:
                del objects[key]
            else:
                objects[key] = entry.former
        return list(objects.values())

    def changes(self, path: str, since: int) -> Iterator[Entry]:
        """Yield what has been written after a version; raises ``Refused`` (410) if that is forgotten."""
        collection = self.collections[path]
        if since < collection.floor:
            raise Refused(410, "Expired", _EXPIRED)
        return (entry for entry in collection.log if entry.version > since)


def stamp(wall: float) -> str:
    """Return a time as Kubernetes writes it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def finished(pod: Object) -> bool:
    """Whether a pod has ended."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def covers(budget: Object, pod: Object) -> bool:
    """Whether a disruption budget is about a pod."""
    wanted = budget["spec"]["selector"]["matchLabels"]
    labels = pod["metadata"].get("labels", {})
    same = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and all(labels.get(key) == value for key, value in wanted.items())


def merged(former: Any, new: list[Object]) -> list[Object]:
    """Return conditions with new ones in the place of those of the same type."""
    by_type = {each["type"]: each for each in former}
    for each in new:
        by_type[each["type"]] = {**by_type.get(each["type"], {}), **each}
    return list(by_type.values())


def _check_claim(claim: Object, status: Object) -> None:
    """Refuse a status of a claim of devices that the API server would refuse."""
    former, allocation = claim["status"].get("allocation"), status.get("allocation")
    if former and allocation and former != allocation:
        raise Refused(422, "Invalid", "status.allocation: field is immutable")
    if status.get("reservedFor") and not allocation:
        raise Refused(422, "Invalid", "status.reservedFor: may not be specified when not allocated")
    if allocation and not former and "deletionTimestamp" in claim["metadata"]:
        raise Refused(422, "Invalid", "status.allocation: may not be set, the claim is being deleted")


def _check_uid(found: Object, uid: str | None) -> None:
    if uid is not None and found["metadata"]["uid"] != uid:
        words = (
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found['metadata']['uid']}"
        )
        raise Refused(409, "Conflict", words)
