"""Numbers that are handed out once each."""

from itertools import count


class RunningNumber:
    """Hands out 0, 1, 2 and so on by ``next``, each once, to any number of threads.

    A pickled copy goes on where this one stands. Since Python 3.14 ``itertools.count`` itself cannot be pickled.
    """

    def __init__(self, start: int = 0) -> None:
        self._numbers = count(start)

    def __next__(self) -> int:
        return next(self._numbers)

    def __reduce__(self) -> tuple[type["RunningNumber"], tuple[int]]:
        # Only the text of a count, such as "count(7)", says what comes next without taking it.
        return RunningNumber, (int(repr(self._numbers).removeprefix("count(").removesuffix(")")),)
