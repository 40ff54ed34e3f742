"""``firmament explain``: one task against every machine, as a running solver sees them."""

from __future__ import annotations

import click

from firmament.commands.inspection_options import asking, echo_json, output_option, solver_options


@click.command("explain")
@click.argument("task")
@solver_options
@output_option
def explain(*, task: str, target: str, cluster: str | None, timeout: float, output: str) -> None:
    """Say for every machine whether TASK, a name or a uid, may use it, why not, and what each model charges."""
    with asking(target, timeout) as client:
        named = client.cluster_named(cluster)
        explanation = client.explanation(named, client.uid_of(named, task))
    if output == "json":
        from firmament.inspection.documents import explanation_document

        echo_json(explanation_document(explanation))
        return
    from firmament.inspection.tables import print_explanation

    print_explanation(explanation)
