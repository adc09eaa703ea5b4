"""Loaders of real files, on small files of the same formats from a local web site."""

import gzip
import hashlib
import inspect
import io
import os
import pickle
import struct
import sys
import tarfile
import zipfile
from dataclasses import replace

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from sklearn_disent._params import InvalidParameterError
from sklearn_disent.datasets import (
    _files,
    fetch_cars3d,
    fetch_dsprites,
    fetch_mpi3d,
    fetch_shapes3d,
    fetch_smallnorb,
    load_cars3d,
    load_dsprites,
    load_mpi3d,
    load_shapes3d,
    load_smallnorb,
    make_dsprites,
)
from sklearn_disent.datasets._base import FactorGrid
from sklearn_disent.datasets._files import open_npz_array, read_tar_members, take_rows

QUIET = {"progress": False, "delay": 0.0, "n_retries": 1}


def small_grid(**sizes):
    return FactorGrid({name: np.arange(size) for name, size in sizes.items()})


def anything(shape, dtype):
    """A check of shape and type that passes always."""


def npz_bytes(compressed=True, **arrays):
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


class Bomb:
    """Makes a folder if it is ever unpickled."""

    def __init__(self, crater):
        self.crater = str(crater)

    def __reduce__(self):
        return os.mkdir, (self.crater,)


# dSprites

DSPRITES = small_grid(shape=3, scale=2, orientation=3, posX=4, posY=4)


@pytest.fixture
def dsprites(site, replace_in, tmp_path):
    """Publish a small file in the format of dSprites; returns its images."""

    def publish(compressed=True, images=None, classes=None):
        if images is None:
            images = make_dsprites(len(DSPRITES), random_state=0).images
        if classes is None:
            classes = DSPRITES.to_classes(np.arange(len(DSPRITES)))
            classes = np.insert(classes, 0, 0, axis=1)
        content = npz_bytes(
            compressed,
            imgs=images,
            latents_classes=classes,
            latents_values=classes.astype(float),
            metadata=np.array({"bomb": Bomb(tmp_path / "crater")}, dtype=object),
        )
        remote = site.publish("dsprites.npz", content)
        replace_in(fetch_dsprites, DSPRITES_FILE=remote, DSPRITES_GRID=DSPRITES)
        replace_in(load_dsprites, DSPRITES_GRID=DSPRITES)
        return images

    return publish


@pytest.mark.parametrize("compressed", [True, False])
def test_fetch_dsprites_reads_all_lazily_and_parts_into_memory(dsprites, tmp_path, compressed):
    images = dsprites(compressed)
    whole = fetch_dsprites(data_home=tmp_path, **QUIET)
    assert isinstance(whole.images, np.memmap)
    assert not whole.images.flags.writeable
    assert np.shares_memory(whole.data, whole.images)
    np.testing.assert_array_equal(whole.images, images)
    np.testing.assert_array_equal(whole.target, DSPRITES.to_classes(np.arange(len(DSPRITES))))

    part = fetch_dsprites(factors={"shape": 1, "posX": [0, 3]}, data_home=tmp_path, **QUIET)
    assert not isinstance(part.images, np.memmap)
    np.testing.assert_array_equal(part.images, images[part.indices])
    assert set(part.target[:, 3]) == {0, 3}

    rows = [200, 3, 3, 77]
    X, y = fetch_dsprites(indices=rows, data_home=tmp_path, return_X_y=True, **QUIET)
    np.testing.assert_array_equal(X, images[rows])
    np.testing.assert_array_equal(y, whole.target[rows])

    drawn = fetch_dsprites(20, shuffle=True, random_state=0, data_home=tmp_path, **QUIET)
    again = fetch_dsprites(20, shuffle=True, random_state=0, data_home=tmp_path, **QUIET)
    np.testing.assert_array_equal(drawn.images, images[drawn.indices])
    np.testing.assert_array_equal(drawn.indices, again.indices)


def test_fetch_dsprites_never_unpickles(dsprites, tmp_path):
    dsprites()
    fetch_dsprites(data_home=tmp_path, **QUIET)
    assert not (tmp_path / "crater").exists()
    pickle.loads(pickle.dumps(Bomb(tmp_path / "crater")))
    assert (tmp_path / "crater").exists()


def test_fetch_dsprites_refuses_pickled_images(dsprites, tmp_path):
    dsprites(images=np.array([Bomb(tmp_path / "crater")] * len(DSPRITES)))
    with pytest.raises(ValueError, match="pickled Python objects, which are never loaded"):
        fetch_dsprites(data_home=tmp_path, **QUIET)
    assert not (tmp_path / "crater").exists()


