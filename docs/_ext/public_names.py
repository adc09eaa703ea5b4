"""Lists of public names that write themselves, for the pages of the API reference.

``.. public-names:: information`` stands for an autosummary of all public names of the page's module
that are defined in `information` or below it; several such parts may follow each other. Without
any, it stands for the names that no other list of the page has. What is public says `__all__`, in
its order, so that a new metric or model needs no line in the documentation's lists.
"""

import importlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory

DIRECTIVE = re.compile(r"^\.\. public-names::(.*)$", flags=re.M)
AUTOSUMMARY = ".. autosummary::\n   :toctree: generated/\n   :nosignatures:\n\n"


def expanded(page: str) -> str:
    """The text of a page with the lists written out."""
    found = re.search(r"^\.\. currentmodule:: (\S+)$", page, flags=re.M)
    if not found or not DIRECTIVE.search(page):
        return page
    module = importlib.import_module(found[1])
    by_hand = set(re.findall(r"^ {3}(\w+)$", page, flags=re.M))
    by_part = {
        argument: _defined_in(module, argument.split()) for argument in DIRECTIVE.findall(page)
    }
    taken = by_hand.union(*by_part.values())

    def written_out(match: re.Match) -> str:
        rest = [name for name in module.__all__ if name not in taken]
        names = by_part[match[1]] if match[1].strip() else rest
        if not names:
            raise ValueError(f"{match[0]!r} of {module.__name__} lists nothing.")
        return AUTOSUMMARY + "".join(f"   {name}\n" for name in names)

    return DIRECTIVE.sub(written_out, page)


def _defined_in(module, parts):
    homes = tuple(f"{module.__name__}.{part}." for part in parts)
    return [
        name
        for name in module.__all__
        if f"{getattr(getattr(module, name), '__module__', '')}.".startswith(homes)
    ]


def write_stubs(app):
    """One page per listed name, as autosummary does for the lists that stand in the files."""
    from sphinx.ext.autosummary.generate import generate_autosummary_docs

    folder = Path(app.srcdir) / "api"
    with TemporaryDirectory() as temporary:
        sources = []
        for page in folder.glob("*.rst"):
            source = Path(temporary) / page.name
            source.write_text(expanded(page.read_text()))
            sources.append(str(source))
        generate_autosummary_docs(sources, output_dir=folder / "generated", app=app)


def expand_source(app, docname, source):
    """Called by Sphinx with the text of every page."""
    source[0] = expanded(source[0])


def setup(app):
    """Called by Sphinx."""
    # Before autosummary itself, and before the files are counted.
    app.connect("builder-inited", write_stubs, priority=400)
    app.connect("source-read", expand_source)
    return {"parallel_read_safe": True}
