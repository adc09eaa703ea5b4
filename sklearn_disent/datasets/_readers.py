"""What is in the files of published data sets, whoever put them there."""

import io
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from . import _dsprites, _shapes3d
from ._base import FactorGrid, import_extra
from ._files import (
    Check,
    open_h5,
    open_npz_array,
    read_bounded,
    read_norb,
    read_npz_array,
    read_tar_members,
    take_rows,
    unpack_h5,
    unpack_once,
    write_npy,
)


def is_whole(chosen: NDArray[np.int64], n_total: int) -> bool:
    """Whether all rows are wanted, in their order, so that nothing has to be read."""
    return len(chosen) == n_total and bool((np.diff(chosen) == 1).all())


def take(images: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[Any]:
    """The chosen rows of a memory map; all of it, in its order, stays on disk."""
    return images if is_whole(chosen, len(images)) else take_rows(images, chosen)


def check_grid(path: Path, name: str, classes: NDArray[Any], grid: FactorGrid) -> None:
    """Verify that the labels in a file are the full grid in row-major order."""
    expected = grid.to_classes(np.arange(len(grid)))
    if classes.shape != expected.shape or (classes != expected).any():
        raise ValueError(
            f"{path} is not the file that this loader expects: {name!r} must be the full grid of "
            f"{', '.join(grid.names)} in row-major order. Get it again."
        )


def images_of(path: Path, *shapes: tuple[int, ...]) -> Check:
    """A check that an array in a file is uint8 of one of some shapes, before anything is read."""

    def check(shape: tuple[int, ...], dtype: np.dtype) -> None:
        if shape not in shapes or dtype != np.uint8:
            allowed = " or ".join(map(str, shapes))
            raise ValueError(
                f"{path} is not the file that this loader expects: images must be uint8 of shape "
                f"{allowed}, got {dtype} of shape {shape}. Get it again."
            )

    return check


def find_file(path: str | PathLike[str], name: str) -> Path:
    """A file that a user has, given by itself or by the folder in which it has its usual name."""
    file = Path(path).expanduser()
    if file.is_dir():
        file = file / name
    if not file.is_file():
        raise FileNotFoundError(
            f"path must be the file {name}, under any name, or the folder that holds it; {file} is "
            "not there."
        )
    return file


# -- dSprites -------------------------------------------------------------------------------------

DSPRITES_GRID = _dsprites.GRID
DSPRITES_DESCR = """\
dSprites
--------

One white shape on black, 64 x 64 pixels, uint8 in {0, 1}, on the full grid of shape 3 (square,
ellipse, heart), scale 6, orientation 40, posX 32 and posY 32: 737,280 images. The sixth factor of
the file, color, has one value and is left out. Orientations 0 and 39 draw the same picture.

Source: L. Matthey, I. Higgins, D. Hassabis and A. Lerchner (2017). dSprites: Disentanglement
testing Sprites dataset. Licence: Apache-2.0.
"""


def read_dsprites(path: Path, grid: FactorGrid, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Chosen images of the npz file of dSprites."""
    classes = read_npz_array(path, "latents_classes")
    check_grid(path, "latents_classes", classes[:, 1:] if classes.ndim == 2 else classes, grid)
    return take(open_npz_array(path, "imgs", images_of(path, (len(grid), 64, 64))), chosen)


# -- 3D Shapes ------------------------------------------------------------------------------------

SHAPES3D_GRID = _shapes3d.GRID
SHAPES3D_DESCR = """\
3D Shapes
---------

One solid in a room, RGB, 64 x 64 pixels, uint8, on the full grid of floor_hue 10, wall_hue 10,
object_hue 10, scale 8, shape 4 (cube, cylinder, sphere, capsule) and orientation 15: 480,000
images.

Source: C. Burgess and H. Kim (2018). 3D Shapes Dataset. Licence: Apache-2.0.
"""


def read_shapes3d(path: Path, grid: FactorGrid, chosen: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Chosen images of the HDF5 file of 3D Shapes."""
    with open_h5(path, ("images", "labels")) as file:
        images_of(path, (len(grid), 64, 64, 3))(file["images"].shape, file["images"].dtype)
        if file["labels"].shape != (len(grid), len(grid.names)):
            check_grid(path, "labels", np.empty(0), grid)
        # Labels are values, not classes: the class is the rank of the value.
        labels = file["labels"][:].round(6)
        columns = [np.unique(column, return_inverse=True)[1] for column in labels.T]
        check_grid(path, "labels", np.stack(columns, axis=1), grid)
        if is_whole(chosen, len(grid)):
            return unpack_h5(file["images"], path, path.with_name(f"{path.stem}.images.npy"))
        return take_rows(file["images"], chosen)


# -- MPI3D ----------------------------------------------------------------------------------------

_MPI3D_REST = {
    "object_size": np.array(["small", "large"]),
    "camera_height": np.array(["top", "center", "bottom"]),
    "background_color": np.array(["purple", "sea green", "salmon"]),
    "horizontal_axis": np.arange(40),
    "vertical_axis": np.arange(40),
}
# The usual set of 1,036,800 images, and one of 460,800 with everyday objects.
MPI3D_GRIDS = [
    FactorGrid(
        {
            "object_color": np.array(["white", "green", "red", "blue", "brown", "olive"]),
            "object_shape": np.array(
                ["cone", "cube", "cylinder", "hexagonal", "pyramid", "sphere"]
            ),
            **_MPI3D_REST,
        }
    ),
    FactorGrid(
        {
            "object_color": np.array(["yellow", "green", "olive", "red"]),
            "object_shape": np.array(["coffee cup", "tennis ball", "croissant", "beer cup"]),
            **_MPI3D_REST,
        }
    ),
]
MPI3D_DESCR = """\
MPI3D ({version})
-----------------

An object at the tip of a robot arm, RGB, 64 x 64 pixels, uint8, on the full grid of object_color,
object_shape, object_size 2, camera_height 3, background_color 3, horizontal_axis 40 and
vertical_axis 40: {n_images:,} images. Versions: toy (simple rendering), realistic (rendering), real
(photographs), real_complex (photographs of everyday objects).

Source: M. W. Gondal et al. (2019). On the Transfer of Inductive Bias from Simulation to the Real
World: a New Disentanglement Dataset. NeurIPS. Licence: CC BY 4.0.
"""


def open_mpi3d(path: Path, grids: Sequence[FactorGrid]) -> tuple[NDArray[np.uint8], FactorGrid]:
    """All images of an npz file of MPI3D, as a memory map, and the grid that their number tells."""
    shapes = [(len(grid), 64, 64, 3) for grid in grids]
    images = open_npz_array(path, "images", images_of(path, *shapes))
    return images, grids[shapes.index(images.shape)]


# -- Cars3D ---------------------------------------------------------------------------------------

CARS3D_GRID = FactorGrid(
    {"elevation": np.arange(4), "azimuth": np.arange(24), "object_type": np.arange(183)}
)
CARS3D_DESCR = """\
Cars3D
------

183 car models, seen from 24 azimuths and 4 elevations, RGB, uint8: 17,568 images of 128 x 128
pixels, by default scaled to 64 x 64. object_type numbers the models in the order of the archive's
own list.

Source: S. Reed, Y. Zhang, Y. Zhang and H. Lee (2015). Deep Visual Analogy-Making. NIPS. The models
are from S. Fidler, S. Dickinson and R. Urtasun (2012). 3D Object Detection and Viewpoint Estimation
with a Deformable 3D Cuboid Model. NIPS.
"""
_CARS_FOLDER = PurePosixPath("data/cars")


def resize_images(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Scale images (n, height, width) or (n, height, width, 3) to squares."""
    if images.shape[1:3] == (size, size):
        return np.ascontiguousarray(images)
    image_module = import_extra("PIL.Image", "pillow", "to scale images")
    scaled = np.empty((len(images), size, size, *images.shape[3:]), dtype=np.uint8)
    for i, image in enumerate(images):
        picture = image_module.fromarray(np.ascontiguousarray(image))
        scaled[i] = np.asarray(picture.resize((size, size), image_module.Resampling.LANCZOS))
    return scaled


def _read_car(
    path: Path, name: str, content: bytes, grid: FactorGrid, image_size: int
) -> NDArray[np.uint8]:
    """One model (elevation, azimuth, size, size, 3) from its MATLAB file."""
    try:
        images = loadmat(io.BytesIO(content), variable_names=["im"])["im"]
    except Exception as error:  # scipy raises whatever a damaged file leads it to
        raise ValueError(
            f"{name} in {path} is not a MATLAB file with 'im' ({error}). Get the archive again."
        ) from error
    shape = (128, 128, 3, grid.sizes[1], grid.sizes[0])
    if images.shape != shape or images.dtype != np.uint8:
        raise ValueError(
            f"'im' of {name} in {path} must be uint8 of shape {shape}, got {images.dtype} of "
            f"shape {images.shape}. Get the archive again."
        )
    pictures = images.transpose(4, 3, 0, 1, 2).reshape(-1, 128, 128, 3)
    scaled = resize_images(pictures, image_size)
    return scaled.reshape(*grid.sizes[:2], image_size, image_size, 3)


def _car_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the list and the models, from the archive or an unpacked folder."""
    if path.is_file():
        yield from read_tar_members(
            path, lambda member: PurePosixPath(member).parent == _CARS_FOLDER
        )
        return
    for file in sorted(path.iterdir()):
        if file.is_file() and (file.name == "list.txt" or file.suffix == ".mat"):
            yield file.name, read_bounded(file)


def _stack_cars(path: Path, grid: FactorGrid, image_size: int) -> NDArray[np.uint8]:
    """All images in row-major order, (n, size, size, 3)."""
    models: dict[str, NDArray[np.uint8]] = {}
    names = None
    for name, content in _car_files(path):
        file = PurePosixPath(name)
        if file.name == "list.txt":
            lines = content.decode(errors="replace").split()
            names = [line.removesuffix(".mat") for line in lines]
        elif file.suffix == ".mat":
            models[file.stem] = _read_car(path, name, content, grid, image_size)
    # The order is that of the list; a folder's own order would depend on who unpacked it.
    if names is None or len(names) != grid.sizes[2]:
        got = "none" if names is None else f"{len(names)} names"
        raise ValueError(
            f"{path} must hold {_CARS_FOLDER}/list.txt with {grid.sizes[2]} names, got {got}. Get "
            "it again."
        )
    missing = [name for name in names if name not in models]
    if missing:
        raise ValueError(
            f"{path} lists the model {missing[0]!r} but holds no {_CARS_FOLDER}/{missing[0]}.mat. "
            "Get it again."
        )
    stacked = np.stack([models[name] for name in names], axis=2)
    return stacked.reshape(-1, image_size, image_size, 3)


def find_cars(path: str | PathLike[str], name: str) -> Path:
    """The archive of Cars3D that a user has, or the folder to which it was unpacked."""
    folder = Path(path).expanduser()
    for place in (folder, folder / "cars", folder / "data" / "cars"):
        if (place / "list.txt").is_file():
            return place
    return find_file(path, name)


def read_cars3d(
    path: Path, grid: FactorGrid, image_size: int, chosen: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Chosen images of Cars3D, which are stacked once beside the archive or in its folder."""
    source, folder = (path, path.parent) if path.is_file() else (path / "list.txt", path)

    def write(unpacked: Path) -> None:
        cars = _stack_cars(path, grid, image_size)
        write_npy(unpacked, cars.shape, cars.dtype, [cars])

    stacked = folder / f"cars3d_{image_size}.npy"
    shape = (len(grid), image_size, image_size, 3)
    return take(unpack_once(stacked, source, write, images_of(stacked, shape)), chosen)


# -- smallNORB ------------------------------------------------------------------------------------

NORB_VALUES = {
    "category": np.array(["animal", "human", "airplane", "truck", "car"]),
    "instance": np.arange(10),
    "elevation": np.arange(30, 75, 5),
    "azimuth": np.arange(0, 360, 20),
    "lighting": np.arange(6),
}
NORB_INSTANCES = {"train": [4, 6, 7, 8, 9], "test": [0, 1, 2, 3, 5], "all": list(range(10))}
NORB_SIDE = 96
NORB_DESCR = """\
smallNORB
---------

50 toys, photographed in grey; the images are those of the left of two cameras. The factors are
category 5 (animal, human, airplane, truck, car), instance 5 in the training set and 5 others in the
test set, elevation 9 (30 to 70 degrees), azimuth 18 (0 to 340 degrees) and lighting 6: 24,300
images in each set, of 96 x 96 pixels, by default scaled to 64 x 64, in row-major order of the
factors.

Source: Y. LeCun, F. J. Huang and L. Bottou (2004). Learning Methods for Generic Object Recognition
with Invariance to Pose and Lighting. CVPR.
"""


def _read_norb_split(paths: Mapping[str, Path]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, side, side) of one split and their raw factors, as they stand in the files."""
    images, category, info = (read_norb(paths[part]) for part in ("dat", "cat", "info"))
    n_images = len(images)
    if images.dtype != np.uint8 or images.shape[1:] != (2, NORB_SIDE, NORB_SIDE):
        raise ValueError(
            f"{paths['dat']} must hold uint8 pairs of {NORB_SIDE} x {NORB_SIDE} pixels, got "
            f"{images.dtype} of shape {images.shape}. Get it again."
        )
    if category.shape != (n_images,) or info.shape != (n_images, 4):
        raise ValueError(
            f"{paths['cat']} and {paths['info']} must hold one row for each of the {n_images} "
            f"images, got shapes {category.shape} and {info.shape}. Get them again."
        )
    # Azimuth counts in steps of 10 degrees, of which every second was taken.
    columns = [category, info[:, 0], info[:, 1], info[:, 2] // 2, info[:, 3]]
    return images[:, 0], np.stack(columns, axis=1).astype(np.int64)


def _sort_norb(
    images: NDArray[np.uint8], raw: NDArray[np.int64], grid: FactorGrid, folder: Path
) -> NDArray[np.uint8]:
    """Bring images into the row-major order of the grid."""
    classes = raw.copy()
    classes[:, 1] = np.searchsorted(grid.values["instance"], raw[:, 1])
    order = np.lexsort(classes.T[::-1])
    expected = grid.to_classes(np.arange(len(grid)))
    if classes.shape != expected.shape or (classes[order] != expected).any():
        raise ValueError(
            f"The files in {folder} do not hold every combination of {', '.join(grid.names)} "
            "once. Get them again."
        )
    return images[order]


def norb_grid(values: Mapping[str, NDArray[Any]], subset: str) -> FactorGrid:
    return FactorGrid({**values, "instance": np.array(NORB_INSTANCES[subset])})


def norb_splits(subset: str) -> tuple[str, ...]:
    return ("train", "test") if subset == "all" else (subset,)


def read_smallnorb(
    splits: Sequence[Mapping[str, Path]],
    grid: FactorGrid,
    image_size: int,
    chosen: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Chosen images of smallNORB from the files "dat", "cat" and "info" of one or two splits."""
    halves = [_read_norb_split(paths) for paths in splits]
    images, raw = (np.concatenate(column) for column in zip(*halves))
    images = _sort_norb(images, raw, grid, splits[0]["dat"].parent)[chosen]
    return resize_images(images, image_size)


def find_norb(path: str | PathLike[str], names: Mapping[str, str]) -> dict[str, Path]:
    """The files of one split that a user has in a folder, compressed or not."""
    folder = Path(path).expanduser()
    found = {}
    for part, name in names.items():
        places = [folder / name, folder / name.removesuffix(".gz")]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            raise FileNotFoundError(
                f"path must be the folder of the files of smallNORB; {places[0]} is not there, nor "
                f"{places[1].name}."
            )
        found[part] = file
    return found
