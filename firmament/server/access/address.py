"""Reads addresses as people write them (``HOST:PORT``, ``[::1]:PORT``, ``:PORT``)."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass


class AddressError(ValueError):
    """An address cannot be used; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A TCP address; with port 0, the system chooses the port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(option: str, text: str, *, any_port: bool = True) -> ListenAddress:
    """Return the address that ``text``, the value of ``option``, names; ``any_port`` allows port 0.

    Raise ``AddressError``, which names the option, if the text is no address.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or (":" in host and not bracketed):
        raise AddressError(f"{option}: {text!r} is not an address; write HOST:PORT")
    if not (0 if any_port else 1) <= int(port) <= 65535:
        least = 0 if any_port else 1
        raise AddressError(f"{option}: {text!r}: port {port} is out of range; use {least} to 65535")
    return ListenAddress((host[1:-1] if bracketed else host) or "0.0.0.0", int(port))  # noqa: S104 - ":PORT" means that


def check_free(address: ListenAddress) -> None:
    """Raise ``AddressError`` unless the server can listen on the address.

    gRPC's own error would say, on several lines, only that binding failed.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else error.strerror
        raise AddressError(f"cannot listen on {address}: {reason}; choose another address") from error
