"""The report as a page."""

import io
import re
import shutil
import subprocess
from base64 import b64decode
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_disent.inspection import DisentanglementReport, TraversalDisplay
from sklearn_disent.inspection._page import bar
from sklearn_disent.inspection._sliders import _thinned, traversal_sliders
from sklearn_disent.metrics import disentanglement_report, manifold_topology_score
from sklearn_disent.metrics.information import _matrix

from .conftest import make_vae


class Page(HTMLParser):
    """Headings, sources and whether tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.sources, self.links = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "meta", "input"):
            self.open.append(tag)
        attrs = dict(attrs)
        if tag == "img":
            self.sources.append(attrs["src"])
        self.links += [attrs[key] for key in ("href", "action", "srcset") if key in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def report(vae, images):
    return DisentanglementReport.from_estimator(
        vae,
        *images,
        metrics=["mig", "sap", "gaussian_total_correlation_error"],
        n_resamples=5,
        n_permutations=0,
        factor_names=["row <b>", "column"],
        random_state=0,
    )


@pytest.fixture(scope="module")
def written(report, tmp_path_factory):
    """The page and its file: to draw the pictures takes a second."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return report.to_html(path), path


def test_report_scores_are_those_of_the_text(report, vae, images):
    X, y = images
    expected = disentanglement_report(
        y,
        vae.transform(X),
        metrics=["mig", "sap", "gaussian_total_correlation_error"],
        n_resamples=5,
        output="dict",
        random_state=0,
    )
    assert report.scores == expected
    assert f"mig={expected['mig']['value']:.3f}" in repr(report)


def test_report_page_has_all_sections_and_stands_alone(report, written):
    text, path = written
    assert path.read_text(encoding="utf-8") == text
    page = Page(text)
    assert page.open == []
    assert page.headings == [
        "Scores",
        "Scores by factor",
        "Relevance",
        "Latents against factors",
        "Traversals",
        "Reconstructions",
        "History",
        "Estimator",
    ]
    assert not page.links
    n_latents = report.displays["Traversals"].decoded.shape[0]
    assert len(page.sources) == 5 + n_latents
    assert text.count('<input type="range"') == n_latents
    assert len(text.encode()) < 5e6
    assert 'name="viewport"' in text
    for source in page.sources:
        head, data = source.split(",", 1)
        assert head == "data:image/png;base64"
        assert b64decode(data).startswith(b"\x89PNG")
    assert not re.search(r"https?://|url\(|@import|<script", text)


def test_sliders_of_large_images_stay_light():
    frames = np.random.default_rng(0).random((2, 11, 200, 150, 3))
    display = TraversalDisplay(frames, steps=np.linspace(-2, 2, 11))
    page = traversal_sliders(display)
    assert len(page) < 2 / 10 * 4.5e6  # ten latents, with room for the other pictures
    width, height = imread(page)
    assert (width, height) == (11 * 50, 66)
    np.testing.assert_allclose(
        _thinned(frames[0])[0, 3, 5], frames[0, 0, 9:12, 15:18].mean(axis=(0, 1))
    )
    assert _thinned(frames[0, :, :96, :96]).shape == (11, 96, 96, 3)


def imread(page):
    """Width and height of the first picture of a page."""
    from PIL import Image

    data = re.search(r"base64,([^\"]*)", page).group(1)
    return Image.open(io.BytesIO(b64decode(data))).size


def test_report_table_shows_values_and_intervals(report, written):
    text = written[0]
    row = report.scores["mig"]
    assert f'<td class="number">{row["value"]:.3f}</td>' in text
    assert f'<td class="number">{row["ci_low"]:.3f} to {row["ci_high"]:.3f}</td>' in text
    assert "Intervals hold 95%" in text
    assert "ELBO" in text
    # One scale per score with an upper limit, none for the error.
    assert text.count('<div class="scale">') == 2
    assert "0 to ∞" in text
    assert "nan" not in re.sub(r"base64,[^\"]*", "", text)


@pytest.mark.slow
def test_report_shows_chance_on_request(images):
    y = images[1]
    report = DisentanglementReport.from_estimator(
        PCA(2).fit(y), y, y, metrics=["mig"], n_resamples=0, n_permutations=3, random_state=0
    )
    text = report.to_html()
    assert f'<td class="number">{report.scores["mig"]["chance"]:.3f}</td>' in text
    assert '<th class="number spare">p-value</th>' in text


