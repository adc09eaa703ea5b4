"""Trained models that come with the package: no download, no unpickling."""

from pathlib import Path
from typing import Any

from .._params import validated
from ._loading import CONFIG
from ._net import BaseNet

_FOLDER = Path(__file__).parent / "pretrained"


def list_pretrained() -> list[str]:
    """Names of the trained models that come with the package.

    A name is the data set, the model and the seed: ``dsprites-btcvae-0``. The card of each, with
    its training, its scores and its limits, is the file ``README.md`` in its folder.

    Returns
    -------
    names : list of str
        In alphabetical order.

    See Also
    --------
    load_pretrained : Loads one of them.

    Examples
    --------
    >>> from sklearn_disent.models import list_pretrained
    >>> isinstance(list_pretrained(), list)
    True
    """
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{CONFIG}"))


@validated
def load_pretrained(name: str, **params: Any) -> BaseNet:
    """Load a trained model that comes with the package.

    Parameters
    ----------
    name : str
        One of :func:`list_pretrained`.
    **params : dict
        Parameters that replace the saved ones, such as ``device="cuda"``.

    Returns
    -------
    model : estimator
        Fitted: ``transform``, ``inverse_transform``, ``sample`` work at once, and ``partial_fit``
        trains it further.

    See Also
    --------
    list_pretrained : The names.
    BaseVAE.from_pretrained : Loads a model of your own.

    Examples
    --------
    >>> from sklearn_disent.models import list_pretrained, load_pretrained
    >>> for name in list_pretrained()[:1]:
    ...     model = load_pretrained(name)
    """
    names = list_pretrained()
    if name not in names:
        raise ValueError(
            f"The package has no trained model {name!r}. Choose one of {names}; a folder of your "
            "own is loaded by from_pretrained."
        )
    return BaseNet.from_pretrained(_FOLDER / name, **params)
