"""What may stand beside any VAE's own terms: guidance objects, and how a model holds them."""

import copy
import inspect
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from torch import Tensor, nn

from .._params import check_init, init_constraints, readable
from ._module import Terms, VAEOutput
from ._seeding import seeded


class Guidance(BaseEstimator):
    """What guides a model beside its own objective: a base class for terms of your own.

    A guidance is passed as the parameter ``guidance`` of any VAE, alone or in a list. It may read
    labels and metadata in ``fit``, may have trained parameters, and gives further named terms of
    the loss. Subclasses define ``__init__``, which only stores, and :meth:`terms`; :meth:`read`
    and :meth:`make_module` where they need them. Parameters are those of a scikit-learn estimator:
    ``clone``, ``set_params`` and searches (``guidance__weight``) work, and annotated ones are
    checked by ``fit``.

    Attributes
    ----------
    name_ : str
        Its name in the model, set by ``fit``: the name of the class in lower case, unless the user
        gave one. Terms are logged as ``train_<name>_<term>``; the module, if any, is
        ``net.module_.guidance[self.name_]``.

    See Also
    --------
    Labels : Labels of some rows.
    Regions : Bounding boxes, or masks.

    Notes
    -----
    ``fit`` leaves the parameter alone and works on a copy, which the model keeps in its attribute
    ``guidance_``, a dict by name. Without guidance, or where no guidance gives a term, the loss is
    the model's own to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_disent.models import BetaVAE, Guidance
    >>> class SmallCodes(Guidance):
    ...     def __init__(self, weight=1.0):
    ...         self.weight = weight
    ...
    ...     def terms(self, x, output, extras, net):
    ...         return {"l1": (self.weight, output.mean.abs().sum(1).mean())}
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> vae = BetaVAE(n_components=2, guidance=SmallCodes(0.1), max_epochs=1, random_state=0)
    >>> "train_smallcodes_l1" in vae.fit(X).history_[-1]
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._parameter_constraints = init_constraints(cls)
        if inspect.isfunction(vars(cls).get("__init__")):
            readable(cls.__init__)

    @classmethod
    def metadata(cls) -> list[str]:
        """Names of the keyword arguments of ``fit`` that :meth:`read` takes.

        Returns
        -------
        names : list of str
            The keyword-only parameters of :meth:`read`, without ``reset``.
        """
        parameters = inspect.signature(cls.read).parameters.values()
        return [p.name for p in parameters if p.kind == p.KEYWORD_ONLY and p.name != "reset"]

    def read(self, net: Any, y: Any, n_rows: int, *, reset: bool) -> dict[str, NDArray]:
        """Check labels and metadata; return what :meth:`terms` needs of every row.

        A subclass that reads metadata names it as further keyword-only parameters, with the default
        None: ``def read(self, net, y, n_rows, *, reset, boxes=None)`` makes
        ``fit(X, y, boxes=boxes)`` possible, also in searches and Pipelines.

        Parameters
        ----------
        net : BaseVAE
            The model; its parameters and ``input_shape_`` are set, its module is not built yet.
        y : array-like or None
            As passed to ``fit``.
        n_rows : int
            Number of observations.
        reset : bool
            False where a model goes on training, so that what was learnt from the first ``fit``
            must stay.

        Returns
        -------
        extras : dict of str to ndarray
            Arrays with one entry per row, of which :meth:`terms` gets those of its batch.
        """
        return {}

    def make_module(self, net: Any) -> nn.Module | None:
        """Build what is trained along with the model, and saved with its weights.

        Called after :meth:`read`; or, where a model is only initialised to load saved weights,
        without it. Initial weights are drawn from the model's ``random_state``.

        Parameters
        ----------
        net : BaseVAE
            The model, of which ``n_components_`` and ``input_shape_`` are set.

        Returns
        -------
        module : torch.nn.Module or None
        """
        return None

    def terms(self, x: Tensor, output: VAEOutput, extras: dict[str, Tensor], net: Any) -> Terms:
        """Further terms of the loss of one batch.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
            Observations.
        output : VAEOutput
            ``mean``, ``log_var``, ``z`` and ``decoded`` of these observations.
        extras : dict of str to Tensor
            What :meth:`read` returned, of these rows, on the model's device.
        net : BaseVAE
            The model: ``net.generator`` for noise, ``net.n_steps_``, ``net.reconstruction``,
            ``net.decoded_mean``, ``net.module_.guidance[self.name_]``.

        Returns
        -------
        terms : dict of str to (weight, value)
            As in :meth:`BaseVAE.terms`. Empty where this batch has nothing to say.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define terms(x, output, extras, net)."
        )


