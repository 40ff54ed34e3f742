"""Numbers that are handed out once each."""

from itertools import count


class RunningNumber:
    """Hands out 0, 1, 2 and so on by ``next``, each once, to any number of threads.

    Since Python 3.14 ``itertools.count`` cannot be pickled; this can. Pickling uses up a number, from which the copy
    goes on.
    """

    def __init__(self, start: int = 0) -> None:
        self._numbers = count(start)

    def __next__(self) -> int:
        return next(self._numbers)

    def __reduce__(self) -> tuple[type["RunningNumber"], tuple[int]]:
        return RunningNumber, (next(self._numbers),)
