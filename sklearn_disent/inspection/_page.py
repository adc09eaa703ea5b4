"""The parts of an HTML report: its style, tables of scores, and pictures."""

import html
import io
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..metrics import ScoreReport
from ..metrics._score_report import verdict
from ._common import score_label
from ._sliders import traversal_sliders
from ._traversal import TraversalDisplay

# Title -> how to read the picture.
_CAPTIONS = {
    "Relevance": "How informative each code is about each factor. Frames mark the code that is "
    "assigned to each factor, one to one. Only framed cells should stand out.",
    "Latents against factors": "Mean code for every value of a factor; bands are its standard "
    "deviation over the other factors. Each latent should follow one factor and ignore the others.",
    "Traversals": "What is decoded while one latent moves and the others rest. Each row should "
    "change one thing.",
    "Reconstructions": "Whether the codes hold enough to tell observations apart.",
    "History": "The loss and its terms over the epochs.",
}

_DPI = 110

# Embeddings, overrides and isolates of the Unicode bidirectional algorithm, and its marks.
_DIRECTIONS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# All rules are below one class, so that a notebook keeps its own style.
STYLE = """
.sklearn-disent-report { font-family: system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 1040px; margin: 0 auto; padding: 16px 24px; line-height: 1.45; }
.sklearn-disent-report h1 { font-size: 1.5em; margin: 0 0 4px; }
.sklearn-disent-report h2 { font-size: 1.15em; margin: 28px 0 4px; border-bottom: 1px solid #ccc; }
.sklearn-disent-report p { margin: 4px 0 8px; color: #444; }
.sklearn-disent-report table { border-collapse: collapse; width: 100%; font-size: 0.95em; }
.sklearn-disent-report th, .sklearn-disent-report td { padding: 3px 8px; text-align: left;
  background: #fff; color: #1a1a1a; }
.sklearn-disent-report td.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.sklearn-disent-report th.number { text-align: right; }
.sklearn-disent-report tr.question td { font-weight: 600; padding-top: 10px;
  border-bottom: 1px solid #ddd; }
.sklearn-disent-report .scale { position: relative; width: 220px; height: 12px;
  background: #eee; }
.sklearn-disent-report .scale span { position: absolute; top: 0; height: 12px; }
.sklearn-disent-report .value { background: #0072B2; left: 0; }
.sklearn-disent-report .interval { border-left: 2px solid #D55E00; border-right: 2px solid #D55E00;
  background: linear-gradient(#D55E00, #D55E00) center / 100% 2px no-repeat; }
.sklearn-disent-report .verdict { color: #1a1a1a; font-weight: 600; }
.sklearn-disent-report .wide { overflow-x: auto; }
.sklearn-disent-report img { max-width: 100%; height: auto; display: block; }
.sklearn-disent-report pre { white-space: pre-wrap; font-size: 0.85em; background: #f6f6f6;
  color: #1a1a1a; padding: 8px; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  .sklearn-disent-report { padding: 8px 10px; }
  .sklearn-disent-report th, .sklearn-disent-report td { padding: 2px 4px; font-size: 0.85em; }
  .sklearn-disent-report td.number { white-space: normal; }
  .sklearn-disent-report .spare { display: none; }
}
"""


def picture(title: str, display: Any) -> str:
    """A picture below its title, with sliders where it is one that moves."""
    sliders = traversal_sliders(display) if isinstance(display, TraversalDisplay) else ""
    return (
        f"<h2>{html.escape(title)}</h2>\n<p>{html.escape(_CAPTIONS.get(title, ''))}</p>\n{sliders}"
        f'<img alt="{html.escape(without_directions(title))}" '
        f'src="data:image/png;base64,{_png(display.figure_)}">'
    )


def marked(text: str) -> str:
    """Text for the page. Whatever its direction, that of its surroundings stays as it is."""
    return f"<bdi>{html.escape(text)}</bdi>"


def without_directions(text: str) -> str:
    """Text where no element can enclose it, without the characters that turn its direction."""
    return "".join(c for c in text if c not in _DIRECTIONS)


def score_table(scores: Mapping[str, Mapping[str, Any]]) -> str:
    first = next(iter(scores.values()))
    with_interval, with_chance = "ci_low" in first, "chance" in first
    heads = ["value"] + ["interval"] * with_interval + ["chance"] * with_chance
    head = "".join(f'<th class="number">{name}</th>' for name in heads)
    # Columns that a phone has no room for are "spare".
    head += '<th class="number spare">p-value</th><th>verdict</th>' * with_chance
    last = "".join(f'<th class="spare">{name}</th>' for name in ("", "range", "better"))
    rows = [f"<tr><th>metric</th>{head}{last}</tr>"]
    span = 1 + len(heads) + 2 * with_chance + 3
    question = None
    for name, row in scores.items():
        if row["question"] != question:
            question = row["question"]
            text = marked(question)
            rows.append(f'<tr class="question"><td colspan="{span}">{text}</td></tr>')
        cells = [f"{row['value']:.3f}"]
        if with_interval:
            cells.append(f"{row['ci_low']:.3f} to {row['ci_high']:.3f}")
        if with_chance:
            cells.append(f"{row['chance']:.3f}")
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        if with_chance:
            numbers += f'<td class="number spare">{row["p_value"]:.3f}</td><td>{verdict(row)}</td>'
        highest = "∞" if np.isinf(row["highest"]) else f"{row['highest']:g}"
        limits = f"{row['lowest']:g} to {highest}"
        better = "higher" if row["greater_is_better"] else "lower"
        rows.append(
            f"<tr><td>{marked(score_label(name))}</td>{numbers}"
            f'<td class="spare">{bar(row)}</td><td class="spare">{limits}</td>'
            f'<td class="spare">{better}</td></tr>'
        )
    return '<div class="wide"><table>\n' + "\n".join(rows) + "\n</table></div>"


def factor_table(scores: ScoreReport) -> str:
    """One column per factor."""
    values = scores.factor_values or {}
    names = "".join(f'<th class="number">{html.escape(name)}</th>' for name in scores._names())
    rows = [f"<tr><th>metric</th>{names}</tr>"]
    for metric, row in values.items():
        texts = (f"{value:.3f}" if np.isfinite(value) else "–" for value in row)
        cells = "".join(f'<td class="number">{text}</td>' for text in texts)
        rows.append(f"<tr><td>{html.escape(score_label(metric))}</td>{cells}</tr>")
    return '<div class="wide"><table>\n' + "\n".join(rows) + "\n</table></div>"


def bar(row: Mapping[str, Any]) -> str:
    """A value between its limits, with its interval; nothing where there is no upper limit."""
    if not np.isfinite(row["highest"]):
        return ""

    def percent(value: float) -> float:
        share = (value - row["lowest"]) / (row["highest"] - row["lowest"])
        return 100 * float(np.clip(share, 0, 1))

    bar = f'<span class="value" style="width: {percent(row["value"]):.1f}%"></span>'
    if "ci_low" in row:
        low, high = percent(row["ci_low"]), percent(row["ci_high"])
        style = f"left: {low:.1f}%; width: {high - low:.1f}%"
        bar += f'<span class="interval" style="{style}"></span>'
    return f'<div class="scale">{bar}</div>'


def _png(figure: Any) -> str:
    buffer = io.BytesIO()
    # No software version within, so that equal pictures are equal files.
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return b64encode(buffer.getvalue()).decode("ascii")
