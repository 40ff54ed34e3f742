"""Describes where a figure was measured: processor, memory, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import psutil

PACKAGES = ("ortools", "numpy", "grpcio", "protobuf")


def environment() -> dict[str, object]:
    """Return machine and versions, without names of hosts or people."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    """Return the model name that the kernel gives, or the architecture."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
