"""What the studies share: options, tables that grow row by row, figures and a summary.

A study writes into ``results/<name>`` (``results/<name>_full`` with ``--full``): tidy tables,
figures, ``summary.txt`` and the cached fits. When it is run again, it skips every row that is
there. Scripts find this module in their own folder, from wherever they are run.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, parallel_config
from scipy.stats import t, ttest_ind
from sklearn.pipeline import Pipeline

from sklearn_disent.model_selection import SweepMemory
from sklearn_disent.models import VAE


class Study:
    """Folder and settings of one study.

    Parameters
    ----------
    name : str
        Name of the folder.
    doc : str
        The script's docstring; its first line is the help text.
    small, full : dict
        Settings of a run of minutes, and of the paper's size. A folder with results of other
        settings is refused: rows of two experiments would mix.
    parts : sequence of str
        Settings that are lists or dicts, of which an option may name some: the cells of the others
        are left for another run, see :meth:`chosen`.
    numbers : sequence of str
        Settings that are numbers, which an option may replace. Such a run has a folder of its own:
        ``--epochs 8`` writes into ``<name>_epochs8``.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        small: dict[str, Any],
        full: dict[str, Any],
        *,
        parts: Sequence[str] = (),
        numbers: Sequence[str] = (),
    ) -> None:
        title = doc.strip().splitlines()[0]
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--full", action="store_true", help="the full size: hours to days")
        parser.add_argument("--out", type=Path, default=Path("results"), help="folder for results")
        parser.add_argument("--jobs", type=int, default=2, help="fits at the same time")
        parser.add_argument(
            "--minutes", type=float, default=np.inf, help="end after so long; run again to go on"
        )
        for part in parts:
            kind = type(next(iter(small[part])))
            parser.add_argument(f"--{part}", nargs="+", type=kind, help=f"only these {part}")
        for number in numbers:
            parser.add_argument(
                f"--{number}", type=type(small[number]), help=f"{small[number]} by default"
            )
        options = parser.parse_args()
        self.n_jobs = options.jobs
        self.minutes = options.minutes
        self.deadline = time.monotonic() + 60 * options.minutes
        self.is_full = options.full
        given = {number: getattr(options, number) for number in numbers}
        self.settings = {
            **(full if options.full else small),
            **{number: value for number, value in given.items() if value is not None},
        }
        self._chosen = {part: getattr(options, part) for part in parts}
        own = full if options.full else small
        changed = [f"_{n}{self.settings[n]}" for n in numbers if self.settings[n] != own[n]]
        self.folder = options.out / "".join([name, "_full" * options.full, *changed])
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_settings()

    def _check_settings(self) -> None:
        path = self.folder / "settings.json"
        wanted = json.loads(json.dumps(self.settings, default=list))
        if path.exists() and json.loads(path.read_text()) != wanted:
            raise SystemExit(
                f"{self.folder} holds results of other settings (see {path}). Remove the folder, "
                "or name another one with --out."
            )
        _write(path, json.dumps(wanted, indent=1))

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def chosen(self, part: str) -> list[Any]:
        """Entries of a setting that the option of its name leaves, or all."""
        every, wanted = list(self.settings[part]), self._chosen.get(part)
        unknown = [entry for entry in wanted or () if entry not in every]
        if unknown:
            raise SystemExit(f"--{part} must be among {every}, got {unknown}.")
        return every if wanted is None else [entry for entry in every if entry in wanted]

    def pipeline(self) -> Pipeline:
        """A model, the step "vae", whose fits are kept in the study's folder."""
        memory = SweepMemory(self.folder / "fits")
        return Pipeline([("vae", VAE()), ("end", "passthrough")], memory=memory)

    def workers(self) -> parallel_config:
        """Context in which searches run ``--jobs`` fits at the same time, one thread each."""
        return parallel_config("loky", n_jobs=self.n_jobs, inner_max_num_threads=1)

    def rows(
        self,
        table: str,
        cells: Iterable[dict[str, Any]],
        measure: Callable[..., Iterable[dict[str, Any]]],
    ) -> pd.DataFrame:
        """Rows of a table: those of every cell that is not there yet are measured and appended.

        ``measure(**cell)`` returns dictionaries, one per row; the cell's own entries are added.
        With ``--minutes``, the study ends with a message instead of beginning a cell after that.
        """
        path = self.folder / f"{table}.csv"
        frame = pd.read_csv(path) if path.exists() else pd.DataFrame()
        for cell in cells:
            if _is_there(frame, cell):
                continue
            if time.monotonic() > self.deadline:
                raise SystemExit(
                    f"{self.minutes:g} minutes are over, and {path} is not complete. Run the study "
                    "again: it goes on with what is missing."
                )
            frame = _grown(path, frame, cell, measure(**cell))
        return frame

    def parallel_rows(
        self,
        table: str,
        cells: Iterable[dict[str, Any]],
        measure: Callable[..., Iterable[dict[str, Any]]],
    ) -> pd.DataFrame:
        """The same, ``--jobs`` cells at a time; rows are written as soon as a cell is done.

        After ``--minutes`` it returns what there is, for studies whose claims say "not decided".
        """
        path = self.folder / f"{table}.csv"
        frame = pd.read_csv(path) if path.exists() else pd.DataFrame()
        missing = [cell for cell in cells if not _is_there(frame, cell)]

        def pending() -> Iterable[Any]:
            for cell in missing:
                if time.monotonic() > self.deadline:
                    return
                yield delayed(_with_cell)(measure, cell)

        with self.workers():
            results = Parallel(return_as="generator_unordered", pre_dispatch="n_jobs")(pending())
            for cell, rows in results:
                frame = _grown(path, frame, cell, rows)
        return frame

    def figure(self, name: str, figure: Any) -> None:
        """Save a figure and say where."""
        path = self.folder / f"{name}.png"
        figure.savefig(path, dpi=110)
        print(f"figure: {path.resolve()}")

    def text(self, lines: list[str]) -> None:
        """Save the summary and print it."""
        _write(self.folder / "summary.txt", "\n".join(lines) + "\n")
        print("\n".join(lines))


