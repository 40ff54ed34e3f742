"""Regenerate the checked-in protocol code: ``python -m protos.generate [OUTPUT_DIR]``.

The generator is part of the locked tool set, so that its output is the same on every machine; a test
regenerates into an empty folder and compares.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("protos/firmament/v1/scheduler.proto",)


def generate(output: Path) -> None:
    """Write messages, stubs and typing files for every source below ``output``.

    Raises ``SystemExit`` when a source does not compile; protoc has then printed why.
    """
    protoc(
        f"--python_out={output}",
        f"--mypy_out=quiet:{output}",
        f"--grpc_python_out={output}",
        f"--mypy_grpc_out=quiet:{output}",
    )


def protoc(*options: str) -> None:
    """Run protoc on all sources; raises ``SystemExit`` when it fails.

    In a process of its own: protoc and OR-Tools each bring a copy of protobuf's C++ library, and a process
    that loads both is aborted. The plug-ins are found beside this interpreter, activated environment or not.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT}", *options, *SOURCES]
    result = subprocess.run(command, env={**os.environ, "PATH": path}, check=False)  # noqa: S603 - no shell
    if result.returncode != 0:
        raise SystemExit(f"protoc failed with status {result.returncode}")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
