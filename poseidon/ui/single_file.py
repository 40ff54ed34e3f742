"""Writes a page of the dashboard as one file with all answers that it needs, for people without a server.

Wherever the file is opened, it shows the same single view. The page's JavaScript modules are ``data:`` addresses,
named in an import map. The answers that the page would request from a server are JSON in the file.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from poseidon import __version__

ASSETS = Path(__file__).with_name("assets")
_IMPORTED = re.compile(r"""((?:\bfrom|\bimport)\s*\(?\s*)(["'])(\.{1,2}/[^"']+\.js)\2""")
_PREFIX = "page/"
_SHEETS = (
    "css/base.css",
    "css/shell.css",
    "css/parts.css",
    "css/charts.css",
    "css/views.css",
    "vendor/uplot.css",
)


def single_file(title: str, address: str, answers: Mapping[str, Any]) -> str:
    """Return a web page with the view at ``address`` (``#/view/…``); ``answers`` are by path below ``/api/v1``."""
    modules = {
        f"{_PREFIX}{path.relative_to(ASSETS).as_posix()}": _module(path)
        for path in sorted(ASSETS.rglob("*.js"))
    }
    styles = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in _SHEETS)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en" data-theme="dark">',
            '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{styles}</style>",
            f'<script type="application/json" id="answers">{_json(answers)}</script>',
            f'<script type="importmap">{_json({"imports": modules})}</script>',
            f"<script>if (!location.hash) location.replace({_json(address)});</script>",
            f'<script type="module">import "{_PREFIX}data/theme.js"; import "{_PREFIX}app.js";</script>',
            "</head>",
            '<body><a class="skip" href="#content">Skip to the content</a><div id="app"></div>',
            '<div id="announcements" class="unseen" role="status" aria-live="polite"></div></body></html>',
        ]
    )


def describe_file_session(
    source: str, capability: str, at: float = 0.0, warnings: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the session of a page without a server, which replaces the answer to ``/session``.

    ``source`` says what the page shows; ``capability`` is its only view.
    """
    return {
        "at": at,
        "version": 1,
        "source": source,
        "title": "",
        "cluster": "",
        "poseidon": __version__,
        "capabilities": {capability: True},
        "warnings": list(warnings),
    }


def _module(path: Path) -> str:
    """Return a JavaScript module as a ``data:`` address; its imports are replaced by names of the import map."""
    folder = PurePosixPath(path.relative_to(ASSETS).parent.as_posix())

    def embed_name(found: re.Match[str]) -> str:
        parts: list[str] = []
        for part in (folder / found[3]).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        return f"{found[1]}{found[2]}{_PREFIX}{'/'.join(parts)}{found[2]}"

    code = _IMPORTED.sub(embed_name, path.read_text(encoding="utf-8"))
    return f"data:text/javascript;base64,{b64encode(code.encode()).decode()}"


def _json(value: Any) -> str:
    """Return a value as JSON that is safe within an HTML element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")
