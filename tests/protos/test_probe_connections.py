"""The port of metrics and probes holds few connections, and answers probes whoever holds others open."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from protos.conventions import probes
from protos.conventions.probes import MOST_CONNECTIONS, application, serve


@pytest.fixture
def server():
    server = serve("127.0.0.1", 0, application(CollectorRegistry, {"/livez": lambda: ""}))
    yield server
    server.shutdown()
    server.server_close()


def connected(server, stack):
    return stack.enter_context(socket.create_connection(server.server_address[:2], timeout=60))


def is_alive(server):
    host, port = server.server_address[:2]
    with urlopen(f"http://{host}:{port}/livez", timeout=60) as answer:
        return answer.read() == b"ok\n"


def test_probes_are_answered_beside_connections_that_say_nothing_or_half_a_request(server):
    with ExitStack() as stack:
        held = [connected(server, stack) for _ in range(4 * MOST_CONNECTIONS)]
        for each in held[::2]:
            with_half = b"GET /livez HTTP/1.1\r\nX: "
            try:
                each.sendall(with_half)
            except OSError:
                continue  # it has made room already
        assert is_alive(server)
        assert is_alive(server)
        assert len(server._open) <= MOST_CONNECTIONS


def test_the_oldest_makes_room(server):
    with ExitStack() as stack:
        first, *others = (connected(server, stack) for _ in range(MOST_CONNECTIONS + 1))
        assert first.recv(1) == b"", "it was ended"
        others[-1].sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        assert b"200" in others[-1].recv(100)


def test_who_says_nothing_is_hung_up_on(server, monkeypatch, capsys):
    monkeypatch.setattr(probes._Quiet, "timeout", 0.05)
    with ExitStack() as stack:
        silent = connected(server, stack)
        assert silent.recv(1) == b""
    assert not capsys.readouterr().err, "nothing is said of it"
    assert is_alive(server)
