"""The table of rounds with trees of groups."""

from __future__ import annotations

from benchmarks.reports.sheets import Report, Sheet, number


def trees_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row for each shape."""
    size = report["options"]
    rows = [
        [
            f"{each['trees']:,} x {each['groups']} x {each['pods']:,}",
            number(each["seconds"], 3),
            number(each["processor_seconds"], 3),
            *(number(each[figure]) for figure in ("pods_per_second", "trees_placed", "trees_split")),
        ]
        for each in report["shapes"]
    ]
    headings = (
        "trees x groups x pods",
        "seconds",
        "processor seconds",
        "pods/s",
        "trees whole",
        "trees split",
    )
    return [Sheet(f"Trees of groups on {size['nodes']:,} machines", headings, rows)]
