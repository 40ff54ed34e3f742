"""Serves the static files of the page, as they are when the server starts."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from poseidon.ui.server.answers import error_response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_LARGEST = 4 << 20
FOLDER = Path(__file__).parents[1] / "assets"


class _Asset(NamedTuple):
    kind: str
    tag: str
    plain: bytes
    packed: bytes


class Assets:
    """Files below a folder, by path; the empty path stands for ``index.html``."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            file.relative_to(folder).as_posix(): _read(file)
            for file in sorted(folder.rglob("*"))
            if file.is_file() and file.suffix in _TYPES and file.stat().st_size <= _LARGEST
        }

    async def handle(self, request: web.Request) -> web.Response:
        """Answer with the file of a path."""
        found = self._files.get(request.match_info.get("path", "") or "index.html")
        if found is None:
            return error_response(404, "there is no file of this name")
        headers = {
            "ETag": found.tag,
            "Content-Type": found.kind,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
        }
        if request.headers.get("If-None-Match") == found.tag:
            return web.Response(status=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=found.packed, headers={**headers, "Content-Encoding": "gzip"})
        return web.Response(body=found.plain, headers=headers)


def _read(file: Path) -> _Asset:
    content = file.read_bytes()
    tag = f'"{sha256(content).hexdigest()[:16]}"'
    return _Asset(_TYPES[file.suffix], tag, content, gzip.compress(content, 6, mtime=0))