def test_report_computes_and_encodes_once(images, monkeypatch):
    X, y = images
    rows, matrices = {}, []

    def count(owner, name, note):
        function = getattr(owner, name)

        def counting(*args, **kwargs):
            note(*args)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    vae = make_vae(max_epochs=1)
    pipeline = make_pipeline(FunctionTransformer(), vae, "passthrough").fit(X)
    for cls, name in [
        (FunctionTransformer, "transform"),
        (type(vae), "transform"),
        (type(vae), "posterior"),
        (type(vae), "elbo_terms"),
    ]:
        counts = rows.setdefault((cls, name), [])
        count(cls, name, lambda self, X, counts=counts: counts.append(len(X)))
    count(_matrix, "_information", lambda *args: matrices.append(args))
    DisentanglementReport.from_estimator(
        pipeline,
        X,
        y,
        metrics=["mig", "mig_sup", "modularity"],
        n_resamples=0,
        n_permutations=0,
        random_state=0,
    )
    assert len(matrices) == 1
    # Codes, posteriors and bounds each once; the data for them pass the steps before once more.
    assert rows.pop((FunctionTransformer, "transform")) == [120, 120]
    assert all(counts == [120] for counts in rows.values())


def test_report_leaves_no_figure_open(report, written):
    before = plt.get_fignums()
    notebook = report._repr_html_()
    assert plt.get_fignums() == before == []
    assert notebook in written[0]  # drawn again, to the last bit


def test_report_of_pipelines_leaves_out_what_there_is_not(images):
    X, y = images
    rows = X.reshape(120, -1).astype(float)
    pipeline = make_pipeline("passthrough", PCA(3)).fit(rows)
    report = DisentanglementReport.from_estimator(
        pipeline, rows, y, metrics=["mig"], n_resamples=0, n_permutations=0, image_shape=(8, 8)
    )
    text = report.to_html()
    assert Page(text).headings[1:-1] == [
        "Scores by factor",
        "Relevance",
        "Latents against factors",
        "Traversals",
        "Reconstructions",
    ]
    assert "interval" not in text.split("</style>")[1].split("<table>")[1].split("</table>")[0]
    assert "Disentanglement report: PCA" in text


def test_report_of_a_dead_model_says_so(images):
    X, y = images
    dead = make_vae(max_epochs=1, lr=1e-12).fit(X)
    dead.module_.encoder.apply(
        lambda layer: layer.weight.data.mul_(1e-3) if hasattr(layer, "weight") else None
    )
    report = DisentanglementReport.from_estimator(
        dead, X, y, n_resamples=0, metrics=["modularity", "mig"], random_state=0
    )
    assert "All 3 latents are dead" in report.summary[0]
    assert report.summary[0] in report.to_html()
    assert report.summary[0] in str(report)
    assert set(report.verdicts) == {"modularity", "mig"}
    assert all("chance" in row for row in report.scores.values())


def test_report_of_codes_alone_has_all_forms(images):
    y = images[1]
    codes = y + 0.1 * np.random.default_rng(0).normal(size=y.shape)
    report = DisentanglementReport.from_predictions(
        y, codes, n_resamples=2, factor_names=["a", "b"], random_state=0
    )
    assert list(report.displays) == ["Relevance", "Latents against factors"]
    assert {"minimality", "sufficiency"} <= set(report.scores)
    assert report.verdicts["mig"] == "above chance"
    assert report.to_dict() == report.scores
    assert list(report.to_frame().columns[-2:]) == ["a", "b"]
    assert "MIG & " in report.to_latex()
    assert "By factor" in report.to_text()
    text = report.to_html()
    assert "above chance" in text
    assert '<th class="number">a</th><th class="number">b</th>' in text


def test_report_escapes_what_it_writes():
    scores = {"mig": {"question": "a < b?", "value": 0.5, "lowest": 0.0, "highest": 1.0,
                      "greater_is_better": True}}  # fmt: skip
    page = DisentanglementReport(scores, {}, title="<x>", estimator_text="VAE(<y>)").to_html()
    assert "a &lt; b?" in page
    assert "<x>" not in page
    assert "<y>" not in page


