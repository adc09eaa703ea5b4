"""Settings of Sphinx; build with ``make -C docs html`` or ``html-noplot``."""

import inspect
import os
import sys
from pathlib import Path

# One thread each, as in the tests; set before numpy and torch load.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sklearn_disent

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "sklearn-disent"
author = "The sklearn-disent developers"
copyright = author
version = release = sklearn_disent.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "public_names",
    "study_results",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "sg_execution_times.rst"]
default_role = "literal"
html_math_renderer = "mathml"

# -- links ----------------------------------------------------------------------------------------
# Inventories are fetched where there is a network: a build without one has the same pages.
_OTHERS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "sklearn": "https://scikit-learn.org/stable",
    "skorch": "https://skorch.readthedocs.io/en/stable",
    "torch": "https://docs.pytorch.org/docs/stable",
}
_ONLINE = "READTHEDOCS" in os.environ
intersphinx_mapping = {name: (url, None) for name, url in _OTHERS.items()} if _ONLINE else {}
_SOURCE = "https://github.com/sklearn-disent/sklearn-disent/blob/main"


def linkcode_resolve(domain, info):
    """Where the source of an object stands."""
    if domain != "py" or not info["module"]:
        return None
    obj = sys.modules.get(info["module"])
    for part in info["fullname"].split("."):
        obj = getattr(obj, part, None)
    obj = inspect.unwrap(getattr(obj, "fget", None) or obj)
    try:
        file, (lines, start) = inspect.getsourcefile(obj), inspect.getsourcelines(obj)
    except (TypeError, OSError):
        return None
    root = Path(sklearn_disent.__file__).parents[1]
    if file is None or not Path(file).is_relative_to(root / "sklearn_disent"):
        return None
    path = Path(file).relative_to(root).as_posix()
    return f"{_SOURCE}/{path}#L{start}-L{start + len(lines) - 1}"


# -- API ------------------------------------------------------------------------------------------
autosummary_generate = True
# numpydoc's Parameters name the types; signatures with them would fill a screen.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# -- gallery --------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Scripts in examples/studies take minutes and share a module, so that none of them would run
    # as a notebook: the pages of the studies offer them as files.
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(^|[\\/])_|[\\/]studies[\\/]",
    "doc_module": ("sklearn_disent",),
    "reference_url": {"sklearn_disent": None},
    "backreferences_dir": "gallery/backreferences",
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 60,
}

# -- pages ----------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = f"sklearn-disent {release}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["wide_tables.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_end": ["version-switcher", "theme-switcher"],
    "switcher": {
        "json_url": "https://sklearn-disent.readthedocs.io/en/latest/_static/switcher.json",
        "version_match": release,
    },
    "check_switcher": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "guide/metrics_table": []},
}

# Part of skorch's interface, of no use to callers.
HOOKS = {"initialize", "initialize_criterion", "predict_proba"}


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave out what a class inherits from torch, skorch and scikit-learn, and skorch's hooks."""
    func = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    own = str(getattr(func, "__module__", None)).startswith("sklearn_disent")
    hook = name in HOOKS or "skorch's protocol" in (getattr(func, "__doc__", None) or "")
    return True if hook or not own else None


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", skip_foreign_members)
