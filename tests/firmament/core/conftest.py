"""Tasks change only as they may, and the books of schedulers are in order whatever these tests do."""

from __future__ import annotations

import pytest

from tests.support.checked_transitions import checked


@pytest.fixture(autouse=True, scope="package")
def checked_transitions():
    with checked():
        yield
