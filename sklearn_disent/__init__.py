"""Learn and judge disentangled representations the scikit-learn way."""

import importlib
from types import ModuleType

__version__ = "0.1.0"

# Rooms load on first use: metrics need no torch (2 s), and `import sklearn_disent` costs nothing.
_SUBMODULES = (
    "datasets",
    "exceptions",
    "inspection",
    "logic",
    "metrics",
    "model_selection",
    "models",
    "networks",
)

__all__ = ["__version__", *_SUBMODULES]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
