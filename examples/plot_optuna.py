"""
Settings by Optuna
==================

A study of Optuna asks for the next setting itself, and stops hopeless ones. Needs ``pip install
optuna``.
"""

import matplotlib.pyplot as plt
import optuna
from skorch.callbacks import Callback

from sklearn_disent.datasets import make_dsprites
from sklearn_disent.metrics import mig_score
from sklearn_disent.models import BetaVAE

dsprites = make_dsprites(600, factors={"shape": 0, "orientation": 0}, image_size=32, random_state=0)
X, y = dsprites.images, dsprites.target[:, [1, 3, 4]]
X_train, X_test, y_test = X[:400], X[400:], y[400:]

# %%
# A callback reports the score of held-out images after every few epochs; Optuna may end the
# trial.


class Pruner(Callback):
    def __init__(self, trial):
        self.trial = trial

    def on_epoch_end(self, net, **kwargs):
        epoch = len(net.history_)
        if epoch % 4 == 0:
            self.trial.report(mig_score(y_test, net.transform(X_test)), epoch)
            if self.trial.should_prune():
                raise optuna.TrialPruned


def objective(trial):
    vae = BetaVAE(
        n_components=trial.suggest_int("n_components", 3, 8),
        beta=trial.suggest_float("beta", 0.5, 16.0, log=True),
        architecture="mlp",
        max_epochs=16,
        callbacks=[Pruner(trial)],
        random_state=0,
    )
    return mig_score(y_test, vae.fit(X_train).transform(X_test))


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
)
study.optimize(objective, n_trials=12)
print(f"best MIG {study.best_value:.2f} with {study.best_params}")

# %%
# Every trial; crosses were stopped early.

figure, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
for trial in study.trials:
    done = trial.state == optuna.trial.TrialState.COMPLETE
    value = trial.value if done else max(trial.intermediate_values.values())
    ax.plot(trial.params["beta"], value, "o" if done else "x", color="#0072B2" if done else "0.6")
ax.set(xscale="log", xlabel="beta", ylabel="MIG of held-out images", title="12 trials")
plt.show()
