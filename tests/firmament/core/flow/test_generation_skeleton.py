"""Column generation ends proved, out of iterations, out of time, or where a flow has no prices."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from firmament.core.flow.generation_loop import generate_columns


@dataclass(frozen=True)
class Known:
    columns: int
    prices: object | None = 0


class Growing:
    """Needs so many columns, one more in each turn; ``fails_at``: where the solver runs out of time."""

    def __init__(self, needed: int, fails_at: int = -1, unpriced: int = -1) -> None:
        self._needed, self._fails_at, self._unpriced = needed, fails_at, unpriced

    def price(self, flow: Known) -> int | None:
        return 1 if flow.columns < self._needed else None

    def widen(self, flow: Known, missing: int) -> Known | None:
        columns = flow.columns + missing
        if columns == self._fails_at:
            return None
        return Known(columns, None if columns == self._unpriced else 0)


@pytest.mark.parametrize(
    ("pricer", "iterations", "columns", "proved"),
    [
        (Growing(3), 3, 3, True),
        (Growing(3), 2, 2, False),
        (Growing(1), 1, 1, True),
        (Growing(3), 0, 1, False),
        (Growing(4, fails_at=3), 9, 2, False),
        (Growing(4, unpriced=3), 9, 3, False),
    ],
)
def test_the_last_flow_and_whether_it_is_proved(
    pricer: Growing, iterations: int, columns: int, *, proved: bool
):
    found, certified = generate_columns(pricer, Known(1), iterations)
    assert (found.columns, certified) == (columns, proved)
