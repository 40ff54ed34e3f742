"""Which hosts are reached without a proxy."""

from __future__ import annotations

import pytest

from poseidon.kube.client.proxies import bypasses_proxy


@pytest.mark.parametrize(
    ("host", "no_proxy", "bypassed"),
    [
        ("10.96.0.1", "10.0.0.0/8", True),
        ("10.96.0.1", "localhost, 10.96.0.0/12 ,.svc", True),
        ("11.0.0.1", "10.0.0.0/8", False),
        ("fd00::1", "fd00::/8", True),
        ("fe80::1", "fd00::/8", False),
        ("10.96.0.1", "10.96.0.1", True),
        ("fd00:0::1", "fd00::1", True),
        ("10.96.0.1", "10.96.0.1:6443", True),
        ("10.96.0.1", "10.96.0.1:443", False),
        ("fd00::1", "[fd00::1]:6443", True),
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("example.com", ".example.com", False),
        ("example.com", "example.com", True),
        ("badexample.com", "example.com", False),
        ("api.example.com", "*.example.com", True),
        ("API.Example.com.", "api.example.COM", True),
        ("api.example.com", "example.com:6443", True),
        ("api.example.com", "example.com:443", False),
        ("api.example.com", "10.0.0.0/8,,/,300.1.1.1/8", False),
        ("anything", "*", True),
        ("anything", "", False),
        ("localhost", "", True),
        ("127.9.9.9", "", True),
        ("::1", "", True),
    ],
)
def test_entries_are_read_as_kubectl_reads_them(host: str, no_proxy: str, bypassed: bool) -> None:
    assert bypasses_proxy(host, 6443, no_proxy) is bypassed
