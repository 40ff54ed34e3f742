"""Small writes are measured over plain HTTP and TLS, by both clients."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.processes.requests import measure_requests
from benchmarks.reports.report import render


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the server's certificate")
async def test_all_clients_and_servers() -> None:
    report = await measure_requests(count=200, in_flight=4, runs=1)
    assert [(row["scheme"], row["client"]) for row in report["rows"]] == [
        (scheme, client) for scheme in ("http", "https") for client in ("connections for writes", "aiohttp")
    ]
    for row in report["rows"]:
        assert row["microseconds"] > 0
        # A new connection is more work than one that is there.
        assert row["firstMicroseconds"] > row["microseconds"]
    text = render([{**report, "file": "requests.json"}])
    assert "200 bindings, 4 at a time" in text
    assert "\n| https, connections for writes | " in text
