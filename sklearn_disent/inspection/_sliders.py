"""Traversals that move: one slider per latent over frames decoded beforehand, in plain HTML."""

import html
import io
from base64 import b64encode
from typing import Any

import numpy as np

# Height of a frame on the page, in pixels; small images are enlarged without smoothing.
_HEIGHT = 96
# Pixels of a frame that are kept, in height and width: ten latents with eleven frames each, of
# noise even, stay below 5 MB.
_MOST = 96

SLIDER_STYLE = f"""
.sklearn-disent-sliders {{ display: flex; flex-wrap: wrap; gap: 12px; margin: 8px 0; }}
.sklearn-disent-sliders figure {{ margin: 0; min-width: {_HEIGHT}px; }}
.sklearn-disent-sliders .frame {{ overflow: hidden; height: {_HEIGHT}px; }}
.sklearn-disent-sliders .frame img {{ height: {_HEIGHT}px; max-width: none; display: block;
  image-rendering: pixelated; }}
.sklearn-disent-sliders input {{ width: 100%; margin: 4px 0 0; box-sizing: border-box; }}
.sklearn-disent-sliders figcaption {{ font-size: 0.8em; max-width: 140px; }}
"""

# The strip of a latent's frames is moved behind its window, by the width of one frame per step.
_MOVE = (
    "var f=this.parentNode,n=Number(this.max)+1,i=f.querySelector('img');"
    "i.style.marginLeft=(-i.offsetWidth/n*this.value)+'px';"
    "f.querySelector('output').textContent=this.dataset.steps.split(' ')[this.value];"
)


def traversal_sliders(display: Any) -> str:
    """One figure per latent with a slider; nothing where the observations are not images."""
    decoded, labels = display._checked()
    images = display._images(decoded)
    if images is None:
        return ""
    steps = " ".join(f"{step:+.2f}" for step in np.asarray(display.steps))
    figures = [_figure(strip, label, steps) for strip, label in zip(images, labels)]
    return '<div class="sklearn-disent-sliders">\n' + "\n".join(figures) + "\n</div>\n"


def _figure(frames: np.ndarray, label: str, steps: str) -> str:
    n_steps, height, width = frames.shape[:3]
    middle = n_steps // 2
    shown = round(_HEIGHT * width / height)
    name = html.escape(label)
    return (
        f'<figure style="width: {max(shown, _HEIGHT)}px">'
        f'<div class="frame" style="width: {shown}px">'
        f'<img alt="{name}" style="width: {shown * n_steps}px; margin-left: {-shown * middle}px" '
        f'src="data:image/png;base64,{_strip(frames)}"></div>'
        f'<input type="range" min="0" max="{n_steps - 1}" value="{middle}" aria-label="{name}" '
        f'data-steps="{steps}" oninput="{_MOVE}">'
        f"<figcaption>{name}: <output>{steps.split()[middle]}</output></figcaption></figure>"
    )


def _strip(frames: np.ndarray) -> str:
    """Frames side by side, as a picture."""
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    strip = np.concatenate(list(_thinned(frames)), axis=1)
    imsave(buffer, strip, cmap="gray", vmin=0, vmax=1, format="png")
    return b64encode(buffer.getvalue()).decode("ascii")


def _thinned(frames: np.ndarray) -> np.ndarray:
    """Large frames as means of blocks of pixels; what is left over at the edges is cut off."""
    n_steps, height, width = frames.shape[:3]
    block = -(-max(height, width) // _MOST)
    rows, columns = height // block, width // block
    if block == 1 or not rows or not columns:
        return frames
    cut = frames[:, : rows * block, : columns * block]
    blocks = cut.reshape(n_steps, rows, block, columns, block, *frames.shape[3:])
    return blocks.mean(axis=(2, 4))
