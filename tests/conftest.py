"""What all tests share: where the real data is, and that nothing is skipped quietly in CI."""

import contextlib
import functools
import gc
import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from pathlib import Path

# There is a worker per core and more: threads of linear algebra that wait for each other take four times the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded
os.environ.pop("COLUMNS", None)  # which workers of a parallel run are given; output goes to a pipe here

import hypothesis
import matplotlib
import pytest
import typer.testing

import weakly.cli
from weakly.base import compiled

matplotlib.use("Agg")
compiled.PATIENCE = (0.5, 0.2)  # a process that runs thousands of tests has its kernels compiled soon
compiled.ANNOUNCED = 3600.0  # a busy machine adds no line to what a test expects on stderr

# A command is made of what its module declares, a tenth of a second each time; hundreds of tests run one.
weakly.cli._group = functools.cache(weakly.cli._group)
typer.testing._get_command = functools.cache(typer.testing._get_command)

hypothesis.settings.register_profile("weakly", deadline=None, max_examples=25, derandomize=True)
hypothesis.settings.load_profile("weakly")

pytest_plugins = ["copies"]
collect_ignore = ["typing_user.py"]  # checked by mypy, never run
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,1000 --disable-extensions "
    "--disable-software-rasterizer --disable-gpu-compositing "  # there is no screen: plain pixels are the cheapest
    "--in-process-gpu --renderer-process-limit=2 --process-per-site "
    "--disable-features=Translate,OptimizationHints,MediaRouter,OnDeviceModelService,SpareRendererForSitePerProcess"
)
REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory):
    """Tokens of the tests' campaigns are not kept with those of whoever runs them."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with other people's annotations; it is not part of the project."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"needs the real annotations in {REAL_DATA.parent.name}/{REAL_DATA.name} beside the checkout")
    return REAL_DATA


@pytest.fixture
def bucket(monkeypatch):
    """A function that puts files into the bucket ``season`` of a server that speaks S3, and tells their address."""
    pytest.importorskip("s3fs", reason="pip install 'weakly[s3]'")
    server = pytest.importorskip("moto.server", reason="pip install 'moto[s3,server]'")
    import boto3
    import fsspec

    from weakly.io import dataset

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        running.start()
        address = "http://{}:{}".format(*running.get_host_and_port())
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        store = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
        store.create_bucket(Bucket="season")
        dataset.system.cache_clear()
        fsspec.filesystem("s3").clear_instance_cache()

        def put(folder, under):
            for path in sorted(each for each in Path(folder).rglob("*") if each.is_file()):
                store.put_object(Bucket="season", Key=f"{under}/{path.relative_to(folder)}", Body=path.read_bytes())
            dataset.system("s3").invalidate_cache()
            return f"s3://season/{under}"

        try:
            yield put
        finally:
            running.stop()
            dataset.system.cache_clear()
            dataset._opened.cache_clear()


def pytest_collection_finish():
    """What is imported stays, and is not looked through again for garbage: a fifth of the suite's work."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI a missing extra, browser or server is a failure; only absent real data may be skipped."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and "real_data" not in item.fixturenames:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A real browser, started as people start it, that can reach this machine only."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    downloads = tmp_path_factory.mktemp("downloads")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    # Whatever the page would load from elsewhere could not be found.
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    made.downloads = downloads
    yield made
    made.quit()


@pytest.fixture(scope="module")
def browser(chromium):
    """The browser as it was started: one window, nothing emulated."""
    first = chromium.window_handles[0]
    for handle in chromium.window_handles[1:]:
        chromium.switch_to.window(handle)
        chromium.close()
    chromium.switch_to.window(first)
    chromium.get("about:blank")
    for command, how in (("clearDeviceMetricsOverride", {}), ("setEmulatedMedia", {"features": []})):
        chromium.execute_cdp_cmd(f"Emulation.{command}", how)
    return chromium


class Postgres:
    """A PostgreSQL server of these tests alone, which asks for a password and can be stopped and started again."""

    PASSWORD = "s3cr3t-pass"

    def __init__(self, binaries):
        self.folder = Path(tempfile.mkdtemp(prefix="weakly-postgres-"))
        user = {"user": "postgres"} if os.getuid() == 0 else {}  # it refuses to run as root
        (self.folder / "password").write_text(self.PASSWORD)
        if user:
            shutil.chown(self.folder, "postgres")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._binaries = binaries
        self._how = {
            "check": True,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "cwd": self.folder,
            **user,
        }
        first = ["-A", "scram-sha-256", "-U", "weakly", "--pwfile", self.folder / "password"]
        subprocess.run([binaries / "initdb", "-D", self.folder / "data", *first], **self._how)

    @property
    def address(self):
        return f"postgresql://weakly:{self.PASSWORD}@127.0.0.1:{self.port}/postgres"

    def _control(self, *words):
        subprocess.run([self._binaries / "pg_ctl", "-D", self.folder / "data", "-w", *words], **self._how)

    def start(self):
        self._control("-o", f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1", "start")

    def stop(self):
        self._control("-m", "immediate", "stop")

    def rows(self, words):
        """What a statement finds, past the package."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as database:
            found = database.execute(words)
            return found.fetchall() if found.description else []

    def clear(self):
        self.rows("drop schema public cascade; create schema public")


@pytest.fixture(scope="session")
def postgres_server():
    found = [shutil.which("initdb"), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), reverse=True)]
    initdb = next((path for path in found if path), None)
    if initdb is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    server = Postgres(Path(initdb).resolve().parent)
    server.start()
    try:
        yield server
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def postgres(postgres_server):
    """The server, with nothing in it."""
    postgres_server.clear()
    return postgres_server
