"""Tasks change only from states that each change may start from."""

from __future__ import annotations

import pytest

from tests.support.checked_transitions import checked


@pytest.fixture(autouse=True, scope="package")
def checked_transitions():
    with checked():
        yield
