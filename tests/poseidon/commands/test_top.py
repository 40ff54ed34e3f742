"""`poseidon top`: two looks at two pages, and what is said if one is not there."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Pages(ThreadingHTTPServer):
    """Serves metrics; ``bound`` pods more at each look."""

    looks = 0
    bound = 5

    def text(self, path: str) -> str:
        if path == "/solver":
            return 'firmament_round_duration_seconds_count{stage="total"} 7\nposeidon_nodes 99\n'
        if path == "/other":
            return "<html>"
        self.looks += 1
        return f"poseidon_nodes 3\nposeidon_leader 1\nposeidon_pods_bound_total {self.looks * self.bound}\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        pages: Any = self.server
        self.send_response(200)
        self.end_headers()
        self.wfile.write(pages.text(self.path).encode())

    def log_message(self, *_) -> None:
        """Say nothing."""


@pytest.fixture
def pages():
    server = Pages(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def looked(run, pages, *arguments, bridge="/bridge", solver="/solver"):
    url = f"http://127.0.0.1:{pages.server_port}"
    return run(
        "top", "--once", "--interval", "10ms", "--bridge", url + bridge, "--solver", url + solver, *arguments
    )


def test_figures_are_of_what_came_between_two_looks(run, pages):
    found = json.loads(looked(run, pages, "-o", "json").stdout)
    assert pages.looks == 2
    assert found["nodes"] == 3, "figures of the solver's page are its own alone"
    assert found["bound"] == 10
    assert 0 < found["boundPerSecond"] <= 500


def test_on_paper_it_is_printed_once(run, pages):
    outcome = looked(run, pages)
    assert outcome.status == 0
    assert outcome.stdout.strip()
    assert pages.looks == 2


def test_without_a_solver_its_figures_stay_empty(run, pages):
    assert json.loads(looked(run, pages, "-o", "json", solver="/other").stdout)["nodes"] == 3


def test_a_page_that_is_no_bridges_is_named(run, pages):
    outcome = looked(run, pages, bridge="/other")
    assert outcome.status == 1
    assert outcome.stderr.endswith("; name the page that the bridge serves with --metrics\n")


def test_a_bridge_that_does_not_answer_is_named(run):
    outcome = run("top", "--once", "--bridge", "http://127.0.0.1:1/metrics")
    assert outcome.status == 1
    assert outcome.stderr.startswith("no bridge answers at http://127.0.0.1:1/metrics: ")
    assert outcome.stderr.endswith("; start it with --metrics\n")
