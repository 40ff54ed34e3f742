"""Ten thousand nodes are shown soon. The bounds are wide: ``measure`` says how long it takes."""

from __future__ import annotations

import pytest

from tests.poseidon.ui.browser.measure import ACTIONS, SHOWN, first_view, interaction

pytestmark = pytest.mark.asyncio(loop_scope="session")


# test_views waits no longer for any view.
@pytest.mark.full
@pytest.mark.parametrize("view", SHOWN)
async def test_a_view_is_there_soon(page, view):
    assert await first_view(page, view) < 10_000


@pytest.mark.parametrize("name", ACTIONS)
async def test_the_page_answers_to_a_hand_soon(page, name):
    assert await interaction(page, name) < 5_000
