"""Running commands as a user would."""

from __future__ import annotations

from tests.poseidon.offline.conftest import run, write  # noqa: F401 - fixtures
