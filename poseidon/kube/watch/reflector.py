"""Follows all objects of one collection: lists, watches, and recovers from all failures.

A list comes in pages, and each page is passed on as it arrives. The watch starts at the list's version and asks for
bookmarks, so that it resumes after a broken stream. When the server has forgotten that version (410), the reflector
lists again and reports objects that have vanished. A missing API group (404) is no error: the reflector tries the
group again slowly, so that it finds a group that is installed later. If the server then has another version of the
API group, the reflector uses that version. From time to time, and after each outage, the known objects are compared
with the server's. Smaller versions show that the server has returned to an older state; then all collections are
listed again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec

from poseidon.kube.api.decoding import (
    MalformedObjectError,
    WatchEvent,
    decode_metadata,
    decode_object,
    decode_outline,
    decode_watch_event,
)
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, Status, get_metadata
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError, UnreachableError
from poseidon.kube.environment import Environment
from poseidon.kube.rewinds import is_before
from poseidon.kube.watch.delivery import Delivery
from poseidon.kube.watch.listing import pages, read_present
from poseidon.kube.watch.reconciliation import Known, reconcile

T = TypeVar("T", bound=KubeStruct)

_log = logging.getLogger(__name__)


class Reflector(Generic[T]):
    """The list and watch of one collection, which run until cancelled.

    ``take`` gets changes in batches, in the server's order, in the event loop's thread; it must not block. The
    handler may get an unchanged object again, or the deletion of an unknown uid. If ``take`` raises an error for a
    change, the changed object is set aside. ``changed`` is called after each batch, and when the first list is
    complete or the collection turns out not to be served. ``in_turn``: whether, once the first list is complete,
    namespaces whose objects take long wait for others (see ``NamespaceTurns``). ``run`` returns only by cancellation.
    """

    def __init__(
        self,
        environment: Environment,
        resource: Resource[T],
        take: Callable[[Sequence[Change[T]]], None],
        changed: Callable[[], None] | None = None,
        *,
        in_turn: bool = False,
    ) -> None:
        self._environment = environment
        self._transport = environment.transport
        self._resource = resource
        self._served = resource
        self._delivery = Delivery(environment, resource.name, take, changed, in_turn=in_turn)
        self._metrics = environment.metrics
        self._random = environment.random
        self._options = environment.reflector
        self._backoff = Backoff(self._random, self._options.backoff_initial, self._options.backoff_cap)
        self._version = ""
        self._newest = ""  # the newest version seen, also while a list is under way
        self._last_changed = ObjectMeta()  # the object that the watch showed last, if the object still exists
        self._rewinds_heeded = environment.rewinds.count
        self._comparison = asyncio.Event()
        self._relist_reason = "start"
        self._known: dict[str, str] = {}  # versions of objects by uid
        self._marks: dict[str, int] = {}  # marks of the objects' last outlines, by uid
        self._watched = asyncio.Timeout(None)
        self._broken_in_a_row = 0
        self._absent = False

    @property
    def has_synced(self) -> bool:
        """Whether a complete list has been passed on, or the resource is not served."""
        return self._delivery.synced.is_set()

    @property
    def path(self) -> str:
        """The path at which the API server serves the collection, as far as known."""
        return self._served.path

    async def wait_synced(self) -> None:
        """Wait until ``has_synced``."""
        await self._delivery.synced.wait()

    async def run(self, after: Iterable[Reflector[Any]] = ()) -> None:
        """Follow the collection until cancelled, after all reflectors in ``after`` have synced."""
        for each in after:
            await each.wait_synced()
        async with asyncio.TaskGroup() as parts:
            comparing = reconcile(self._environment, self._as_known, self._check_drift, self._comparison)
            parts.create_task(comparing, name=f"reconciliation of {self._resource.name}")
            parts.create_task(self._watch_rewinds(), name=f"rewinds of {self._resource.name}")
            parts.create_task(self._delivery.catch_up(), name=f"turns of {self._resource.name}")
            await self._follow()

    async def _follow(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                elif await self._has_gone_back() or not self._version:
                    continue  # Another task may have asked for a new list.
                await self._watch()
            except ApiError as error:
                await self._recover_from_answer(error)
            except KubeError as error:
                self._metrics.watches.watch_errors.labels(self._resource.name, "connection").inc()
                await self._pause(error, 0.0)

    # --- list ----------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        """List the collection: pass on all objects, and which known objects no longer exist."""
        self._metrics.watches.relists.labels(self._resource.name, self._relist_reason).inc()
        versions = self._resource.versions()
        for self._served in versions:
            try:
                await self._list_served()
            except ApiError as error:
                if not error.not_found or self._served is versions[-1]:
                    raise
            else:
                return

    async def _list_served(self) -> None:
        seen: dict[str, str] = {}
        version = ""
        self._marks.clear()  # The list may contain other objects than the last one.
        async with aclosing(pages(self._transport, self._served, self._options.page_size)) as listed:
            async for page in listed:
                version = page.resource_version
                for rejected in page.rejected:
                    self._delivery.reject(rejected.metadata, rejected.problem)
                    # The rejected object still exists, so its last known state is kept.
                    seen[rejected.metadata.uid] = rejected.metadata.resource_version
                batch = [Change(get_metadata(item).uid, item) for item in page.items]
                metadata = (get_metadata(item) for item in page.items)
                listed_here = {each.uid: each.resource_version for each in metadata}
                self._compare_versions(page.resource_version, listed_here)
                seen.update(listed_here)
                self._known.update(listed_here)
                self._delivery.hand_over(batch, "LISTED")
        self._delivery.report_gone(self._known.keys() - seen.keys())
        self._known = seen
        if self._backoff.failures or self._absent:
            _log.info("list recovered resource=%s objects=%d", self._resource.name, len(seen))
        self._backoff.reset()
        self._absent = False
        self._broken_in_a_row = 0
        self._version = self._newest = version
        self._last_changed = ObjectMeta()
        self._delivery.mark_synced()

    # --- watch ---------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Follow changes from the current version until the server ends the watch."""
        seconds = int(self._random.uniform(*self._options.watch_seconds))
        query = self._resource.query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(max(1, seconds)),
        )
        started = self._environment.clock()
        heard = False
        lines = self._transport.lines(self.path, query, seconds + self._options.read_margin)
        self._watched = asyncio.Timeout(None)
        try:
            async with self._watched, aclosing(lines) as stream:
                async for batch in stream:
                    self._take_lines(batch)
                    heard = True
                    if self._backoff.failures:
                        self._backoff.reset()
                    self._broken_in_a_row = 0
        except TimeoutError:
            if self._version:
                self._relist("drift")
            return
        if not heard and self._environment.clock() - started < 1.0:
            # A proxy that ends streams at once would otherwise get requests in a tight loop.
            raise UnreachableError(f"watch of {self.path}: ended at once")

    def _take_lines(self, lines: Sequence[bytes]) -> None:
        """Pass on the changes of some watch lines as one batch; then raise the first error among them."""
        batch: list[Change[T]] = []
        error: ApiError | None = None
        counts: dict[str, int] = {}
        for line in lines:
            if not line:
                continue
            try:
                event = decode_watch_event(line)
                counts[event.type] = counts.get(event.type, 0) + 1
                if event.type == "ERROR":
                    error = _error_of(event)
                    break
                self._take_event(event, batch)
            except MalformedObjectError as problem:
                self._delivery.reject(ObjectMeta(), str(problem))
        for kind, count in counts.items():
            self._delivery.count_heard(kind, count)
        if batch:
            self._delivery.deliver(batch, sum(map(len, lines)))
        if error is not None:
            raise error

    def _take_event(self, event: WatchEvent, batch: list[Change[T]]) -> None:
        if event.type not in ("ADDED", "MODIFIED"):
            # Only the metadata of a bookmark or a deleted object matter.
            metadata = decode_metadata(event.object)
            if event.type == "DELETED":
                if metadata.uid == self._last_changed.uid:
                    self._last_changed = ObjectMeta()
                self._known.pop(metadata.uid, None)
                self._marks.pop(metadata.uid, None)
                batch.append(Change(metadata.uid, None))
            elif is_before(metadata.resource_version, self._newest):
                self._note_rewind(metadata.resource_version)
                self._list_anew("rewound")
                return
        else:
            metadata = self._take_object(event.object, batch)
            self._known[metadata.uid] = metadata.resource_version
            self._last_changed = metadata
        self._version = self._newest = metadata.resource_version or self._version

    def _take_object(self, raw: msgspec.Raw, batch: list[Change[T]]) -> ObjectMeta:
        """Add a new or changed object to the batch, unless only fields have changed that placement does not read."""
        outline = None if self._resource.outline is None else decode_outline(raw, self._resource.outline)
        if outline is not None:
            metadata, mark = outline.metadata, outline.mark
            if self._marks.get(metadata.uid) == mark:
                return metadata
            self._marks[metadata.uid] = mark
        try:
            item = decode_object(raw, self._resource.kind)
        except MalformedObjectError as problem:
            metadata = decode_metadata(raw)
            self._delivery.reject(metadata, str(problem))
        else:
            metadata = get_metadata(item)
            batch.append(Change(metadata.uid, item))
        return metadata

    # --- a server with an older state ----------------------------------------------------------------------

    async def _has_gone_back(self) -> bool:
        """Check, before a watch is resumed, whether the server has returned to an older state.

        The watch would be silent until its version exists again. If the server's version has caught up, the version
        of the object that changed last shows it. If that object no longer exists, or the server was away for longer,
        all known objects are compared.
        """
        last = self._last_changed
        present = await read_present(self._transport, self._served, last, self._options.look_seconds)
        if is_before(present.version, self._version):
            found = present.version
        elif is_before(present.of_object, last.resource_version):
            found = present.of_object
        else:
            if self._broken_in_a_row > 1 or (last.name and not present.of_object):
                self._comparison.set()
            return False
        self._note_rewind(found)
        self._relist("rewound")
        return True

    def _compare_versions(self, version: str, listed: Mapping[str, str]) -> None:
        """Note a return to an older state if a list, or an object in it, has a smaller version than known."""
        known = self._known
        if is_before(version, self._newest):
            self._note_rewind(version)
        elif known and self._newest:
            older = (each for uid, each in listed.items() if is_before(each, known.get(uid, "")))
            if (first := next(older, None)) is not None:
                self._note_rewind(first)

    def _note_rewind(self, found: str) -> None:
        _log.warning(
            "api server has gone back to an older state, listing everything anew resource=%s version=%s known=%s",
            self._resource.name,
            found,
            self._newest,
        )
        rewinds = self._environment.rewinds
        self._newest = ""
        rewinds.note()
        self._rewinds_heeded = rewinds.count

    async def _watch_rewinds(self) -> None:
        """List again, and accept any version, whenever another reflector has noted a return to an older state."""
        rewinds = self._environment.rewinds
        while True:
            count = await rewinds.wait_beyond(self._rewinds_heeded)
            if count > self._rewinds_heeded:
                self._rewinds_heeded = count
                self._newest = ""
                self._list_anew("rewound")

    # --- reconciliation ------------------------------------------------------------------------------------

    def _as_known(self) -> Known | None:
        """Return the known objects; None during a list, or if the resource is not served."""
        return Known(self._served, self._version, dict(self._known)) if self._version else None

    def _check_drift(self) -> None:
        self._list_anew("drift")

    def _list_anew(self, reason: str) -> None:
        if self._version:
            self._relist(reason)
            with suppress(RuntimeError):  # The reflector has no watch at present.
                self._watched.reschedule(asyncio.get_running_loop().time())

    # --- recovery ------------------------------------------------------------------------------------------

    async def _recover_from_answer(self, error: ApiError) -> None:
        if error.ahead:
            self._note_rewind(self._newest)
            self._relist("rewound")
            await asyncio.sleep(self._backoff.next())
        elif error.expired:
            self._metrics.watches.watch_errors.labels(self._resource.name, "expired").inc()
            _log.info("version expired, listing anew resource=%s", self._resource.name)
            self._relist("expired")
            # List again at once the first time; pause if the server repeats the same answer.
            if self._backoff.failures:
                await asyncio.sleep(self._backoff.next())
            else:
                self._backoff.next()
        elif error.not_found and self._version and self._resource.other_paths:
            self._relist("served")  # The server may serve another version of the collection by now.
        elif error.not_found or (not self._resource.required and error.status == HTTPStatus.FORBIDDEN):
            await self._wait_until_served(error)
        else:
            self._metrics.watches.watch_errors.labels(self._resource.name, "api").inc()
            await self._pause(error, error.retry_after or 0.0)

    async def _pause(self, error: KubeError, at_least: float) -> None:
        first = self._backoff.failures == 0
        delay = max(self._backoff.next(), at_least)
        self._broken_in_a_row += 1
        # Each failure is logged at debug level, but the first failure in a row at a higher level: an outage then
        # gives one line, not thousands.
        _log.log(
            logging.WARNING if first else logging.DEBUG,
            'api server request failed, retrying resource=%s server=%s in=%.1fs error="%s"',
            self._resource.name,
            self._transport.server,
            delay,
            error,
        )
        if self._version and self._broken_in_a_row >= self._options.broken_watches:
            self._relist("broken")
        await asyncio.sleep(delay)

    async def _wait_until_served(self, error: ApiError) -> None:
        if not self._absent:
            _log.info(
                'resource %s, will look again resource=%s error="%s"',
                "is not served" if error.not_found else "may not be read",
                self._resource.name,
                error,
            )
        self._absent = True
        self._relist("served")
        self._delivery.report_gone(self._known.keys())
        self._known = {}
        self._delivery.mark_synced()
        await asyncio.sleep(self._options.absent_seconds * (0.75 + 0.5 * self._random.random()))

    def _relist(self, reason: str) -> None:
        self._version = ""
        self._relist_reason = reason
        self._broken_in_a_row = 0


def _error_of(event: WatchEvent) -> ApiError:
    status = decode_object(event.object, Status)
    return ApiError(
        status.code or 500, status.reason, status.message, status.details.retry_after_seconds or None
    )
