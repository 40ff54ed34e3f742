"""Addresses, the clusters that certificates allow, certificates that change, and options of the gRPC server."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest

from firmament.server.access.address import AddressError, ListenAddress, check_free, parse_address
from firmament.server.access.credentials import (
    Clients,
    _follower,
    names_of,
    parse_clients,
    server_credentials,
)
from firmament.server.access.grpc_options import MESSAGE_BYTES, PING_SECONDS, server_options
from protos.conventions.tls import TlsError, TlsFiles


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "host", "port", "shown"),
        [
            ("h:1", "h", 1, "h:1"),
            ("127.0.0.1:65535", "127.0.0.1", 65535, "127.0.0.1:65535"),
            (":50051", "0.0.0.0", 50051, "0.0.0.0:50051"),
            ("[::1]:0", "::1", 0, "[::1]:0"),
            ("[]:7", "0.0.0.0", 7, "0.0.0.0:7"),
        ],
    )
    def test_addresses_as_people_write_them(self, text: str, host: str, port: int, shown: str):
        found = parse_address("--listen", text)
        assert found == ListenAddress(host, port)
        assert str(found) == shown

    @pytest.mark.parametrize(
        "text", ["", "h", "h:", "h:x", "h:-1", "::1:5", "[::1:5", "::1]:5", "h:١", "h: 5"]
    )
    def test_what_is_no_address_is_named(self, text: str):
        with pytest.raises(AddressError) as refused:
            parse_address("--listen", text)
        assert str(refused.value) == f"--listen: {text!r} is not an address; write HOST:PORT"

    def test_ports_are_in_range(self):
        assert parse_address("-l", "h:1", any_port=False).port == 1
        with pytest.raises(AddressError, match=r"^-l: 'h:0': port 0 is out of range; use 1 to 65535$"):
            parse_address("-l", "h:0", any_port=False)
        with pytest.raises(
            AddressError, match=r"^-l: 'h:65536': port 65536 is out of range; use 0 to 65535$"
        ):
            parse_address("-l", "h:65536")

    def test_an_address_that_somebody_has_is_not_free(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = ListenAddress("127.0.0.1", other.getsockname()[1])
            with pytest.raises(AddressError) as refused:
                check_free(address)
        assert str(refused.value) == (
            f"cannot listen on {address}: address already in use; choose another address"
        )
        check_free(address)
        with pytest.raises(
            AddressError, match=r"^cannot listen on 192\.0\.2\.1:1: .+; choose another address$"
        ):
            check_free(ListenAddress("192.0.2.1", 1))


def call(**names: tuple[bytes, ...]) -> SimpleNamespace:
    """A call whose peer has shown a certificate with these names."""
    return SimpleNamespace(auth_context=lambda: names)


class TestClients:
    def test_names_and_their_clusters(self):
        assert parse_clients(["a=x", "b=y", "a=z"]) == {"a": {"x", "z"}, "b": {"y"}}
        assert parse_clients(["a=x=y"]) == {"a": {"x=y"}}
        assert parse_clients([]) == {}

    @pytest.mark.parametrize("text", ["a", "=x", "a=", ""])
    def test_both_are_needed(self, text: str):
        with pytest.raises(TlsError) as refused:
            parse_clients([text])
        assert str(refused.value) == f"--tls-client: {text!r} is not NAME=CLUSTER, as in poseidon=default"

    def test_common_and_alternative_names_count(self):
        context = call(
            x509_common_name=(b"one", b""), x509_subject_alternative_name=(b"two", b"thr\xff"), other=(b"no",)
        )
        assert names_of(context) == {"one", "two", "thr\ufffd"}
        assert names_of(call()) == frozenset()

    @pytest.mark.parametrize(
        ("cluster", "allowed"),
        [("x", True), ("x.web", True), ("xy", False), ("y", False), (".x", False), ("", False)],
    )
    def test_a_name_allows_its_clusters_and_their_observers(self, cluster: str, allowed: bool):
        clients = Clients({"a": frozenset({"x"}), "b": frozenset({"y"})})
        assert clients.may(call(x509_common_name=(b"a",)), cluster) is allowed

    def test_a_star_allows_all_and_no_tls_too(self):
        assert Clients({"a": frozenset({"*"})}).may(call(x509_common_name=(b"a",)), "any")
        assert Clients().may(call(), "any")
        assert not Clients({}).may(call(x509_common_name=(b"a",)), "any")
        both = Clients({"a": frozenset({"x"}), "b": frozenset({"y"})})
        assert both.may(call(x509_common_name=(b"a",), x509_subject_alternative_name=(b"b",)), "y")

    def test_a_refusal_names_the_names(self):
        both = call(x509_common_name=(b"b",), x509_subject_alternative_name=(b"a",))
        assert Clients({}).refusal(both, "x") == (
            "a certificate for a, b may not drive cluster 'x'; allow it with --tls-client"
        )
        assert Clients({}).refusal(call(), "x").startswith("a certificate for no name may not drive")


def test_certificates_are_used_anew_when_they_have_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    files = TlsFiles(*(tmp_path / name for name in ("cert", "key", "ca")))
    for path in (files.certificate, files.key, files.authority):
        path.write_bytes(path.name.encode())
    caplog.set_level(logging.INFO)
    read_changed = _follower(files, files.read())
    assert read_changed() is None
    files.certificate.write_bytes(b"new")
    assert read_changed() is not None
    assert read_changed() is None, "once for each change"
    files.key.unlink()
    assert read_changed() is None
    assert [each.levelname for each in caplog.records] == ["INFO", "WARNING"]
    assert str(files.key) in caplog.records[-1].getMessage()
    files.key.write_bytes(b"key")
    assert read_changed() is None, "as before"


def test_clients_have_to_show_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = TlsFiles(*(tmp_path / name for name in ("cert", "key", "ca")))
    for path in (files.certificate, files.key, files.authority):
        path.write_bytes(path.name.encode())
    asked: dict[str, object] = {}
    made = object()

    def make(first: object, follow: object, **more: object) -> object:
        asked.update(more, first=first, follow=follow)
        return made

    monkeypatch.setattr(grpc, "dynamic_ssl_server_credentials", make)
    assert server_credentials(files) is made
    assert asked["require_client_authentication"] is True
    assert asked["first"] is not None
    files.authority.unlink()
    with pytest.raises(TlsError, match="TLS needs it"):
        server_credentials(files)


def test_options_of_the_server():
    assert (MESSAGE_BYTES, PING_SECONDS) == (67_108_864, 5.0)
    assert dict(server_options(1234, 2.5, 0.75)) == {
        "grpc.max_receive_message_length": 1234,
        "grpc.max_send_message_length": 67_108_864,
        "grpc.compression_enabled_algorithms_bitset": 1,
        "grpc.so_reuseport": 0,
        "grpc.server_handshake_timeout_ms": 750,
        "grpc.max_connection_idle_ms": 60_000,
        "grpc.keepalive_time_ms": 30_000,
        "grpc.keepalive_timeout_ms": 10_000,
        "grpc.keepalive_permit_without_calls": 1,
        "grpc.http2.min_ping_interval_without_data_ms": 2500,
    }
