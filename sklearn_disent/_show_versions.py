"""What is installed, for reports of bugs."""

import importlib
import os
import platform
import re
import sys
from importlib import metadata

# Extras of those who work on the package; they say nothing about a user's bug.
_TOOLS = {"test", "docs", "benchmark"}


def show_versions() -> None:
    """Print what a report of a bug needs: Python, dependencies, extras, threads, devices.

    Versions are read from what is installed, so a package that is broken is still listed. The last
    part loads NumPy, scikit-learn and torch to ask them for their threads and devices.

    Returns
    -------
    None
        The lines go to the standard output.

    Examples
    --------
    >>> import sklearn_disent
    >>> sklearn_disent.show_versions()
    System
        python: 3...
    """
    sections = {
        "System": _system(),
        **{title: _versions(names) for title, names in _dependencies().items()},
        "Threads and devices": _threads(),
    }
    lines = []
    for title, facts in sections.items():
        width = max(map(len, facts), default=0)
        lines += [title, *(f"    {name:>{width}}: {fact}" for name, fact in facts.items()), ""]
    print("\n".join(lines))  # noqa: T201, printing is what it is for


def _system() -> dict[str, str]:
    return {
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
    }


def _dependencies() -> dict[str, list[str]]:
    """Names of packages by section, as the installed package declares them."""
    sections: dict[str, list[str]] = {"Dependencies": ["sklearn-disent", "pip"]}
    try:
        declared = metadata.requires("sklearn-disent") or []
    except metadata.PackageNotFoundError:
        # Run from its source: what it declares is not known, but its version is.
        declared = []
    for line in declared:
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name == "sklearn-disent" or (extra and extra.group(1) in _TOOLS):
            continue
        title = f"Extra {extra.group(1)!r}" if extra else "Dependencies"
        sections.setdefault(title, []).append(name)
    return sections


def _versions(names: list[str]) -> dict[str, str]:
    from . import __version__

    def version(name: str) -> str:
        if name == "sklearn-disent":
            return __version__
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "not installed"

    return {name: version(name) for name in names}


def _threads() -> dict[str, str]:
    facts = {"processors": str(os.cpu_count())}
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    facts |= {name: os.environ[name] for name in names if name in os.environ}
    for name, describe in {"torch": _torch, "sklearn": _pools}.items():
        try:
            importlib.import_module(name)
            facts |= describe()
        except Exception as error:  # a broken installation is what is being reported
            facts[name] = f"cannot be asked: {error!r}"
    return facts


def _torch() -> dict[str, str]:
    import torch

    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "torch threads": str(torch.get_num_threads()),
        "CUDA": f"{torch.version.cuda}, {', '.join(devices)}" if devices else "not available",
        "MPS": "available" if torch.backends.mps.is_available() else "not available",
    }


def _pools() -> dict[str, str]:
    from threadpoolctl import threadpool_info

    return {
        f"{pool['user_api']} {number}": (
            f"{pool['internal_api']} {pool['version'] or ''}, {pool['num_threads']} threads"
        )
        for number, pool in enumerate(threadpool_info())
    }
