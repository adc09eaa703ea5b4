"""The documentation: its code runs, its lists are complete, it builds."""

import doctest
import functools
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import sklearn_disent
from sklearn_disent.networks._families import FAMILIES, ConvFamily, DenseFamily

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [  # README's code runs in test_package.py
    DOCS / "index.rst",
    DOCS / "quickstart.rst",
    DOCS / "results" / "index.rst",
    *sorted((DOCS / "guide").glob("*.rst")),
]
ROOMS = sorted(set(sklearn_disent.__all__) - {"__version__", "show_versions"})
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not here")


def indented(lines, start, indent):
    """The lines from `start` on that are empty or indented by more than `indent`."""
    for line in lines[start:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return
        yield line


def dedent(lines):
    # Blank lines keep their place, so that numbers of lines in tracebacks are those of the page.
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines) + "\n"


def python_blocks(text):
    """(number of the line before, code) of every Python block of a page, sessions included."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.strip() == ".. code-block:: python":
            block = list(indented(lines, number + 1, len(line) - len(line.lstrip())))
            yield number + 1, dedent(block)
            number += len(block)
        elif line.strip() == "```python":
            end = lines.index("```", number)
            yield number + 1, "\n".join(lines[number + 1 : end]) + "\n"
            number = end
        elif line.startswith(">>>"):
            end = next(i for i in range(number, len(lines) + 1) if not "".join(lines[i : i + 1]))
            yield number, "\n".join(lines[number:end]) + "\n"
            number = end
        number += 1


def run_block(code, number, page, namespace):
    if ">>>" not in code:
        exec(compile("\n" * number + code, page, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(code, namespace, page, page, number)
    report = []
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(
        test, out=report.append, clear_globs=False
    )
    assert not report, "".join(report)
    namespace.update(test.globs)


@pytest.fixture
def cluster(monkeypatch):
    """What readers have and a test has not: a scheduler at node1, and SLURM."""
    distributed = pytest.importorskip("distributed")
    # A loop that outlives the cluster: one that stops with it may cancel a worker of this process
    # while it is still closing, and then waits for it in vain (3 of 10 times).
    runner = distributed.utils.LoopRunner()
    runner.start()
    local = distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=":0",
        loop=runner.loop,
    )
    slurm = types.ModuleType("dask_jobqueue")
    slurm.SLURMCluster = lambda queue, cores, processes, memory, walltime: local
    monkeypatch.setitem(sys.modules, "dask_jobqueue", slurm)
    monkeypatch.setattr(local, "scale", lambda jobs: None)
    with local:
        yield local


def on(cluster, text):
    assert "tcp://node1:8786" in text
    return text.replace("tcp://node1:8786", cluster.scheduler_address)


def missing_packages(text, number):
    """Packages that a block needs, by a comment ``.. needs: mlflow`` above, and are not here."""
    above = [line for line in text.split("\n")[: number - 1] if line.strip()]
    if not above or not above[-1].startswith(".. needs:"):
        return []
    packages = [name.partition(".")[0] for name in above[-1].split()[2:]]
    return [name for name in packages if importlib.util.find_spec(name) is None]


def test_blocks_of_missing_packages_are_left_out():
    text = "T\n\n.. needs: no_such_package os\n\n.. code-block:: python\n\n   x = 1\n"
    ((number, _),) = python_blocks(text)
    assert missing_packages(text, number) == ["no_such_package"]
    assert missing_packages(text.replace(".. needs: no_such_package os", ""), number) == []


def run_page(page, text):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings(), pyplot.rc_context({"backend": "agg"}):
        warnings.simplefilter("error")
        for number, code in python_blocks(text):
            if not missing_packages(text, number):
                run_block(code, number, page.name, namespace)
    pyplot.close("all")


def shown_output(text):
    """What a page says that its code prints: the blocks of plain text."""
    blocks = re.findall(r"^```text\n(.*?)^```", text, flags=re.M | re.S)
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if line == ".. code-block:: text"]
    return "\n".join([*blocks, *(dedent(list(indented(lines, n + 1, 0))) for n in starts)])


def check_output(shown, printed):
    """The same words; numbers may differ as they do between machines and versions of torch."""
    number = r"\d+\.\d+"
    words = [re.sub(number, "#", text).split() for text in (shown, printed)]
    assert words[0] == words[1]
    values = [np.array(re.findall(number, text), dtype=float) for text in (shown, printed)]
    np.testing.assert_allclose(*values, atol=0.1)


def test_output_of_other_numbers_or_words_is_noticed():
    text = shown_output(
        "T\n\n.. code-block:: text\n\n   mig   0.50\n   sap 0.1\n\n```text\nx\n```\n"
    )
    check_output(text, "x mig 0.52\nsap 0.13")
    for printed in ("x mig 0.62\nsap 0.13", "x mig 0.52\ndci 0.13"):
        with pytest.raises(AssertionError):
            check_output(text, printed)


# Pages that show the output of all their code.
SHOWN = ("README", "quickstart")


# Pages whose code takes seconds.
LONG = ("causality", "generators", "labels", "logic", "report", "saving")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else [])
        for page in PAGES
    ],
)
def test_code_of_page_runs_without_a_warning(page, request, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    if page.stem not in SHOWN and ">>>" not in text and "pretrained" not in text:
        # Smaller networks: no number or stored weight depends on their size.
        monkeypatch.setitem(FAMILIES, "mlp", DenseFamily((16,)))
        monkeypatch.setitem(FAMILIES, "burgess", ConvFamily((8,) * 4, (16,), least_map=4))
    if "node1:8786" in text:
        text = on(request.getfixturevalue("cluster"), text)
        # Fresh processes load torch again, which takes longer than all other pages together.
        text = text.replace('"loky", n_jobs=2, inner_max_num_threads=1', '"threading", n_jobs=2')
    run_page(page, text)
    if page.stem in SHOWN:
        printed = capsys.readouterr().out
        check_output(shown_output(text), printed)
        for value, chance in re.findall(r"mig +(\S+) +(\S+)", printed):
            assert float(value) > 2 * float(chance), "not clearly above the chance beside it"


@pytest.mark.slow
def test_code_of_sweeps_runs_on_several_processes(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = DOCS / "guide" / "sweeps.rst"
    run_page(page, on(cluster, page.read_text()))


def test_blocks_are_found_and_fail_when_wrong():
    text = "Text::\n\n.. code-block:: python\n\n   x = 1\n\n   y = x\n\n>>> y\n2\n\nEnd.\n"
    (first, code), (second, session) = python_blocks(text)
    namespace = {}
    run_block(code, first, "page", namespace)
    assert namespace["y"] == 1
    with pytest.raises(AssertionError, match=r"Expected:\s+2\s+Got:\s+1"):
        run_block(session, second, "page", namespace)
    for page in PAGES:
        marked = re.findall(r"code-block:: python|^```python|^>>>", page.read_text(), flags=re.M)
        assert bool(marked) == bool(list(python_blocks(page.read_text()))), page


@functools.cache
def extension(name):
    """An extension of the documentation."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_names():
    """The extension that writes lists of public names."""
    return extension("public_names")


