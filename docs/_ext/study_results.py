"""Results of a study, as far as it has been run.

``.. study-results:: dependent_toys`` stands for the summary, the figures and the tables in the
folder ``results/dependent_toys`` beside the page. Each indented line names a figure and has its
caption; figures that are not there yet are left out, so that a page is right at every stage of a
long run.
"""

import re
from pathlib import Path

DIRECTIVE = re.compile(r"^\.\. study-results:: (\w+)\n((?:\n| {3}.*\n)*)", flags=re.M)


def expanded(page: str, folder: Path) -> str:
    """The text of a page in a folder, with the results written out."""

    def written_out(match: re.Match) -> str:
        name, entries = match[1], re.findall(r"^ {3}(\w+): (.+)$", match[2], flags=re.M)
        results = folder / "results" / name
        parts = []
        if (results / "summary.txt").exists():
            parts.append(f".. literalinclude:: results/{name}/summary.txt\n   :language: none\n")
        for figure, caption in entries:
            if (results / f"{figure}.png").exists():
                path = f"results/{name}/{figure}.png"
                parts.append(f".. figure:: {path}\n   :alt: {caption}\n\n   {caption}\n")
        tables = [f":download:`{path.name} <results/{name}/{path.name}>`"
                  for path in sorted(results.glob("*.csv"))]  # fmt: skip
        if tables:
            parts.append(f"Tables: {', '.join(tables)}.\n")
        return "\n".join(parts or ["Nothing of it has been run yet.\n"]) + "\n"

    return DIRECTIVE.sub(written_out, page)


def write_out(app, docname, source):
    """Called by Sphinx for every page."""
    source[0] = expanded(source[0], Path(app.srcdir, docname).parent)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", write_out)
    return {"parallel_read_safe": True}
