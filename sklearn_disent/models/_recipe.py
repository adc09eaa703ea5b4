"""A published way to train, as parameters."""

from typing import Any

import torch
from skorch.callbacks import LRScheduler

from .._params import PositiveInt, validated

_BASE_BATCH_SIZE = 64
_BASE_LR = 1e-4


@validated
def training_recipe(batch_size: PositiveInt = 256) -> dict[str, Any]:
    """Training parameters of Almudévar and Ortega (2025).

    50 epochs of Adam with weight decay 4e-5 and a learning rate of 1e-4 for every 64 rows in a
    batch, so 4e-4 at 256; it falls to a tenth after every 20 epochs. Weights are initialised by
    the rule of He et al. (2015), as in the published code: with torch's own rule, ``"burgess"``
    networks at 32 pixels had no active latent after 250 steps, with this one ten.

    Parameters
    ----------
    batch_size : int, default=256
        Rows per step; the learning rate is in proportion.

    Returns
    -------
    params : dict
        Keyword arguments for any model: ``batch_size``, ``max_epochs``, ``optimizer``, ``lr``,
        ``optimizer__weight_decay``, ``module__init``, and ``callbacks`` with the schedule of the
        learning rate under the name ``lr_scheduler``.

    Notes
    -----
    The callback is a fresh object at every call. Parameters of the schedule stay reachable:
    ``callbacks__lr_scheduler__step_size``. Models with a discriminator keep its learning rate.

    References
    ----------
    Almudévar and Ortega (2025). Rethinking disentanglement under dependent factors of variation.
    arXiv. Table 1.

    Examples
    --------
    >>> from sklearn_disent.models import BetaVAE, training_recipe
    >>> recipe = training_recipe(batch_size=128)
    >>> recipe["lr"], recipe["max_epochs"]
    (0.0002, 50)
    >>> vae = BetaVAE(beta=4.0, **recipe)
    """
    schedule = LRScheduler("StepLR", step_size=20, gamma=0.1)
    return {
        "batch_size": batch_size,
        "max_epochs": 50,
        "optimizer": torch.optim.Adam,
        "lr": _BASE_LR * batch_size / _BASE_BATCH_SIZE,
        "optimizer__weight_decay": 4e-5,
        "module__init": "he",
        "callbacks": [("lr_scheduler", schedule)],
    }
