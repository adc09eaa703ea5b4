"""A head of ellipsoids, for the stand-in for 3D Faces: its shape, its paint, and its view.

Heads are seen in the frame of the head: x to the viewer's right, y up, z towards the viewer of a
head that looks straight ahead. A head is about 2 units high.

Rays meet ellipsoids by a formula. Sphere tracing (`_raycast.trace`) finds the same points, which a
test compares, in many steps instead of one: 110 ms for a view instead of 3.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _raycast as rc

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

SIDE = 64
SAMPLES = 2  # rays per pixel and side
EYE, LOOK_AT, FIELD_OF_VIEW = np.array([0.0, 0.0, 7.0]), np.array([0.0, -0.06, 0.0]), 19.0
SMOOTH = 14.0  # sharpness with which neighbouring parts blend into one surface
SHARP = 56.0  # the same for their paint
FAR = np.float32(1e9)
N_BLOCKS = 4

EYE_X, EYE_Y, EYE_WIDTH, EYE_HEIGHT, IRIS = 0.27, 0.02, 0.125, 0.06, 0.055
BROW_Y, BROW_WIDTH, BROW_HEIGHT = 0.22, 0.19, 0.042


class Traits(NamedTuple):
    """What makes a head an individual: factors of lengths (1 is average), and tones in [0, 1]."""

    width: float
    height: float
    jaw: float
    chin: float
    nose_length: float
    nose_width: float
    nose_depth: float
    cheeks: float
    brow: float
    eye_distance: float
    eye_size: float
    lip_width: float
    lip_thickness: float
    ears: float
    skin: float
    lips: float
    hair: float


# Mean and spread of each trait over people.
_MEANS = Traits._make([1.0] * 14 + [0.74, 0.62, 0.45])
_SPREADS = Traits(
    width=0.06,
    height=0.05,
    jaw=0.08,
    chin=0.12,
    nose_length=0.12,
    nose_width=0.15,
    nose_depth=0.10,
    cheeks=0.12,
    brow=0.15,
    eye_distance=0.06,
    eye_size=0.10,
    lip_width=0.10,
    lip_thickness=0.20,
    ears=0.12,
    skin=0.10,
    lips=0.08,
    hair=0.12,
)


@lru_cache(maxsize=1)
def people(n_people: int) -> tuple[Traits, ...]:
    """The traits of so many people, always the same ones."""
    rng = np.random.RandomState(2009)
    deviates = np.clip(rng.normal(size=(n_people, len(_MEANS))), -1.8, 1.8)
    traits = np.array(_MEANS) + np.array(_SPREADS) * deviates
    return tuple(Traits(*row) for row in traits.tolist())


SKIN, EYE_BALL, LIP = range(3)


class Ellipsoids(NamedTuple):
    """Parts of a head, as forms p' M p + 2 b' p + c that are 0 on their surfaces."""

    forms: Floats  # (n, 3, 3)
    linear: Floats  # (n, 3)
    constant: Floats  # (n,)
    size: Floats  # (n,), which makes a form a distance near the surface
    kind: NDArray[np.int64]  # (n,), what it is made of


Part = tuple[tuple[float, ...], tuple[float, ...], int, float]


def _middle_parts(t: Traits) -> list[Part]:
    """Centre, half axes, material, and tilt about the x axis of what there is once."""
    nose_end = 0.875 + 0.10 * (t.nose_depth - 1)
    return [
        # Skull, face, jaw, chin and neck.
        ((0, 0.27, -0.10), (0.72 * t.width, 0.72 * t.height, 0.84), SKIN, 0.0),
        ((0, -0.06, 0.10), (0.60 * t.width, 0.80 * t.height, 0.72), SKIN, 0.0),
        ((0, -0.48, 0.16), (0.50 * t.jaw, 0.46 * t.height, 0.54), SKIN, 0.0),
        (
            (0, -0.80 * t.height - 0.10 * (t.chin - 1), 0.41),
            (0.27 * t.jaw, 0.20 * t.chin, 0.27),
            SKIN,
            0.0,
        ),
        ((0, -1.45, -0.18), (0.42 * t.width, 0.95, 0.42), SKIN, 0.0),
        # The bridge of the nose, its tip, and the lips.
        ((0, -0.02, 0.79), (0.085 * t.nose_width, 0.27 * t.nose_length, 0.11), SKIN, -0.38),
        (
            (0, -0.225 * t.nose_length, nose_end),
            (0.11 * t.nose_width, 0.09, 0.135 * t.nose_depth),
            SKIN,
            0.0,
        ),
        ((0, -0.49, 0.70), (0.19 * t.lip_width, 0.045 * t.lip_thickness, 0.075), LIP, 0.0),
        ((0, -0.57, 0.69), (0.155 * t.lip_width, 0.055 * t.lip_thickness, 0.075), LIP, 0.0),
    ]


def _side_parts(t: Traits) -> list[Part]:
    """The same of what there is on both sides."""
    eye, ear = t.eye_size, t.ears
    parts: list[Part] = []
    for side in (-1, 1):
        parts += [
            # Cheek, brow, wing of the nose, eye and ear.
            ((side * 0.35 * t.width, -0.24, 0.46), (0.23 * t.cheeks, 0.24, 0.24), SKIN, 0.0),
            ((side * 0.25 * t.eye_distance, 0.19, 0.64), (0.27, 0.10 * t.brow, 0.17), SKIN, 0.0),
            (
                (side * 0.105 * t.nose_width, -0.28 * t.nose_length, 0.79),
                (0.08 * t.nose_width, 0.065, 0.11),
                SKIN,
                0.0,
            ),
            (
                (side * EYE_X * t.eye_distance, EYE_Y, 0.67),
                (0.135 * eye, 0.095 * eye, 0.12),
                EYE_BALL,
                0.0,
            ),
            (
                (side * 0.69 * t.width, -0.02, -0.08),
                (0.07 * ear, 0.24 * ear, 0.15 * ear),
                SKIN,
                0.0,
            ),
        ]
    return parts


def head(traits: Traits) -> Ellipsoids:
    """The parts of a head with these traits."""
    parts = _middle_parts(traits) + _side_parts(traits)
    centres, axes, kinds, tilts = (np.array(column) for column in zip(*parts))
    turn = np.zeros((len(tilts), 3, 3))
    turn[:, 0, 0] = 1
    turn[:, 1, 1] = turn[:, 2, 2] = np.cos(tilts)
    turn[:, 2, 1] = np.sin(tilts)
    turn[:, 1, 2] = -np.sin(tilts)
    forms = np.einsum("nij,nj,nkj->nik", turn, axes**-2.0, turn)
    linear = -np.einsum("nij,nj->ni", forms, centres)
    constant = -np.einsum("ni,ni->n", linear, centres) - 1
    size = (axes.min(axis=1) + np.prod(axes, axis=1) ** (1 / 3)) / 2
    return Ellipsoids(forms, linear, constant, size, kinds)


def turn_of_head(azimuth: float, elevation: float) -> Floats:
    """Rotation from the frame of the head to that of the camera; angles in degrees.

    A positive azimuth turns the face to the viewer's right, a positive elevation up.
    """
    a, e = np.radians(azimuth), np.radians(-elevation)
    about_y = [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    about_x = [[1, 0, 0], [0, np.cos(e), -np.sin(e)], [0, np.sin(e), np.cos(e)]]
    return np.array(about_x) @ np.array(about_y)


@lru_cache(maxsize=1)
def _rays() -> Singles:
    """Rays of the camera, (3, n)."""
    rays = rc.camera_rays(EYE, LOOK_AT, FIELD_OF_VIEW, (SIDE, SIDE), SAMPLES)
    return np.ascontiguousarray(rays.reshape(-1, 3).T, dtype=np.float32)


def _squares(v: Singles) -> Singles:
    """Products (6, n) of coordinates (3, n), of which a quadratic form is a combination."""
    x, y, z = v
    return np.stack([x * x, y * y, z * z, 2 * x * y, 2 * x * z, 2 * y * z])


def _weights(forms: Floats) -> Singles:
    """Weights (n, 6) of `_squares` in the forms."""
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    return forms[:, rows, columns].astype(np.float32)


class Hits(NamedTuple):
    """Where rays meet a head."""

    on: NDArray[np.bool_]  # (n_rays,), which rays do
    points: Singles  # (3, n), in the frame of the head
    on_eye: NDArray[np.bool_]  # (n,), where that is an eye
    distances: Singles  # (n_parts, n), of the point from every part


def _nearest(
    solid: Ellipsoids, weights: Singles, eye: Floats, directions: Singles
) -> tuple[Singles, NDArray[np.bool_]]:
    """How far each ray (3, n) goes to the nearest ellipsoid, and whether that is an eye."""
    a = weights @ _squares(directions)
    b = (solid.forms @ eye + solid.linear).astype(np.float32) @ directions
    c = np.einsum("nij,i,j->n", solid.forms, eye, eye) + 2 * solid.linear @ eye + solid.constant
    # t = -(b + sqrt(b b - a c)) / a
    t = a * -c.astype(np.float32)[:, None]
    t += b * b
    misses = t < 0
    np.sqrt(np.maximum(t, 0, out=t), out=t)
    t += b
    t /= -a
    np.copyto(t, FAR, where=misses)
    nearest = t.min(axis=0)
    return nearest, t[solid.kind == EYE_BALL].min(axis=0) == nearest


def _meet(solid: Ellipsoids, turn: Floats) -> Hits:
    """Meet the nearest ellipsoid along each ray, by the quadratic equation."""
    eye = turn.T @ EYE
    directions = turn.T.astype(np.float32) @ _rays()
    weights = _weights(solid.forms)
    # In blocks that fit in the cache, which is four times as fast as all rays at once.
    blocks = np.array_split(directions, N_BLOCKS, axis=1)
    found = [_nearest(solid, weights, eye, np.ascontiguousarray(block)) for block in blocks]
    t, on_eye = (np.concatenate(column) for column in zip(*found))
    on = t < FAR / 2
    points = eye.astype(np.float32)[:, None] + t[on] * directions[:, on]
    level = weights @ _squares(points) + 2 * solid.linear.astype(np.float32) @ points
    level += (solid.constant + 1).astype(np.float32)[:, None]
    distances = (np.sqrt(np.maximum(level, 1e-6)) - 1) * solid.size.astype(np.float32)[:, None]
    return Hits(on, points, on_eye[on], distances)


def _normals(solid: Ellipsoids, hits: Hits) -> Singles:
    """Normals (3, n) of the surface into which the parts blend, in the frame of the head.

    They are those of the level sets of -log(sum(exp(-14 distance))): the gradient of each
    distance, weighted by how near its part is. Creases between parts are shaded away.
    """
    size = solid.size.astype(np.float32)[:, None]
    weights = np.exp(-SMOOTH * hits.distances)
    weights *= size / (hits.distances / size + 1)  # distance = size (root - 1), so this is 1 / root
    mixed = _weights(solid.forms).T @ weights
    bent = solid.linear.T.astype(np.float32) @ weights
    x, y, z = hits.points
    xx, yy, zz, xy, xz, yz = mixed
    bent += np.stack([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z])
    return bent / np.sqrt((bent * bent).sum(axis=0))


def _paint(solid: Ellipsoids, hits: Hits, t: Traits) -> Singles:
    """How bright the surface is by itself: skin, lips, eyes and brows."""
    x, y, z = hits.points
    weights = np.exp(-SHARP * hits.distances)
    on_lips = weights[solid.kind == LIP].sum(axis=0) / weights.sum(axis=0)
    tone = t.skin * (1 + (t.lips - 1) * on_lips)
    # Both sides at once: the face is symmetric.
    across, up = np.abs(x) - EYE_X * t.eye_distance, y - EYE_Y
    on_ball = hits.on_eye
    width, height, iris = (t.eye_size * length for length in (EYE_WIDTH, EYE_HEIGHT, IRIS))
    is_open = (across / width) ** 2 + (up / height) ** 2 < 1
    tone = np.where(on_ball & ~is_open & (up > 0), 0.7 * t.skin, tone)
    tone = np.where(on_ball & is_open, 0.95, tone)
    tone = np.where(on_ball & is_open & (across**2 + up**2 < iris**2), 0.1, tone)
    arch = y - BROW_Y + 0.9 * across**2
    in_brow = (z > 0.3) & ((across / BROW_WIDTH) ** 2 + (arch / BROW_HEIGHT) ** 2 < 1)
    return np.where(in_brow, t.hair * t.skin, tone).astype(np.float32)


def view(traits: Traits, azimuth: float, elevation: float) -> NDArray[np.uint8]:
    """What a picture (64, 64, 3) needs of a head under any light, in 8 bits each.

    Of every pixel: how bright it is by itself, times how much of it the head covers, and x and y
    of its mean normal in the frame of the camera, as 127 n + 128.
    """
    solid, turn = head(traits), turn_of_head(azimuth, elevation)
    hits = _meet(solid, turn)
    sums = np.zeros((4, len(hits.on)), dtype=np.float32)
    sums[0, hits.on] = _paint(solid, hits, traits)
    sums[1:, hits.on] = turn.astype(np.float32) @ _normals(solid, hits)
    tone, x, y, z = sums.reshape(4, SIDE * SIDE, SAMPLES**2).sum(axis=2)
    length = np.sqrt(x * x + y * y + z * z)
    length[length == 0] = 1
    table = np.stack([255 / SAMPLES**2 * tone, 127 * x / length + 128, 127 * y / length + 128])
    return np.rint(table.T).astype(np.uint8).reshape(SIDE, SIDE, 3)
