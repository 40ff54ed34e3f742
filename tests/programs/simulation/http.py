"""A client's way to the API server: requests and watches over the simulated network, in place of HTTP."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import msgspec

from poseidon.kube.client.errors import ApiError, NotLeaderError, UnreachableError
from tests.programs.simulation.api_server import LEASES, ApiServer, Entry, Refused, Request
from tests.programs.simulation.network import Network
from tests.programs.simulation.process import Process

SERVER = "apiserver"
_TIMEOUT = 30.0
_BOOKMARKS = 15.0
_OF_OTHER_LISTS = {"continue", "resourceVersionMatch"}


class SimulatedTransport:
    """What `poseidon.kube.client.transport.Transport` is to its users, for the process ``process``.

    ``seen`` tells up to which moment the process has dealt with each collection: what it can know. What it hears of a
    server that has come back from a copy counts once it has listed anew. ``may_write`` is asked right before each
    request that changes something leaves.
    """

    server = "https://simulated"

    def __init__(
        self,
        process: Process,
        network: Network,
        api: ApiServer,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._process = process
        self._may_write = may_write
        self._network = network
        self._api = api
        self._queue = process.queue
        self.seen: dict[str, int] = {}
        self._listed: dict[str, int] = {}  # in which epoch
        self._decided: dict[str, dict[str, int]] = {}
        self._done: set[tuple[int, str]] = set()

    def decided(self, uid: str) -> None:
        """The process is about to post the binding of a pod: what it knows now is what that is judged by."""
        self._decided[uid] = dict(self.seen)

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = "") -> bytes:
        return await self._exchange("GET", path, query, None)

    async def find(self, path: str) -> bytes | None:
        try:
            return await self.get(path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def post(self, path: str, body: bytes, *, urgent: bool = False) -> bytes:
        return await self._exchange("POST", path, None, body)

    async def patch(self, path: str, body: bytes, content_type: str = "") -> bytes:
        return await self._exchange("PATCH", path, None, body)

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        return await self._exchange("DELETE", path, None, body)

    async def close(self) -> None:
        """Nothing is open."""

    # --- requests ------------------------------------------------------------------------------------------

    async def _exchange(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None
    ) -> bytes:
        if method != "GET" and not self._may_write():
            raise NotLeaderError(method, path)
        request = Request(self._process.name, method, path, query or {}, body, self._seen(path, body))
        if method == "DELETE" or path.endswith(("/binding", "/eviction")) or _writes_claim(request):
            self._api.on_asked(request)
        answer: asyncio.Future[bytes] = self._process.create_future()
        epoch = self._api.epoch
        if method == "POST" and (epoch, path) in self._done:
            self._api.on_repetition(request)
        self._send(request, answer)
        try:
            async with asyncio.timeout(_TIMEOUT):
                reply = await answer
        except TimeoutError:
            raise UnreachableError(f"{method} {path}: timed out") from None
        if method == "POST" and path.endswith(("/binding", "/eviction")):
            self._done.add((epoch, path))
        if (
            method == "GET"
            and request.query.get("limit") != "1"
            and not _OF_OTHER_LISTS & request.query.keys()
        ):
            self._listed[path] = (
                epoch  # which is the reply's or an earlier one, so that no more counts as known
            )
        return reply

    def _seen(self, path: str, body: bytes | None) -> Mapping[str, int]:
        if path.endswith("/binding") and body:
            return self._decided[msgspec.json.decode(body)["metadata"]["uid"]]
        return dict(self.seen)

    def _send(self, request: Request, answer: asyncio.Future[bytes]) -> None:
        network, rates, queue = self._network, self._network.rates, self._queue
        cut = network.cut_until(self._process.name, SERVER)
        if queue.now < cut:
            if cut - queue.now < _TIMEOUT and network.chance(0.5):
                self._carry(lambda: self._arrive(request, answer))
            elif network.chance(0.5):
                self._fail(answer, "connection refused", network.delay())
        elif network.chance(rates.refused):
            self._fail(answer, "connection refused", network.delay())
        elif not network.chance(rates.request_lost):
            self._carry(lambda: self._arrive(request, answer))

    def _carry(self, event: Callable[[], None]) -> None:
        self._network.carry(self._process.name, SERVER, self._network.delay(), event)

    def _arrive(self, request: Request, answer: asyncio.Future[bytes]) -> None:
        """Carry a request out, whatever has become of who sent it, and send the answer."""
        network, rates, queue = self._network, self._network.rates, self._queue
        writes = request.method != "GET"
        if network.chance(rates.throttled):
            self._reply(answer, Refused(429, "TooManyRequests", "too many requests, please try again later"))
            return
        if writes and request.path.startswith(LEASES) and network.refuses_lease(request.client):
            self._reply(answer, Refused(403, "Forbidden", "leases is forbidden"))
            return
        failing = network.chance(rates.failing)
        if failing and network.chance(0.5):
            self._reply(answer, Refused(500, "InternalError", "etcdserver: leader changed"))
            return
        if writes and network.chance(rates.conflicting):
            words = (
                "the object has been modified; please apply your changes to the latest version and try again"
            )
            self._reply(answer, Refused(409, "Conflict", f"Operation cannot be fulfilled: {words}"))
            return
        outcome: bytes | Refused
        try:
            outcome = self._api.handle(request)
        except Refused as refused:
            outcome = refused
        if writes and "/events" not in request.path:
            said = outcome if isinstance(outcome, Refused) else "done"
            queue.tell(f"{request.client} {request.method} {request.path} {_target(request)}: {said}")
        if failing:
            outcome = Refused(500, "InternalError", "etcdserver: request timed out")
        if not network.chance(rates.answer_lost):
            self._reply(answer, outcome)
        elif network.chance(0.7):
            self._fail(answer, "connection reset by peer", network.delay())

    def _reply(self, answer: asyncio.Future[bytes], outcome: bytes | Refused) -> None:
        def arrive() -> None:
            if isinstance(outcome, Refused):
                self._settle(answer, ApiError(outcome.status, outcome.reason, outcome.message))
            else:
                self._settle(answer, outcome)

        self._carry(arrive)

    def _fail(self, answer: asyncio.Future[bytes], words: str, seconds: float) -> None:
        self._queue.after(seconds, lambda: self._settle(answer, UnreachableError(words)))

    def _settle(self, answer: asyncio.Future[Any], outcome: Any) -> None:
        if self._process.dead or answer.done():
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    # --- watches -------------------------------------------------------------------------------------------

    async def lines(
        self, path: str, query: Mapping[str, str], read_timeout: float
    ) -> AsyncGenerator[list[bytes], None]:
        since = int(query["resourceVersion"])
        epoch = self._listed.get(path, 0)
        # Whoever watches from a version has dealt with the list of that version.
        self._saw(path, since, epoch)
        watch = _Watch(self, path, since, float(query["timeoutSeconds"]))
        try:
            while True:
                found = await watch.next()
                if found is None:
                    return
                version, batch = found
                yield batch
                if epoch == self._api.epoch:
                    self._saw(path, version, epoch)
        finally:
            watch.close()

    def _saw(self, path: str, version: int, epoch: int) -> None:
        self.seen[path] = max(self.seen.get(path, 0), self._api.moment_of(version, epoch))


class _Watch:
    """One watch: what the server has sent arrives in order, until it ends or breaks."""

    def __init__(self, transport: SimulatedTransport, path: str, since: int, seconds: float) -> None:
        self._process = transport._process
        self._network = transport._network
        self._api = transport._api
        self._queue = transport._queue
        self._path = path
        self._sent = since
        self._batches: deque[tuple[int, list[bytes]] | Exception | None] = deque()
        self._wake = asyncio.Event()
        self._pumping = False
        self._over = False
        self._started = False
        self._disconnect = self._network.connect(self._process.name, SERVER, self._break)
        if self._network.chance(self._network.rates.refused):
            self._queue.after(self._network.delay(), self._break)
        else:
            self._later(self._network.delay(), self._start)
        self._queue.after(seconds, lambda: self._put(None))

    async def next(self) -> tuple[int, list[bytes]] | None:
        """Return lines and the version that they lead to, None at the end. Raises ``KubeError``."""
        while not self._batches:
            self._wake.clear()
            await self._wake.wait()
        found = self._batches.popleft()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """Nobody listens any more."""
        self._over = True
        self._disconnect()
        watchers = self._api.collections[self._path].watchers if self._started else []
        if self._changed in watchers:
            watchers.remove(self._changed)

    def _start(self) -> None:
        if self._over:
            return
        if self._path not in self._api.collections:
            self._put(ApiError(404, "NotFound", "the server could not find the requested resource"))
            return
        try:
            self._api.changes(self._path, self._sent)
        except Refused as refused:
            if self._network.chance(0.5):
                self._put(ApiError(refused.status, refused.reason, refused.message))
            else:
                status = {"kind": "Status", "code": 410, "reason": "Expired", "message": refused.message}
                self._put((self._sent, [msgspec.json.encode({"type": "ERROR", "object": status})]))
            return
        self._started = True
        self._api.collections[self._path].watchers.append(self._changed)
        self._queue.after(_BOOKMARKS * self._queue.random.random(), self._bookmark)
        self._changed()

    def _changed(self) -> None:
        if not self._pumping and not self._over:
            self._pumping = True
            self._later(self._network.delay(), self._pump)

    def _pump(self) -> None:
        """Let what has been written meanwhile arrive; a watch may break before some of it."""
        self._pumping = False
        if self._over:
            return
        try:
            entries = list(self._api.changes(self._path, self._sent))
        except Refused:
            self._break()  # the server has dropped a watch that has fallen behind
            return
        if not entries:
            return
        broken = self._network.chance(self._network.rates.watch_breaks)
        if broken:
            entries = entries[: self._queue.random.randrange(len(entries) + 1)]
        if entries:
            self._arrived(entries)
        if broken:
            self._break()

    def _arrived(self, entries: list[Entry]) -> None:
        self._sent = entries[-1].version
        self._put((self._sent, [entry.line for entry in entries]))

    def _bookmark(self) -> None:
        if self._over:
            return
        self._queue.after(_BOOKMARKS * (0.5 + self._queue.random.random()), self._bookmark)
        if not self._pumping and self._queue.now >= self._network.cut_until(self._process.name, SERVER):
            self._sent = self._api.version
            metadata = {"resourceVersion": str(self._sent)}
            line = {"type": "BOOKMARK", "object": {"metadata": metadata}}
            self._put((self._sent, [msgspec.json.encode(line)]))

    def _break(self) -> None:
        self._put(UnreachableError(f"watch of {self._path}: connection reset by peer"))

    def _put(self, item: tuple[int, list[bytes]] | Exception | None) -> None:
        if not self._over and not self._process.dead:
            self._over = not isinstance(item, tuple)
            self._batches.append(item)
            self._wake.set()

    def _later(self, seconds: float, event: Callable[[], None]) -> None:
        """Let something arrive in ``seconds``, or once the way is free."""
        self._network.carry(self._process.name, SERVER, seconds, event)


def _writes_claim(request: Request) -> bool:
    return request.method == "PATCH" and "/resourceclaims/" in request.path


def _target(request: Request) -> str:
    if request.path.endswith("/binding") and request.body:
        return str(msgspec.json.decode(request.body)["target"]["name"])
    return ""