def listed(page):
    """Names in the autosummary lists of a page."""
    lines = public_names().expanded(page.read_text()).split("\n")
    for number, line in enumerate(lines):
        if line == ".. autosummary::":
            for entry in indented(lines, number + 1, 0):
                if re.fullmatch(r" {3}\w+", entry):
                    yield entry.strip()


@pytest.mark.parametrize("room", ROOMS)
def test_api_reference_lists_every_public_name_once(room):
    names = list(listed(DOCS / "api" / f"{room}.rst"))
    public = list(getattr(sklearn_disent, room).__all__)
    missing, gone = set(public) - set(names), set(names) - set(public)
    assert not missing, f"add a line for each of these to docs/api/{room}.rst: {sorted(missing)}"
    assert not gone, f"docs/api/{room}.rst lists what is no longer public: {sorted(gone)}"
    assert len(names) == len(set(names))
    assert f"   {room}\n" in (DOCS / "api" / "index.rst").read_text()


def test_lists_of_public_names_write_themselves():
    page = ".. currentmodule:: sklearn_disent.metrics\n\n   mig_score\n\n.. public-names::"
    expanded = public_names().expanded
    lines = expanded(f"{page} topology of_models\n").split("\n")
    assert "   manifold_topology_score" in lines
    assert "   elbo_score" in lines
    assert "   sap_score" not in lines
    rest = expanded(f"{page}\n\n.. public-names:: topology\n").split("\n")
    assert rest.count("   manifold_topology_score") == rest.count("   mig_score") == 1
    assert "   sap_score" in rest
    with pytest.raises(ValueError, match="lists nothing"):
        expanded(f"{page} attic\n")


