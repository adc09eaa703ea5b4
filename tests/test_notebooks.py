"""The notebooks that the gallery offers run from top to bottom, in a folder of their own."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(ROOT.glob("plot_*.py"))
# What the kernel is started with; scripts that read arguments must not stumble over it.
SETUP = "import matplotlib; matplotlib.use('Agg')"


def notebook_of(path):
    """The notebook that sphinx-gallery makes of a script."""
    py_source_parser = pytest.importorskip("sphinx_gallery.py_source_parser")
    notebook = pytest.importorskip("sphinx_gallery.notebook")
    nbformat = pytest.importorskip("nbformat")
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF

    _, blocks = py_source_parser.split_code_and_text_blocks(str(path))
    conf = {**DEFAULT_GALLERY_CONF, "first_notebook_cell": SETUP}
    return nbformat.from_dict(_joined(notebook.jupyter_notebook(blocks, conf, str(path.parent))))


def _joined(found):
    """Sources as strings, as they are in memory; files have lists of lines."""
    for cell in found["cells"]:
        cell["source"] = "".join(cell["source"])
    return found


def test_notebook_begins_with_its_title():
    cells = notebook_of(EXAMPLES[0])["cells"]
    assert "".join(cells[0]["source"]) == SETUP
    assert "".join(cells[1]["source"]).lstrip().startswith("# ")


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    # The kernel is another process, which finds the package where this one did.
    path_list = [str(ROOT.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path_list)))
    client = nbclient.NotebookClient(
        notebook_of(path), timeout=900, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
