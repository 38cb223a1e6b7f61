"""Charts as files: Vega-Lite JSON, SVG and PNG of each, the same bytes for the same data."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from probelab.canonical import write_atomically
from probelab.store import forget

PNG_SCALE = 2
SUFFIXES = (".svg", ".png", ".vl.json")

#: Comes with the renderer, so pictures are the same on every machine.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

#: Okabe and Ito's palette, which readers with any colour vision can tell apart.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]
#: What was published elsewhere, and reference lines.
GREY = "#767676"

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "labelFlush": False,
        "titleLimit": 0,
        "gridColor": "#e6e6e6",
        "domainColor": "#888888",
        "tickColor": "#888888",
    },
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "titleLimit": 0,
        "symbolSize": 90,
    },
    "title": {
        "fontSize": 15,
        "subtitleFontSize": 12,
        "subtitleColor": "#444444",
        "anchor": "start",
        "frame": "bounds",
        "limit": 0,
        "offset": 12,
    },
    "view": {"stroke": None},
    "concat": {"spacing": 24},
}


@dataclass(frozen=True)
class Figure:
    """A chart of the report."""

    name: str  #: file name without suffix
    title: str  #: also the picture's alternative text
    chart: alt.TopLevelMixin


def _specification(chart: alt.TopLevelMixin) -> str:
    specification: dict[str, Any] = chart.to_dict()
    specification["config"] = CONFIG
    return json.dumps(specification, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_figures(figures: list[Figure], folder: Path) -> None:
    """Write each figure as `.vl.json`, `.svg` and `.png`, and remove what else lies there.

    Raises:
        OSError: if the folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        text = _specification(figure.chart)
        svg = vl_convert.vegalite_to_svg(text)
        png = vl_convert.svg_to_png(svg, scale=PNG_SCALE)
        contents: list[str | bytes] = [svg, png, text]
        for suffix, content in zip(SUFFIXES, contents, strict=True):
            write_atomically(folder / f"{figure.name}{suffix}", content)
    forget(folder, {figure.name + suffix for figure in figures for suffix in SUFFIXES})
