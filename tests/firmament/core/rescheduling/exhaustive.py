"""Who tries all choices of machines to empty, on small clusters, by resources alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from benchmarks.quality.consolidation import Running


def exhaustively(running: Running) -> tuple[int, int]:
    """The most machines that can be emptied, and the fewest moves by which so many can: every choice is looked at."""
    names = sorted(running.machines)
    for count in range(len(names) - 1, 0, -1):
        moves = [
            sum(len(running.list_tasks(name)) for name in chosen)
            for chosen in combinations(names, count)
            if _packs(running, chosen)
        ]
        if moves:
            return count, min(moves)
    return 0, 0


def _packs(running: Running, gone: Sequence[str]) -> bool:
    left = {name: list(amounts) for name, amounts in running.machines.items() if name not in gone}
    moving = []
    for machine, amounts in running.tasks.values():
        if machine in gone:
            moving.append(amounts)
        else:
            left[machine][0] -= amounts[0]
            left[machine][1] -= amounts[1]
    moving.sort(reverse=True)
    seen: set[tuple[int, tuple[tuple[int, int], ...]]] = set()

    def place(index: int) -> bool:
        if index == len(moving):
            return True
        state = index, tuple(sorted((cpu, memory) for cpu, memory in left.values()))
        if state in seen:
            return False
        seen.add(state)
        cpu, memory = moving[index]
        tried = set()
        for room in left.values():
            if room[0] >= cpu and room[1] >= memory and tuple(room) not in tried:
                tried.add(tuple(room))
                room[0] -= cpu
                room[1] -= memory
                if place(index + 1):
                    return True
                room[0] += cpu
                room[1] += memory
        return False

    return place(0)