def test_report_of_searches_and_continuous_factors(search, images):
    X, y = images
    report = DisentanglementReport.from_estimator(
        search, X, y + 0.25, metrics=["mig"], n_resamples=0, n_permutations=0, factor_bins=5
    )
    expected = disentanglement_report(
        y + 0.25, search.transform(X), metrics=["mig"], factor_bins=5, output="dict"
    )
    assert report.scores == expected
    assert report.title == "Disentanglement report: BetaVAE"


FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run --hide-scrollbars"
)
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")


def browse(path, folder, *options):
    """What Chromium writes to its output for a page."""
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        ["chromium", *FLAGS.split(), profile, *options, path.as_uri()],
        check=True, capture_output=True, timeout=180, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
@needs_chromium
def test_report_opens_in_a_browser(report, tmp_path):
    from PIL import Image

    path, shot = tmp_path / "report.html", tmp_path / "report.png"
    report.to_html(path)
    browse(path, tmp_path, "--window-size=1200,2600", f"--screenshot={shot}")
    with Image.open(shot) as image:
        assert image.size == (1200, 2600)
        pixels = np.asarray(image.convert("RGB"), dtype=int)
    # The bars of scores and the bright cells of the heat map have been drawn.
    for color in ([0x00, 0x72, 0xB2], [0xFE, 0xE8, 0x38]):
        assert (np.abs(pixels - color).sum(axis=-1) < 12).sum() > 200


@pytest.mark.slow
@needs_chromium
def test_sliders_move_and_a_phone_need_not_scroll_sideways(report, tmp_path):
    """A frame 390 pixels wide stands for the phone: Chromium's windows are wider."""
    (tmp_path / "report.html").write_text(report.to_html(), encoding="utf-8")
    path = tmp_path / "outer.html"
    path.write_text(
        """<body><iframe id=f width=390 height=800 src="report.html"></iframe><pre id=out></pre>
        <script>onload = () => {
          const page = document.getElementById('f').contentDocument;
          const slider = page.querySelector('input[type=range]'), root = page.documentElement;
          const strip = slider.parentNode.querySelector('img'), before = strip.style.marginLeft;
          slider.value = 0;
          slider.dispatchEvent(new Event('input'));
          document.getElementById('out').textContent = [
            before, strip.style.marginLeft, slider.parentNode.querySelector('output').textContent,
            root.scrollWidth, root.clientWidth].join('|');
        }</script>"""
    )
    dom = browse(path, tmp_path, "--allow-file-access-from-files", "--dump-dom")
    before, after, step, width, room = re.search(r'id="out">(.*?)</pre>', dom).group(1).split("|")
    assert float(before.removesuffix("px")) < 0
    assert float(after.removesuffix("px")) == 0
    assert step == "-2.00"
    assert int(width) <= int(room) <= 390


@pytest.mark.slow
def test_report_scores_topology_on_request(vae, images):
    options = {"n_samples": 60, "n_values": 2, "n_repeats": 4, "max_holes": 20}
    report = DisentanglementReport.from_estimator(
        vae, *images, metrics=["mig"], n_resamples=3, n_permutations=4, topology=options,
        random_state=0,
    )  # fmt: skip
    row = report.scores["manifold_topology"]
    assert row.keys() == report.scores["mig"].keys()
    details = manifold_topology_score(
        vae, n_permutations=4, random_state=0, return_details=True, **options
    )
    assert (row["value"], row["p_value"]) == (details.score, details.p_value)
    width = 2 * 1.959964 * details.standard_error
    assert row["ci_high"] - row["ci_low"] == pytest.approx(width, rel=1e-5)
    assert "manifold topology" in report.to_html()
    with pytest.raises(TypeError, match="no option 'repeats'"):
        DisentanglementReport.from_estimator(vae, *images, topology={"repeats": 3})


# -- hostile names and sizes -----------------------------------------------------------------


def many(n_factors, n_rows=60):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(n_rows, n_factors))
    X = np.column_stack([y[:, [7, 40]], rng.normal(size=(n_rows, 2))]) @ rng.normal(size=(4, 4))
    return PCA(3).fit(X), X, y


