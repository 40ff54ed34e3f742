"""Maps HTTP requests to operations, one method per verb; `Operations` applies the rules for objects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from poseidon.testbed.access import Accounts
from poseidon.testbed.api_server import discovery, requests
from poseidon.testbed.api_server.eviction import decode_eviction, evict
from poseidon.testbed.api_server.listing import list_page, render
from poseidon.testbed.api_server.measured_use import METRICS, MetricsServer
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.requests import Target
from poseidon.testbed.api_server.tables import table, wants_table
from poseidon.testbed.api_server.watching import WatchCursor, stream
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.resources import ResourceType, convert_from_storage
from poseidon.testbed.objects.selectors import Selection, select

_JSON = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
_HEALTH_CHECKS = frozenset({"healthz", "readyz", "livez"})


class Router:
    """Answers the requests of the Kubernetes API. Every method raises ``ApiError`` to refuse a request.

    ``metrics_server`` answers requests for the resources of metrics.k8s.io.
    """

    def __init__(self, operations: Operations, options: ClusterOptions, accounts: Accounts) -> None:
        self._accounts = accounts
        self._operations = operations
        self._options = options
        self.metrics_server: MetricsServer | None = None

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer any request, except those on the simulation's own paths."""
        path = request.path
        target = requests.parse_path(path)
        if target is None:
            return self._document(request, path)
        if target.plural == "bindings" and not target.group and target.version == "v1":
            return await self._bind(request, target)
        resource = self._operations.registry.find(target.group, target.version, target.plural)
        if resource is None or (target.namespace and not resource.namespaced):
            raise errors.path_not_found()
        if self.metrics_server is not None and resource in METRICS:
            if requests.flag(request.query, "watch"):
                raise errors.method_not_allowed()
            return _json(self.metrics_server.answer(request.method, resource, target))
        if target.subresource:
            return await self._answer_subresource(request, resource, target)
        if target.name:
            return await self._answer_object(request, resource, target)
        return await self._answer_collection(request, resource, target)

    async def _answer_collection(
        self, request: web.BaseRequest, resource: ResourceType, target: Target
    ) -> web.StreamResponse:
        dry_run = request.method != "GET" and requests.dry_run(request.query)
        if request.method == "POST":
            body = _decode(await request.read(), request)
            record = self._operations.create(resource, target.namespace, body, dry_run=dry_run)
            return self._object(resource, record, 201)
        if request.method not in ("GET", "DELETE"):
            raise errors.method_not_allowed()
        selection = self._selection(request.query, resource, target.namespace)
        if request.method == "GET":
            if requests.flag(request.query, "watch"):
                return await self._watch(request, resource, selection)
            return self._list(request, resource, selection)
        records = self._operations.delete_collection(resource, selection, dry_run=dry_run)
        store = self._operations.store
        metadata: dict[str, str | int] = {"resourceVersion": str(store.revision)}
        return _json(render(resource, store.collection(resource.collection), records, metadata))

    async def _answer_object(
        self, request: web.BaseRequest, resource: ResourceType, target: Target
    ) -> web.StreamResponse:
        if request.method == "DELETE":
            return await self._delete(request, resource, target)
        if request.method != "GET":
            return await self._write(request, resource, target, status=False)
        if requests.flag(request.query, "watch"):
            query = {**request.query, "fieldSelector": f"metadata.name={target.name}"}
            return await self._watch(request, resource, self._selection(query, resource, target.namespace))
        record = self._operations.get(resource, target.namespace, target.name)
        if wants_table(request.headers.get("Accept", "")):
            return _json(self._row(resource, record))
        return self._object(resource, record)

    async def _answer_subresource(
        self, request: web.BaseRequest, resource: ResourceType, target: Target
    ) -> web.StreamResponse:
        what, where = target.subresource, (resource, target.namespace, target.name)
        if what == "status" and resource.has_status:
            if request.method == "GET":
                return self._object(resource, self._operations.get(*where))
            return await self._write(request, resource, target, status=True)
        if what not in {action for action, _ in resource.actions}:
            raise errors.path_not_found()
        if what == "binding":
            return await self._bind(request, target)
        if what == "eviction":
            return await self._evict(request, target)
        record = self._operations.get(*where)
        if what == "token" and request.method == "POST":
            answer = self._accounts.answer(await request.read(), target.namespace, target.name)
            return _json(msgspec.json.encode(answer), 201)
        if what == "finalize":
            # A deleted namespace is emptied at once, because the simulated server does not wait for finalizers.
            return self._object(resource, record)
        raise errors.path_not_found()

    async def _write(
        self, request: web.BaseRequest, resource: ResourceType, target: Target, *, status: bool
    ) -> web.Response:
        if request.method not in ("PUT", "PATCH"):
            raise errors.method_not_allowed()
        body = await request.read()
        dry_run = requests.dry_run(request.query)
        where = (resource, target.namespace, target.name)
        if request.method == "PUT":
            obj = _decode(body, request)
            record = self._operations.update(*where, obj, status=status, dry_run=dry_run)
        else:
            media_type, patch = request.content_type, _decode(body)
            record = self._operations.patch(*where, media_type, patch, status=status, dry_run=dry_run)
        return self._object(resource, record)

    async def _delete(self, request: web.BaseRequest, resource: ResourceType, target: Target) -> web.Response:
        body = await request.read()
        if body:
            _insist_on_json(request)
        options = requests.delete_options(body, request.query)
        record = self._operations.delete(
            resource,
            target.namespace,
            target.name,
            options.preconditions,
            grace=options.grace_period_seconds,
            dry_run=requests.dry_run(request.query) or "All" in options.dry_run,
        )
        if resource.returns_deleted:
            return self._object(resource, record)
        details = errors.resource_details(resource.qualified, record.name, record.uid)
        return _json(msgspec.json.encode(errors.success(details)))

    async def _bind(self, request: web.BaseRequest, target: Target) -> web.Response:
        if request.method != "POST":
            raise errors.method_not_allowed()
        binding = decode_binding(await request.read())
        name = target.name or binding.metadata.name
        dry_run = requests.dry_run(request.query)
        bind(self._operations.store, target.namespace, name, binding, dry_run=dry_run)
        return _json(_DONE, 201)

    async def _evict(self, request: web.BaseRequest, target: Target) -> web.Response:
        if request.method != "POST":
            raise errors.method_not_allowed()
        _insist_on_json(request)
        eviction = decode_eviction(await request.read())
        dry_run = requests.dry_run(request.query)
        evict(self._operations, target.namespace, target.name, eviction, dry_run=dry_run)
        return _json(_DONE, 201)

    def _list(self, request: web.BaseRequest, resource: ResourceType, selection: Selection) -> web.Response:
        options = requests.list_options(request.query)
        store = self._operations.store
        collection = store.collection(resource.collection)
        records, metadata = list_page(store, collection, selection, options)
        if wants_table(request.headers.get("Accept", "")):
            return _json(self._table(resource, records, metadata))
        return _json(render(resource, collection, records, metadata))

    def _table(
        self, resource: ResourceType, records: list[Record], metadata: Mapping[str, str | int]
    ) -> bytes:
        return table(resource.collection, records, metadata, self._operations.store.time())

    def _row(self, resource: ResourceType, record: Record) -> bytes:
        return self._table(resource, [record], {"resourceVersion": str(record.revision)})

    async def _watch(
        self, request: web.BaseRequest, resource: ResourceType, selection: Selection
    ) -> web.StreamResponse:
        options = requests.watch_options(request.query, self._options.bookmark_interval)
        store = self._operations.store
        collection = store.collection(resource.collection)
        response = web.StreamResponse(headers=_JSON)
        response.enable_chunked_encoding()
        await response.prepare(request)
        encode = partial(self._row, resource) if wants_table(request.headers.get("Accept", "")) else None
        cursor = WatchCursor(store, resource, collection, selection, encode=encode)
        await stream(cursor, options, response.write)
        await response.write_eof()
        return response

    def _selection(self, query: Mapping[str, str], resource: ResourceType, namespace: str) -> Selection:
        known = self._operations.store.collection(resource.collection).field_names
        return select(namespace, query.get("labelSelector", ""), query.get("fieldSelector", ""), known)

    def _object(self, resource: ResourceType, record: Record, code: int = 200) -> web.Response:
        if resource.is_storage_version:
            return _json(record.raw, code)
        collection = self._operations.store.collection(resource.collection)
        return _json(convert_from_storage(resource, collection, record), code)

    def _document(self, request: web.BaseRequest, path: str) -> web.Response:
        if request.method != "GET":
            raise errors.path_not_found()
        parts = path.strip("/").split("/")
        if parts[0] in _HEALTH_CHECKS:
            return web.Response(text="ok")
        document = discovery.document(self._operations.registry, parts, request.host)
        if document is None:
            raise errors.path_not_found()
        return _json(msgspec.json.encode(document))


_DONE = msgspec.json.encode(errors.success(code=201))


def _json(body: bytes, code: int = 200) -> web.Response:
    return web.Response(body=body, status=code, headers=_JSON)


def _insist_on_json(request: web.BaseRequest) -> None:
    """Refuse a body if its declared content type is not JSON, but for example protobuf.

    Raises ``ApiError`` 415 to refuse the body.
    """
    if request.content_type not in ("application/json", "application/octet-stream"):
        raise errors.media_type_error(request.content_type, ["application/json"])


def _decode(body: bytes, request: web.BaseRequest | None = None) -> Any:
    """Decode JSON; if ``request`` is given, also check its content type."""
    if request is not None:
        _insist_on_json(request)
    return errors.decode_as(Any, body, "couldn't get version/kind; json parse error")
