"""A bridge says whether it is alive."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry, Gauge

from protos.conventions.probes import Heartbeat, application, serve
from tests.support.time_limits import stretch


def story(uid):
    return "1.000 s ago: nothing holds it back: held -> pending" if uid == "uid-1" else ""


@contextmanager
def serving(fault):
    registry = CollectorRegistry()
    Gauge("some_figure", "Of a test.", registry=registry).set(7)
    server = serve("127.0.0.1", 0, application(lambda: registry, {"/livez": fault}, {"/debug/pod/": story}))
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=stretch(5)) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def test_a_loop_that_runs_is_alive_and_one_that_hangs_is_not():
    now = [100.0]
    heartbeat = Heartbeat(lambda: now[0])
    beating = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)
    now[0] += 30.0
    assert heartbeat.fault() == ""
    now[0] += 1.0
    assert heartbeat.fault() == "the event loop has not run for 31 s"
    beating.cancel()


def test_probes_and_metrics_share_a_port():
    wrong = [""]
    with serving(lambda: wrong[0]) as url:
        assert get(f"{url}/livez") == (200, "ok\n")
        assert "some_figure 7.0" in get(f"{url}/metrics")[1]
        assert "some_figure 7.0" in get(url)[1]
        wrong[0] = "the event loop has not run for 31 s"
        assert get(f"{url}/livez") == (503, "the event loop has not run for 31 s\n")


def test_an_address_in_use_is_an_error():
    with serving(lambda: "") as url, pytest.raises(OSError, match="in use"):
        serve("127.0.0.1", int(url.rpartition(":")[2]), application(CollectorRegistry, {}))


async def test_the_heart_beats_while_the_loop_runs():
    """The time that it tells is that of its last turn, whatever the clock says when it is asked."""
    times = iter([0.0, 50.0, 60.0, 95.0])
    heartbeat = Heartbeat(lambda: next(times))
    beating = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)  # beats at 50
    assert heartbeat.fault() == ""  # asked at 60
    assert heartbeat.fault() == "the event loop has not run for 45 s"
    beating.cancel()


def test_the_story_of_a_pod_is_told_by_its_uid():
    with serving(lambda: "") as url:
        assert get(f"{url}/debug/pod/uid-1") == (200, f"{story('uid-1')}\n")
        assert get(f"{url}/debug/pod/uid-2") == (404, "nothing lately\n")
