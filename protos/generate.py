"""Regenerate the checked-in protocol code: ``python -m protos.generate [OUTPUT_DIR]``.

The generator is part of the locked tool set, so that its output is the same on every machine; a test
regenerates into an empty folder and compares.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("protos/firmament/v1/scheduler.proto",)


def generate(output: Path) -> None:
    """Write messages, stubs and typing files for every source below ``output``.

    Raises ``SystemExit`` when a source does not compile; protoc has then printed why.
    """
    from grpc_tools import protoc

    include = str(resources.files("grpc_tools") / "_proto")
    arguments = [
        "protoc",
        f"--proto_path={ROOT}",
        f"--proto_path={include}",
        f"--python_out={output}",
        f"--mypy_out=quiet:{output}",
        f"--grpc_python_out={output}",
        f"--mypy_grpc_out=quiet:{output}",
        *SOURCES,
    ]
    with _interpreter_scripts_on_path():
        status = protoc.main(arguments)
    if status != 0:
        raise SystemExit(f"protoc failed with status {status}")


@contextmanager
def _interpreter_scripts_on_path() -> Iterator[None]:
    """Let protoc find the plug-ins installed beside this interpreter, activated environment or not."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
