"""Images per second of the rendered data sets, on one core.

Run ``python benchmarks/data.py``, or ``--quick`` for a tenth of the images.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sklearn_disent.datasets import (
    make_candle_like,
    make_dsprites,
    make_shapes3d,
    make_transformed_digits,
)


def report(name: str, n_images: int, seconds: float, wanted: float) -> None:
    rate = n_images / seconds
    verdict = "ok" if rate >= wanted else "TOO SLOW"
    print(
        f"{name:<44}{n_images:>9,} images {seconds:>8.2f} s {rate:>10,.0f} images/s"
        f"   (at least {wanted:,.0f}: {verdict})"
    )


def time_dsprites(fraction: float) -> None:
    make_dsprites(3, random_state=0)
    scales = range(max(1, round(6 * fraction)))
    start = time.perf_counter()
    whole = make_dsprites(factors={"scale": list(scales)}, shuffle=False)
    report("dSprites, grid in order", len(whole.images), time.perf_counter() - start, 20_000)
    del whole
    indices = np.random.RandomState(0).randint(737_280, size=int(100_000 * fraction))
    for image_size in (64, 32):
        start = time.perf_counter()
        make_dsprites(indices=indices, image_size=image_size)
        name = f"dSprites, random indices, {image_size} pixels"
        report(name, len(indices), time.perf_counter() - start, 5_000)


def time_shapes3d(fraction: float) -> None:
    one_of_each = {"floor_hue": 0, "wall_hue": 0, "object_hue": 0}
    start = time.perf_counter()
    geometries = make_shapes3d(factors=one_of_each, cache=False)
    seconds = time.perf_counter() - start
    report("3D Shapes look-alike, casting geometries", len(geometries.images), seconds, 10)
    indices = np.random.RandomState(0).randint(480_000, size=int(50_000 * fraction))
    start = time.perf_counter()
    make_shapes3d(indices=indices, cache=False)
    seconds = time.perf_counter() - start
    report("3D Shapes look-alike, random indices", len(indices), seconds, 8_000)


def time_others(fraction: float) -> None:
    start, n_images = time.perf_counter(), int(20_000 * fraction)
    make_transformed_digits(n_images, random_state=0)
    report("Moved digits, random draw", n_images, time.perf_counter() - start, 5_000)


def time_candle_like(fraction: float) -> None:
    for shape, n_images, wanted in (((64, 64), 4_000, 200), ((240, 320), 400, 20)):
        n_images = max(16, int(n_images * fraction))
        start = time.perf_counter()
        make_candle_like(indices=range(0, 48, 3), image_shape=shape, random_state=0)
        seconds = time.perf_counter() - start
        name = f"CANDLE-like, {shape[0]} x {shape[1]}"
        report(f"{name}, painting scenes", 16, seconds, 0.5)
        start = time.perf_counter()
        make_candle_like(n_images, image_shape=shape, random_state=1)
        report(name, n_images, time.perf_counter() - start, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the images")
    fraction = 0.1 if parser.parse_args().quick else 1.0
    time_dsprites(fraction)
    time_shapes3d(fraction)
    time_others(fraction)
    time_candle_like(fraction)


if __name__ == "__main__":
    main()
