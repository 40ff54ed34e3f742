"""Decides who may use the dashboard.

If the dashboard listens at a loopback address, everybody may; otherwise, users need a token, or come from a trusted
proxy. Requests that another site's page makes a browser send are refused; the headers Host, Origin and Sec-Fetch-Site
reveal them. This module does no input or output.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

COOKIE = "poseidon-ui"
LEAST_TOKEN = 16
Network = IPv4Network | IPv6Network


class AccessError(ValueError):
    """Raised if everybody outside this machine could read the page; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a refused request: a status and a line for people."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Access:
    """Rules that decide who may use the dashboard.

    ``token`` is "" for none. ``proxy_header`` is the header with the name of a logged-in user, which only ``proxies``
    may set. ``names`` are further names of this host.
    """

    token: str = ""
    proxy_header: str = ""
    proxies: Sequence[Network] = ()
    names: frozenset[str] = frozenset()

    @property
    def guarded(self) -> bool:
        """Whether users need a token, or have to come from a proxy."""
        return bool(self.token or self.proxy_header)

    @property
    def cookie(self) -> str:
        """The value that a browser keeps instead of the token, which cannot be computed from it."""
        return hmac.new(self.token.encode(), b"cookie of the dashboard", sha256).hexdigest()

    def origin_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Return the refusal of a request that names another host or comes from another site's page, else None."""
        host = headers.get("Host", "")
        if not self._is_own(host):
            return Refusal(403, f"host {host[:100]!r} is not served here; name it with --host-name")
        origin = headers.get("Origin")
        if origin is not None and _host_of(origin) != host.lower():
            return Refusal(403, "the request comes from another page")
        if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and (
            headers.get("Sec-Fetch-Mode") != "navigate" or headers.get("Sec-Fetch-Dest") != "document"
        ):
            return Refusal(403, "the request comes from another page")
        return None

    def refusal(self, headers: Mapping[str, str], cookie: str, peer: str) -> Refusal | None:
        """Return the refusal of a request without a valid cookie or proxy, else None; ``peer`` is the sender's address.

        A token in the header Authorization is checked separately: see ``bearer``.
        """
        if not self.guarded:
            return None
        if self.token and _is_equal(cookie, self.cookie):
            return None
        if self.proxy_header and self._trusts(peer) and headers.get(self.proxy_header, "").strip():
            return None
        return Refusal(401, "access denied; open the address with ?token= once, or use the proxy")

    def bearer(self, headers: Mapping[str, str]) -> str:
        """Return the token that a program sends, or "" if it sends none or none is needed."""
        kind, _, given = headers.get("Authorization", "").partition(" ")
        return given.strip() if self.token and kind.lower() == "bearer" else ""

    def knows(self, token: str) -> bool:
        """Return whether ``token`` is the right one."""
        return bool(self.token) and _is_equal(token, self.token)

    def _trusts(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)

    def _is_own(self, host: str) -> bool:
        """Return whether a Host header names this program, by an address (which needs no DNS) or a known name."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or name in self.names:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True


def _is_equal(given: str, wanted: str) -> bool:
    """Return whether two texts are equal, in a time that does not depend on them; ``given`` may contain any bytes."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def check_exposure(host: str, access: Access) -> None:
    """Raise ``AccessError`` if users outside this machine need no token or proxy, or if the settings are faulty."""
    if access.token and len(access.token) < LEAST_TOKEN:
        raise AccessError(f"--token-file: the token is shorter than {LEAST_TOKEN} characters")
    if bool(access.proxy_header) != bool(access.proxies):
        raise AccessError("--trust-proxy-header and --trust-proxy go together; give both")
    if not access.guarded and not is_loopback(host):
        raise AccessError(
            f"--listen {host}: others reach this address; give --token-file, or --trust-proxy-header and --trust-proxy"
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Host names other than localhost count as reachable from other machines.
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
