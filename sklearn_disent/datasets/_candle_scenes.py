"""The sixteen scenes of the CANDLE-like pictures."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._candle_panorama import (
    EYE_HEIGHT,
    Floats,
    View,
    blocks,
    haze,
    lattice,
    mix,
    near,
    noise,
    over,
    ridge,
    rough,
    shade,
    sky,
    stripes,
    walls,
    windows,
)


class Scene(NamedTuple):
    """How a scene is painted, and how it lights what stands in it."""

    paint: Callable[[View], Floats]
    ambient: tuple[float, float, float]  # light from everywhere
    sun: tuple[float, float, float]  # light from one direction
    sun_azimuth: float  # degrees to the right of the middle of the scene
    sun_elevation: float
    lamp: float  # strength of the extra lamp, which the scene's own light drowns or not


def _split(view: View, far: Floats, ground: Floats) -> Floats:
    return np.where(view.below[:, None], ground, far)


def open_air(
    far: Callable[[View], Floats], ground: Callable[[View], Floats]
) -> Callable[[View], Floats]:
    """A scene without walls: what lies above the horizon, and the ground below it."""

    def paint(view: View) -> Floats:
        picture = np.empty((len(view.below), 3), dtype=np.float32)
        for where, brush in ((view.below, ground), (~view.below, far)):
            picture[where] = brush(View(*(values[where] for values in view)))
        return picture

    return paint


# -- inside ----------------------------------------------------------------------------------


def _indoor(view: View) -> Floats:
    wall = walls(view, 11.0, 9.0)
    paper = mix((0.80, 0.70, 0.55), (0.88, 0.80, 0.66), stripes(wall.along, 0.7, 0.5))
    paper = shade(paper, 0.86 + 0.14 * wall.front)
    frame = near(wall.along, -2.6, 1.55) & near(wall.up, 3.0, 1.35) & wall.front
    glass = near(np.abs(wall.along + 2.6), 0.72, 0.62) & near(wall.up, 3.0, 1.2) & wall.front
    paper = over(paper, frame, (0.97, 0.96, 0.93))
    paper = over(paper, glass, mix((0.74, 0.88, 0.97), (0.45, 0.68, 0.92), wall.up / 5))
    for place, color in ((2.2, (0.32, 0.42, 0.36)), (4.6, (0.62, 0.28, 0.24))):
        picture = wall.front & near(wall.along, place, 0.8) & near(wall.up, 3.2, 0.7)
        paper = over(paper, picture, (0.22, 0.15, 0.10))
        inner = wall.front & near(wall.along, place, 0.66) & near(wall.up, 3.2, 0.56)
        paper = over(
            paper, inner, mix(color, (0.85, 0.80, 0.62), noise(wall.along * 3, wall.up * 3))
        )
    sofa = ~wall.front & (wall.up < 1.5) & near(np.abs(wall.along), 13.5, 3.0)
    paper = over(paper, sofa, mix((0.28, 0.34, 0.46), (0.36, 0.43, 0.56), wall.up / 1.5))
    paper = over(paper, (wall.up < 0.3), (0.93, 0.90, 0.84))
    plank = lattice(view.x / 0.6, view.z / 3.5 + 7 * np.floor(view.x / 0.6))
    grain = rough(view.x * 9, view.z * 0.9, 3)
    floor = mix((0.46, 0.29, 0.16), (0.66, 0.45, 0.27), 0.6 * plank + 0.4 * grain)
    floor = over(floor, stripes(view.x, 0.6, 0.04), (0.32, 0.20, 0.11))
    rug = (view.x / 4.6) ** 2 + ((view.z - 7.2) / 3.0) ** 2
    floor = over(floor, rug < 1, mix((0.62, 0.20, 0.18), (0.86, 0.74, 0.55), (rug * 6 % 1 > 0.72)))
    return np.where(wall.is_wall[:, None], paper, floor)


def _hall(view: View) -> Floats:
    wall = walls(view, 16.0, 11.0)
    stone = mix((0.60, 0.58, 0.56), (0.72, 0.70, 0.67), rough(wall.along * 0.9, wall.up * 0.9))
    place = wall.along / 3.2 % 1
    arch = near(place, 0.5, 0.24) & (
        wall.up < 4.0 + np.sqrt(np.maximum(0.6 - 10 * (place - 0.5) ** 2, 0))
    )
    stone = over(stone, arch & (wall.up > 0.5), (0.30, 0.27, 0.27))
    column = near(np.minimum(place, 1 - place), 0.0, 0.12)
    roundness = np.minimum(place, 1 - place) / 0.12
    shaft = shade(
        mix((0.98, 0.95, 0.88), (0.90, 0.86, 0.78), 0.5 + 0 * place), 1.02 - 0.35 * roundness**2
    )
    stone = np.where((column & (wall.up < 6.2))[:, None], shaft, stone)
    stone = over(stone, near(wall.up, 6.4, 0.25), (0.80, 0.64, 0.30))
    stone = over(stone, wall.up > 6.65, (0.84, 0.81, 0.75))
    odd = (np.floor(view.x / 1.3) + np.floor(view.z / 1.3)) % 2
    veins = rough(view.x * 2.5, view.z * 2.5, 4)
    floor = shade(mix((0.86, 0.85, 0.83), (0.30, 0.30, 0.33), odd), 0.85 + 0.3 * veins)
    floor = mix(floor, (0.78, 0.74, 0.68), 0.35 * np.exp(-((view.x / 3) ** 2)))
    return np.where(wall.is_wall[:, None], stone, floor)


def _garage(view: View) -> Floats:
    wall = walls(view, 18.0, 12.0)
    concrete = mix((0.50, 0.50, 0.48), (0.62, 0.61, 0.58), rough(wall.along * 0.6, wall.up * 1.5))
    concrete = over(concrete, wall.up < 0.9, (0.30, 0.42, 0.40))
    number = lattice(wall.along / 3.0, np.full_like(wall.along, 5.0))
    car = near(wall.along / 3.0 % 1, 0.5, 0.36) & (wall.up < 1.25) & (number > 0.35)
    cabin = near(wall.along / 3.0 % 1, 0.5, 0.24) & near(wall.up, 1.5, 0.32) & (number > 0.35)
    paint = np.stack([0.25 + 0.5 * number, 0.28 + 0 * number, 0.65 - 0.5 * number], axis=1)
    concrete = over(concrete, car, paint)
    concrete = over(concrete, cabin, (0.16, 0.19, 0.22))
    pillar = near(np.abs(view.azimuth), 0.42, 0.055)
    band = near(EYE_HEIGHT + view.height * 9.0, 1.3, 0.35)
    concrete = over(
        concrete, pillar, mix((0.72, 0.71, 0.68), (0.52, 0.51, 0.49), np.abs(view.azimuth) * 9 % 1)
    )
    concrete = over(concrete, pillar & band, (0.90, 0.74, 0.12))
    ceiling = wall.up > 3.9
    beam = stripes(view.azimuth + 5, 0.22, 0.16)
    concrete = over(concrete, ceiling, mix((0.40, 0.40, 0.39), (0.30, 0.30, 0.30), beam))
    tube = near(view.height, 0.20, 0.012) & stripes(view.azimuth + 4.05, 0.3, 0.55)
    concrete = over(concrete, tube, (1.0, 1.0, 0.94))
    floor = mix((0.34, 0.34, 0.34), (0.44, 0.44, 0.43), rough(view.x * 1.2, view.z * 1.2))
    floor = shade(floor, 1 - 0.35 * (rough(view.x * 0.35 + 9, view.z * 0.35) > 0.62))
    line = near(np.abs(view.x) % 4.4, 2.2, 0.09) & (view.z > 4)
    floor = over(floor, line, (0.92, 0.90, 0.84))
    inside = wall.is_wall | (pillar & (EYE_HEIGHT + view.height * 9.0 > 0))
    return np.where(inside[:, None], concrete, floor)


def _station(view: View) -> Floats:
    wall = walls(view, 40.0, 8.0)
    # A train along the left, a platform wall along the right, both running to a vanishing point.
    depth = wall.distance * np.cos(view.azimuth)
    left = view.azimuth < 0
    train = mix((0.80, 0.82, 0.84), (0.62, 0.65, 0.70), wall.up / 4)
    train = over(train, near(wall.up, 1.0, 0.28), (0.12, 0.28, 0.62))
    pane = stripes(depth, 2.6, 0.7) & near(wall.up, 2.5, 0.55)
    train = over(train, pane, (0.14, 0.18, 0.24))
    door = stripes(depth + 1.3, 10.4, 0.12)
    train = over(train, door & (wall.up < 3.4), (0.75, 0.22, 0.16))
    train = over(train, wall.up > 3.9, (0.36, 0.30, 0.26))
    brick = mix((0.58, 0.36, 0.28), (0.68, 0.46, 0.36), lattice(depth * 2.0, wall.up * 4.0))
    poster = stripes(depth, 5.0, 0.5) & near(wall.up, 2.4, 0.9)
    ink = lattice(depth / 5.0, np.full_like(depth, 3.0))
    brick = over(
        brick, poster, np.stack([0.9 - 0.5 * ink, 0.85 * ink + 0.1, 0.5 + 0 * ink], axis=1)
    )
    brick = over(brick, wall.up > 4.1, (0.30, 0.27, 0.25))
    side = np.where(left[:, None], train, brick)
    end = mix((0.86, 0.90, 0.94), (0.72, 0.82, 0.92), wall.up / 8)
    picture = np.where(wall.front[:, None], end, side)
    roof = (wall.up > 4.8) | (view.height > 0.34)
    girder = stripes(depth, 3.2, 0.3)
    picture = over(picture, roof & ~wall.front, mix((0.46, 0.48, 0.50), (0.26, 0.27, 0.29), girder))
    lamp = near(np.abs(view.azimuth), 0.12 + 0.55 * np.maximum(view.height, 0), 0.02) & (
        view.height > 0.08
    )
    picture = over(picture, lamp & girder, (1.0, 0.98, 0.90))
    tile = lattice(view.x / 0.9, view.z / 0.9)
    floor = mix((0.52, 0.51, 0.50), (0.64, 0.63, 0.61), tile)
    floor = over(floor, stripes(view.x, 0.9, 0.04) | stripes(view.z, 0.9, 0.04), (0.42, 0.41, 0.40))
    floor = over(floor, near(view.x, -4.4, 0.28), (0.95, 0.80, 0.12))
    floor = over(floor, near(view.x, -5.1, 0.12), (0.92, 0.92, 0.90))
    floor = over(floor, view.x < -6.2, (0.16, 0.15, 0.15))
    return np.where(wall.is_wall[:, None], picture, floor)


# -- nature ----------------------------------------------------------------------------------


def _outdoor_far(view: View) -> Floats:
    far = sky(view, (0.86, 0.91, 0.95), (0.38, 0.60, 0.88), 0.62, (0.98, 0.98, 0.98), 23.0)
    far = over(far, ridge(view, 0.14, 0.16, 6.0, 2.0), (0.42, 0.55, 0.52))
    leaf = rough(view.azimuth * 30, view.height * 30, 3)
    trees = mix((0.10, 0.24, 0.10), (0.28, 0.46, 0.18), leaf)
    far = over(far, ridge(view, 0.09, 0.20, 14.0, 9.0), trees)
    trunk = stripes(view.azimuth + 0.03 * noise(view.azimuth * 9, view.height), 0.19, 0.10)
    far = over(far, trunk & (view.height < 0.03), (0.24, 0.17, 0.11))
    return far


def _outdoor_ground(view: View) -> Floats:
    grass = mix((0.26, 0.42, 0.14), (0.46, 0.60, 0.24), rough(view.x * 1.6, view.z * 1.6, 5))
    path = np.abs(view.x - 1.6 * np.sin(view.z / 6)) - 1.2 - 0.5 * noise(view.x, view.z)
    dirt = mix((0.56, 0.44, 0.30), (0.70, 0.58, 0.42), rough(view.x * 4, view.z * 4, 3))
    ground = over(grass, np.clip(-path / 0.3, 0, 1), dirt)
    return haze(ground, view, (0.36, 0.48, 0.26), 30)


def _grassland_far(view: View) -> Floats:
    far = sky(view, (0.72, 0.86, 0.96), (0.20, 0.46, 0.86), 0.55, (1.0, 1.0, 1.0), 46.0)
    far = over(far, ridge(view, 0.10, 0.10, 3.5, 4.0), (0.36, 0.52, 0.58))
    slope = mix((0.30, 0.50, 0.20), (0.50, 0.66, 0.30), rough(view.azimuth * 8, view.height * 30))
    far = over(far, ridge(view, 0.045, 0.07, 5.0, 30.0), slope)
    return far


def _grassland_ground(view: View) -> Floats:
    blade = rough(view.x * 2.2, view.z * 0.9, 5)
    ground = mix((0.30, 0.52, 0.14), (0.62, 0.74, 0.26), blade)
    patch = rough(view.x * 0.25, view.z * 0.25, 3)
    ground = shade(ground, 0.75 + 0.5 * patch)
    return haze(ground, view, (0.48, 0.64, 0.30), 45)


def _beach_far(view: View) -> Floats:
    far = sky(view, (0.97, 0.93, 0.82), (0.36, 0.68, 0.94), 0.45, (1.0, 0.98, 0.95), 69.0)
    glare = np.exp(-((view.azimuth - 0.3) ** 2 + (view.height - 0.32) ** 2) / 0.008)
    far = over(far, np.clip(glare * 1.3, 0, 1), (1.0, 0.98, 0.80))
    cape = ridge(view, 0.02, 0.10, 2.5, 12.0) & (view.azimuth < -0.1)
    far = over(far, cape, (0.40, 0.50, 0.52))
    return far


def _beach_ground(view: View) -> Floats:
    # The water's edge is a wavering line on the ground, far behind the object.
    edge = 15 + 2.5 * noise(view.x * 0.15, np.zeros_like(view.x)) + 0.05 * view.x
    swell = rough(view.x * 0.25, view.z * 1.1, 4)
    water = mix((0.06, 0.38, 0.58), (0.24, 0.62, 0.72), swell)
    water = mix(water, (0.50, 0.72, 0.84), np.clip((view.distance - 30) / 120, 0, 0.7))
    foam = near(view.z - edge, 0.6, 0.5) | (near((view.z - edge) % 6, 1, 0.35) & (swell > 0.55))
    water = over(water, foam & (view.distance < 45), (0.97, 0.98, 0.98))
    ripple = rough(view.x * 0.9, view.z * 3.0, 4)
    sand = mix((0.76, 0.64, 0.44), (0.95, 0.86, 0.66), ripple)
    sand = over(sand, np.clip((view.z - edge + 4) / 4, 0, 0.6), (0.56, 0.46, 0.34))
    pebble = (lattice(view.x * 3.0, view.z * 3.0) > 0.975) & (view.distance < 14)
    sand = over(sand, pebble, (0.46, 0.40, 0.34))
    return np.where((view.z > edge)[:, None], water, sand)


def _garden(view: View) -> Floats:
    far = sky(view, (0.84, 0.92, 0.98), (0.46, 0.70, 0.94), 0.5, (1.0, 1.0, 1.0), 92.0)
    wall = walls(view, 17.0, 14.0)
    leaf = rough(wall.along * 2.5, wall.up * 2.5, 4)
    hedge = mix((0.08, 0.26, 0.08), (0.30, 0.54, 0.20), leaf)
    outline = 2.6 + 0.5 * rough(wall.along * 1.2, np.zeros_like(wall.up), 3)
    ball = near(wall.along / 5.5 % 1, 0.5, 0.2) & (
        ((wall.along / 5.5 % 1 - 0.5) * 5.5) ** 2 + (wall.up - 3.4) ** 2 < 1.1
    )
    far = over(far, (wall.up < outline) | ball, hedge)
    gate = wall.front & near(wall.along, 2.6, 1.0) & (wall.up < 2.4)
    far = over(
        far, gate, mix((0.70, 0.60, 0.44), (0.52, 0.42, 0.30), stripes(wall.along, 0.25, 0.5))
    )
    grass = mix(
        (0.30, 0.56, 0.18),
        (0.46, 0.70, 0.28),
        stripes(view.x + 40, 1.4, 0.5) * 0.6 + 0.4 * rough(view.x * 3, view.z * 3),
    )
    bed = (view.z > 11.0) & (view.z < 15.5) & (np.abs(view.x) > 1.6)
    dots = lattice(view.x * 2.2, view.z * 2.2)
    hue = lattice(view.x * 2.2 + 50, view.z * 2.2)
    soil = mix((0.24, 0.34, 0.12), (0.36, 0.26, 0.16), rough(view.x * 2, view.z * 2))
    bloom = np.where(
        (hue < 0.35)[:, None],
        (0.92, 0.24, 0.46),
        np.where((hue < 0.7)[:, None], (0.96, 0.92, 0.96), (0.66, 0.36, 0.82)),
    )
    ground = over(grass, bed, over(soil, dots > 0.5, bloom))
    gravel = mix((0.70, 0.64, 0.54), (0.86, 0.81, 0.72), lattice(view.x * 6, view.z * 6))
    ground = over(ground, near(view.x, 2.0, 1.1) & (view.z > 8.5) | near(view.z, 9.6, 0.9), gravel)
    return np.where((wall.up > 0)[:, None], far, ground)


# -- town ------------------------------------------------------------------------------------


def _street(view: View) -> Floats:
    far = sky(view, (0.84, 0.88, 0.92), (0.56, 0.70, 0.86), 0.6, (0.96, 0.96, 0.97), 115.0)
    wall = walls(view, 60.0, 9.5)
    depth = wall.distance * np.cos(view.azimuth)
    number = np.floor(depth / 6.5) + 40 * (view.azimuth > 0)
    tone = lattice(number, np.full_like(number, 11.0))
    roof = 5.0 + 3.5 * lattice(number, np.full_like(number, 23.0))
    front = mix((0.66, 0.34, 0.26), (0.84, 0.76, 0.62), tone)
    front = shade(front, 0.8 + 0.4 * rough(depth * 2, wall.up * 2, 3))
    front = over(front, windows(depth, wall.up, (2.1, 2.2), 0.5), (0.24, 0.30, 0.38))
    door = stripes(depth, 6.5, 0.16) & (wall.up < 2.1)
    front = over(front, door, (0.18, 0.28, 0.20))
    far = over(far, (wall.up < roof) & ~wall.front, front)
    far = over(far, near(wall.up, roof, 0.25) & ~wall.front, (0.30, 0.22, 0.20))
    far = over(far, wall.front & (view.height < 0.05), (0.46, 0.54, 0.46))
    lamp = near(np.abs(view.azimuth), 0.30, 0.010) & (view.height < 0.30)
    far = over(far, lamp, (0.16, 0.17, 0.18))
    road = mix((0.24, 0.24, 0.26), (0.38, 0.38, 0.40), rough(view.x * 3, view.z * 3, 4))
    road = over(road, near(view.x, 0.0, 0.12) & stripes(view.z, 3.2, 0.55), (0.94, 0.92, 0.84))
    road = over(road, near(np.abs(view.x), 4.6, 0.1), (0.90, 0.88, 0.80))
    slab = mix((0.58, 0.57, 0.55), (0.68, 0.67, 0.64), lattice(view.x, view.z / 1.2))
    road = over(road, np.abs(view.x) > 6.0, slab)
    road = over(road, near(np.abs(view.x), 5.85, 0.16), (0.76, 0.75, 0.72))
    return np.where((wall.is_wall)[:, None], far, road)


def _city_square(view: View) -> Floats:
    far = sky(view, (0.88, 0.88, 0.84), (0.48, 0.66, 0.88), 0.52, (0.98, 0.97, 0.95), 138.0)
    wall = walls(view, 26.0, 22.0)
    stone = shade(
        mix((0.86, 0.78, 0.62), (0.78, 0.68, 0.52), wall.up / 9),
        0.84 + 0.32 * rough(wall.along, wall.up, 4),
    )
    stone = over(stone, windows(wall.along, wall.up - 0.5, (1.9, 2.6), 0.46), (0.28, 0.30, 0.34))
    stone = over(stone, near(wall.up, 3.1, 0.14) | near(wall.up, 8.4, 0.22), (0.94, 0.90, 0.78))
    gable = 8.6 + np.maximum(0, 3.0 - 0.75 * np.abs(wall.along + 3.0)) * wall.front
    far = over(far, wall.up < gable, stone)
    tower = near(view.azimuth, 0.36, 0.06) & (
        view.height < 0.46 - 1.2 * np.maximum(np.abs(view.azimuth - 0.36) - 0.03, 0)
    )
    far = over(
        far, tower, mix((0.72, 0.62, 0.48), (0.60, 0.50, 0.40), (view.azimuth - 0.30) / 0.12)
    )
    far = over(
        far, near(view.azimuth, 0.36, 0.025) & near(view.height, 0.33, 0.03), (0.96, 0.95, 0.90)
    )
    statue = near(view.azimuth, -0.36, 0.022 + 0.03 * (view.height < 0.0)) & (view.height < 0.17)
    far = over(far, statue, (0.34, 0.42, 0.38))
    radius = np.hypot(view.x, view.z - 7.0)
    ring = np.floor(radius / 0.9)
    cell = lattice(ring, np.floor((np.arctan2(view.x, view.z - 7.0) + 4) * np.maximum(ring, 1)))
    ground = mix((0.56, 0.50, 0.44), (0.74, 0.68, 0.60), cell)
    ground = over(ground, stripes(radius, 0.9, 0.06), (0.44, 0.39, 0.34))
    ground = over(ground, near(radius, 5.2, 0.35), (0.66, 0.34, 0.28))
    ground = np.where((wall.is_wall)[:, None], far, haze(ground, view, (0.66, 0.60, 0.52), 60))
    return over(ground, statue & (view.height > -0.10), (0.34, 0.42, 0.38))


def _bridge(view: View) -> Floats:
    far = sky(view, (0.78, 0.84, 0.88), (0.48, 0.64, 0.80), 0.68, (0.92, 0.93, 0.94), 161.0)
    bank = mix((0.20, 0.34, 0.22), (0.36, 0.48, 0.30), rough(view.azimuth * 20, view.height * 40))
    far = over(far, ridge(view, 0.05, 0.07, 7.0, 51.0), bank)
    # Rails and trusses stand on both edges of the deck.
    side = walls(view, 400.0, 5.6)
    depth = side.distance * np.cos(view.azimuth)
    steel = (0.52, 0.18, 0.14)
    swell = rough(view.x * 0.3, view.z * 1.0, 4)
    river = mix((0.16, 0.32, 0.38), (0.44, 0.58, 0.60), swell)
    picture = _split(view, far, haze(river, view, (0.52, 0.62, 0.64), 60))
    on_side = (side.up > 0) & ~side.front
    rail = (
        near(side.up, 1.15, 0.09)
        | near(side.up, 0.65, 0.06)
        | (stripes(depth, 1.3, 0.12) & (side.up < 1.15))
    )
    picture = over(picture, on_side & rail, (0.30, 0.32, 0.34))
    zigzag = np.abs((depth / 4.2) % 2 - 1) * 5.5
    truss = (
        near(side.up, zigzag + 0.4, 0.42) | near(side.up, 5.9, 0.35) | near(depth % 4.2, 0.0, 0.28)
    )
    picture = over(picture, on_side & truss & (side.up < 6.2), steel)
    plank = lattice(np.floor(view.x / 2.8), view.z / 0.55)
    deck = mix(
        (0.40, 0.31, 0.23),
        (0.58, 0.47, 0.36),
        0.7 * plank + 0.3 * rough(view.x * 1.5, view.z * 8, 3),
    )
    deck = over(deck, stripes(view.z, 0.55, 0.07), (0.22, 0.17, 0.13))
    deck = over(deck, near(np.abs(view.x), 5.3, 0.3), steel)
    return np.where((view.below & (np.abs(view.x) < 5.6))[:, None], deck, picture)


def _playground(view: View) -> Floats:
    far = sky(view, (0.80, 0.90, 0.98), (0.34, 0.62, 0.94), 0.5, (1.0, 1.0, 1.0), 184.0)
    trees = mix((0.22, 0.44, 0.16), (0.42, 0.62, 0.28), rough(view.azimuth * 25, view.height * 25))
    far = over(far, ridge(view, 0.10, 0.12, 10.0, 77.0), trees)
    fence = (view.height < 0.035) & (
        stripes(view.azimuth + 6, 0.035, 0.3) | near(view.height, 0.02, 0.008)
    )
    far = over(far, fence, (0.96, 0.96, 0.92))
    picture = far
    rubber = np.hypot(view.x + 1.5, view.z - 8.0)
    ground = mix((0.24, 0.52, 0.62), (0.32, 0.60, 0.70), rough(view.x * 5, view.z * 5, 3))
    ground = over(ground, rubber < 5.2, (0.86, 0.46, 0.30))
    ground = over(ground, near(rubber, 5.2, 0.25), (0.96, 0.92, 0.80))
    ground = over(ground, np.hypot(view.x - 3.2, view.z - 11.5) < 2.2, (0.90, 0.78, 0.30))
    speck = lattice(view.x * 9, view.z * 9)
    ground = shade(ground, 0.88 + 0.24 * speck)
    ground = over(
        ground,
        view.distance > 22,
        mix((0.34, 0.56, 0.22), (0.46, 0.66, 0.30), rough(view.x, view.z)),
    )
    picture = _split(view, picture, ground)
    # A swing on the left, a slide on the right: 12 units away, standing on the ground.
    across, up = 12 * np.tan(np.clip(view.azimuth, -1.2, 1.2)), EYE_HEIGHT + view.height * 12
    standing = (up > 0) & (up < 4.2)
    leg = near(np.abs(across + 5.0), 1.9 + 0.22 * (4.2 - up), 0.13)
    picture = over(
        picture, standing & (leg | (near(across, -5.0, 1.9) & (up > 3.95))), (0.86, 0.16, 0.16)
    )
    rope = near(np.abs(across + 5.0), 0.9, 0.05) & (up > 1.0)
    seat = near(np.abs(across + 5.0), 0.9, 0.42) & near(up, 0.95, 0.11)
    picture = over(picture, standing & (rope | seat), (0.20, 0.20, 0.24))
    ladder = (
        near(across, 6.6, 0.16)
        | near(across, 7.5, 0.16)
        | (near(across, 7.05, 0.45) & stripes(up, 0.6, 0.25))
    )
    picture = over(picture, standing & (up < 3.4) & ladder, (0.18, 0.32, 0.80))
    chute = near(up, 3.0 - 0.85 * (6.5 - across), 0.26) & (across > 3.2) & (across < 6.7)
    return over(picture, standing & chute, (0.96, 0.80, 0.14))


# -- dark ------------------------------------------------------------------------------------


def _tunnel(view: View) -> Floats:
    # A round vault of radius 6 whose axis runs ahead at the height of the eye.
    slope = np.tan(np.clip(view.azimuth, -1.45, 1.45))
    across = np.hypot(slope, view.height / np.maximum(np.cos(view.azimuth), 0.1))
    depth = 6.0 / np.maximum(across, 0.03)
    angle = np.arctan2(view.height, slope)
    ring = stripes(depth, 3.0, 0.14)
    lining = mix((0.24, 0.23, 0.22), (0.38, 0.36, 0.33), rough(depth * 0.7, angle * 5, 4))
    lining = over(lining, ring, (0.16, 0.15, 0.15))
    light = near(np.abs(angle - np.pi / 2), 0.5, 0.07) & stripes(depth + 1, 3.0, 0.4)
    fade = np.clip(1.25 - depth / 60, 0.2, 1)
    lining = shade(lining, fade)
    lining = over(lining, light, (1.0, 0.86, 0.52))
    lining = over(
        lining, near(angle, 0.35, 0.05) | near(angle, np.pi - 0.35, 0.05), (0.10, 0.10, 0.11)
    )
    lining = over(lining, across < 0.10, (0.86, 0.92, 0.96))
    floor = mix((0.16, 0.16, 0.16), (0.26, 0.25, 0.25), rough(view.x * 2, view.z * 2, 4))
    wet = rough(view.x * 0.4, view.z * 0.4 + 3, 3)
    floor = over(floor, np.clip((wet - 0.55) * 3, 0, 0.5), (0.48, 0.42, 0.30))
    floor = over(floor, near(np.abs(view.x), 3.6, 0.12), (0.86, 0.70, 0.16))
    inside = view.below & (np.abs(view.x) < 5.4) & (view.distance < 50)
    return np.where(inside[:, None], floor, lining)


def _moonlit_grass_far(view: View) -> Floats:
    far = sky(view, (0.16, 0.21, 0.36), (0.03, 0.04, 0.13), 0.42, (0.20, 0.23, 0.34), 207.0)
    star = (lattice(view.azimuth * 90, view.height * 90) > 0.988) & (view.height > 0.1)
    far = over(far, star, (0.80, 0.84, 0.95))
    moon = np.hypot(view.azimuth + 0.22, view.height - 0.34)
    far = over(far, np.clip(np.exp(-moon / 0.09) * 0.7, 0, 1), (0.66, 0.72, 0.86))
    craters = mix(
        (0.98, 0.97, 0.90), (0.80, 0.80, 0.76), noise(view.azimuth * 60, view.height * 60)
    )
    far = over(far, moon < 0.055, craters)
    far = over(far, ridge(view, 0.07, 0.16, 12.0, 140.0), (0.03, 0.05, 0.07))
    return far


def _moonlit_grass_ground(view: View) -> Floats:
    blade = rough(view.x * 2.2, view.z * 1.0, 5)
    ground = mix((0.03, 0.09, 0.09), (0.14, 0.25, 0.22), blade)
    gleam = np.exp(-((view.azimuth + 0.22) ** 2) / 0.06)
    ground = shade(ground, 0.8 + 0.7 * gleam * rough(view.x * 0.5, view.z * 0.5))
    return haze(ground, view, (0.06, 0.10, 0.14), 35)


def _dusk_city_far(view: View) -> Floats:
    far = sky(view, (0.99, 0.62, 0.34), (0.30, 0.18, 0.44), 0.58, (0.80, 0.36, 0.42), 230.0)
    below, tone = blocks(view, 0.10, 0.10, 0.34, 7.0)
    far = over(far, below, (0.36, 0.22, 0.34))
    below, tone = blocks(view, 0.16, 0.04, 0.26, 2.3)
    tower = mix((0.10, 0.08, 0.15), (0.20, 0.14, 0.22), tone)
    cell = lattice(view.azimuth / 0.026, view.height / 0.03)
    lit = windows(view.azimuth, view.height, (0.026, 0.03), 0.55) & (cell > 0.5)
    tower = over(tower, lit, mix((1.0, 0.84, 0.42), (0.98, 0.66, 0.30), cell * 2 % 1))
    far = over(far, below, tower)
    return far


def _dusk_city_ground(view: View) -> Floats:
    slab = lattice(view.x / 1.5, view.z / 1.5)
    ground = mix((0.20, 0.15, 0.22), (0.32, 0.24, 0.32), slab)
    ground = over(
        ground, stripes(view.x, 1.5, 0.03) | stripes(view.z, 1.5, 0.03), (0.13, 0.10, 0.15)
    )
    mirror = rough(view.x * 1.4, view.z * 0.3, 3) * np.exp(-(view.azimuth**2) / 0.5)
    ground = over(ground, np.clip(mirror * 1.3 - 0.3, 0, 0.6), (0.92, 0.52, 0.32))
    return haze(ground, view, (0.42, 0.26, 0.34), 60)


def _skywalk(view: View) -> Floats:
    # A glass corridor above a city: mullions and ceiling beams run to a vanishing point.
    outside = sky(view, (0.78, 0.86, 0.92), (0.46, 0.62, 0.80), 0.55, (0.90, 0.93, 0.96), 253.0)
    below, tone = blocks(view, 0.12, -0.02, 0.16, 5.0)
    house = mix((0.40, 0.48, 0.56), (0.60, 0.66, 0.72), tone)
    house = over(
        house, windows(view.azimuth, view.height + 1, (0.02, 0.03), 0.5), (0.30, 0.38, 0.46)
    )
    outside = over(outside, below | view.below, house)
    side = walls(view, 45.0, 5.2)
    depth = side.distance * np.cos(view.azimuth)
    mullion = (
        stripes(depth, 2.4, 0.12)
        | near(side.up, 0.25, 0.25)
        | near(side.up, 1.3, 0.07)
        | near(side.up, 3.9, 0.2)
    )
    glass = mix(outside, (0.60, 0.74, 0.78), 0.25)
    picture = over(glass, mullion & ~side.front, (0.22, 0.25, 0.28))
    picture = over(picture, side.front, (0.70, 0.78, 0.82))
    picture = over(
        picture, side.front & near(side.up, 1.6, 1.6) & near(side.along, 0, 2.0), (0.26, 0.36, 0.40)
    )
    ceiling = (side.up > 4.1) & ~side.front
    beam = stripes(depth, 2.4, 0.25)
    picture = over(picture, ceiling, mix((0.82, 0.84, 0.86), (0.52, 0.56, 0.60), beam))
    picture = over(picture, (side.up > 4.1) & side.front, (0.82, 0.84, 0.86))
    panel = lattice(view.x / 1.7, view.z / 2.4)
    floor = mix((0.40, 0.45, 0.50), (0.50, 0.55, 0.60), panel)
    floor = over(
        floor, stripes(view.z, 2.4, 0.025) | stripes(view.x, 1.7, 0.03), (0.24, 0.28, 0.32)
    )
    floor = mix(floor, (0.78, 0.84, 0.88), 0.5 * np.clip(np.abs(view.x) / 5, 0, 1) ** 3)
    return np.where(side.is_wall[:, None], picture, floor)


_outdoor = open_air(_outdoor_far, _outdoor_ground)
_grassland = open_air(_grassland_far, _grassland_ground)
_beach = open_air(_beach_far, _beach_ground)
_moonlit_grass = open_air(_moonlit_grass_far, _moonlit_grass_ground)
_dusk_city = open_air(_dusk_city_far, _dusk_city_ground)

SCENES = {
    "indoor": Scene(_indoor, (0.62, 0.58, 0.52), (0.28, 0.28, 0.28), -40, 35, 0.50),
    "outdoor": Scene(_outdoor, (0.56, 0.60, 0.62), (0.40, 0.38, 0.34), 30, 45, 0.45),
    "playground": Scene(_playground, (0.58, 0.62, 0.68), (0.42, 0.40, 0.36), -20, 55, 0.45),
    "bridge": Scene(_bridge, (0.56, 0.60, 0.62), (0.26, 0.27, 0.28), 10, 50, 0.50),
    "city square": Scene(_city_square, (0.56, 0.55, 0.52), (0.46, 0.42, 0.34), 50, 40, 0.45),
    "hall": Scene(_hall, (0.58, 0.55, 0.50), (0.26, 0.24, 0.20), 0, 70, 0.50),
    "grassland": Scene(_grassland, (0.54, 0.60, 0.64), (0.46, 0.44, 0.36), -35, 50, 0.45),
    "garage": Scene(_garage, (0.44, 0.45, 0.44), (0.22, 0.22, 0.22), 0, 80, 0.55),
    "street": Scene(_street, (0.54, 0.57, 0.60), (0.30, 0.29, 0.27), 25, 45, 0.48),
    "beach": Scene(_beach, (0.60, 0.60, 0.58), (0.50, 0.46, 0.36), 20, 35, 0.42),
    "station": Scene(_station, (0.48, 0.48, 0.47), (0.24, 0.24, 0.22), 15, 65, 0.52),
    "tunnel": Scene(_tunnel, (0.28, 0.26, 0.22), (0.24, 0.19, 0.11), 0, 75, 0.55),
    "moonlit grass": Scene(_moonlit_grass, (0.18, 0.21, 0.30), (0.16, 0.18, 0.24), -15, 30, 0.52),
    "dusk city": Scene(_dusk_city, (0.36, 0.28, 0.34), (0.34, 0.20, 0.12), 0, 15, 0.52),
    "skywalk": Scene(_skywalk, (0.54, 0.60, 0.64), (0.30, 0.32, 0.34), 40, 40, 0.46),
    "garden": Scene(_garden, (0.56, 0.62, 0.58), (0.42, 0.40, 0.34), -25, 50, 0.45),
}
