"""Models' limits as they are when a round is closed: filters, joint rows and ledgers, asked once more.

What a round decided kept the limits that models stated when it was opened. If something has come to the machines since
(see `disturbance`), the models that had limits to state are asked again, and so are those that may have some now: their
records have changed, or they look at single tasks on machines. They are asked about all machines as they are now, and
about the shapes of what was decided; then every decision is held against the answer, whatever machine it is for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cost_models.interface import Assessment, Bool, Int64, JointRows, Ledger
from firmament.core.configuration import WeightedModel
from firmament.core.filters.node_filters import StaticRows
from firmament.core.flow.problem import Assignments
from firmament.core.scoring.assessment import judge
from firmament.core.snapshot.snapshot import Picture, model_columns
from firmament.core.state.cluster import Cluster


class LimitsNow:
    """What models said when they were asked again: ``answers``, about shapes of the cluster.

    Tasks and machines are told by their shape in ``shapes`` and by the row of their machine now.
    """

    def __init__(self, shapes: Sequence[int], answers: Sequence[Assessment]) -> None:
        self._place = {shape: place for place, shape in enumerate(shapes)}
        self._filters = [each.feasible for each in answers if each.feasible is not None]
        self._joint = [rows for each in answers for rows in each.joint]
        self._ledgers = [each.ledger for each in answers if each.ledger is not None]

    def open_to(self, shape: Int64, machine: Int64) -> Bool:
        """bool[N]: whether filters let tasks of ``shape[i]`` on ``machine[i]``."""
        places = self._places(shape)
        open_to: Bool = np.ones(len(places), dtype=np.bool_)
        for feasible in self._filters:
            open_to &= feasible[places, machine]
        return open_to

    def booking(self, shape: Int64, machine: Int64) -> Booking:
        """What joint rows and ledgers leave to such tasks, of which none has come yet."""
        ledgers = [ledger.copy() for ledger in self._ledgers]
        return Booking(self._joint, ledgers, self._places(shape), machine)

    def _places(self, shape: Int64) -> Int64:
        return np.array([self._place[each] for each in shape.tolist()], dtype=np.int64)


class Booking:
    """Tasks that come to machines, and what limits leave to those that come after. Tasks go by their index."""

    def __init__(
        self, joint: Sequence[JointRows], ledgers: Sequence[Ledger], shape: Int64, machine: Int64
    ) -> None:
        """``shape``, ``machine``: int64[N]; of tasks whose machine (-1) is gone nothing is asked."""
        self._shape, self._machine, self._ledgers = shape, machine, ledgers
        self._left = [rows.limit.copy() for rows in joint]
        self._row = [rows.row_of[machine] for rows in joint]
        self._amount = [
            np.where(row >= 0, rows.amount[shape], 0) for rows, row in zip(joint, self._row, strict=True)
        ]

    def crowded(self, tasks: Int64) -> Bool:
        """bool[len(tasks)]: those that get in each other's way, if all ``tasks`` came in their order."""
        crowded: Bool = np.zeros(len(tasks), dtype=np.bool_)
        for left, row, amount in zip(self._left, self._row, self._amount, strict=True):
            on_row = amount[tasks] > 0
            wanted = np.zeros_like(left)
            np.add.at(wanted, row[tasks[on_row]], amount[tasks[on_row]])
            crowded[on_row] |= (wanted > left)[row[tasks[on_row]]]
        shape, machine = self._shape[tasks], self._machine[tasks]
        for ledger in self._ledgers:
            lost = ledger.copy().take(shape, machine, np.ones_like(shape)) == 0
            crowded |= np.isin(machine, machine[lost])
        return crowded

    def take_all(self, tasks: Int64) -> None:
        """Book tasks, for all of which there is room."""
        for left, row, amount in zip(self._left, self._row, self._amount, strict=True):
            on_row = tasks[amount[tasks] > 0]
            np.subtract.at(left, row[on_row], amount[on_row])
        for ledger in self._ledgers:
            ledger.take(self._shape[tasks], self._machine[tasks], np.ones(len(tasks), dtype=np.int64))

    def fits(self, task: int) -> bool:
        """Whether there is room for one task more."""
        one = slice(task, task + 1)
        return all(
            amount[task] == 0 or amount[task] <= left[row[task]]
            for left, row, amount in zip(self._left, self._row, self._amount, strict=True)
        ) and all(ledger.room_at(self._shape[one], self._machine[one])[0] > 0 for ledger in self._ledgers)


def limits_now(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, placed: Assignments
) -> LimitsNow | None:
    """Ask the models again, if anything has come to the machines that ``placed`` concerns; None if nothing has.

    To be asked before any task of the round is put anywhere, and while those that may move are still in their places.
    """
    if not len(placed.cls) or cluster.version == picture.version:
        return None
    weighted, told = picture.configuration.models, picture.seen.told(cluster)
    asked = [
        each
        for each, answer in zip(weighted, picture.judgement.assessments, strict=True)
        if states_limits(answer) or _may_have_limits(each, told)
    ]
    if not asked:
        return None
    joint = picture.problem.joint
    if all(map(by_machine, joint)) and not picture.seen.disturbed(cluster)[placed.machine].any():
        return None
    shape_of = [cluster.classes.rows[cls].shape for cls in picture.cls.tolist()]
    shape = np.array(shape_of, dtype=np.int64)[placed.cls]
    shapes, of_entry = np.unique(shape, return_inverse=True)
    counts = np.bincount(of_entry, weights=placed.count).astype(np.int64)
    columns = model_columns(cluster, picture.configuration, picture.judgement.machines.now)
    judgement = judge(cluster, static_rows, columns, shapes.tolist(), counts.tolist(), asked)
    return LimitsNow(shapes.tolist(), judgement.assessments)


def newly_limited(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, classes: Collection[int]
) -> bool:
    """Whether a model that had no limits to state when ``picture`` was taken has some now, for some of its classes."""
    told = picture.seen.told(cluster)
    asked = [
        each
        for each, answer in zip(picture.configuration.models, picture.judgement.assessments, strict=True)
        if not states_limits(answer) and _may_have_limits(each, told)
    ]
    if not asked or not classes:
        return False
    shapes = sorted({cluster.classes.rows[row].shape for row in picture.cls[list(classes)].tolist()})
    columns = model_columns(cluster, picture.configuration, picture.judgement.machines.now)
    judgement = judge(cluster, static_rows, columns, shapes, [1] * len(shapes), asked)
    return any(map(states_limits, judgement.assessments))


def _may_have_limits(asked: WeightedModel, told: frozenset[str]) -> bool:
    """Whether a model that stated none may have limits by now; ``told``: kinds of records that have changed."""
    return asked.model.needs.load or not told.isdisjoint(asked.model.needs.records)


def by_machine(rows: JointRows) -> bool:
    """Whether each machine plainly has a row of its own, numbered like itself; what happens elsewhere changes none."""
    machines = len(rows.row_of)
    return len(rows.limit) == machines and bool(
        ((rows.row_of < 0) | (rows.row_of == np.arange(machines))).all()
    )


def states_limits(answer: Assessment) -> bool:
    """Whether a model's answer bounds what may go where, rather than what it costs."""
    return answer.feasible is not None or bool(answer.joint) or answer.ledger is not None
