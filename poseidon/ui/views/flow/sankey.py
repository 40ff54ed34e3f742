"""Draws a round's flow as a Sankey diagram: classes, groups of machines, and reasons why tasks wait.

Placed tasks flow from their class to machines. Waiting tasks flow to the reasons why they wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poseidon.ui.views.amounts import requests_text
from poseidon.ui.views.flow.arcs import Arc, class_label, class_price, iter_arcs
from poseidon.ui.views.flow.grouping import Grouped, group_flow
from protos.conventions.number_formats import format_count

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb

USED, WAITING = "used", "waiting"
OTHER_CLASSES, OTHER_GROUPS = "c-others", "g-others"


@dataclass(slots=True)
class _Sum:
    """A number of tasks, and the sum of their known prices."""

    tasks: int = 0
    priced: int = 0
    paid: float = 0.0
    saturated: bool = False

    def add(self, tasks: int, price: float | None) -> None:
        self.tasks += tasks
        if price is not None:
            self.priced += tasks
            self.paid += tasks * price

    @property
    def mean_price(self) -> float | None:
        return round(self.paid / self.priced, 6) if self.priced else None


@dataclass(slots=True)
class _Group:
    """A group of machines: how many there are, how many the round used, how many are full, and their amounts."""

    machines: int = 0
    used: set[int] = field(default_factory=set)
    saturated: int = 0
    room: int = 0

    @property
    def full(self) -> bool:
        return self.saturated == self.machines


def draw_sankey(
    flow: pb.RoundFlow,
    rounds: Sequence[int],
    group_by: str,
    groupings: Sequence[str],
    label_of: Callable[[str], str],
    classes: int,
    groups: int,
) -> dict[str, Any]:
    """Return the diagram as the JSON object that the documents describe.

    At most ``classes`` classes and ``groups`` groups are shown one by one; all further ones are summed up.
    """
    drawn = _Drawing(flow, group_flow(flow, label_of), group_by, classes, groups)
    links, nodes = drawn.links(), drawn.nodes()
    stats = flow.stats
    return {
        "round": flow.round,
        "rounds": list(rounds),
        "ended": flow.ended,
        "certified": stats.certified,
        "gap": round(stats.gap, 9),
        "cost": stats.cost,
        "tasks": sum(cls.tasks for cls in flow.classes),
        "placed": sum(cls.placed for cls in flow.classes),
        "groupBy": group_by,
        "groupings": list(groupings),
        "priceMost": max(
            (each["price"] for each in (*links, *nodes) if each["price"] is not None), default=0.0
        ),
        "nodes": nodes,
        "links": links,
        "others": {"classes": drawn.other_classes, "groups": drawn.other_groups},
    }


class _Drawing:
    def __init__(self, flow: pb.RoundFlow, parts: Grouped, group_by: str, classes: int, groups: int) -> None:
        self._flow, self._parts, self._group_by = flow, parts, group_by
        self._links: dict[tuple[str, str], _Sum] = defaultdict(_Sum)
        self._prices: dict[str, _Sum] = defaultdict(_Sum)
        self._groups = [_Group() for _ in parts.groups]
        arcs = list(iter_arcs(flow))
        placed = self._count_machines(arcs)
        shown = sorted(range(len(flow.classes)), key=lambda cls: (-flow.classes[cls].tasks, cls))[:classes]
        # If only one class is beyond the limit, it is shown by itself, because a sum of one class would save no
        # space.
        if len(flow.classes) - len(shown) == 1:
            shown = list(range(len(flow.classes)))
        self._shown = set(shown)
        used = sorted(
            range(len(placed)), key=lambda group: (-placed[group], not self._groups[group].full, group)
        )
        self._shown_groups = set(used if len(used) - groups == 1 else used[:groups])
        self.other_classes = len(flow.classes) - len(self._shown)
        self.other_groups = len(placed) - len(self._shown_groups)
        self._connect(arcs)

    def _count_machines(self, arcs: Sequence[Arc]) -> list[int]:
        flow, placed = self._flow, [0] * len(self._parts.groups)
        columns = self._parts.group_of, flow.machine_saturated, flow.machine_room
        for group, saturated, room in zip(*columns, strict=True):
            found = self._groups[group]
            found.machines += 1
            found.saturated += saturated
            found.room += room
        for arc in arcs:
            group = self._parts.group_of[arc.machine]
            placed[group] += arc.tasks
            self._groups[group].used.add(arc.machine)
        return placed

    def _connect(self, arcs: Sequence[Arc]) -> None:
        flow, parts, links = self._flow, self._parts, self._links
        for number, cls in enumerate(flow.classes):
            self._prices[self._class_id(number)].add(cls.tasks, class_price(cls))
            cause = parts.constraint_of[number]
            if cause is not None:
                constraint = f"k{cause}"
                for ends in ((self._class_id(number), constraint), (constraint, WAITING)):
                    links[ends].add(cls.tasks - cls.placed, class_price(cls))
                    links[ends].saturated = True
        for arc in arcs:
            group = parts.group_of[arc.machine]
            price = flow.machine_price[arc.machine]
            target = self._group_id(group)
            into = links[self._class_id(arc.cls), target]
            into.add(arc.tasks, price)
            out = links[target, USED]
            out.add(arc.tasks, price)
        for (_, target), each in links.items():
            each.saturated = each.saturated or self._is_full(target)

    def links(self) -> list[dict[str, Any]]:
        """Return all links of the diagram, the widest first."""
        return [
            {
                "source": source,
                "target": target,
                "tasks": each.tasks,
                "price": each.mean_price,
                "saturated": each.saturated,
            }
            for (source, target), each in sorted(
                self._links.items(), key=lambda item: (-item[1].tasks, item[0])
            )
            if each.tasks
        ]

    def nodes(self) -> list[dict[str, Any]]:
        """Return the linked nodes of the diagram, layer by layer.

        The sum of the remaining nodes comes last in its layer.
        """
        flow = self._flow
        found = [
            _node(
                f"c{cls}",
                "classes",
                class_label(flow.classes[cls]),
                self._prices[f"c{cls}"],
                self._about(cls),
            )
            for cls in sorted(self._shown, key=lambda cls: (-flow.classes[cls].tasks, cls))
        ]
        if self.other_classes:
            label = f"{self.other_classes:,} other classes"
            found.append(_node(OTHER_CLASSES, "classes", label, self._prices[OTHER_CLASSES], ""))
        for group in sorted(self._shown_groups):
            label = self._parts.groups[group] or (
                f"without {self._group_by}" if self._group_by else "all machines"
            )
            found.append(self._group_node(f"g{group}", label, [group]))
        if self.other_groups:
            rest = [group for group in range(len(self._groups)) if group not in self._shown_groups]
            found.append(self._group_node(OTHER_GROUPS, f"{self.other_groups:,} other groups", rest))
        for number, label in enumerate(self._parts.constraints):
            cause = _node(
                f"k{number}", "constraints", label, self._get_sum(f"k{number}"), self._classes_text(number)
            )
            found.append({**cause, "saturated": True})
        found += [_node(name, "outcome", name, self._get_sum(name), "") for name in (USED, WAITING)]
        found[-1]["saturated"] = bool(found[-1]["tasks"])
        return [each for each in found if each["tasks"] or each["layer"] == "machines"]

    def _group_node(self, name: str, label: str, groups: Sequence[int]) -> dict[str, Any]:
        found = [self._groups[group] for group in groups]
        machines, used = sum(each.machines for each in found), sum(len(each.used) for each in found)
        room = sum(each.room for each in found)
        sub = f"{used:,} of {machines:,} machines used, room for {room:,} more"
        node = _node(name, "machines", label, self._get_sum(name), sub)
        node["saturated"] = all(each.full for each in found)
        return node

    def _get_sum(self, target: str) -> _Sum:
        return _total(each for (_, end), each in self._links.items() if end == target)

    def _class_id(self, cls: int) -> str:
        return f"c{cls}" if cls in self._shown else OTHER_CLASSES

    def _group_id(self, group: int) -> str:
        return f"g{group}" if group in self._shown_groups else OTHER_GROUPS

    def _is_full(self, target: str) -> bool:
        if target == OTHER_GROUPS:
            return all(
                each.full for group, each in enumerate(self._groups) if group not in self._shown_groups
            )
        return target.startswith("g") and self._groups[int(target[1:])].full

    def _about(self, number: int) -> str:
        cls = self._flow.classes[number]
        asked = requests_text({each.resource: each.amount for each in cls.requests})
        return f"{format_count(cls.tasks, 'task')}, priority {cls.priority}" + (f", {asked}" if asked else "")

    def _classes_text(self, constraint: int) -> str:
        count = sum(each == constraint for each in self._parts.constraint_of)
        return "1 class" if count == 1 else f"{count:,} classes"


def _total(found: Any) -> _Sum:
    total = _Sum()
    for each in found:
        total.tasks += each.tasks
        total.priced += each.priced
        total.paid += each.paid
    return total


def _node(name: str, layer: str, label: str, total: _Sum, sub: str) -> dict[str, Any]:
    return {
        "id": name,
        "layer": layer,
        "label": label,
        "tasks": total.tasks,
        "price": total.mean_price,
        "saturated": False,
        "sub": sub,
    }
