"""Learn and judge disentangled representations the scikit-learn way."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "show_versions",
    "datasets",
    "exceptions",
    "inspection",
    "logic",
    "metrics",
    "model_selection",
    "models",
    "networks",
]

# Rooms load on first use: metrics need no torch (2 s), and `import sklearn_disent` costs nothing.
if TYPE_CHECKING:
    from . import (
        datasets,
        exceptions,
        inspection,
        logic,
        metrics,
        model_selection,
        models,
        networks,
    )
    from ._show_versions import show_versions
else:  # a type checker that saw this function would accept any name

    def __getattr__(name: str) -> Any:
        if name == "show_versions":
            return importlib.import_module(f"{__name__}._show_versions").show_versions
        if name in __all__:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
