"""Defines the results of ``plan``, ``explain`` and ``audit``, which can become dictionaries, data frames and pages."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poseidon.explanations import PodExplanation, describe_outcome, plain
from poseidon.offline.audit.findings import Audit
from poseidon.offline.plan import Plan
from protos.conventions.number_formats import format_count

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


class Answer:
    """The methods that all results have in addition to their own fields."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return the result as the JSON object that the documentation describes."""
        raise NotImplementedError

    def tables(self) -> dict[str, list[Row]]:
        """Return the rows of the result's tables by name of the table, the most important table first."""
        raise NotImplementedError

    def summarize(self) -> str:
        """Return the result in one sentence."""
        raise NotImplementedError

    def to_html(self) -> str:
        """Return a self-contained web page with the charts of the dashboard."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the command prints it with ``-o json``."""
        return self.as_json()

    def to_pandas(self, table: str = "") -> pd.DataFrame:
        """Return one of ``tables`` as a pandas data frame, the first one by default.

        Raises ``ImportError`` if pandas is not installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ImportError("to_pandas needs pandas: pip install 'poseidon-firmament[notebook]'") from None
        found = self.tables()
        name = table or next(iter(found))
        if name not in found:
            raise ValueError(f"there is no table {name!r}; there are {', '.join(found)}")
        return pd.DataFrame(found[name])

    def save_html(self, path: str | Path) -> None:
        """Write the page of ``to_html`` to a file."""
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summarize()}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the result in one sentence, and its page in a frame."""
        from poseidon.api.display import frame_page

        return frame_page(self.summarize(), self.to_html())


@dataclass(frozen=True, slots=True)
class NetworkDrawing:
    """A picture of the network of a plan's first round, which notebooks show as the value of a cell."""

    svg: str
    """The picture in the format SVG."""

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


class PlanResult(Plan, Answer):
    """The result of ``plan``, with the fields of ``Plan``, such as ``bindings``, ``pending`` and ``preemptions``."""

    __slots__ = ()
    __repr__ = Answer.__repr__

    @classmethod
    def of_plan(cls, plan: Plan, unseen: tuple[str, ...]) -> PlanResult:
        """Return a plan whose warnings begin with ``unseen``, the warnings of reading the input."""
        return cls(**{**_content(plan), "warnings": (*unseen, *plan.warnings)})

    def draw_network(self, title: str = "The network of the first round") -> NetworkDrawing:
        """Draw the network of the first round, with its cheapest flow and the cost of every arc.

        Raises ``ValueError`` for a network that is too large to be drawn, or if the plan had no pods to place.
        """
        if self.draw is None:
            raise ValueError("this plan does not hold its network")
        return NetworkDrawing(self.draw(title))

    def tables(self) -> dict[str, list[Row]]:
        """Return tables of pods (bound, preempted or pending), nodes, groups and moves."""
        waiting = {each.pod for each in self.waiting}
        pods = [
            _pod(each.pod, each.node, "preempts" if each.pod in waiting else "bound", after=each.after)
            for each in self.bindings
        ]
        pods += [_pod(each.pod, each.node, "preempted", f"for {each.preemptor}") for each in self.preemptions]
        pods += [_pod(each.pod, None, "pending", each.reason) for each in self.pending]
        nodes = [
            {
                "node": each.node,
                "pods": each.pods,
                **{name: amount for name, amount in each.allocatable.items() if name != "pods"},
                **{f"{name} free": amount for name, amount in each.free.items()},
            }
            for each in self.nodes
        ]
        groups = [
            {"group": each.group, "status": each.status, "pods": len(each.members), "message": each.message}
            for each in self.groups
        ]
        moves = [each.as_json() for each in self.migrations]
        return {"pods": pods, "nodes": nodes, "groups": groups, "moves": moves}

    def summarize(self) -> str:
        """Return a sentence with the numbers of pods that get a node and that do not."""
        waits = len(self.waiting)
        more = f", {waits:,} of them once others have made way" if waits else ""
        return f"{format_count(len(self.bindings), 'pod')} bound{more}, {len(self.pending):,} pending"

    def to_html(self) -> str:
        """Return a self-contained web page with figures, the reasons why pods wait, and all tables."""
        from poseidon.ui.report import report_page
        from poseidon.ui.views.plan import plan_report

        return report_page(plan_report(self))

    def __str__(self) -> str:
        from poseidon.api.display import capture_text
        from poseidon.offline.tables import print_plan

        return capture_text(lambda: print_plan(self))


