"""The declarations of a cost model: which facts the model needs, and what it promises about its answers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Self


class ModelDeclarationError(ValueError):
    """A model declares something invalid; the message names the field, its fault and the remedy."""


class _Declared:
    """The base of `Needs` and `Promises`: fields that are true or false, or tuples of non-empty texts. Raises
    ``ModelDeclarationError`` for anything else, and for a field that does not exist.
    """

    __slots__ = ()

    def __new__(cls, **given: object) -> Self:
        known = cls.__dataclass_fields__  # type: ignore[attr-defined]  # subclasses are dataclasses
        for name in sorted(given.keys() - known.keys()):
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
            raise ModelDeclarationError(f"{cls.__name__} has no field {name!r}; {meant}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value, what = getattr(self, each.name), f"{type(self).__name__}.{each.name}"
            if isinstance(each.default, bool):
                if not isinstance(value, bool):
                    raise ModelDeclarationError(f"{what} is {value!r}; it must be True or False")
            elif not isinstance(value, tuple) or not all(isinstance(text, str) and text for text in value):
                raise ModelDeclarationError(
                    f"{what} is {value!r}; it must be a tuple of non-empty texts, such as ('a',)"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs(_Declared):
    """The facts that a model reads besides requests, and the names, labels and amounts of machines.

    Data that no configured model needs are not collected, do not divide tasks into shapes, and drivers need
    not send them. See ``ShapeRow`` and ``MachineColumns``.
    """

    labels: tuple[str, ...] = ()
    """Labels of tasks."""
    kind_labels: tuple[str, ...] = ()
    """Labels by which a model divides tasks into kinds, for pairs and constraints.

    Tasks of one shape may differ in these labels.
    """
    annotations: tuple[str, ...] = ()
    """Annotations of tasks, in addition to those that begin with ``firmament.io/``."""
    namespaces: bool = False
    """Namespaces of tasks."""
    programs: bool = False
    """Whether the job's name is added as annotation ``firmament.io/program`` to tasks that have none."""
    containers: bool = False
    """Requests of each container, and the overhead."""
    qos: bool = False
    """QoS classes of tasks."""
    limits: bool = False
    """Limits of tasks and containers."""
    service_classes: bool = False
    """Koordinator's priority classes of tasks."""
    daemons: bool = False
    """Whether a DaemonSet owns a task."""
    machine_annotations: tuple[str, ...] = ()
    """Annotations of machines, in addition to those that begin with ``firmament.io/``."""
    residents: bool = False
    """The tasks on machines, counted by kind."""
    load: bool = False
    """Use of machines in detail, and of single tasks."""
    unseen: bool = False
    """Requests that the measured use cannot show yet."""
    records: tuple[str, ...] = ()
    """Kinds of typed records."""
    arrivals: tuple[str, ...] = ()
    """Kinds of records that are about the machine they are named after.

    The model learns which tasks have come to the machine since such a record.
    """
    devices: tuple[str, ...] = ()
    """Drivers of the devices that the model looks at."""
    typical: bool = False
    """Whether the model needs the shapes of which the cluster has most tasks."""

    @classmethod
    def merge(cls, every: Iterable[Needs]) -> Needs:
        """Return needs that contain all facts that any of ``every`` needs."""
        given = tuple(every)
        values: dict[str, Any] = {}
        for each in fields(cls):
            column = [getattr(needs, each.name) for needs in given]
            flag = isinstance(each.default, bool)
            values[each.name] = any(column) if flag else tuple(sorted(set().union(*column)))
        return cls(**values)

    def words(self) -> list[str]:
        """Return the needs as plain words, sorted, for drivers that know no model by name: the field (``load``) if it
        is true, ``labels:app`` for each entry of ``labels``. ``timings``: when tasks got their machines and were
        initialized.
        """
        found = ["timings"] if self.load or self.unseen or self.arrivals else []
        for each in fields(self):
            value = getattr(self, each.name)
            found += [each.name] if value is True else [f"{each.name}:{text}" for text in value or ()]
        return sorted(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises(_Declared):
    """The properties that a model promises of its answers, and the methods that it has besides ``assess``.

    ``per_machine``: an answer about a machine depends on that machine alone, so that it holds until the machine
    changes. The figure, verdict, cause and score of a shape on a machine follow from

    * that machine's row in the columns, its residents included; the names of resources and which of them are scarce;
      the records that the model needs;
    * that shape's request, row and ``allowed`` on that machine;

    and so depend on no other machine, no other shape, no count of waiting tasks, nor on ``now``; and the answer has
    no sparse arcs, joint rows, ledger or growth, and the same reasons each time. The scheduler then keeps answers
    between rounds, and asks only about changed machines and new shapes, by ``MachineColumns.select`` and
    ``ShapeBatch.select``. A model that needs ``load`` or ``arrivals`` cannot promise that.

    ``expires``: the model's answers also change as time goes by, as ``TimeDependentModel.lasts_until`` says. ``pairs``:
    the model knows pairs of tasks, see ``pairs.PairModel``. ``groups``: the model knows rules for groups, see
    ``group_terms.TopologyModel``. ``constraints``: the model has a constraint between tasks, see
    ``task_constraints.ConstrainingModel``.
    """

    per_machine: bool = False
    expires: bool = False
    pairs: bool = False
    groups: bool = False
    constraints: bool = False
