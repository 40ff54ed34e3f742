"""Numbers for the names of groups of tasks that would rather be apart."""

from __future__ import annotations


class SpreadGroups:
    """Groups by name, numbered from 1 while they have tasks; 0 stands for no group. Numbers are used again."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._names: list[str] = [""]
        self._tasks: list[int] = [0]
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest number there has been."""
        return len(self._names)

    def join(self, name: str, tasks: int = 1) -> int:
        """Count tasks as of a group, none for the empty name; returns its number."""
        if not name:
            return 0
        number = self._number.get(name)
        if number is None:
            if self._free:
                number = self._free.pop()
                self._names[number] = name
            else:
                number = len(self._names)
                self._names.append(name)
                self._tasks.append(0)
            self._number[name] = number
        self._tasks[number] += tasks
        return number

    def leave(self, number: int) -> None:
        """Count one task of a group less; the last one ends it."""
        if not number:
            return
        self._tasks[number] -= 1
        if not self._tasks[number]:
            del self._number[self._names[number]]
            self._names[number] = ""
            self._free.append(number)

    def size(self, number: int) -> int:
        """How many tasks a group has."""
        return self._tasks[number] if number < len(self._tasks) else 0

    def name(self, number: int) -> str:
        """The name of a group."""
        return self._names[number]