# -- naming ----------------------------------------------------------------------------------


def named_guidance(guidance: Any) -> dict[str, Guidance]:
    """Guidance objects by name, in order; raises where they are something else.

    One object, or a list of objects or ``(name, object)`` pairs. A name is that of the class in
    lower case, with _1, _2, ... where several have the same.
    """
    if guidance is None:
        return {}
    items = guidance if isinstance(guidance, list | tuple) else [guidance]
    pairs = [item if isinstance(item, tuple) else (None, item) for item in items]
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[1], Guidance):
            raise TypeError(
                "guidance must be a Guidance object, such as Labels(), or a list of objects or "
                f"(name, object) pairs; got {pair[-1]!r}."
            )
    names = [name or type(item).__name__.lower() for name, item in pairs]
    counts, seen = Counter(names), Counter[str]()
    for index, ((given, _), name) in enumerate(zip(pairs, names)):
        seen[name] += 1
        if given is None and counts[name] > 1:
            names[index] = f"{name}_{seen[name]}"
    for name in names:
        _check_name(name, names)
    return dict(zip(names, (item for _, item in pairs)))


def _check_name(name: Any, names: list[str]) -> None:
    if not isinstance(name, str) or not name.isidentifier() or "__" in name:
        raise ValueError(
            f"The name of a guidance must be an identifier without double underscores, got "
            f"{name!r}."
        )
    if hasattr(nn.ModuleDict, name):
        raise ValueError(
            f"A guidance cannot have the name {name!r}, which torch uses. Give it another: "
            "guidance=[(name, object)]."
        )
    if names.count(name) > 1:
        raise ValueError(f"Names of guidance must differ, got {name!r} twice. Change one of them.")


# -- parameters of a model -------------------------------------------------------------------


def nested_params(guidance: Any) -> dict[str, Any]:
    """``guidance__<name>`` and ``guidance__<name>__<param>`` of a list."""
    if not isinstance(guidance, list | tuple):
        return {}
    try:
        members = named_guidance(guidance)
    except (TypeError, ValueError):  # to be refused by fit, not by repr
        return {}
    params: dict[str, Any] = {}
    for name, member in members.items():
        params[f"guidance__{name}"] = member
        params.update((f"guidance__{name}__{k}", v) for k, v in member.get_params().items())
    return params


def set_nested_params(guidance: Any, params: Mapping[str, Any], owner: str) -> Any:
    """Set ``guidance__`` parameters, given without that prefix; return the guidance."""
    if isinstance(guidance, Guidance):
        return guidance.set_params(**params)
    members = named_guidance(guidance)
    # Objects first, then what is set in them.
    for key, value in sorted(params.items(), key=lambda item: "__" in item[0]):
        name, _, rest = key.partition("__")
        if name not in members:
            raise ValueError(
                f"Invalid parameter 'guidance__{key}' for {owner}, whose guidance is "
                f"{list(members) or None}. Set guidance first, or use one of these names."
            )
        if rest:
            members[name].set_params(**{rest: value})
        else:
            index = list(members).index(name)
            is_pair = isinstance(guidance[index], tuple)
            members[name] = value
            guidance = [*guidance]
            guidance[index] = (name, value) if is_pair else value
    return guidance


