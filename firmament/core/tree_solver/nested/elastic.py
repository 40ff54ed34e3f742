"""Places the tasks that the groups of a tree need, and then as many more of their tasks as fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.search import NestedSearch


class ElasticSearch(NestedSearch):
    """A search that first places only the tasks that groups need, or continues from a joint packing's places."""

    def is_elastic(self) -> bool:
        """Return whether some group needs fewer tasks, or groups, than it has."""
        group = self.group
        for number, inside in enumerate(group.children):
            there = len(inside) or self.group.have[number] + sum(
                group.part_count[list(group.parts[number])].tolist()
            )
            if group.least[number] < there:
                return True
        return False

    def count_fewest(self) -> list[int] | None:
        """Return for each part the number of tasks that the groups need; None if groups lack tasks.

        If a group needs only some of its groups, the smallest ones are chosen.
        """
        counts = [0] * len(self.group.part_class)
        todo = [*self.group.roots]
        while todo:
            number = todo.pop()
            inside = self.group.children[number]
            if not inside:
                own = {part: int(self.group.part_count[part]) for part in self.group.parts[number]}
                for part, count in self._choose_fewest(number, own).items():
                    counts[part] = count
            able = [child for child in inside if self.group.completable[child]]
            if not self.group.completable[number]:
                return None
            able.sort(key=lambda child: (not self.group.whole[child], self._weigh(child)))
            todo += able[: max(0, int(self.group.least[number]))]
        return counts

    def adopt(self, booked: Sequence[tuple[int, Int64, Int64]]) -> None:
        """Continue from places that another search has found and booked."""
        self._taken = [*booked]
        machines: dict[int, list[Int64]] = {}
        for part, rows, _ in booked:
            at = int(self.group.part_group[part])
            while at >= 0:
                machines.setdefault(at, []).append(rows)
                at = int(self.group.parent[at])
        for number, found in machines.items():
            rows = np.concatenate(found)
            for key in (*self.group.within[number], *self.group.rather_within[number]):
                codes = np.unique(self.domains.code[key][rows])
                if len(codes) == 1 and codes[0] >= 0:
                    self._chosen[number, key] = int(codes[0])

    def add_more(self) -> None:
        """Place the remaining tasks as far as they fit: first those of groups that have places, then further groups."""
        # Placed groups stay in the domains that were found for them.
        placed = np.zeros(len(self.group.part_class), dtype=np.int64)
        for part, _, counts in self._taken:
            placed[part] += int(counts.sum())
        for root in self.group.roots:
            self._add_to(root, self.everything, placed)

    def _add_to(self, number: int, where: Int64, placed: Int64) -> None:
        group = self.group
        if not self._is_given(number, placed) and not (group.held[number] and self.group.whole[number]):
            before = len(self._taken)
            if not self.group.completable[number] or not self._fill(number, where):
                return
            for part, _, counts in self._taken[before:]:
                placed[part] += int(counts.sum())
        for key in (*group.within[number], *group.rather_within[number]):
            code = self._find_domain(number, key)
            if code is not None:
                where = where[self.domains.code[key][where] == code]
        for part in group.parts[number]:
            left = int(group.part_count[part] - placed[part])
            if left and not group.part_to_come[part]:
                placed[part] += self._fill_part(part, left, where, all_of_it=False)
        for child in group.children[number]:
            self._add_to(child, where, placed)

    def _is_given(self, number: int, placed: Int64) -> bool:
        """Return whether some task of a group, or of the groups in it, has been placed."""
        return any(placed[part] for part in self.group.parts[number]) or any(
            self._is_given(child, placed) for child in self.group.children[number]
        )

    def _find_domain(self, number: int, key: int) -> int | None:
        """Return the domain of a label that a group has been given or has tasks in; None if there is no such domain."""
        if (number, key) in self._chosen:
            return self._chosen[number, key]
        held = self.domains.code[key][list(self.group.held[number])]
        held = held[held >= 0]
        return int(np.bincount(held).argmax()) if len(held) else None
