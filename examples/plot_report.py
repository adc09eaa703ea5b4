"""
A report that judges
====================

:class:`~sklearn_disent.inspection.DisentanglementReport` puts scores, chance levels, verdicts and
pictures on one page. It works for models, Pipelines and searches, and for codes alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_disent.inspection import DisentanglementReport

# %%
# Codes of three factors: the first is found, the second is shared by two codes, the third is
# lost.

rng = np.random.default_rng(0)
factors = rng.integers(5, size=(800, 3))
noise = 0.3 * rng.normal(size=(800, 4))
codes = (
    np.column_stack([factors[:, 0], factors[:, 1] + factors[:, 0], factors[:, 1], np.zeros(800)])
    + noise
)
report = DisentanglementReport.from_predictions(
    factors, codes, factor_names=["found", "shared", "lost"], n_resamples=50, random_state=0
)

# %%
# As text. In a notebook the report shows itself; ``report.to_html("report.html")`` writes one
# file that needs no other, with sliders for the traversals if there is a model.

print(report)

# %%
# As a DataFrame, with a column per factor, or as LaTeX.

print(report.to_frame()[["value", "chance", "found", "shared", "lost"]].round(2))
print(report.to_latex())

# %%
# The pictures are Displays, and can be drawn again.

report.displays["Relevance"].plot()
plt.show()