def test_fetch_dsprites_refuses_other_contents(dsprites, tmp_path):
    dsprites(images=np.zeros((5, 64, 64), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"uint8 of shape \(288, 64, 64\), got .*\(5, 64, 64\)"):
        fetch_dsprites(data_home=tmp_path / "a", **QUIET)
    dsprites(images=np.zeros((len(DSPRITES), 64, 64)))
    with pytest.raises(ValueError, match="got float64"):
        fetch_dsprites(data_home=tmp_path / "b", **QUIET)
    dsprites(classes=np.zeros((len(DSPRITES), 6), dtype=int))
    with pytest.raises(ValueError, match="'latents_classes' must be the full grid of shape, scale"):
        fetch_dsprites(data_home=tmp_path / "c", **QUIET)


def test_fetch_dsprites_refuses_a_truncated_download(dsprites, site, tmp_path):
    dsprites()
    site.files["dsprites.npz"] = site.files["dsprites.npz"][:5000]
    with pytest.raises(OSError, match="wrong checksum"):
        fetch_dsprites(data_home=tmp_path, **QUIET)


def test_fetch_dsprites_offline_says_what_to_do(dsprites, tmp_path):
    dsprites()
    with pytest.raises(OSError, match="place it as") as error:
        fetch_dsprites(data_home=tmp_path, download_if_missing=False)
    assert str(tmp_path / "sklearn_disent" / "dsprites" / "dsprites.npz") in str(error.value)


def test_fetch_checks_the_request_before_the_download(dsprites, site, tmp_path):
    dsprites()
    with pytest.raises(ValueError, match="Unknown factor 'colour'"):
        fetch_dsprites(factors={"colour": 0}, data_home=tmp_path, **QUIET)
    with pytest.raises(InvalidParameterError):
        fetch_dsprites(n_retries=-1)
    assert not site.requests


# npz files


def test_npz_arrays_damaged_or_missing_are_named(tmp_path):
    path = tmp_path / "file.npz"
    path.write_bytes(npz_bytes(images=np.zeros((3, 2), dtype=np.uint8)))
    with pytest.raises(ValueError, match="holds no array 'imgs'"):
        open_npz_array(path, "imgs", anything)
    path.write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match="damaged npz file"):
        open_npz_array(path, "images", anything)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.save(header, np.zeros((100, 50), dtype=np.uint8))
        archive.writestr("images.npy", header.getvalue()[:2000])
    with pytest.raises(ValueError, match="ends after 0 of 100 rows"):
        open_npz_array(path, "images", anything)
    assert [file.name for file in tmp_path.iterdir()] == ["file.npz"]


def test_npz_unpacking_needs_room(tmp_path, monkeypatch):
    path = tmp_path / "file.npz"
    path.write_bytes(npz_bytes(images=np.zeros((300, 200), dtype=np.uint8)))
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="Free some, or pass another data_home"):
        open_npz_array(path, "images", anything)


def test_rows_are_taken_in_any_order(monkeypatch):
    monkeypatch.setitem(take_rows.__globals__, "BLOCK_BYTES", 24)
    array = np.arange(60).reshape(20, 3)
    rows = np.array([19, 0, 7, 7, 3, 18])
    np.testing.assert_array_equal(take_rows(array, rows), array[rows])


# 3D Shapes

SHAPES3D = small_grid(floor_hue=2, wall_hue=3, object_hue=2, scale=2, shape=4, orientation=3)


@pytest.fixture
def shapes3d(site, replace_in, tmp_path):
    """Publish a small file in the format of 3D Shapes; returns its images."""

    def publish(order=None, drop=None):
        rng = np.random.RandomState(0)
        images = rng.randint(256, size=(len(SHAPES3D), 64, 64, 3)).astype(np.uint8)
        labels = SHAPES3D.to_classes(np.arange(len(SHAPES3D))) * [0.1, 0.1, 0.1, 0.07, 1, 4.3]
        path = tmp_path / "made.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("images", data=images, compression="gzip", chunks=(8, 64, 64, 3))
            file.create_dataset("labels", data=labels if order is None else labels[order])
            if drop:
                del file[drop]
        remote = site.publish("3dshapes.h5", path.read_bytes(), "sha256")
        replace_in(fetch_shapes3d, SHAPES3D_FILE=remote, SHAPES3D_GRID=SHAPES3D)
        replace_in(load_shapes3d, SHAPES3D_GRID=SHAPES3D)
        return images

    return publish


