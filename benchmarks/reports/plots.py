"""Draws saved results as pictures; needs matplotlib, which the extra ``bench`` installs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.reports.charts import sections
from poseidon.ui.report import BarChart, Chart, LineChart, StackChart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


class PlottingUnavailableError(Exception):
    """matplotlib is not installed; the text says how to get it."""


def draw_all(reports: Sequence[dict[str, Any]], folder: Path, kind: str = "svg") -> list[Path]:
    """Draw all charts that the results allow into ``folder``; return the files. Raises ``PlottingUnavailableError``."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        # Makes equal results give equal files.
        mpl.rcParams["svg.hashsalt"] = "benchmarks"
        import matplotlib.pyplot as plt
    except ImportError:
        raise PlottingUnavailableError(
            "plots need matplotlib; install it with: pip install 'poseidon-firmament[bench]'"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, section in sections(reports).items():
        assert section.chart is not None
        figure, axes = plt.subplots(figsize=(8, _find_height(section.chart)), layout="constrained")
        axes.set_title(section.title, fontsize="medium")
        _draw(axes, section.chart)
        path = folder / f"{name}.{kind}"
        figure.savefig(path, metadata={"Date": None} if kind == "svg" else None)
        written.append(path)
        plt.close(figure)
    return written


_HEIGHT = 4.5
"""Inches of a chart."""
_HEIGHT_OF_BAR = 0.2
"""Inches of a bar at least, so that labels of bars do not overlap."""


def _find_height(chart: Chart) -> float:
    """Return the height of a chart in inches: a chart of many bars is higher."""
    bars = len(chart.items) if isinstance(chart, BarChart) else 0
    return max(_HEIGHT, 1 + _HEIGHT_OF_BAR * bars)


def _draw(axes: Axes, chart: Chart) -> None:
    match chart:
        case LineChart():
            _lines(axes, chart)
        case BarChart():
            _bars(axes, chart)
        case StackChart():
            _stacks(axes, chart)


_WIDTH_WITH_TEXT = 1.35
"""Where an axis ends, as a multiple of the longest bar: the text beside it takes the rest."""
_MANY_TIMES = 10_000
"""Where an axis ends at so many times its beginning, only powers of ten are labelled."""


def _lines(axes: Axes, chart: LineChart) -> None:
    for label, values in chart.series.items():
        known = [(at, value) for at, value in zip(chart.at, values, strict=True) if value is not None]
        few = len(known) < 20
        axes.plot([at for at, _ in known], [value for _, value in known], "o-" if few else "-", label=label)
    if chart.logarithmic:
        axes.set(xscale="log", yscale="log")
        _write_numbers_plainly(axes.yaxis)
        _write_numbers_plainly(axes.xaxis)
    if len(chart.at) < 10:  # few enough values to label each one
        axes.set_xticks(chart.at, [f"{at:,g}" for at in chart.at])
        axes.set_xticks([], minor=True)
    axes.set(xlabel=chart.across.lower(), ylabel=chart.unit)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _bars(axes: Axes, chart: BarChart) -> None:
    axes.barh([label for label, _, _ in chart.items], [value for _, value, _ in chart.items])
    for row, (_, value, text) in enumerate(chart.items):
        axes.text(value, row, f" {text}", va="center", fontsize="small", in_layout=False)
    axes.margins(y=0.01)
    if chart.logarithmic:
        axes.set_xscale("log")
        _write_numbers_plainly(axes.xaxis)
    else:
        axes.set_xlim(right=_WIDTH_WITH_TEXT * max(value for _, value, _ in chart.items))


def _write_numbers_plainly(axis: Axis) -> None:
    """Label a logarithmic axis with 20 and 2,000 instead of powers of ten; between powers at 2 and 5 times them, where
    there is room for so many labels.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = axis.get_view_interval()
    between = (1.0, 2.0, 5.0) if high < _MANY_TIMES * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=between))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(FuncFormatter(lambda *_: ""))


def _stacks(axes: Axes, chart: StackChart) -> None:
    bottom = [0.0] * len(chart.items)
    for number, name in enumerate(chart.names):
        part = [values[number] or 0.0 for _, values, _ in chart.items]
        axes.bar(range(len(part)), part, bottom=bottom, label=name)
        bottom = [below + each for below, each in zip(bottom, part, strict=True)]
    labels = [label.replace(", ", "\n") for label, _, _ in chart.items]
    axes.set_xticks(range(len(labels)), labels, rotation=60, fontsize="x-small", ha="right")
    axes.set(ylabel="percent")
    axes.legend(fontsize="small")
