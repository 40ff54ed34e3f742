"""Packages of their own that provide cost models, installed for the length of a test."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

HEAD = """
import numpy as np

from cost_models.interface import Assessment, BaseModel, ModelArgumentError, Needs, Promises, Range


"""


def install(site: Path, distribution: str, *entry_points: str) -> None:
    """Write the metadata by which an installed distribution announces its models."""
    metadata = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(["[firmament.cost_models]", *entry_points, ""]))


def install_model(site: Path, body: str) -> None:
    """Provide the overlay ``declared``, sound but for the lines of ``body`` in its class."""
    module = f"declared_{crc32(body.encode())}"  # none that another test has imported
    lines = [
        "class Declared(BaseModel):",
        '    name, kind, range = "declared", "overlay", Range(best=0, worst=100)',
        "    def assess(self, machines, shapes):",
        "        return Assessment(raw=np.zeros((shapes.count, 1)))",
        *(f"    {line}" for line in body.splitlines()),
    ]
    (site / f"{module}.py").write_text(HEAD + "\n".join([*lines, ""]))
    install(site, "declared", f"declared = {module}:Declared")
