"""An audit as one HTML page that needs nothing else: no script, no picture, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from poseidon.offline.audit.findings import Audit

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td:first-child { white-space: nowrap; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
.figures li { list-style: none; border: 1px solid #8888; border-radius: .5rem; padding: .5rem 1rem; }
.figures strong { display: block; font-size: 1.5rem; }
"""

_SHOWN = {
    "freed": ("Nodes that could be freed together", ("Node",)),
    "moves": ("Moves that free them", ("Pod", "From", "To")),
    "staying": ("Nodes that stay", ("Node", "Pod", "Why")),
    "cheaper": ("Moves that save most", ("Pod", "From", "To", "Points saved")),
    "overcommitted": ("Overcommitted nodes", ("Node", "Lacks")),
    "hot": ("Hot nodes", ("Node", "Resource", "Used")),
    "misplaced": ("Misplaced pods", ("Pod", "Node", "Why")),
    "pending": ("Pods that wait", ("Pod", "Why")),
    "cures": ("What would place them", ("Pod", "Would get", "Cure")),
}
"""Title and headings of each part."""


def page(audit: Audit) -> str:
    """Return the page. Names are shown as text, whatever is in them."""
    figures = (
        (audit.nodes, "nodes"),
        (audit.pods, "pods run"),
        (len(audit.freed), f"nodes could be freed; {audit.proof}"),
        (len(audit.moves), "moves free them"),
        (len(audit.overcommitted), "nodes are overcommitted"),
        (len({each.node for each in audit.hot}), "nodes are hot by measured use"),
        (len(audit.misplaced), "pods are misplaced"),
        (len(audit.pending), f"pods wait; {len({each.pod for each in audit.cures})} of them have a cure"),
    )
    tables = "".join(_table(*_SHOWN[part], rows) for part, rows in audit.rows().items())
    costs = "" if audit.costs is None else f"<p>{escape(audit.costs.summary)}</p>"
    shown = "\n".join(f"<li><strong>{number}</strong> {escape(what)}</li>" for number, what in figures)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Audit</h1>
<ul class="figures">
{shown}
</ul>
{costs}
{tables}
</body>
</html>
"""


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table below its title, nothing if it has no rows."""
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in headings)
    return f"<h2>{escape(title)}</h2>\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