def _is_there(frame: pd.DataFrame, cell: dict[str, Any]) -> bool:
    return bool(len(frame) and (frame[list(cell)] == pd.Series(cell)).all(axis=1).any())


def _grown(
    path: Path, frame: pd.DataFrame, cell: dict[str, Any], rows: Iterable[dict[str, Any]]
) -> pd.DataFrame:
    new = pd.DataFrame([{**cell, **row} for row in rows])
    frame = pd.concat([frame, new], ignore_index=True)
    _write(path, frame.to_csv(index=False))
    return frame


def _with_cell(measure: Callable[..., Iterable[dict[str, Any]]], cell: dict[str, Any]) -> tuple:
    return cell, list(measure(**cell))


# -- one rule for every claim --------------------------------------------------------------------

HOLDS, FAILS, UNDECIDED = "HOLDS", "FAILS", "NOT DECIDED"


class Difference(NamedTuple):
    """A difference that a claim says is above zero, and its interval."""

    value: float
    low: float
    high: float

    def outcome(self) -> str:
        """Three outcomes: the interval is above zero, below zero, or holds zero."""
        if not np.isfinite(self).all():
            return UNDECIDED
        return HOLDS if self.low > 0 else FAILS if self.high < 0 else UNDECIDED

    def within(self, margin: float) -> str:
        """For claims that there is no difference: all of the interval is small, or none is."""
        if not np.isfinite(self).all():
            return UNDECIDED
        if max(abs(self.low), abs(self.high)) < margin:
            return HOLDS
        return FAILS if self.low > margin or self.high < -margin else UNDECIDED

    def __str__(self) -> str:
        if not np.isfinite(self).all():
            return "(too few)"
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def paired(differences: Any, level: float = 0.9) -> Difference:
    """Mean of differences, one per seed, with Student's interval: honest for three seeds, too."""
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return Difference(np.nan, np.nan, np.nan)
    reach = t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return Difference(values.mean(), values.mean() - reach, values.mean() + reach)


def unpaired(first: Any, second: Any, level: float = 0.9) -> Difference:
    """Difference of two means, with Welch's interval; nothing to judge by if nothing varies."""
    ends = np.nan, np.nan
    if np.ptp(first) + np.ptp(second) > 0:
        ends = ttest_ind(first, second, equal_var=False).confidence_interval(level)
    return Difference(np.mean(first) - np.mean(second), *ends)


def bootstrap(
    statistic: Callable[..., float], *samples: Any, level: float = 0.9, n_draws: int = 1000
) -> Difference:
    """A statistic of arrays whose first axis holds seeds, with its bootstrap interval."""
    return interval(*resampled(statistic, *samples, n_draws=n_draws), level=level)


def resampled(
    statistic: Callable[..., Any], *samples: Any, n_draws: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    """A statistic of arrays whose first axis holds seeds, and its bootstrap draws (n_draws, ...).

    Seeds are drawn for each array by itself. Where models of the same seed do have something in
    common, the interval of their difference is rather too wide than too narrow. Two calls with
    arrays of the same lengths draw the same seeds, so that draws of two statistics can be compared.
    """
    rng = np.random.default_rng(0)
    arrays = [np.asarray(sample, dtype=float) for sample in samples]
    if any(len(array) < 3 for array in arrays):
        return np.array(np.nan), np.full(n_draws, np.nan)
    with warnings.catch_warnings():
        # A draw of equal seeds has no correlation: it does not count.
        warnings.simplefilter("ignore")
        value = np.asarray(statistic(*arrays), dtype=float)
        draws = [
            statistic(*(array[rng.integers(len(array), size=len(array))] for array in arrays))
            for _ in range(n_draws)
        ]
    return value, np.array(draws, dtype=float)


def interval(value: Any, draws: np.ndarray, level: float = 0.9) -> Difference:
    """A value with the interval of its draws; undefined if half of them are."""
    finite = draws[np.isfinite(draws)]
    if len(finite) < len(draws) / 2:
        return Difference(np.nan, np.nan, np.nan)
    tail = (1 - level) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return Difference(float(value), float(low), float(high))


_REMEMBERED: dict[Any, Any] = {}


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the last three results in each process, for functions of scripts that load data.

    What `functools.lru_cache` wraps in a script cannot be sent to the workers of a study.
    """
    return partial(_recall, function)


def _recall(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    key = (function.__qualname__, args, tuple(sorted(kwargs.items())))
    if key not in _REMEMBERED:
        if len(_REMEMBERED) > 2:
            del _REMEMBERED[next(iter(_REMEMBERED))]
        _REMEMBERED[key] = function(*args, **kwargs)
    return _REMEMBERED[key]


def shrink(images: np.ndarray, step: int) -> np.ndarray:
    """Images (n, height, width, ...) in which one pixel is the mean of ``step`` x ``step``."""
    n, height, width, *channels = images.shape
    blocks = images.reshape(n, height // step, step, width // step, step, *channels)
    return blocks.mean((2, 4))


def _write(path: Path, text: str) -> None:
    """All or nothing: a stop in the middle leaves the file as it was."""
    half = path.with_suffix(path.suffix + ".part")
    half.write_text(text)
    os.replace(half, path)
