"""Places one waiting task on a machine, and moves the tasks that prevent this to other machines.

If a moved task finds no place, it waits instead, and the next step tries to place it. The search therefore goes from
one placement to another of equal size (an ejection chain) until one more task fits.
"""

from __future__ import annotations

from firmament.core.search.arrangement import Step, TaskArrangement, Value
from firmament.core.search.driver import SearchBudget


class EjectTasks:
    """Places a waiting task and moves the tasks that prevent this to other machines.

    The change is a pair: the step, and the value after it (None if a task could not be moved).
    """

    name = "eject"

    def __init__(self, arrangement: TaskArrangement) -> None:
        self._now = arrangement

    def evaluate(self, budget: SearchBudget) -> tuple[Step, Value | None] | None:
        """Place a random waiting task, and move tasks that prevent this; return None if none can be placed."""
        now = self._now
        classes = now.list_hopeful()
        if not classes:
            return None
        cls = classes[int(now.random.integers(len(classes)))]
        machine = now.pick(now.list_places(cls))
        budget.spend()
        step: Step = []
        if not self._make_way(cls, machine, step):
            return step, None
        now.put(cls, machine, step)
        for displaced in self._by_choice([each for each, _, put in step if not put]):
            now.settle(displaced, step, budget)
        for each in self._by_choice(sorted(now.waiting)):
            while now.waiting[each] > 0 and now.settle(each, step, budget):
                pass
        return step, now.compute_value()

    def accepts(self, change: tuple[Step, Value | None]) -> bool:
        """Return whether no more tasks wait than before; a new best must also be possible in some valid order."""
        value = change[1]
        if value is None or value < self._now.value:
            return False
        return not self._now.is_best(value) or self._now.keep_now(value)

    def apply(self, change: tuple[Step, Value | None]) -> None:
        """Store the value of the change, which evaluating has carried out."""
        self._now.value = change[1] or self._now.value

    def undo(self, change: tuple[Step, Value | None]) -> None:
        """Return all tasks to the machines where they were before the change."""
        self._now.undo(change[0])

    def _by_choice(self, classes: list[int]) -> list[int]:
        """Return classes, ordered by their number of possible places, the fewest first."""
        return sorted(classes, key=lambda cls: (len(self._now.list_places(cls)), cls))

    def _make_way(self, cls: int, machine: int, step: Step) -> bool:
        """Remove the tasks that keep a task of ``cls`` off the machine; return False if that is impossible."""
        now, board = self._now, self._now.board
        priority, most = now.problem.priority, now.tuning.most_in_the_way
        shape = int(now.problem.shape[cls])
        while not board.residual.has_room_on(shape, machine):
            present = sorted({each for each in now.on[machine] if priority[each] <= priority[cls]})
            if not present or len(step) >= most:
                return False
            now.withdraw(present[int(now.random.integers(len(present)))], machine, step)
        while not board.rules.allows(cls, machine):
            blocking = self._list_blocking(cls, machine)
            if not blocking or len(step) >= most:
                return False
            now.withdraw(*blocking[int(now.random.integers(len(blocking)))], step)
        return board.residual.has_room_on(shape, machine)

    def _list_blocking(self, cls: int, machine: int) -> list[tuple[int, int]]:
        """Return the tasks, as (class, machine), because of which a rule refuses ``cls`` on the machine."""
        now, state = self._now, self._now.board.rules
        rules = state.rules.rules(cls)
        numbers = [each.counter for each in rules.exclusions]
        numbers += [each.counter for each in rules.spreadings if each.own]
        occupied = now.board.residual.placed > 0
        for number in numbers:
            domain = state.rules.counters[number].domain
            if domain[machine] < 0 or not state.counts[number][domain[machine]]:
                continue
            found = [
                (each, row)
                for row in (occupied & (domain == domain[machine])).nonzero()[0].tolist()
                for each in dict.fromkeys(now.on[row])
                if number in state.rules.rules(each).adds
                and now.problem.priority[each] <= now.problem.priority[cls]
            ]
            if found:
                return found
        return []