# -- in training -----------------------------------------------------------------------------


class Guides(dict[str, Guidance]):
    """Fitted guidance by name: copies of the parameter, with what they have read."""

    @classmethod
    def fresh(cls, guidance: Any) -> Self:
        """Copies that have not read anything yet."""
        guides = cls((name, clone(item)) for name, item in named_guidance(guidance).items())
        for name, guide in guides.items():
            guide.name_ = name
        return guides

    def matches(self, guidance: Any) -> bool:
        """Whether these are copies of that parameter, except for its own parameters."""
        members = named_guidance(guidance)
        return list(self) == list(members) and all(
            type(self[name]) is type(item) for name, item in members.items()
        )

    def updated(self, guidance: Any) -> Self:
        """Copies with the present parameters, and what was read in the first fit."""
        if not self.matches(guidance):
            raise ValueError(
                f"A model that goes on training keeps its guidance, {list(self) or None}, got "
                f"{list(named_guidance(guidance)) or None}. Only parameters of it may change; set "
                "warm_start=False and call fit to begin anew."
            )
        guides = type(self)((name, copy.copy(guide)) for name, guide in self.items())
        for name, item in named_guidance(guidance).items():
            guides[name].set_params(**item.get_params(deep=False))
        return guides

    def read(
        self, net: Any, y: Any, n_rows: int, metadata: Mapping[str, Any], *, reset: bool
    ) -> dict[str, NDArray]:
        """Arrays of all guidance, as ``<name>.<key>``."""
        extras = {}
        for name, guide in self.items():
            check_init(guide)
            wanted = {key: metadata.get(key) for key in guide.metadata()}
            for key, value in guide.read(net, y, n_rows, reset=reset, **wanted).items():
                array = np.asarray(value)
                if array.shape[:1] != (n_rows,):
                    raise ValueError(
                        f"{type(guide).__name__}.read must return arrays of {n_rows} entries, one "
                        f"per row, got {key!r} of shape {array.shape}."
                    )
                extras[f"{name}.{key}"] = array
        return extras

    def make_modules(self, net: Any, seed: int) -> dict[str, nn.Module]:
        """Modules of the guidance that has one."""
        modules = {}
        for index, (name, guide) in enumerate(self.items()):
            with seeded(seed + index):
                module = guide.make_module(net)
            if module is not None:
                modules[name] = module
        return modules

    def terms(
        self, own: Terms, x: Tensor, output: VAEOutput, extras: Mapping[str, Tensor], net: Any
    ) -> Terms:
        """The model's own terms, and those of all guidance."""
        terms = dict(own)
        for name, guide in self.items():
            prefix = f"{name}."
            mine = {
                key.removeprefix(prefix): value.to(net.device)
                for key, value in extras.items()
                if key.startswith(prefix)
            }
            found = guide.terms(x, output, mine, net)
            if not isinstance(found, dict):
                raise TypeError(
                    f"{type(guide).__name__}.terms() must return a dict {{name: (weight, value)}}, "
                    f'got a {type(found).__name__}. Return {{"error": (1.0, value)}}, for instance.'
                )
            for key, term in found.items():
                full = f"{name}_{key}"
                if full in terms:
                    raise ValueError(
                        f"There are two terms of the name {full!r}. Give the guidance another: "
                        f"guidance=[(name, {type(guide).__name__}(...))]."
                    )
                terms[full] = term
        return terms


def needs_y(guidance: Any) -> bool:
    """Whether any of the guidance needs labels."""
    try:
        members = named_guidance(guidance)
    except (TypeError, ValueError):
        return False
    return any(get_tags(item).target_tags.required for item in members.values())


def wanted_metadata(guidance: Any) -> set[str]:
    """Names of the keyword arguments of ``fit`` that the guidance reads."""
    try:
        members = named_guidance(guidance)
    except (TypeError, ValueError):
        return set()
    return {name for item in members.values() for name in item.metadata()}
