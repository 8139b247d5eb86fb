"""How the page looks: nothing is wider than the screen, everybody can read it, and it prints whole."""

import base64
import io
from importlib.resources import files
from pathlib import Path
from unicodedata import normalize
from urllib.parse import urlencode

import pandas as pd
import pytest
from selenium.webdriver.support.ui import WebDriverWait

import weakly as wk

TABS = ("plan", "evaluate", "simulate", "audit")
N_CLASSES = 40  # more than any list shows at once


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Strong and weak labels of many classes with long names, one a single word of eighty letters."""
    folder = tmp_path_factory.mktemp("many")
    long = "Vehicle horn, car horn, honking of the {}th kind (Inside, large room or hall)"
    names = [long.format(k) for k in range(N_CLASSES - 2)]
    names += ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "/m/07rwj00"]
    rows = [
        (f"clip{k:04d}.wav", 0.1 * (k % 40), 0.1 * (k % 40) + 0.3 + 0.07 * (k % 29), names[k % N_CLASSES])
        for k in range(4 * N_CLASSES)
    ]
    strong = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"]).assign(recording_length=10.0)
    weak = strong.assign(onset=0.0, offset=10.0, present=1)
    strong.to_csv(folder / "strong.csv", index=False)
    weak.to_csv(folder / "weak.csv", index=False)
    return folder / "strong.csv", folder / "weak.csv"


FIELDS = {"plan": ["pilot"], "evaluate": ["file"], "simulate": [], "audit": ["strong", "weak"]}


def load(page, tab, *paths):
    """Open a tab and have it answered about these files."""
    page.tab(tab)
    page.until(lambda: page.state in ("empty", "answered"))
    for field, path in zip(FIELDS[tab], paths):
        page.send(field, path, 110)
    page.until(lambda: page.state == "answered", 110)


def choose(page, address, label):
    """The page as a link opens it that names one class of the pilot to come: a plan for each takes its time."""
    return page.reopen(f"{address}#plan?{urlencode({'label': label})}")


WIDTHS = (390, 768, 1024, 1440)
WIDER = """const wide = document.documentElement.clientWidth;
const parts = ":is(.card, .tabled > table, figure, form, .notes, td, .help)";
const clipped = [...document.querySelectorAll(`section:not([hidden]) ${parts}`)].filter((node) =>
  node.checkVisibility() && !node.closest(".scroll")
  && (node.getBoundingClientRect().right > wide + 1 || node.scrollWidth > node.clientWidth + 1));
return (document.documentElement.scrollWidth > wide ? ["page"] : []).concat(
  clipped.map((node) => `${node.tagName}.${node.className}: ${node.textContent.slice(0, 60)}`))"""


def too_wide(page, width):
    """What is wider than its place on a screen of this width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.until(lambda: page.browser.execute_script("return innerWidth") == width)
        return tuple(page.browser.execute_script(WIDER))
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_audioset_fits(page, address, real_data, tmp_path):
    """All classes and their names; of each the first few events."""
    page = choose(page, address, "/m/0jbk")
    whole = pd.read_csv(real_data / "audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv", sep="\t")
    path = tmp_path / "audioset.tsv"
    whole.groupby("event_label", sort=False).head(3).to_csv(path, sep="\t", index=False)
    for tab in ("evaluate", "plan", "audit"):
        load(page, tab, path)
        assert {width: too_wide(page, width) for width in WIDTHS} == dict.fromkeys(WIDTHS, ())


AXE = """const done = arguments[arguments.length - 1];
const told = (each) => [each.id, each.nodes.map((node) => node.html.slice(0, 200)).slice(0, 4)];
axe.run(document, {resultTypes: ["violations"], ...arguments[0]}).then((found) =>
  done(found.violations.filter((each) => ["serious", "critical"].includes(each.impact)).map(told)))"""


@pytest.fixture
def axe():
    """The script of axe-core, which looks for what keeps people from using a page."""
    pytest.importorskip("axe_core_python", reason="needs axe-core: pip install axe-core-python")
    return (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")


#: Rules of axe for either scheme of colours: all of them, then the one that looks at colours.
SCHEMES = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}


def found_by_axe(page):
    """What axe finds on the page as it is, in either scheme of colours."""
    found = []
    for scheme, rules in SCHEMES.items():
        values = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in values.items()]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        try:
            found.append(page.browser.execute_async_script(AXE, rules))
        finally:
            page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    return found