class ExplainResult(PodExplanation, Answer):
    """The result of ``explain``, with the fields of ``PodExplanation``, such as ``nodes`` and ``cures``."""

    __slots__ = ()
    __repr__ = Answer.__repr__

    @classmethod
    def of_explanation(cls, explained: PodExplanation, unseen: tuple[str, ...]) -> ExplainResult:
        """Return an explanation whose warnings begin with ``unseen``, the warnings of reading the input."""
        return cls(**{**_content(explained), "warnings": (*unseen, *explained.warnings)})

    def tables(self) -> dict[str, list[Row]]:
        """Return tables of nodes, with a column of points for each model, and of cures."""
        nodes = [
            {
                "node": name,
                "feasible": each.feasible,
                "cost": plain(each.cost),
                **{model: plain(charge.cost) for model, charge in each.models.items()},
                "reasons": "; ".join(each.reasons),
            }
            for name, each in self.nodes.items()
        ]
        cures = [{"cure": each.text, "commands": list(each.commands)} for each in self.cures]
        return {"nodes": nodes, "cures": cures}

    def summarize(self) -> str:
        """Return a sentence that says what happens to the pod."""
        return describe_outcome(self)[0]

    def to_html(self) -> str:
        """Return the dashboard's page of the pod as a self-contained web page."""
        from poseidon.ui.views.pods import single_page

        return single_page(self, time.time())

    def __str__(self) -> str:
        from poseidon.api.display import capture_text
        from poseidon.explanation_tables import print_explanation

        return capture_text(lambda: print_explanation(self))


class AuditResult(Audit, Answer):
    """The result of ``audit``, with the fields of ``Audit``, such as ``freed``, ``moves``, ``costs`` and ``cures``."""

    __slots__ = ()
    __repr__ = Answer.__repr__

    @classmethod
    def of_audit(cls, audit: Audit, unseen: tuple[str, ...]) -> AuditResult:
        """Return an audit whose warnings begin with ``unseen``, the warnings of reading the input."""
        return cls(**{**_content(audit), "warnings": (*unseen, *audit.warnings)})

    def tables(self) -> dict[str, list[Row]]:
        """Return the audit's findings by kind, with the names that ``to_dict`` uses."""
        found = self.as_json()
        room, costs = found["consolidation"], found["costs"] or {"moves": [], "frontier": []}
        return {
            "moves": room["moves"],
            "staying": room["staying"],
            "cheaper": costs["moves"],
            "frontier": costs["frontier"],
            **{name: found[name] for name in ("overcommitted", "hot", "misplaced", "pending", "cures")},
        }

    def summarize(self) -> str:
        """Return a sentence that says which nodes could be freed."""
        return self.summary[1]

    def to_html(self) -> str:
        """Return the web page that ``poseidon audit --html`` writes."""
        from poseidon.ui.report import report_page
        from poseidon.ui.views.audit import audit_report

        return report_page(audit_report(self))

    def __str__(self) -> str:
        return "\n".join(self.summary)


def _pod(name: str, node: str | None, state: str, reason: str = "", after: tuple[str, ...] = ()) -> Row:
    namespace, _, own = name.partition("/")
    return {
        "namespace": namespace,
        "pod": own,
        "state": state,
        "node": node,
        "reason": reason,
        "after": list(after),
    }


def _content(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without converting nested values."""
    return {each.name: getattr(record, each.name) for each in fields(record)}