def test_fetch_shapes3d_turns_values_into_classes(shapes3d, tmp_path):
    images = shapes3d()
    part = fetch_shapes3d(factors={"shape": [0, 3], "wall_hue": 1}, data_home=tmp_path, **QUIET)
    np.testing.assert_array_equal(part.images, images[part.indices])
    assert set(part.target[:, 4]) == {0, 3}
    folder = tmp_path / "sklearn_disent" / "shapes3d"
    assert not list(folder.glob("*.npy"))

    whole = fetch_shapes3d(data_home=tmp_path, **QUIET)
    assert isinstance(whole.images, np.memmap)
    np.testing.assert_array_equal(whole.images, images)
    assert whole.factor_sizes == (2, 3, 2, 2, 4, 3)
    X, y = fetch_shapes3d(5, random_state=0, data_home=tmp_path, return_X_y=True, **QUIET)
    assert X.shape == (5, 64, 64, 3)
    assert y.shape == (5, 6)


def test_fetch_shapes3d_refuses_other_contents(shapes3d, tmp_path):
    shapes3d(order=np.random.RandomState(0).permutation(len(SHAPES3D)))
    with pytest.raises(ValueError, match="'labels' must be the full grid"):
        fetch_shapes3d(data_home=tmp_path / "a", **QUIET)
    shapes3d(drop="labels")
    with pytest.raises(ValueError, match="holds no dataset 'labels'"):
        fetch_shapes3d(data_home=tmp_path / "b", **QUIET)


def test_fetch_shapes3d_refuses_a_damaged_file(site, replace_in, tmp_path):
    remote = site.publish("3dshapes.h5", b"no HDF5", "sha256")
    replace_in(fetch_shapes3d, SHAPES3D_FILE=remote)
    with pytest.raises(ValueError, match="damaged HDF5 file"):
        fetch_shapes3d(data_home=tmp_path, **QUIET)


# MPI3D

LARGE = small_grid(object_color=3, object_shape=3, vertical_axis=4)
SMALL = small_grid(object_color=2, object_shape=2, vertical_axis=4)


@pytest.fixture
def mpi3d(site, replace_in):
    """Publish small files in the format of MPI3D; returns the images of the first."""

    def publish(compressed=True, **options):
        rng = np.random.RandomState(0)
        pictures = rng.randint(256, size=(len(LARGE), 64, 64, 3)).astype(np.uint8)
        parts = {"toy": pictures, "real": pictures[:16], "realistic": pictures[:10]}
        parts["real_complex"] = pictures[16:32]
        files = {}
        for version, images in parts.items():
            content = npz_bytes(compressed, images=images)
            files[version] = site.publish(f"mpi3d_{version}.npz", content, **options)
        files["real_complex"] = replace(files["real_complex"], checksum=None, sure=False)
        replace_in(fetch_mpi3d, MPI3D_FILES=files, MPI3D_GRIDS=[LARGE, SMALL])
        replace_in(load_mpi3d, MPI3D_GRIDS=[LARGE, SMALL])
        return pictures

    return publish


@pytest.mark.parametrize("compressed", [True, False])
def test_fetch_mpi3d_infers_the_grid_from_the_number_of_images(mpi3d, tmp_path, compressed):
    pictures = mpi3d(compressed)
    toy = fetch_mpi3d(data_home=tmp_path, **QUIET)
    assert isinstance(toy.images, np.memmap)
    np.testing.assert_array_equal(toy.images, pictures)
    assert toy.factor_sizes == (3, 3, 4)
    assert "MPI3D (toy)" in toy.DESCR
    real = fetch_mpi3d(6, version="real", random_state=0, data_home=tmp_path, **QUIET)
    assert real.factor_sizes == (2, 2, 4)
    np.testing.assert_array_equal(real.images, pictures[real.indices])
    with pytest.raises(ValueError, match=r"got uint8 of shape \(10, 64, 64, 3\)"):
        fetch_mpi3d(version="realistic", data_home=tmp_path, **QUIET)
    with pytest.raises(InvalidParameterError):
        fetch_mpi3d(version="complex")


def test_fetch_mpi3d_refuses_an_unknown_factor_before_the_download(mpi3d, site, tmp_path):
    mpi3d()
    with pytest.raises(ValueError, match="Unknown factor 'colour'"):
        fetch_mpi3d(factors={"colour": 0}, data_home=tmp_path, **QUIET)
    assert not site.requests


