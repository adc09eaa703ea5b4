"""Objective terms as they were recorded once."""

from functools import partial

import numpy as np
import pytest
import torch
from recording import check, record

from sklearn_disent.models import terms

FILE = "models/recorded.json"


def tensors():
    rng = np.random.RandomState(0)
    mean, z = torch.as_tensor(rng.normal(size=(2, 12, 3)))
    log_var = torch.as_tensor(0.5 * rng.normal(size=(12, 3)) - 1)
    factors = torch.as_tensor(np.column_stack([rng.randint(n, size=12) for n in (3, 2)]))
    return z, mean, log_var, factors


def with_slope(function, *arguments, **options):
    """The value of a term, and its derivative by all that is a number."""
    arguments = [
        a.clone().requires_grad_() if torch.is_tensor(a) and a.is_floating_point() else a
        for a in arguments
    ]
    value = function(*arguments, **options)
    parts = list(value) if isinstance(value, tuple) else [value]
    live = [a for a in arguments if torch.is_tensor(a) and a.requires_grad]
    total = sum(part.sum() for part in parts)
    slopes = []
    if total.requires_grad:
        found = torch.autograd.grad(total, live, allow_unused=True)
        slopes = [slope.numpy() for slope in found if slope is not None]
    return [part.detach().numpy() for part in parts] + slopes


def of_terms():
    z, mean, log_var, factors = tensors()
    images = torch.sigmoid(z).reshape(12, 1, 1, 3), mean.reshape(12, 1, 1, 3)
    labels = factors.double()
    unknown = labels.clone()
    unknown[3] = torch.nan
    same = (factors == factors.flip(0)).double()
    seed = torch.Generator().manual_seed
    pairs = torch.tensor([[0, 1], [1, 2], [0, 2]])
    found = {
        "bernoulli": (terms.bernoulli_nll, *images),
        "gaussian": (terms.gaussian_nll, z, mean, 0.3),
        "kl": (terms.gaussian_kl, mean, log_var),
        "kl of two": (terms.gaussian_kl, mean, log_var, z, log_var.flip(0)),
        "categorical": (terms.categorical_kl, z),
        "density": (terms.gaussian_log_density, z, mean, log_var),
        "entropy": (terms.gaussian_entropy, log_var),
        "prior": (terms.standard_log_prior, z),
        "parts": (terms.kl_parts, z, mean, log_var, 50),
        "parts, mws": (terms.kl_parts, z, mean, log_var, 50, "mws"),
        "weights": (terms.mss_log_weights, 5, 20),
        "ratio": (terms.density_ratio_tc, z),
        "permuted": (terms.permute_dims, z, seed(0)),
        "dip i": (terms.dip_penalties, mean, log_var, "i"),
        "dip ii": (terms.dip_penalties, mean, log_var, "ii"),
        "covariance": (terms.covariance, mean),
        "mmd": (terms.mmd_squared, z, mean, 1.5),
        "support": (terms.hausdorff_support, mean, pairs),
        "cov": (terms.cov_penalty, mean[:, :2], labels),
        "known": (terms.mean_over_known, mean[:, :2], unknown),
        "same": (terms.same_pair_term, same, z[:, :2], mean[:, :2]),
        "contraction": (terms.contraction_term, labels, z),
        "pairs": (terms.pair_contraction, same, z, mean),
        "l2": (terms.l2_losses, mean, labels, torch.tensor([2.0, 1.0])),
        "xent": (terms.xent_losses, mean, labels, torch.tensor([3, 2])),
        "embedded": (terms.embed_losses, mean, labels, [z[:3, 0], z[:2, 1]], 1.7),
        "unknown": (terms.xent_losses, mean, unknown, torch.tensor([3, 2])),
        "transition": (terms.laplace_transition_kl, mean, log_var, z, log_var.flip(0), 2.0),
        "box": (terms.box_mask, torch.tensor([[[1, 2, 4, 5], [0, 0, 2, 1]]]), (6, 7)),
        "region": (terms.region_error, *images, torch.ones_like(images[0]) / 3),
    }
    found = {label: partial(with_slope, *call) for label, call in found.items()}
    for name in ("variance_term", "diameter_term", "mean_pairwise_term"):
        for options in (
            {},
            {"groups": [[0, 2], [1]]},
            {"aggregate": "max"},
            {"aggregate": "mean"},
            {"min_class_size": 4},
        ):
            found[f"{name}, {options}"] = partial(
                with_slope,
                getattr(terms, name),
                factors,
                z[:, : 3 if "groups" in options else 2],
                **options,
            )
    for deviation in ("diameter", "mean_pairwise"):
        found[f"same, {deviation}"] = partial(
            with_slope, terms.same_pair_term, same, z[:, :2], mean[:, :2], deviation=deviation
        )
    found["contraction, max"] = partial(
        with_slope, terms.contraction_term, labels, z, aggregate="max"
    )
    return found


GROUPS = {"terms": of_terms}


@pytest.mark.parametrize("group", GROUPS)
def test_terms_give_what_was_recorded(group):
    check(FILE, group, GROUPS[group]())


if __name__ == "__main__":
    record(FILE, GROUPS)
