"""A small server of the page and of made-up data, by the contract of the real one; a program for looking at it too.

``python -m tests.poseidon.ui.browser.fixture_server [PORT]``
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.poseidon.ui.browser import fixtures, pod_fixtures, queue_fixtures

ASSETS = Path(__file__).resolve().parents[4] / "poseidon" / "ui" / "assets"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
VIEWS = ("session", "overview", "flow", "cluster", "pending", "groups")
ALL = {
    "figures": True,
    "flow": True,
    "cluster": True,
    "pending": True,
    "explain": True,
    "cures": True,
    "groups": True,
    "queues": True,
}


@cache
def _packed_cluster(level: str, step: int) -> bytes:
    """Half a megabyte, which is not made anew for each of hundreds of changes."""
    answer = {"at": fixtures.NOW, "version": step, **fixtures.cluster(level, step)}
    return gzip.compress(json.dumps(answer).encode(), 6)


class FixtureServer:
    """Answers GET and POST as the real server does; ``change`` moves the data on and tells all pages."""

    def __init__(self, capabilities: dict[str, bool] | None = None, *, empty: bool = False) -> None:
        self.capabilities = ALL | (capabilities or {})
        self.empty, self.version, self.port, self.failing = empty, 1, 0, False
        self.solver: dict[str, Any] = {
            "state": "connected",
            "target": "firmament:9090",
            "since": fixtures.NOW,
        }
        self.bridge: dict[str, Any] = {"answers": True, "since": fixtures.NOW}
        self.asked: list[str] = []
        self.hears = asyncio.Event()  # set with each question
        self._runner: web.AppRunner | None = None
        self._streams: set[asyncio.Queue[int]] = set()
        self._cures: dict[str, int] = {}

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def start(self, port: int = 0) -> str:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/api/v1/events", self._events)
        app.router.add_post("/api/v1/cures", self._post_cure)
        app.router.add_get("/api/v1/{path:.*}", self._answer)
        app.router.add_get("/{path:.*}", self._file)
        self._runner = web.AppRunner(app, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = port or self._runner.addresses[0][1]
        return self.origin

    async def stop(self) -> None:
        if self._runner is not None:
            for stream in self._streams:
                stream.put_nowait(-1)
            await self._runner.cleanup()
            self._runner = None

    def change(self) -> None:
        """Let everything change once."""
        self.version += 1
        for stream in self._streams:
            if stream.empty():
                stream.put_nowait(self.version)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.hears.set()
        response: web.StreamResponse = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = ASSETS / (request.match_info["path"] or "index.html")
        if not path.is_file():
            return web.Response(status=404)
        return web.FileResponse(path)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[int] = asyncio.Queue(2)
        self._streams.add(queue)
        try:
            version = self.version
            while version >= 0:
                data = json.dumps(dict.fromkeys(VIEWS, version))
                await response.write(f"event: changed\ndata: {data}\n\n".encode())
                version = await queue.get()
        except ConnectionError:
            pass
        finally:
            self._streams.discard(queue)
        return response

    async def _post_cure(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("X-Poseidon") != "1":
            return web.json_response({"error": "the header X-Poseidon is missing"}, status=403)
        job = f"job-{len(self._cures)}"
        self._cures[job] = 0
        return web.json_response({"job": job}, status=202)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self.failing:
            return web.json_response({"error": "the API server did not answer"}, status=503)
        tag = f'"{self.version}"'
        parts, query = request.match_info["path"].split("/"), dict(request.query)
        if request.headers.get("If-None-Match") == tag and parts[0] not in {"session", "cures"}:
            return web.Response(status=304, headers={"ETag": tag})
        if parts == ["cluster"] and not self.empty:
            headers = {"ETag": tag, "Content-Encoding": "gzip"}
            packed = _packed_cluster(query.get("level") or fixtures.LEVELS[0], self.version % 3)
            return web.Response(body=packed, content_type="application/json", headers=headers)
        answer = self._nothing(parts) if self.empty else self._data(parts, query)
        if answer is None:
            return web.json_response({"error": f"there is no {'/'.join(parts)}"}, status=404)
        body = json.dumps({"at": fixtures.NOW, "version": self.version, **answer})
        response = web.Response(text=body, content_type="application/json", headers={"ETag": tag})
        response.enable_compression()
        return response

    def _data(self, parts: list[str], query: dict[str, str]) -> dict[str, Any] | None:
        offset, limit = int(query.get("offset", 0)), min(int(query.get("limit", 100)), 200)
        match parts:
            case ["session"]:
                return self._session()
            case ["overview"]:
                return fixtures.overview(self.version)
            case ["flow"] if query.get("round") == "3":
                return None
            case ["flow", *below]:
                return fixtures.flow_answer(below, query, offset, limit)
            case ["cures", job]:
                return self._cure(job)
        found = pod_fixtures.answer(parts, query, offset, limit)
        return found or queue_fixtures.answer(parts, query, offset, limit)

    def _session(self) -> dict[str, Any]:
        return {
            "source": "live",
            "title": "research cluster",
            "cluster": "research",
            "poseidon": "0.1.0",
            "capabilities": self.capabilities,
            "warnings": [],
            "solver": self.solver,
            "bridge": self.bridge,
        }

    def _cure(self, job: str) -> dict[str, Any] | None:
        if job not in self._cures:
            return None
        self._cures[job] += 1
        done = self._cures[job] > 2
        return {
            "state": "done" if done else "working",
            "progress": f"{self._cures[job] * 1_200} of 3,600 openings tried",
            "asOf": fixtures.NOW,
            "cures": pod_fixtures.cures() if done else [],
            "error": None,
        }

    def _nothing(self, parts: list[str]) -> dict[str, Any] | None:
        """What a cluster without nodes and pods answers, and a solver without rounds."""
        answers: dict[str, dict[str, Any]] = {
            "session": self._session(),
            "overview": fixtures.overview(0)
            | {
                "history": {key: [] for key in fixtures.overview(0)["history"]},
                "pendingByReason": [],
                "rounds": [],
            }
            | {"nodes": 0, "pods": {"bound": 0, "pending": 0, "others": 0}, "figures": None}
            | {"waiting": {"unschedulable": 0, "new": 0, "gated": 0}, "utilisation": []}
            | {"leader": {"holder": None, "leads": None, "others": []}},
            "flow": fixtures.flow(1_100, "")
            | {"nodes": [], "links": [], "rounds": [], "tasks": 0, "placed": 0, "priceMost": 0, "round": 0},
            "cluster": {"levels": [], "level": "", "groups": [], "thresholds": {}}
            | {"nodes": {key: [] for key in fixtures.cluster(fixtures.LEVELS[0], 0)["nodes"]}},
            "pending": {"total": 0, "groups": [], "groupsTotal": 0},
            "pods": {"total": 0, "items": []},
            "groups": {"gangs": [], "nested": [], "trees": [], "applications": [], "evictions": []},
            "queues": queue_fixtures.NO_QUEUES,
        }
        return answers.get(parts[0]) if len(parts) == 1 else None


async def main(port: int) -> None:
    """Serve until interrupted, with a change every two seconds."""
    server = FixtureServer()
    sys.stdout.write(f"{await server.start(port)}\n")
    while True:
        await asyncio.sleep(2)
        server.change()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8088))