def test_fetch_mpi3d_real_complex_needs_a_word_about_its_checksum(mpi3d, site, tmp_path):
    pictures = mpi3d()
    with pytest.raises(ValueError, match="Pass checksum=None to accept what arrives"):
        fetch_mpi3d(version="real_complex", data_home=tmp_path, **QUIET)
    assert not site.requests
    found = fetch_mpi3d(version="real_complex", checksum=None, data_home=tmp_path, **QUIET)
    np.testing.assert_array_equal(found.images, pictures[16:32])
    assert found.factor_sizes == (2, 2, 4)


def test_fetch_mpi3d_accepts_another_file_when_told(mpi3d, site, tmp_path):
    pictures = mpi3d(sure=False)
    path = tmp_path / "sklearn_disent" / "mpi3d" / "mpi3d_toy.npz.unverified"
    new = npz_bytes(images=pictures[::-1])
    site.files["mpi3d_toy.npz"] = new
    with pytest.raises(OSError, match="checksum=None to accept any") as error:
        fetch_mpi3d(data_home=tmp_path, **QUIET)
    digest = hashlib.md5(new).hexdigest()
    assert f"md5:{digest}" in str(error.value)
    assert path.exists()
    found = fetch_mpi3d(checksum=f"md5:{digest}", data_home=tmp_path, **QUIET)
    np.testing.assert_array_equal(found.images, pictures[::-1])
    assert len(site.requests) == 1
    with pytest.raises(OSError, match="damaged or is not the file"):
        fetch_mpi3d(data_home=tmp_path, **QUIET)
    fetch_mpi3d(checksum=None, data_home=tmp_path, **QUIET)


@pytest.mark.parametrize("checksum", ["", "md5", "md5:xyz", "crc:00", "sha256:" + "0" * 32, "None"])
def test_fetch_mpi3d_refuses_what_is_not_a_checksum(checksum, tmp_path):
    with pytest.raises(ValueError, match=r"checksum must be 'published', None, or an algorithm"):
        fetch_mpi3d(checksum=checksum, data_home=tmp_path)


def test_fetchers_know_their_files():
    names = fetch_mpi3d.__wrapped__.__globals__
    photos = fetch_cars3d.__wrapped__.__globals__
    files = [names["DSPRITES_FILE"], names["SHAPES3D_FILE"], photos["CARS3D_FILE"]]
    files += [*names["MPI3D_FILES"].values(), *photos["NORB_FILES"].values()]
    for file in files:
        assert all(url.startswith("https://") for url in file.urls)
        assert file.size or file.max_size
        assert file.checksum or not file.sure
    bucket = "https://storage.googleapis.com/mpi3d_disentanglement_dataset/data/"
    for version, name in (("toy", "mpi3d_toy"), ("realistic", "mpi3d_realistic"), ("real", "real")):
        assert f"{bucket}{name}.npz" in names["MPI3D_FILES"][version].urls
    assert [len(grid) for grid in names["MPI3D_GRIDS"]] == [1_036_800, 460_800]


# Cars3D

CARS = small_grid(elevation=2, azimuth=3, object_type=3)
CAR_NAMES = ["zebra_mesh", "alpha_mesh", "mid_mesh"]


def car_pictures():
    """Pictures (128, 128, 3, azimuth, elevation) of each car, each of one colour."""
    cars = {}
    for number, name in enumerate(CAR_NAMES):
        pictures = np.zeros((128, 128, 3, 3, 2), dtype=np.uint8)
        for azimuth in range(3):
            for elevation in range(2):
                pictures[..., azimuth, elevation] = [10 * number, 20 * azimuth, 100 * elevation]
        cars[name] = pictures
    return cars


