"""How fast a node's network interface is, as the kernel says."""

from __future__ import annotations

from pathlib import Path

SYSFS = Path("/sys/class/net")
ROUTES = Path("/proc/net/route")

_BITS = 1_000_000


class LinkSpeedError(Exception):
    """The speed cannot be told; the message says why and what to do."""


def default_interface(routes: Path = ROUTES) -> str:
    """Return the interface of the default route with the lowest metric. Raises ``LinkSpeedError``."""
    try:
        lines = routes.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError as error:
        raise LinkSpeedError(f"{routes}: {error.strerror}; name the interface with --interface") from None
    # Iface Destination Gateway Flags RefCnt Use Metric Mask: a default route leads everywhere.
    found = [
        fields for line in lines if len(fields := line.split()) > 7 and fields[1] == fields[7] == "0" * 8
    ]
    if not found:
        raise LinkSpeedError(f"{routes}: no default route; name the interface with --interface")
    return min(found, key=lambda fields: int(fields[6]))[0]


def link_speed(interface: str, sysfs: Path = SYSFS) -> int:
    """Return bits per second. Raises ``LinkSpeedError``, also for virtual interfaces, which have no speed."""
    file = sysfs / interface / "speed"
    remedy = "name another one with --interface, or the speed with --speed"
    try:
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        raise LinkSpeedError(f"{file}: there is no such interface; {remedy}") from None
    except OSError as error:
        raise LinkSpeedError(f"{file}: {error.strerror}: the interface has no speed; {remedy}") from None
    if not text.isdecimal() or int(text) == 0:
        raise LinkSpeedError(
            f"{file}: {text!r} is not a speed, as of a virtual interface or one without a link; {remedy}"
        )
    return int(text) * _BITS
