"""Regenerate the checked-in protocol code: ``python -m protos.generate [OUTPUT_DIR]``.

The generator is part of the locked tool set, so that its output is the same on every machine; a test regenerates into
an empty folder and compares.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("protos/firmament/v1/scheduler.proto",)


def generate(output: Path) -> None:
    """Write messages, stubs and typing files for every source below ``output``; raises ``SystemExit`` on failure."""
    from grpc_tools import protoc

    include = str(resources.files("grpc_tools") / "_proto")
    status = protoc.main(
        [
            "protoc",
            f"--proto_path={ROOT}",
            f"--proto_path={include}",
            f"--python_out={output}",
            f"--mypy_out=quiet:{output}",
            f"--grpc_python_out={output}",
            f"--mypy_grpc_out=quiet:{output}",
            *SOURCES,
        ]
    )
    if status != 0:
        raise SystemExit(f"protoc failed with status {status}")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