def tar_bytes(members):
    """A tar.gz of names and contents; a content that is a TarInfo is added as it is."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def mat_bytes(**arrays):
    stream = io.BytesIO()
    savemat(stream, arrays)
    return stream.getvalue()


def car_members():
    members = {
        f"data/cars/{name}.mat": mat_bytes(im=pictures)
        for name, pictures in sorted(car_pictures().items())
    }
    members["data/sprites/other.mat"] = b"not a car"
    members["data/cars/list.txt"] = "\n".join(CAR_NAMES).encode()
    return members


@pytest.fixture
def cars3d(site, replace_in):
    def publish(members):
        remote = site.publish("cars.tar.gz", tar_bytes(members))
        replace_in(fetch_cars3d, CARS3D_FILE=remote, CARS3D_GRID=CARS)
        replace_in(load_cars3d, CARS3D_GRID=CARS)

    return publish


def test_fetch_cars3d_follows_the_list_of_the_archive(cars3d, tmp_path):
    cars3d(car_members())
    for image_size in (64, 128):
        cars = fetch_cars3d(image_size=image_size, data_home=tmp_path, **QUIET)
        assert cars.images.shape == (18, image_size, image_size, 3)
        assert isinstance(cars.images, np.memmap)
        for image, (elevation, azimuth, number) in zip(cars.images, cars.target):
            wanted = [10 * number, 20 * azimuth, 100 * elevation]
            assert (image == wanted).all()
    part = fetch_cars3d(factors={"object_type": 1}, data_home=tmp_path, **QUIET)
    assert (part.images[..., 0] == 10).all()
    assert len(part.images) == 6
    folder = tmp_path / "sklearn_disent" / "cars3d"
    assert {file.name for file in folder.iterdir()} == {
        "cars.tar.gz",
        "cars.tar.gz.verified",
        "cars3d_64.npy",
        "cars3d_128.npy",
    }


def test_fetch_cars3d_refuses_incomplete_archives(cars3d, tmp_path):
    members = car_members()
    del members["data/cars/mid_mesh.mat"]
    cars3d(members)
    with pytest.raises(ValueError, match="lists the model 'mid_mesh' but holds no"):
        fetch_cars3d(data_home=tmp_path / "a", **QUIET)
    members = car_members()
    del members["data/cars/list.txt"]
    cars3d(members)
    with pytest.raises(ValueError, match=r"list.txt with 3 names, got none"):
        fetch_cars3d(data_home=tmp_path / "b", **QUIET)
    cars3d({**car_members(), "data/cars/mid_mesh.mat": b"MATLAB it is not" * 20})
    with pytest.raises(ValueError, match=r"mid_mesh.mat in .* is not a MATLAB file"):
        fetch_cars3d(data_home=tmp_path / "c", **QUIET)
    cars3d({**car_members(), "data/cars/mid_mesh.mat": mat_bytes(im=np.zeros((4, 4)))})
    with pytest.raises(ValueError, match=r"must be uint8 of shape \(128, 128, 3, 3, 2\)"):
        fetch_cars3d(data_home=tmp_path / "d", **QUIET)


def link(name, target):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../evil.mat": b"x"}, "leads outside"),
        ({"data/cars/../../../evil.mat": b"x"}, "leads outside"),
        ({"/tmp/evil.mat": b"x"}, "leads outside"),
        ({"data\\..\\evil.mat": b"x"}, "leads outside"),
        ({"data/cars/a.mat": link("data/cars/a.mat", "/etc/passwd")}, "link or a device"),
    ],
)
def test_hostile_archives_are_refused(cars3d, tmp_path, members, message):
    cars3d({**members, **car_members()})
    with pytest.raises(ValueError, match=message):
        fetch_cars3d(data_home=tmp_path, **QUIET)
    folder = tmp_path / "sklearn_disent" / "cars3d"
    assert {f.name for f in folder.iterdir()} == {"cars.tar.gz", "cars.tar.gz.verified"}
    assert {f.name for f in tmp_path.iterdir()} == {"sklearn_disent"}


def test_archives_truncated_or_too_large_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "cars.tar.gz"
    content = tar_bytes(car_members())
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="damaged archive"):
        list(read_tar_members(path, lambda name: True))
    path.write_bytes(tar_bytes({"data/large": bytes(2000)}))
    monkeypatch.setitem(read_tar_members.__globals__, "MAX_MEMBER_BYTES", 1000)
    with pytest.raises(ValueError, match="'data/large' has 2000 bytes"):
        list(read_tar_members(path, lambda name: True))


# smallNORB

NORB = {"category": 2, "elevation": 2, "azimuth": 3, "lighting": 2}


def norb_bytes(array):
    """The binary format of NORB, gzipped."""
    magic = {"u1": 0x1E3D4C55, "i4": 0x1E3D4C54}[array.dtype.str[1:]]
    sizes = [*array.shape, *[1] * (3 - array.ndim)]
    header = struct.pack(f"<Ii{len(sizes)}i", magic, array.ndim, *sizes)
    return gzip.compress(header + array.tobytes(), compresslevel=1)


def norb_split(instances, seed):
    """Images in random order whose left pixels encode their factors."""
    sizes = (NORB["category"], 5, NORB["elevation"], NORB["azimuth"], NORB["lighting"])
    classes = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    classes = classes[np.random.RandomState(seed).permutation(len(classes))]
    images = np.full((len(classes), 2, 96, 96), 255, dtype=np.uint8)
    for image, (category, i, elevation, azimuth, lighting) in zip(images, classes):
        image[0] = 100 * category + 10 * instances[i] + 3 * azimuth + 2 * lighting + elevation
    info = classes[:, 1:].copy()
    info[:, 0] = np.array(instances)[info[:, 0]]
    info[:, 2] *= 2
    return {
        "dat": norb_bytes(images),
        "cat": norb_bytes(classes[:, 0].astype("<i4")),
        "info": norb_bytes(info.astype("<i4")),
    }


@pytest.fixture
def smallnorb(site, replace_in):
    """Publish small files in the format of smallNORB, with some of them replaced."""

    def publish(**replaced):
        files = {}
        for split, instances, seed in (("train", [4, 6, 7, 8, 9], 0), ("test", [0, 1, 2, 3, 5], 1)):
            for part, content in norb_split(instances, seed).items():
                content = replaced.get(part, content)
                files[split, part] = site.publish(f"{split}-{part}.mat.gz", content, "sha256")
        values = {name: np.arange(NORB.get(name, 10)) for name in VALUES_ORDER}
        replace_in(fetch_smallnorb, NORB_FILES=files, NORB_VALUES=values)
        replace_in(load_smallnorb, NORB_FILES=files, NORB_VALUES=values)

    return publish


def test_values_of_smallnorb_are_those_of_its_page():
    values = inspect.unwrap(fetch_smallnorb).__globals__["NORB_VALUES"]
    assert [len(column) for column in values.values()] == [5, 10, 9, 18, 6]
    ends = {name: [column[0], column[-1]] for name, column in values.items()}
    assert ends["elevation"] == [30, 70]
    assert ends["azimuth"] == [0, 340]
    assert ends["instance"] == [0, 9]
    assert ends["lighting"] == [0, 5]


VALUES_ORDER = ("category", "instance", "elevation", "azimuth", "lighting")


@pytest.mark.parametrize(
    ("subset", "instances"),
    [("train", [4, 6, 7, 8, 9]), ("test", [0, 1, 2, 3, 5]), ("all", list(range(10)))],
)
def test_fetch_smallnorb_sorts_by_factors(smallnorb, tmp_path, subset, instances):
    smallnorb()
    norb = fetch_smallnorb(subset=subset, data_home=tmp_path, **QUIET)
    assert norb.images.shape == (24 * len(instances), 64, 64)
    assert norb.factor_values["instance"].tolist() == instances
    assert norb.factor_sizes == (2, len(instances), 2, 3, 2)
    np.testing.assert_array_equal(
        np.ravel_multi_index(norb.target.T, norb.factor_sizes), np.arange(len(norb.target))
    )
    for image, (category, i, elevation, azimuth, lighting) in zip(norb.images, norb.target):
        wanted = 100 * category + 10 * instances[i] + 3 * azimuth + 2 * lighting + elevation
        assert (image == wanted).all()


def test_fetch_smallnorb_keeps_bytes_unsigned_and_the_full_size(smallnorb, tmp_path):
    smallnorb()
    norb = fetch_smallnorb(image_size=96, data_home=tmp_path, factors={"category": 1}, **QUIET)
    assert norb.images.dtype == np.uint8
    assert norb.images.shape == (60, 96, 96)
    assert norb.images.max() == 199  # 100 + 90 + 6 + 2 + 1: as a signed byte it were negative


def test_fetch_smallnorb_fetches_only_the_subset(smallnorb, site, tmp_path):
    smallnorb()
    fetch_smallnorb(5, subset="test", random_state=0, data_home=tmp_path, **QUIET)
    assert {path for path, _ in site.requests} == {
        f"/test-{part}.mat.gz" for part in ("dat", "cat", "info")
    }


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        (
            {"dat": gzip.compress(struct.pack("<Ii3i", 0x1E3D4C52, 1, 1, 1, 1))},
            "is not a NORB file",
        ),
        (
            {"dat": gzip.compress(struct.pack("<Ii3i", 0x1E3D4C55, 2, 9, 9, 1))},
            "announces an array",
        ),
        ({"dat": gzip.compress(b"short")}, "ends within its header"),
        ({"dat": b"no gzip"}, "damaged gzip file"),
        ({"dat": norb_bytes(np.zeros((120, 96, 96), dtype=np.uint8))}, "uint8 pairs of 96 x 96"),
        ({"cat": norb_bytes(np.zeros(7, dtype="<i4"))}, "one row for each of the 120 images"),
        ({"cat": norb_bytes(np.zeros(120, dtype="<i4"))}, "do not hold every combination"),
    ],
)
def test_fetch_smallnorb_refuses_other_contents(smallnorb, tmp_path, replaced, message):
    smallnorb(**replaced)
    with pytest.raises(ValueError, match=message):
        fetch_smallnorb(data_home=tmp_path, **QUIET)


def test_scaling_keeps_the_picture(site, replace_in, tmp_path):
    picture = np.zeros((128, 128, 3, 3, 2), dtype=np.uint8)
    picture[:64, :, 0] = 200
    members = {f"data/cars/{name}.mat": mat_bytes(im=picture) for name in CAR_NAMES}
    members["data/cars/list.txt"] = "\n".join(CAR_NAMES).encode()
    remote = site.publish("cars.tar.gz", tar_bytes(members))
    replace_in(fetch_cars3d, CARS3D_FILE=remote, CARS3D_GRID=CARS)
    scaled = fetch_cars3d(indices=[0], data_home=tmp_path, **QUIET).images[0]
    wanted = Image.fromarray(picture[..., 0, 0]).resize((64, 64), Image.Resampling.LANCZOS)
    np.testing.assert_array_equal(scaled, np.asarray(wanted))
    assert (scaled[:28, :, 0] == 200).all()
    assert (scaled[36:, :, 0] == 0).all()


def test_missing_extra_says_how_to_install_it(shapes3d, tmp_path, monkeypatch):
    shapes3d()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"h5py is needed .*pip install sklearn-disent\[data\]"):
        fetch_shapes3d(data_home=tmp_path, **QUIET)


# Files that a user has


def test_load_dsprites_reads_a_copy_under_any_name(dsprites, site, tmp_path):
    images = dsprites()
    path = tmp_path / "my copy.npz"
    path.write_bytes(site.files["dsprites.npz"])
    whole = load_dsprites(path)
    assert isinstance(whole.images, np.memmap)
    np.testing.assert_array_equal(whole.images, images)
    part = load_dsprites(str(path), 20, factors={"shape": 1}, shuffle=True, random_state=0)
    np.testing.assert_array_equal(part.images, images[part.indices])
    assert set(part.target[:, 0]) == {1}
    X, y = load_dsprites(path, indices=[3, 3], return_X_y=True)
    np.testing.assert_array_equal(X, images[[3, 3]])
    assert y.shape == (2, 5)
    assert not site.requests
    usual = tmp_path / "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
    path.rename(usual)
    assert len(load_dsprites(tmp_path).images) == len(DSPRITES)
    with pytest.raises(FileNotFoundError, match="is not there"):
        load_dsprites(tmp_path / "nowhere.npz")
    assert not (tmp_path / "crater").exists()


def test_load_shapes3d_reads_a_copy(shapes3d, site, tmp_path):
    images = shapes3d()
    (tmp_path / "3dshapes.h5").write_bytes(site.files["3dshapes.h5"])
    part = load_shapes3d(tmp_path, factors={"shape": 2})
    np.testing.assert_array_equal(part.images, images[part.indices])
    whole = load_shapes3d(tmp_path / "3dshapes.h5")
    np.testing.assert_array_equal(whole.images, images)


def test_load_mpi3d_reads_any_version(mpi3d, site, tmp_path):
    pictures = mpi3d()
    for version, sizes in (("toy", (3, 3, 4)), ("real_complex", (2, 2, 4))):
        path = tmp_path / f"{version}.npz"
        path.write_bytes(site.files[f"mpi3d_{version}.npz"])
        found = load_mpi3d(path, 5, random_state=0)
        assert found.factor_sizes == sizes
        first = 0 if version == "toy" else 16
        np.testing.assert_array_equal(found.images, pictures[found.indices + first])
        assert f"MPI3D ({version}.npz)" in found.DESCR
    with pytest.raises(FileNotFoundError, match="path must be"):
        load_mpi3d(tmp_path)


@pytest.mark.parametrize("where", ["archive", "folder", "cars", "data/cars"])
def test_load_cars3d_reads_the_archive_or_its_contents(cars3d, site, tmp_path, where):
    cars3d(car_members())
    path = tmp_path / "place"
    if where == "archive":
        path.write_bytes(site.files["cars.tar.gz"])
    else:
        folder = path if where == "folder" else path / where
        folder.mkdir(parents=True)
        for name, content in car_members().items():
            if name.startswith("data/cars/"):
                (folder / name.removeprefix("data/cars/")).write_bytes(content)
    for image_size in (64, 128):
        cars = load_cars3d(path, image_size=image_size)
        for image, (elevation, azimuth, number) in zip(cars.images, cars.target):
            assert (image == [10 * number, 20 * azimuth, 100 * elevation]).all()
    with pytest.raises(FileNotFoundError, match="is not there"):
        load_cars3d(tmp_path / "nowhere")


@pytest.mark.parametrize("compressed", [True, False])
def test_load_smallnorb_reads_a_folder(smallnorb, site, tmp_path, compressed):
    smallnorb()
    for name, content in site.files.items():
        if compressed:
            (tmp_path / name).write_bytes(content)
        else:
            (tmp_path / name.removesuffix(".gz")).write_bytes(gzip.decompress(content))
    found = load_smallnorb(tmp_path, subset="all")
    fetched = fetch_smallnorb(subset="all", data_home=tmp_path / "home", **QUIET)
    np.testing.assert_array_equal(found.images, fetched.images)
    np.testing.assert_array_equal(found.target, fetched.target)
    next(tmp_path.glob("test-info*")).unlink()
    assert len(load_smallnorb(tmp_path, image_size=96).images) == 120
    with pytest.raises(FileNotFoundError, match=r"test-info\.mat\.gz is not there"):
        load_smallnorb(tmp_path, subset="test")


# What is unpacked


def test_unpacked_images_follow_their_file(dsprites, site, tmp_path):
    images = dsprites()
    path = tmp_path / "dsprites.npz"
    path.write_bytes(site.files["dsprites.npz"])
    load_dsprites(path)
    unpacked = tmp_path / "dsprites.imgs.npy"
    written = unpacked.stat()
    load_dsprites(path)
    assert unpacked.stat().st_ino == written.st_ino
    dsprites(images=1 - images)
    old = path.stat().st_mtime_ns
    path.write_bytes(site.files["dsprites.npz"])
    os.utime(path, ns=(old, old - 10**9))  # even a copy that keeps an earlier time
    np.testing.assert_array_equal(load_dsprites(path).images, 1 - images)
    assert {file.name for file in tmp_path.iterdir()} == {"dsprites.npz", "dsprites.imgs.npy"}


def test_unpacking_where_nothing_can_be_written_says_so(dsprites, site, tmp_path, monkeypatch):
    dsprites()
    path = tmp_path / "dsprites.npz"
    path.write_bytes(site.files["dsprites.npz"])

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_files, "exclusive", refuse)
    with pytest.raises(PermissionError, match="Copy it to a folder of your own"):
        load_dsprites(path)


def test_unpacked_file_that_is_damaged_is_named(dsprites, site, tmp_path):
    dsprites()
    path = tmp_path / "dsprites.npz"
    path.write_bytes(site.files["dsprites.npz"])
    load_dsprites(path)
    unpacked = tmp_path / "dsprites.imgs.npy"
    unpacked.write_bytes(unpacked.read_bytes()[:5000])
    os.utime(unpacked, ns=(0, path.stat().st_mtime_ns))
    with pytest.raises(ValueError, match=r"dsprites\.imgs\.npy, which was unpacked .* Delete it"):
        load_dsprites(path)


def test_npz_that_claims_too_much_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "file.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (10**12, 64, 64, 3)}
    )
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("images.npy", header.getvalue() + bytes(1000))
        with pytest.raises(ValueError, match="not the file that this loader expects"):
            load_mpi3d(path)
        with pytest.raises((ValueError, OSError), match=r"cut off|Free some"):
            open_npz_array(path, "images", anything)
    assert [file.name for file in tmp_path.iterdir()] == ["file.npz"]
    monkeypatch.setattr(_files, "MAX_MEMBER_BYTES", 1000)
    path.write_bytes(npz_bytes(images=np.zeros(5000)))
    with pytest.raises(ValueError, match="more than 1000"):
        _files.read_npz_array(path, "images")


def test_norb_files_are_read_within_bounds(tmp_path, monkeypatch):
    path = tmp_path / "file.mat.gz"
    path.write_bytes(gzip.compress(bytes(10_000)))
    monkeypatch.setattr(_files, "MAX_MEMBER_BYTES", 1000)
    with pytest.raises(ValueError, match=r"file\.mat\.gz holds more than 1000 bytes"):
        _files.read_norb(path)
    # Sizes whose product is 0 when it overflows.
    path.write_bytes(gzip.compress(struct.pack("<Ii8i", 0x1E3D4C55, 8, *[2**16] * 8)))
    with pytest.raises(ValueError, match="announces an array"):
        _files.read_norb(path)
