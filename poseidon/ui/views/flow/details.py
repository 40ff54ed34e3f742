"""Shows a class, a constraint or a group of machines of a round's flow in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from poseidon.explanations import plain
from poseidon.ui.views.amounts import amount_text
from poseidon.ui.views.flow.arcs import Arc, class_label, class_price, iter_arcs, models_of
from poseidon.ui.views.flow.grouping import group_flow, list_rejections

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb

_MOST_CLASSES = 200


def class_detail(
    flow: pb.RoundFlow, name: str, label_of: Callable[[str], str], offset: int, limit: int
) -> dict[str, Any] | None:
    """Return a class, with its dearest arcs first, as the documented JSON object, or None if the class is unknown."""
    number = _number(name, "c", len(flow.classes))
    if number is None:
        return None
    cls = flow.classes[number]
    arcs = [arc for arc in iter_arcs(flow) if arc.cls == number]
    arcs.sort(key=lambda arc: (-arc.cost - flow.machine_price[arc.machine], arc.machine))
    return {
        "id": name,
        "label": class_label(cls),
        "job": cls.job,
        "namespace": cls.namespace,
        "priority": cls.priority,
        "tasks": cls.tasks,
        "placed": cls.placed,
        "price": class_price(cls),
        "requests": {each.resource: amount_text(each.resource, each.amount) for each in cls.requests},
        "refusals": _counts(_refusals(cls)),
        "keptBack": _counts(list_rejections(cls)),
        "open": cls.open,
        "arcs": [_arc(flow, arc, label_of) for arc in arcs[offset : offset + limit]],
        "total": len(arcs),
    }


def constraint_detail(flow: pb.RoundFlow, name: str) -> dict[str, Any] | None:
    """Return a constraint as the documented JSON object, or None if the constraint is unknown."""
    parts = group_flow(flow, lambda _: "")
    number = _number(name, "k", len(parts.constraints))
    if number is None:
        return None
    members = [cls for cls, of in enumerate(parts.constraint_of) if of == number]
    members.sort(key=lambda cls: (-flow.classes[cls].tasks, cls))
    refused: dict[str, int] = {}
    for cls in members:
        for each in list_rejections(flow.classes[cls]):
            refused[each.reason] = max(refused.get(each.reason, 0), each.machines)
    label = parts.constraints[number]
    ordered = sorted(refused.items(), key=lambda item: (item[0] != label, -item[1], item[0]))
    return {
        "id": name,
        "label": label,
        "refusals": [{"reason": reason, "machines": machines} for reason, machines in ordered],
        "classes": [_class(flow, cls) for cls in members[:_MOST_CLASSES]],
    }


def machines_detail(
    flow: pb.RoundFlow, name: str, label_of: Callable[[str], str], group_by: str, offset: int, limit: int
) -> dict[str, Any] | None:
    """Return a group of machines, the dearest first, as the documented JSON object, or None if the group is unknown."""
    parts = group_flow(flow, label_of)
    number = _number(name, "g", len(parts.groups))
    if number is None:
        return None
    members = [machine for machine, of in enumerate(parts.group_of) if of == number]
    inside = set(members)
    on_machine: Counter[int] = Counter()
    of_class: Counter[int] = Counter()
    paid: Counter[int] = Counter()
    for arc in iter_arcs(flow):
        if arc.machine in inside:
            on_machine[arc.machine] += arc.tasks
            of_class[arc.cls] += arc.tasks
            paid[arc.cls] += arc.cost * arc.tasks  # type: ignore[assignment]  # points, which are no whole numbers
    members.sort(key=lambda machine: (-flow.machine_price[machine], flow.machines[machine]))
    return {
        "id": name,
        "label": parts.groups[number] or (f"without {group_by}" if group_by else "all machines"),
        "machines": len(members),
        "saturated": sum(flow.machine_saturated[machine] for machine in members),
        "room": sum(flow.machine_room[machine] for machine in members),
        "priceMost": plain(max((flow.machine_price[machine] for machine in members), default=0.0)),
        "items": [
            _machine(flow, machine, on_machine[machine]) for machine in members[offset : offset + limit]
        ],
        "total": len(members),
        "classes": [
            {
                "id": f"c{cls}",
                "label": class_label(flow.classes[cls]),
                "tasks": tasks,
                "cost": plain(paid[cls] / tasks),
            }
            for cls, tasks in of_class.most_common(_MOST_CLASSES)
        ],
    }


def _number(name: str, letter: str, count: int) -> int | None:
    """Return the number in the name of a node of the diagram, or None if the diagram has no node with this name."""
    digits = name.removeprefix(letter)
    if digits == name or not digits.isascii() or not digits.isdecimal() or len(digits) > 9:
        return None
    return int(digits) if int(digits) < count else None


def _refusals(cls: pb.FlowClass) -> list[pb.ReasonCount]:
    return sorted(cls.refusals, key=lambda each: (-each.machines, each.reason))


def _counts(found: Iterable[pb.ReasonCount]) -> list[dict[str, Any]]:
    return [{"reason": each.reason, "machines": each.machines} for each in found]


def _arc(flow: pb.RoundFlow, arc: Arc, label_of: Callable[[str], str]) -> dict[str, Any]:
    machine = flow.machines[arc.machine]
    return {
        "machine": machine,
        "group": label_of(machine),
        "tasks": arc.tasks,
        "cost": plain(arc.cost),
        "machinePrice": plain(flow.machine_price[arc.machine]),
        "models": {name: plain(each) for name, each in models_of(flow, arc.number).items()},
    }


def _class(flow: pb.RoundFlow, number: int) -> dict[str, Any]:
    cls = flow.classes[number]
    return {
        "id": f"c{number}",
        "label": class_label(cls),
        "tasks": cls.tasks,
        "placed": cls.placed,
        "price": class_price(cls),
    }


def _machine(flow: pb.RoundFlow, machine: int, tasks: int) -> dict[str, Any]:
    return {
        "machine": flow.machines[machine],
        "price": plain(flow.machine_price[machine]),
        "room": flow.machine_room[machine],
        "saturated": flow.machine_saturated[machine],
        "tasks": tasks,
    }
