"""3D Chairs, from a local copy of its rendered images."""

import re
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._params import PositiveInt, RandomStateLike, loads
from ._base import Selection, choose_rows, data_folder, make_bunch
from ._pictures import Scaling, load_pictures

_NAME = re.compile(r"image_\d+_p(\d+)_t(\d+)_r\d+\.png")

DESCR = """\
3D Chairs
---------

Models of chairs, rendered from 2 elevations (20 and 30 degrees) and 31 azimuths (0 to 348 degrees)
each; the whole set has 1393 models and 86,366 images of 600 x 600 pixels. This copy has {n_models}
models and {n_images} images.

    model      {n_models}   folders, in the order of their names
    elevation  {n_elevations}   degrees, "p" in the names of the files
    azimuth    {n_azimuths}   degrees, "t" in the names of the files

Source: M. Aubry, D. Maturana, A. A. Efros, B. C. Russell and J. Sivic (2014). Seeing 3D Chairs:
Exemplar Part-Based 2D-3D Alignment Using a Large Dataset of CAD Models. CVPR.
"""


def _find_views(path: Path) -> dict[Path, tuple[str, int, int]]:
    """Model, elevation and azimuth of every image, by file."""
    root = path / "rendered_chairs" if (path / "rendered_chairs").is_dir() else path
    if not root.is_dir():
        raise FileNotFoundError(
            f"path must be the folder rendered_chairs or the one that holds it, got {path}, which "
            "is not a folder. Unpack rendered_chairs.tar and pass its folder."
        )
    views = {}
    for folder in sorted(root.glob("*/renders")):
        for file in sorted(folder.glob("image_*.png")):
            match = _NAME.fullmatch(file.name)
            if match is None:
                raise ValueError(
                    f"{file} must be named as image_000_p020_t011_r096.png, with elevation p and "
                    "azimuth t. Rename or remove it."
                )
            views[file] = (folder.parent.name, int(match[1]), int(match[2]))
    if not views:
        raise FileNotFoundError(
            f"{root} holds no folders with renders/image_000_p020_t000_r096.png and the like. "
            "Unpack rendered_chairs.tar and pass its folder."
        )
    return views


@loads(tuple[NDArray[np.uint8], NDArray[np.int64]])
def load_chairs3d(
    path: str | PathLike[str],
    n_samples: PositiveInt | None = None,
    *,
    factors: Selection | None = None,
    image_size: PositiveInt = 64,
    crop: PositiveInt | None = None,
    grayscale: bool = False,
    shuffle: bool = False,
    random_state: RandomStateLike = None,
    return_X_y: bool = False,
    data_home: str | PathLike[str] | None = None,
    cache: bool = True,
    progress: bool = True,
) -> Bunch | tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load 3D Chairs from a folder of its rendered images.

    1393 models of chairs [1]_, each from 62 directions: 86,366 images. Get ``rendered_chairs.tar``
    from its authors and unpack it.

    Parameters
    ----------
    path : str or path-like
        The folder ``rendered_chairs``, or the one that holds it. Each model has a folder in it,
        with images such as ``renders/image_001_p020_t011_r096.png``.

    n_samples : int or None, default=None
        Number of images, drawn without replacement from those that `factors` selects; None takes
        them all.

    factors : dict of str to int or array-like of int, or None, default=None
        Classes to keep, by factor name, such as ``{"elevation": 0}``. Factors that are not named
        keep all of their classes.

    image_size : int, default=64
        Side to which the images are scaled; the files have 600.

    crop : int or None, default=None
        Side, in pixels of the files, of the square that is cut out of their middle first; None
        keeps all. The chairs leave a wide margin: 400 keeps most of them whole.

    grayscale : bool, default=False
        Whether the images become grey.

    shuffle : bool, default=False
        Whether the images come in random order, or by model, elevation and azimuth. Shuffle, or
        use a shuffling splitter, for cross-validation.

    random_state : int, RandomState instance or None, default=None
        Determines the draw and the order. Pass an int for the same images at every call.

    return_X_y : bool, default=False
        If True, return ``(images, target)`` instead of a Bunch.

    data_home : str, path-like or None, default=None
        Folder for the cache; None is scikit-learn's data folder, see
        :func:`sklearn.datasets.get_data_home`.

    cache : bool, default=True
        Whether scaled images are kept in a file (1.1 GB for all at 64 pixels), once more than half
        of them are asked for. Scaling all takes a quarter of an hour.

    progress : bool, default=True
        Whether reading shows a progress bar.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        images : ndarray of shape (n_samples, image_size, image_size, 3), uint8
            Without the last axis if `grayscale`. The whole set in its order is a read-only memory
            map if it is cached.
        data : ndarray of shape (n_samples, n_features)
            The images, flattened; a view, not a copy.
        target : ndarray of shape (n_samples, 3), int64
            Classes of model, elevation and azimuth.
        factor_names, factor_sizes, factor_values
            Names, numbers of classes, and values of the classes: names of folders, and degrees.
        indices : ndarray of shape (n_samples,), int64
            Number of each image among those of the folder, in their order.

        DESCR : str

    (images, target) : tuple of ndarray
        If `return_X_y` is True.

    See Also
    --------
    load_celeba : Photographs of faces.
    fetch_cars3d : Models of cars, downloaded.
    make_faces3d_like : Heads that turn, without files.

    Notes
    -----
    Needs pillow (``pip install sklearn-disent[data]``). Models are counted in the order of the
    names of their folders; ``all_chair_names.mat`` is not needed. Copies with some of the models
    or views can be read too.

    References
    ----------
    .. [1] M. Aubry, D. Maturana, A. A. Efros, B. C. Russell and J. Sivic (2014). Seeing 3D Chairs:
       Exemplar Part-Based 2D-3D Alignment Using a Large Dataset of CAD Models. CVPR.

    Examples
    --------
    >>> from sklearn_disent.datasets import load_chairs3d
    >>> chairs = load_chairs3d("rendered_chairs", crop=400)  # doctest: +SKIP
    >>> chairs.images.shape  # doctest: +SKIP
    (86366, 64, 64, 3)
    """
    views = _find_views(Path(path))
    values, columns = {}, []
    for name, column in zip(("model", "elevation", "azimuth"), zip(*views.values())):
        values[name], classes = np.unique(np.array(column), return_inverse=True)
        columns.append(classes)
    target = np.stack(columns, axis=1).astype(np.int64)
    # Files come in the order of their names; the factors decide here.
    order = np.lexsort(target.T[::-1])
    files, target = [list(views)[row] for row in order], target[order]
    chosen = choose_rows(
        target, values, n_samples, factors=factors, shuffle=shuffle, random_state=random_state
    )
    images = load_pictures(
        files,
        chosen,
        Scaling((image_size, image_size), crop, grayscale),
        "chairs3d",
        folder=data_folder(data_home) / "chairs3d" if cache else None,
        progress=progress,
    )
    if return_X_y:
        return images, target[chosen]
    n_models, n_elevations, n_azimuths = (len(v) for v in values.values())
    descr = DESCR.format(
        n_models=n_models, n_elevations=n_elevations, n_azimuths=n_azimuths, n_images=len(files)
    )
    return make_bunch(images, target[chosen], values, descr, indices=chosen)