@pytest.mark.parametrize("tab", TABS)
def test_nothing_is_wider_than_the_screen_and_axe_finds_nothing_serious(page, address, axe, many, tab):
    page = choose(page, address, pd.read_csv(many[0])["label"][N_CLASSES - 2])
    load(page, tab, *many)
    assert {width: too_wide(page, width) for width in WIDTHS} == dict.fromkeys(WIDTHS, ())
    page.browser.set_script_timeout(110)
    page.browser.execute_script(axe)
    assert found_by_axe(page) == [[], []]
    if tab == "evaluate":
        assert f"{N_CLASSES} classes" in page.answer
        assert page.find(".tabled tbody tr").text.startswith("all classes")
        page.type("presence_criterion", "7")
        page.until(lambda: page.state == "problem")
        assert found_by_axe(page) == [[], []]


def printed(browser):
    """The text of every sheet of what the browser would print."""
    pypdf = pytest.importorskip("pypdf", reason="needs pypdf: pip install pypdf")
    paper = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    return [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(base64.b64decode(paper["data"]))).pages]


CELLS = """return [...document.querySelectorAll("table")].filter((each) => each.checkVisibility()).map((each) =>
  [each.caption?.textContent ?? "", [...each.rows].flatMap((row) => [...row.cells].map((cell) => cell.textContent))])"""


def missing(sheets, tables):
    """Words of tables that are on no sheet, and captions whose table begins on another one."""
    sheets = [normalize("NFKC", sheet) for sheet in sheets]  # fonts join letters
    lost = [word for _, cells in tables for cell in cells for word in cell.split() if word not in " ".join(sheets)]
    flat = ["".join(sheet.split()) for sheet in sheets]
    starts = [(caption, "".join((caption + cells[0]).split())) for caption, cells in tables if caption]
    return lost + [caption for caption, start in starts if not any(start in sheet for sheet in flat)]


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_prints_whole(page, tab):
    page.tab(tab)
    page.browser.execute_script("document.querySelector('section:not([hidden]) .example').click()")
    page.until(lambda: page.state == "answered", 120)
    tables = page.browser.execute_script(CELLS)
    sheets = printed(page.browser)
    assert tables
    assert missing(sheets, tables) == []
    assert len(sheets) <= 4
    assert "Asked:" in sheets[0]  # the form is not on paper; what it said is
    assert "Try the example" not in "".join(sheets)


def test_the_reports_print_whole(browser, tmp_path):
    from weakly.model.cost import Cost
    from weakly.studies.simulate import clips, pilot

    cost = Cost(per_second=0.005, per_query=0.02, currency="EUR")
    reports = {
        "plan": wk.plan(pilot(), presence_criterion=0.4, total_hours=20, cost=cost),
        "evaluate": wk.evaluate(pilot(), segment_length=[0.5, 1, 2, 3, 5, 10], presence_criterion=0.4),
        "simulate": wk.simulate(
            1.0,
            n_events=2,
            recording_length=60,
            segment_length=[0.5, 1],
            presence_criterion=0.5,
            n_recordings=50,
            rng=1,
        ),
        "audit": wk.audit(strong=pilot(), weak=clips(), rng=0),
    }
    for name, result in reports.items():
        browser.get(result.report(tmp_path / f"{name}.html").as_uri())
        tables, sheets = browser.execute_script(CELLS), printed(browser)
        assert tables
        assert missing(sheets, tables) == [], name
        assert len(sheets) <= 4, (name, len(sheets))
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        browser.refresh()
        assert len(browser.execute_script(CELLS)) < len(tables)  # the longest are folded, and all are on paper
        assert missing(printed(browser), tables) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_documentation_is_searched_without_a_server(browser, tmp_path):
    """Opened from a folder a browser refuses workers; the site brings its own stand-in, which answers as one does."""
    script = Path(__file__).parents[2] / "docs" / "assets" / "iframe-worker.js"
    (tmp_path / "worker.js").write_text("addEventListener('message', (event) => postMessage([event.data, 'heard']))")
    (tmp_path / "page.html").write_text(
        f"""<!doctype html><script src="{script.as_uri()}"></script><script>
        const worker = new Worker("worker.js");
        worker.addEventListener("message", (event) => {{ document.title = event.data.join(" "); }});
        worker.postMessage("early");
        setTimeout(() => worker.postMessage("late"), 500);</script>"""
    )
    browser.get((tmp_path / "page.html").as_uri())
    for words in ("early heard", "late heard"):
        WebDriverWait(browser, 10, 0.02).until(lambda _, words=words: browser.title == words)
