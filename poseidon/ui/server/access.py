"""Decides who may use the dashboard: everybody at a loopback address, else users with a token or from a
trusted proxy.

Requests that another site's page makes a browser send are refused, under whatever name it has resolved this
address: the headers Host, Origin and Sec-Fetch-Site show them. Sans-I/O.
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
    """The page would be open to everybody; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status and a line for people."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Access:
    """``token`` "" for none; ``proxy_header`` counts from ``proxies``; ``names``: further names of this host."""

    token: str = ""
    proxy_header: str = ""
    proxies: Sequence[Network] = ()
    names: frozenset[str] = frozenset()

    @property
    def guarded(self) -> bool:
        """Whether not everybody is let in."""
        return bool(self.token or self.proxy_header)

    @property
    def cookie(self) -> str:
        """What a browser keeps in the token's stead; it does not tell the token."""
        return hmac.new(self.token.encode(), b"cookie of the dashboard", sha256).hexdigest()

    def origin_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused whoever sends it: it names another host, or comes from another
        page.
        """
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
        """Return why a request is not allowed, None if it is. ``peer``: the address that it comes from.

        A token in the header Authorization is checked separately: see ``bearer``.
        """
        if not self.guarded:
            return None
        if self.token and _same(cookie, self.cookie):
            return None
        if self.proxy_header and self._trusts(peer) and headers.get(self.proxy_header, "").strip():
            return None
        return Refusal(401, "not let in; open the address with ?token= once, or come by the proxy")

    def bearer(self, headers: Mapping[str, str]) -> str:
        """Return the token that a program sends, "" for none, or if none is asked for."""
        kind, _, given = headers.get("Authorization", "").partition(" ")
        return given.strip() if self.token and kind.lower() == "bearer" else ""

    def knows(self, token: str) -> bool:
        """Return whether this is the token."""
        return bool(self.token) and _same(token, self.token)

    def _trusts(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self.proxies)

    def _is_own(self, host: str) -> bool:
        """Return whether a Host header names this program: an address, which nobody can have resolved
        otherwise, or a name.
        """
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


def _same(given: str, wanted: str) -> bool:
    """Compare two texts in a time that reveals nothing; what is given may be any bytes."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def check_exposure(host: str, access: Access) -> None:
    """Raise ``AccessError`` if anybody could enter through ``host`` from outside this machine."""
    if access.token and len(access.token) < LEAST_TOKEN:
        raise AccessError(f"--token-file: the token is shorter than {LEAST_TOKEN} characters")
    if bool(access.proxy_header) != bool(access.proxies):
        raise AccessError("--trust-proxy-header and --trust-proxy go together; give both")
    if not access.guarded and not is_loopback(host):
        raise AccessError(
            f"--listen {host}: others reach this address; give --token-file, or --trust-proxy-header and --trust-proxy"
        )


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; a name other than localhost may be anything."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
