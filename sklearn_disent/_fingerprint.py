"""Hashes of objects by what they are and do: values, weights, the code of classes, versions.

joblib's hash of an estimator holds the names of classes but not their code, and torch modules never
hash alike twice. Here a class or function counts with its byte code, and with that of what it calls
as far as it is the user's own; what is installed counts with its version. Byte code is what runs: a
file that was edited after it was imported, or a class that was typed into a notebook, does not
mislead it, and neither comments nor the place in a file make a difference.
"""

import functools
import hashlib
import importlib.metadata
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from joblib.hashing import NumpyHasher

PACKAGES = ("sklearn-disent", "scikit-learn", "skorch", "torch", "numpy", "scipy")
_HERE = Path(__file__).parent
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
# What torch keeps in every module besides its parts: nothing that is computed with.
_BOOKKEEPING = {"_backward_pre_hooks", "_is_full_backward_hook", "_compiled_call_impl"}


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what a fit depends on."""
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name == "sklearn-disent":  # run from its source
                from . import __version__

                found[name] = __version__
    return found


@functools.cache
def package_source() -> str:
    """Hash of the files of this package that train models: between releases its version stays."""
    digest = hashlib.sha256()
    for room in ("models", "networks"):
        for path in sorted((_HERE / room).rglob("*.py")):
            digest.update(path.relative_to(_HERE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


class Fingerprint(NamedTuple):
    """Hash of a value, and the classes in it that are not installed, such as those of a script."""

    digest: str
    own_classes: list[type]


def fingerprint(value: Any) -> Fingerprint:
    """Hash of a value, of the code of all classes and functions in it, and of the versions."""
    hasher = _Hasher("sha1", coerce_mmap=True)
    hasher.hash(value, return_digest=False)
    digest = hashlib.sha256(hasher._hash.digest())
    for text in sorted(code_of(hasher.met)) + sorted(map(str, versions().items())):
        digest.update(text.encode())
    digest.update(package_source().encode())
    own = [item for item in hasher.met if isinstance(item, type) and not is_installed(item)]
    return Fingerprint(digest.hexdigest(), own)


class _Hasher(NumpyHasher):
    """joblib's, for torch modules as well; it remembers which classes and functions it has met."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.met: list[Any] = []
        self.torch = sys.modules.get("torch")

    def save(self, obj: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(obj, type | types.FunctionType):
            self.met.append(obj)
            super().save(("CODE", obj.__module__, obj.__qualname__))
            return
        if self.torch is not None:
            obj = _without_torch(obj, self.torch)
        super().save(obj)


def _without_torch(obj: Any, torch: Any) -> Any:
    """A tensor as an array, a module as its class and contents; anything else as it is."""
    if isinstance(obj, torch.Tensor):
        values = obj.detach().cpu().contiguous()
        # NumPy does not have all of torch's types: bytes do.
        raw = values.reshape(-1).view(torch.uint8).numpy() if values.numel() else None
        return ("TENSOR", str(obj.dtype), tuple(obj.shape), obj.requires_grad, raw)
    if isinstance(obj, torch.nn.Module):
        contents = {}
        for name, value in vars(obj).items():
            if name in _BOOKKEEPING or ("_hooks" in name and not value):
                continue
            # Hooks are numbered in the order in which a process makes them.
            contents[name] = list(value.values()) if "_hooks" in name else value
        return ("MODULE", type(obj), contents)
    if isinstance(obj, torch.dtype | torch.device):
        return str(obj)
    return obj


# -- code ------------------------------------------------------------------------------------


def is_installed(item: Any) -> bool:
    """Whether a class or function comes from the standard library, a package, or from here."""
    name = getattr(item, "__module__", None) or ""
    if name == "__main__":  # in worker processes, that module has another file
        return False
    return name not in sys.modules or _is_installed_module(sys.modules[name])


def _is_installed_module(module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__.partition(".")[0] in sys.stdlib_module_names
    return any(Path(file).is_relative_to(folder) for folder in _installed_folders())


@functools.cache
def _installed_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (_HERE, *map(Path, folders))


def code_of(items: list[Any]) -> set[str]:
    """A line per class and function, and per one that these use: its code, or its version."""
    lines: set[str] = set()
    queue, seen = list(items), set()
    while queue:
        item = queue.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if is_installed(item):
            lines.add(_installed_line(item))
        else:
            lines.add(f"{item.__module__}.{item.__qualname__} {_code_hash(item)}")
            queue += _uses(item)
    return lines


@functools.cache
def _installed_line(item: Any) -> str:
    top = item.__module__.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", "")
    return f"{item.__module__}.{item.__qualname__} {version}"


def _functions(item: Any) -> Iterator[types.FunctionType]:
    """The function itself, or all that a class defines."""
    if isinstance(item, types.FunctionType):
        yield item
        return
    for value in vars(item).values():
        inner = getattr(value, "__func__", getattr(value, "fget", value))
        inner = _unwrap(inner)
        if isinstance(inner, types.FunctionType):
            yield inner


def _unwrap(function: Any) -> Any:
    """What a decorator has wrapped, where it says so."""
    for _ in range(100):
        if not hasattr(function, "__wrapped__"):
            break
        function = function.__wrapped__
    return function


def _code_hash(item: Any) -> str:
    digest = hashlib.sha256()
    for function in _functions(item):
        parts = (function.__name__, function.__defaults__, function.__kwdefaults__)
        digest.update(repr([_plain(part) for part in parts]).encode())
        cells = function.__closure__ or ()
        digest.update(repr([_plain(_cell(cell)) for cell in cells]).encode())
        for code in _codes(function.__code__):
            digest.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
            digest.update(repr([_plain(const) for const in code.co_consts]).encode())
    if isinstance(item, type):
        constants = {k: _plain(v) for k, v in vars(item).items() if not k.startswith("__")}
        digest.update(repr(sorted(constants.items())).encode())
    for name, value in _globals(item):
        if _is_plain(value):
            digest.update(f"{name}={_plain(value)!r}".encode())
    return digest.hexdigest()


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions defined within."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _is_plain(value: Any) -> bool:
    """Whether a value is a constant: a list may be filled while the program runs."""
    if isinstance(value, tuple | frozenset):
        return all(_is_plain(item) for item in value)
    return type(value) in _SIMPLE


def _plain(value: Any) -> Any:
    """A value that prints alike in every process."""
    if isinstance(value, dict):  # default values of keywords
        return [(_plain(key), _plain(item)) for key, item in value.items()]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if type(value) in _SIMPLE else type(value).__qualname__


def _globals(item: Any) -> list[tuple[str, Any]]:
    """Names that the code of a class or function reads from its module, and their values."""
    found: dict[str, Any] = {}
    for function in _functions(item):
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        for name in sorted(names & function.__globals__.keys()):
            value = found[name] = function.__globals__[name]
            if isinstance(value, types.ModuleType) and not _is_installed_module(value):
                found.update((f"{name}.{n}", vars(value)[n]) for n in names & vars(value).keys())
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            found[name] = _cell(cell)
    return sorted(found.items())


def _uses(item: Any) -> list[Any]:
    """Classes and functions that a class or function of the user's own relies on."""
    found = [value for _, value in _globals(item)]
    if isinstance(item, type):
        found += item.__bases__
    return [value for value in found if isinstance(value, type | types.FunctionType)]