@pytest.mark.slow
def test_dollars_in_names_are_dollars(images):
    names = ["US$ and A$", r"$\frac{", r"\$x$"]
    X, y = images[0].reshape(120, -1), images[1][:, [0, 1, 0]]
    text = np.where(y == 1, np.array(names, object), "other")
    report = DisentanglementReport.from_estimator(
        PCA(2).fit(X), X, text, metrics=["mig"], n_resamples=0, n_permutations=0, factor_names=names
    )
    assert report.to_html().count("<img") == 4
    labels = report.displays["Relevance"].ax_.get_yticklabels()
    for shown, name in zip(labels, names, strict=True):
        assert shown.get_text().replace(r"\$", "$").replace("\\\\", "\\") == name
        assert shown._preprocess_math(shown.get_text())[1] is False


@pytest.mark.slow
def test_of_many_factors_some_are_drawn_and_named():
    pca, X, y = many(100)
    report = DisentanglementReport.from_estimator(pca, X, y, n_resamples=0, n_permutations=0)
    drawn = report.displays["Latents against factors"]
    assert drawn.axes_.shape == (3, 12)
    assert {"factor 7", "factor 40"} <= set(drawn.curves)
    assert list(drawn.curves) == sorted(drawn.curves, key=lambda name: int(name[7:]))
    assert "Latents are drawn against 12 factors" in report.to_html()
    labels = [label.get_text() for label in report.displays["Relevance"].ax_.get_yticklabels()]
    assert labels == [f"factor {k}" for k in range(0, 100, 2)]
    # What takes a fit for each factor is left out, unless asked for.
    assert "mig" in report.scores
    assert not {"infom", "infoc", "infoe"} & report.scores.keys()


@pytest.mark.parametrize(("n_factors", "expected"), [(50, 100), (51, 98), (100, 50), (1000, 10)])
def test_of_many_factors_there_are_fewer_resamples(monkeypatch, n_factors, expected):
    asked = []

    def watched(*args, n_resamples, metrics, **options):
        asked.append((n_resamples, len(metrics)))
        raise InterruptedError

    monkeypatch.setattr("sklearn_disent.inspection._report.disentanglement_report", watched)
    with pytest.raises(InterruptedError):
        DisentanglementReport.from_estimator(*many(n_factors))
    assert asked == [(expected, 11 if n_factors == 50 else 8)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_factors_are_a_page():
    page = DisentanglementReport.from_estimator(*many(1000), random_state=0).to_html()
    assert "60 samples, 1000 factors, 3 codes. Intervals hold 95%." in page


class Spoilt(PCA):
    def transform(self, X):
        codes = super().transform(X)
        codes[:7, 1] = np.nan
        return codes


def test_codes_with_nan_are_named():
    _, X, y = many(41)
    with pytest.raises(ValueError, match="Spoilt gives codes with NaN for 7 of 60 observations"):
        DisentanglementReport.from_estimator(Spoilt(2).fit(X), X, y[:, :2], n_resamples=0)


def test_directions_of_text_stay_within_it(report):
    turned = "\u202eטקסט\u2067 <b>"
    row = {**report.scores["mig"], "question": turned}
    page = DisentanglementReport(
        {turned: row}, {turned: report.displays["Relevance"]}, title=turned, summary=[turned],
        estimator_text=turned,
    ).to_html()  # fmt: skip
    Page(page)
    head, body = page.split("</head>")
    assert "<title>טקסט &lt;b&gt;</title>" in head
    assert "<b>" not in page
    # Elements that end the direction of what they enclose: blocks, and bdi within lines.
    outside = re.sub(r"<(bdi|h2)>.*?</\1>", "", body, flags=re.S)
    assert "\u202e" not in outside
    assert page.count("\u202e") == 6


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"value": 1.5, "ci_low": -0.5, "ci_high": 2.0}, ["100.0", "0.0", "100.0"]),
        ({"value": -0.5, "ci_low": -0.5, "ci_high": -0.2}, ["0.0", "0.0", "0.0"]),
        ({"value": 0.25, "ci_low": 0.125, "ci_high": 0.5}, ["25.0", "12.5", "37.5"]),
        ({"value": 0.25}, ["25.0"]),
    ],
)
def test_bars_stay_on_their_scale(row, expected):
    assert re.findall(r"([\d.]+)%", bar({"lowest": 0.0, "highest": 1.0, **row})) == expected
    stretched = {key: 4 * value - 2 for key, value in row.items()}
    assert re.findall(r"([\d.]+)%", bar({"lowest": -2.0, "highest": 2.0, **stretched})) == expected
    assert bar({"lowest": 0.0, "highest": np.inf, **row}) == ""