def test_pages_show_the_results_that_are_there(tmp_path):
    page = "Before.\n\n.. study-results:: toy\n\n   curve: A curve.\n   other: Another.\n\nAfter.\n"
    expanded = extension("study_results").expanded
    assert expanded(page, tmp_path) == "Before.\n\nNothing of it has been run yet.\n\nAfter.\n"
    results = tmp_path / "results" / "toy"
    results.mkdir(parents=True)
    for name in ("summary.txt", "curve.png", "scores.csv"):
        (results / name).touch()
    found = expanded(page, tmp_path)
    assert ".. literalinclude:: results/toy/summary.txt\n" in found
    assert ".. figure:: results/toy/curve.png\n   :alt: A curve.\n\n   A curve.\n" in found
    assert ":download:`scores.csv <results/toy/scores.csv>`" in found
    assert "other" not in found
    assert found.endswith("\n\nAfter.\n")


def test_install_page_lists_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed_extras = re.findall(r"^``(\w+)`` ", (DOCS / "install.rst").read_text(), flags=re.M)
    assert sorted(listed_extras) == sorted(project["optional-dependencies"])


def test_references_in_pages_name_what_exists():
    pattern = r":(?:func|class|mod):`~?(sklearn_disent[\w.]*)`"
    for page in DOCS.glob("**/*.rst"):
        if {"generated", "gallery", "_templates"} & set(page.relative_to(DOCS).parts):
            continue
        for target in re.findall(pattern, page.read_text()):
            found = sklearn_disent
            for part in target.split(".")[1:]:
                assert part in found.__all__, f"{page.name}: {target}"
                found = getattr(found, part)


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx_gallery")
    pytest.importorskip("pydata_sphinx_theme")
    pytest.importorskip("numpydoc")
    command = ["make", "-C", str(DOCS), "html-noplot", f"PYTHON={sys.executable}"]
    result = subprocess.run(
        [*command, f"BUILDDIR={tmp_path}"], capture_output=True, text=True, env={**os.environ}
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "html" / "index.html").is_file()


def test_table_of_collapse_is_that_of_its_fits():
    path = ROOT / "benchmarks" / "collapse.py"
    if not path.exists():
        pytest.skip("benchmarks are not here")
    spec = importlib.util.spec_from_file_location("collapse", path)
    collapse = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(collapse)
    guide = DOCS / "guide"
    fits = collapse.read(guide / "collapse_fits.csv")
    expected = collapse.summarize([row for row in fits if row["images"] == "1000"])
    expected = [{name: str(value) for name, value in row.items()} for row in expected]
    assert collapse.read(guide / "collapse.csv") == expected
    by_default = [row for row in expected if row["initial weights"] == "he"]
    assert [row["images"] for row in by_default] == list(collapse.SETS)
    assert all(row["seeds with all dead"] == "0" for row in by_default)
    # The case with which it began: seeds 0, 1 and 2 had 0, 7 and 7 active latents.
    larger = [row for row in fits if (row["images"], row["variant"]) == ("2000", "he")]
    assert [row["seed"] for row in larger] == ["0", "1", "2"]
    listed = ", ".join(row["active"] for row in larger[:-1]) + f" and {larger[-1]['active']}"
    assert f"seeds 0, 1 and 2 have {listed} active latents" in (guide / "models.rst").read_text()
