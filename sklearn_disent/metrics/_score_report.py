"""A report of scores as an object: text, HTML, dict, frame and LaTeX of the same rows."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ._catalogue import INDEPENDENCE, LABELS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ScoreReport"]

# A score is above chance if so few shuffles, or fewer, are at least as good; and it is not if more
# than the second share are. In between, or with few shuffles, it is open.
_LEVEL, _OPEN = 0.05, 0.2

# Characters that mean something else to LaTeX.
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)

_NUMBERS = ("value", "ci_low", "ci_high", "chance", "p_value")


@dataclass(repr=False)
class ScoreReport:
    """Scores of a representation with what there is to say about them.

    :func:`disentanglement_report` makes it. ``print`` shows the table, a notebook shows it as HTML,
    and ``report["mig"]`` is the row of a metric.

    Parameters
    ----------
    rows : dict
        By the name of the metric: `question`, `value`, `lowest`, `highest`, `greater_is_better`,
        and with intervals and shuffles also `ci_low`, `ci_high`, `chance` and `p_value`.
    factor_values : dict or None, default=None
        By the name of the metric, one value per factor; None if they were not asked for.
    factor_names : list of str or None, default=None
        Names; "factor 0", "factor 1" and so on if None.
    sizes : str, default=""
        What was scored, in words: the last line of the text.
    digits : int, default=3
        Decimals in text, HTML and LaTeX.

    See Also
    --------
    disentanglement_report : Computes one.
    sklearn_disent.inspection.DisentanglementReport : The same with pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.metrics import disentanglement_report
    >>> factors = np.random.default_rng(0).integers(4, size=(200, 2))
    >>> report = disentanglement_report(factors, factors, metrics=["mig", "sufficiency"])
    >>> round(report["mig"]["value"], 2)
    0.99
    >>> print(report.to_latex())
    \\begin{tabular}{lr}
    \\toprule
    metric & value \\\\
    \\midrule
    MIG & 0.991 \\\\
    sufficiency & 1.000 \\\\
    \\bottomrule
    \\end{tabular}
    """

    rows: Mapping[str, Mapping[str, Any]]
    _: KW_ONLY
    factor_values: Mapping[str, Sequence[float]] | None = None
    factor_names: Sequence[str] | None = None
    sizes: str = ""
    digits: int = 3

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self.rows[name]

    def __iter__(self):
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def verdicts(self) -> dict[str, str]:
        """By metric, what its level of chance says in words; empty without shuffles."""
        words = {name: verdict(row) for name, row in self.rows.items()}
        return {name: word for name, word in words.items() if word}

    @property
    def summary(self) -> list[str]:
        """Sentences about the scores as a whole, the most important first."""
        return summary_of(self.rows)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The rows as a dict of dicts, by the name of the metric.

        Returns
        -------
        rows : dict
            A copy.
        """
        return {name: dict(row) for name, row in self.rows.items()}

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a table, indexed by metric.

        Returns
        -------
        frame : DataFrame
            With a column per factor, named by it, if there are values per factor.
        """
        frame = as_frame(self.to_dict())
        if self.factor_values:
            import pandas as pd

            values = dict(zip(self.factor_values, map(list, self.factor_values.values())))
            names = self._names()
            per_factor = pd.DataFrame.from_dict(values, orient="index", columns=names)
            frame = frame.join(per_factor)
        return frame

    def to_text(self) -> str:
        """The table to print.

        Returns
        -------
        text : str
        """
        rows, digits = self.rows, self.digits
        columns = [name for name in _NUMBERS if name in next(iter(rows.values()))]
        width = max(map(len, rows)) + 2
        ranges = {name: f"{row['lowest']:g} .. {row['highest']:g}" for name, row in rows.items()}
        last = max(10, 2 + max(map(len, ranges.values())))
        heads = "".join(f"{column:>10}" for column in columns)
        lines = [f"{'':<{width}}{heads}{'range':>{last}}  better"]
        question = None
        for name, row in rows.items():
            if row["question"] != question:
                question = row["question"]
                lines += ["", question]
            cells = "".join(f"{row[column]:>10.{digits}f}" for column in columns)
            better = "higher" if row["greater_is_better"] else "lower"
            lines.append(f"{'  ' + name:<{width}}{cells}{ranges[name]:>{last}}  {better}")
        return "\n".join([*lines, *self._factor_lines(width), "", *self.summary, self.sizes])

    def _factor_lines(self, width: int) -> list[str]:
        if not self.factor_values:
            return []
        names = self._names()
        column = max(10, 2 + max(map(len, names)))
        heads = "".join(f"{name:>{column}}" for name in names)
        lines = ["", "By factor", f"{'':<{width}}{heads}"]
        for name, values in self.factor_values.items():
            cells = "".join(f"{value:>{column}.{self.digits}f}" for value in values)
            lines.append(f"{'  ' + name:<{width}}{cells}")
        return lines

    def to_latex(self) -> str:
        """A table for a paper, for the package booktabs.

        Returns
        -------
        latex : str
            Metric and value; the interval and the level of chance where there are any.
        """
        first = next(iter(self.rows.values()))
        heads = ["metric", "value"]
        heads += ["interval"] * ("ci_low" in first) + ["chance"] * ("chance" in first)
        lines = [f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", "\\toprule"]
        lines += [" & ".join(heads) + r" \\", "\\midrule"]
        for name, row in self.rows.items():
            cells = [latex_text(LABELS.get(name, name)), self._number(row["value"])]
            if "ci_low" in first:
                cells.append(f"[{self._number(row['ci_low'])}, {self._number(row['ci_high'])}]")
            if "chance" in first:
                cells.append(self._number(row["chance"]))
            lines.append(" & ".join(cells) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])

    def _number(self, value: float) -> str:
        return f"{value:.{self.digits}f}" if isfinite(value) else r"$\infty$"

    def _names(self) -> list[str]:
        n_factors = len(next(iter((self.factor_values or {"": ()}).values())))
        return list(self.factor_names or (f"factor {k}" for k in range(n_factors)))

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.to_text())}</pre>"


def latex_text(text: str) -> str:
    """Text as LaTeX shows it letter by letter."""
    return text.translate(_LATEX)


def verdict(row: Mapping[str, Any]) -> str:
    """What the level of chance says about one score; nothing where there is none."""
    if "p_value" not in row:
        return ""
    if row["question"] == INDEPENDENCE:
        # Shuffled codes are independent: the question is whether these are any worse.
        # Codes that are constant are not: then every shuffle is as good.
        is_worse = row["p_value"] > 1 - _LEVEL and row["value"] != row["chance"]
        return "dependent codes" if is_worse else "independent codes"
    if row["p_value"] <= _LEVEL:
        return "above chance"
    return "not clearly above chance" if row["p_value"] <= _OPEN else "not above chance"


def summary_of(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Sentences about all scores that have a level of chance."""
    words = {name: verdict(row) for name, row in rows.items()}
    judged = [name for name in words if words[name].endswith("above chance")]
    low = [name for name in judged if words[name] == "not above chance"]
    if not low:
        return []
    if low == judged:
        return [
            "No score is above chance: as far as these scores tell, the codes have nothing to do "
            "with the factors."
        ]
    named = ", ".join(LABELS.get(name, name) for name in low)
    verb = "is" if len(low) == 1 else "are"
    return [f"{named} {verb} not above chance: codes without relation to the factors do as well."]


def as_frame(rows: Mapping[str, Mapping[str, Any]]) -> "pd.DataFrame":
    """Rows by metric as a table."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "A frame needs pandas: pip install 'sklearn-disent[report]', or ask for a dict."
        ) from error
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")
