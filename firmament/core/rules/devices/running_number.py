"""Generates numbers, each of which is used once."""

from itertools import count


class RunningNumber:
    """Yields 0, 1, 2 and so on by ``next``, each number once, to any number of threads.

    A pickled copy continues with the number that would come next. Since Python 3.14, ``itertools.count`` itself
    cannot be pickled.
    """

    def __init__(self, start: int = 0) -> None:
        self._numbers = count(start)

    def __next__(self) -> int:
        return next(self._numbers)

    def __reduce__(self) -> tuple[type["RunningNumber"], tuple[int]]:
        # Only the text of an ``itertools.count``, such as "count(7)", shows the next number without using it up.
        return RunningNumber, (int(repr(self._numbers).removeprefix("count(").removesuffix(")")),)
