"""Writing and loading manifests."""

from __future__ import annotations

import pytest
import yaml

from poseidon.manifests.loader import load_manifests


@pytest.fixture
def load(tmp_path):
    """Write objects to one file and load it."""

    def write_and_load(*objects):
        file = tmp_path / "input.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        return load_manifests([str(file)])

    return write_and_load
