"""An API server that answers what a test tells it to, over real HTTP."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web


class ScriptedApi:
    """Serves ``answer(request)``, and records the requests as (method, path with query, headers, body)."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.in_flight = 0
        self.most_in_flight = 0

    async def handle(self, request):
        body = await request.read()
        self.requests.append((request.method, request.path_qs, dict(request.headers), body))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self.answer(request)
        finally:
            self.in_flight -= 1


@asynccontextmanager
async def scripted(answer, ssl_context=None):
    """Serve; yields (api, url)."""
    api = ScriptedApi(answer)
    runner = web.ServerRunner(web.Server(api.handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ssl_context).start()
    scheme = "https" if ssl_context else "http"
    try:
        yield api, f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def status(code, reason, message, headers=None, **details):
    """A Status answer."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    if details:
        body["details"] = details
    return web.Response(status=code, body=msgspec.json.encode(body), headers=headers)


def json(value, code=200):
    return web.Response(status=code, body=msgspec.json.encode(value))


def node(name, version, uid=None):
    return {"metadata": {"name": name, "uid": uid or name, "resourceVersion": str(version)}}


def listing(version, *items, token=""):
    return json({"metadata": {"resourceVersion": str(version), "continue": token}, "items": list(items)})


async def watch(request, *events, then="end"):
    """Stream events; then end the response, hang, or break the connection in the middle of a line."""
    response = web.StreamResponse()
    await response.prepare(request)
    for kind, obj in events:
        await response.write(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")
    if then == "hang":
        await asyncio.Event().wait()
    if then == "break":
        await response.write(b'{"type":"ADDED","obj')
        request.transport.abort()
    return response
