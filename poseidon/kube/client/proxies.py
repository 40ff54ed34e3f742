"""Decides which hosts are reached without the proxy that the environment names."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


def bypasses_proxy(host: str, port: int, no_proxy: str) -> bool:
    """Return whether a host is reached without a proxy, by ``no_proxy``; this machine always is.

    Entries are separated by commas and read as in Go's ``httpproxy``, which kubectl uses: ``*``, an address, a
    network in CIDR form, or a name that covers itself and the domains below it (with a leading dot, only the domains
    below it). All but networks may end in ``:PORT``. Entries of other forms exclude nothing.
    """
    host = host.lower().rstrip(".")
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_excepts(entry.strip().lower(), host, port, address) for entry in no_proxy.split(","))


def _excepts(entry: str, host: str, port: int, address: IPv4Address | IPv6Address | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _split_port(entry)
    if not name or (wanted and wanted != str(port)):
        return False
    excepted = _address(name)
    if excepted is not None or address is not None:
        return excepted == address
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """Split ``name:port`` and ``[v6]:port``; a bare IPv6 address has no port."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") == 1:
        name, _, port = entry.partition(":")
        return name, port
    return entry, ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
