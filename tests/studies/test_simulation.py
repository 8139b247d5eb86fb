"""simulate: within its standard error of every closed form, and the same bits whoever computes."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from scipy import stats

import weakly as wk
from weakly.base import parallel
from weakly.base.errors import AssumptionWarning, InvalidInput, WeaklyError
from weakly.base.parallel import open_executor
from weakly.base.results import percent, seconds
from weakly.model.annotator import Annotator, PresenceRule
from weakly.model.lengths import Lengths
from weakly.studies.simulate import World

ONE = {"n_events": 1, "recording_length": 100, "segment_length": 0.8, "presence_criterion": 0.5}


def near(found, value, error, sigmas=4):
    assert abs(found - value) <= sigmas * error, (
        f"{found} is {abs(found - value) / error:.1f} standard errors off {value}"
    )


def test_one_event_follows_theorem_1():
    # starts are uniform in (0, 1000), a whole number of segments, so that the offset is exactly uniform
    widths, criteria = [0.25, 0.8, 2.0, 4.0], [0.1, 0.5, 0.9]
    found = wk.simulate(
        1.0,
        n_events=1,
        recording_length=1001,
        segment_length=widths,
        presence_criterion=criteria,
        n_recordings=20_000,
        rng=1,
    )
    for row in found.to_frame().to_dict(orient="records"):
        how = {
            "event_length": 1,
            "segment_length": row["segment_length"],
            "presence_criterion": row["presence_criterion"],
        }
        near(row["overlap_accuracy"], float(wk.overlap_accuracy(**how)), row["overlap_accuracy_se"] + 1e-12)
        near(row["event_recall"], float(wk.event_recall(**how)), row["event_recall_se"] + 1e-12)
        near(row["wrong_time"], float(wk.wrong_time(**how)), row["wrong_time_se"] + 5e-4)


@pytest.mark.parametrize(("ratio", "criterion", "value"), [(0.35, 0.1, 0.8503401361), (1.3, 0.7, 0.7218934911)])
def test_the_mean_per_recording_follows_its_own_closed_form(ratio, criterion, value):
    # E12: not the pooled ratio of Theorem 1, however many recordings there are
    how = {"n_events": 1, "recording_length": 100, "segment_length": ratio, "presence_criterion": criterion}
    found = wk.simulate(1.0, n_recordings=40_000, rng=2, **how)
    near(found.overlap_accuracy_per_recording, value, found.overlap_accuracy_per_recording_se)
    pooled = float(wk.overlap_accuracy(event_length=1, segment_length=ratio, presence_criterion=criterion))
    assert abs(found.overlap_accuracy_per_recording - pooled) > 4 * found.overlap_accuracy_per_recording_se


def test_an_event_law_follows_its_expectation():
    values = [0.5, 1.0, 4.0]
    found = wk.simulate(
        Lengths.sample(values),
        n_events=1,
        recording_length=100,
        segment_length=0.9,
        presence_criterion=0.5,
        n_recordings=20_000,
        rng=3,
    )
    how = {"event_length": Lengths.sample(values), "segment_length": 0.9, "presence_criterion": 0.5}
    near(found.overlap_accuracy, float(wk.overlap_accuracy(weighting="segment", **how)), found.overlap_accuracy_se)


def unit_events(m, length, queries, criterion, **how):
    """M unit events anywhere in recordings that so many segments fill."""
    width = length / queries
    return wk.simulate(
        1.0, n_events=m, recording_length=length, segment_length=width, presence_criterion=criterion, **how
    )


@pytest.mark.parametrize(
    ("m", "length", "queries", "criterion", "value"),
    [  # section C: exact pooled accuracy of M uniform unit events on a grid
        (30, 100, 88, 0.5, 0.711772268117),
        (50, 100, 71, 0.5, 0.684264106327),
    ],
)
def test_many_merged_events(m, length, queries, criterion, value):
    found = unit_events(m, length, queries, criterion, n_recordings=10_000, rng=4)
    near(found.overlap_accuracy, value, found.overlap_accuracy_se)


@pytest.mark.parametrize(
    ("m", "length", "queries", "criterion", "value"),
    [(3, 10, 8, 0.7, 2.8055836618), (2, 4, 5, 0.6, 1.8604938272)],  # reference table, section C: E[sum F]
)
def test_the_sum_over_segments_of_merged_events(m, length, queries, criterion, value):
    found = unit_events(m, length, queries, criterion, n_recordings=100_000, rng=5)
    total = found.tally
    spread = 1.5 / np.sqrt(100_000)  # the sum lies between 0 and 6
    near(total.fit.item() / total.n_recordings.item(), value, spread)


@pytest.mark.parametrize(
    ("rate", "width", "criterion", "value"),
    [(0.3, 1.13, 0.5, 0.7102944720), (0.5, 0.4, 0.1, 0.8570438218), (1.0, 1.2, 0.2, 0.7632854592)],
)
def test_a_poisson_number_of_events(rate, width, criterion, value):
    # reference table, section C: the Boolean model; starts have rate M / (T - d)
    found = wk.simulate(
        1.0,
        n_events=rate * 999,
        recording_length=1000,
        segment_length=width,
        presence_criterion=criterion,
        n_recordings=1500,
        placement="poisson",
        rng=6,
    )
    near(found.overlap_accuracy, value, found.overlap_accuracy_se + 2e-4)  # edges of 1 s in 1000 s


@pytest.mark.parametrize(
    ("annotator", "value"),
    [
        (Annotator(presence_criterion=0.5, flip_rate=0.1), 0.7111111111),
        (Annotator(presence_criterion=stats.beta(2, 3), guess_rate=0.05, lapse_rate=0.1), 0.6850080000),
        (Annotator(presence_criterion=stats.beta(2, 3), votes=(1, 3)), 0.7166704723),
    ],
)
def test_random_annotators(annotator, value):
    # reference table, section D
    found = wk.simulate(
        1.0, n_events=1, recording_length=100, segment_length=0.8, annotator=annotator, n_recordings=5000, rng=7
    )
    near(found.overlap_accuracy, value, found.overlap_accuracy_se)


def test_windows_with_votes():
    found = wk.simulate(
        1.0,
        n_events=1,
        recording_length=100,
        segment_length=1.2,
        hop=0.3,
        votes=1,
        presence_criterion=0.5,
        n_recordings=5000,
        rng=8,
    )
    near(found.wrong_time, 1.1, found.wrong_time_se + 1e-3)


def test_rules_and_a_random_phase():
    how = {"n_events": 5, "recording_length": 50, "segment_length": 1.5, "n_recordings": 2000, "rng": 9}
    grid = wk.simulate(1.0, rule=PresenceRule.seconds(0.5), **how)
    random = wk.simulate(1.0, presence_criterion=0.5, phase="random", **how)
    near(grid.overlap_accuracy, random.overlap_accuracy, np.hypot(grid.overlap_accuracy_se, random.overlap_accuracy_se))
    assert random.overlap_accuracy_se < grid.overlap_accuracy_se


def test_spaced_events_keep_their_distance_and_fill_the_recording():
    world = World(Lengths.of([0.5, 2.0]), stats.randint(0, 6), 30.0, "spaced", 1.5)
    timelines, _ = world.draw(4000, np.random.default_rng(0))
    recording = np.repeat(np.arange(4000), np.diff(timelines.starts))
    same = recording[1:] == recording[:-1]
    gaps = (timelines.bounds[1:, 0] - timelines.bounds[:-1, 1])[same]
    assert gaps.min() >= 1.5
    assert timelines.bounds.min() >= 0
    assert timelines.bounds.max() <= 30
    middle = timelines.bounds.mean(axis=1)
    assert middle.mean() == pytest.approx(15, abs=0.2)  # symmetric in time
    assert set(np.round(timelines.bounds[:, 1] - timelines.bounds[:, 0], 9)) == {0.5, 2.0}
    one, _ = World(Lengths.of(1.0), 1, 30.0, "spaced", 1.5).draw(4000, np.random.default_rng(0))
    assert stats.kstest(one.bounds[:, 0] / 29, "uniform").pvalue > 1e-3


def test_uniform_events_start_uniformly_and_merge():
    world = World(Lengths.of(1.0), 20, 30.0, "uniform", 0.0)
    timelines, _ = world.draw(2000, np.random.default_rng(0))
    assert (np.diff(timelines.starts) < 20).any()
    recording = np.repeat(np.arange(2000), np.diff(timelines.starts))
    assert (timelines.bounds[1:, 0] > timelines.bounds[:-1, 1])[recording[1:] == recording[:-1]].all()
    single, _ = World(Lengths.of(1.0), 1, 30.0, "uniform", 0.0).draw(4000, np.random.default_rng(0))
    assert stats.kstest(single.bounds[:, 0] / 29, "uniform").pvalue > 1e-3


def test_the_maximum_is_reported_without_the_bias_of_choosing():
    # E13: at many segment lengths and few recordings the naive maximum is too high, the split one is not
    widths = np.linspace(0.5, 1.5, 120)
    truth = float(wk.best_overlap_accuracy(presence_criterion=0.5))
    naive, split = [], []
    for seed in range(60):
        found = wk.simulate(
            1.0,
            n_events=1,
            recording_length=100,
            segment_length=widths,
            presence_criterion=0.5,
            n_recordings=20,
            rng=seed,
        ).best()
        naive.append(found["naive_overlap_accuracy"].item())
        split.append(found["overlap_accuracy"].item())
    assert np.mean(naive) > truth + 3 * np.std(naive) / np.sqrt(60)
    assert np.mean(split) < truth + 2 * np.std(split) / np.sqrt(60)


def test_a_seed_gives_the_same_numbers_and_another_seed_others():
    how = {**ONE, "n_recordings": 50}
    left, again, right = (wk.simulate(1.0, rng=seed, **how).to_frame() for seed in (1, 1, 2))
    assert left.equals(again)
    assert not left.equals(right)
    assert not wk.simulate(1.0, **how).to_frame().equals(wk.simulate(1.0, **how).to_frame())


BITS = {
    "n_events": 40,
    "recording_length": 60,
    "segment_length": [0.3, 0.8, 2.0],
    "presence_criterion": [0.1, 0.5, 0.9],
    "n_recordings": 5000,
    "rng": 11,
}


@pytest.fixture(scope="module")
def serial():
    with ThreadPoolExecutor(1) as one:
        return wk.simulate(Lengths.of([0.5, 1.0, 2.0]), executor=one, **BITS)


def same_bits(left, right):
    for a, b in zip(left.halves, right.halves):
        for name in ("sums", "products", "base_sums", "base_products"):
            assert (getattr(a, name) == getattr(b, name)).all()


def test_threads_and_processes_give_the_same_bits(serial):
    from multiprocessing import get_context

    lengths = Lengths.of([0.5, 1.0, 2.0])
    same_bits(serial, wk.simulate(lengths, **BITS))
    with ThreadPoolExecutor(3) as pool:
        same_bits(serial, wk.simulate(lengths, executor=pool, **BITS))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # two of them are below
        same_bits(serial, wk.simulate(lengths, executor=pool, **BITS))


#: A scheduler and two workers, each a process of its own that has its imports from this one.
CLUSTER = """
import asyncio, os, sys
import dask, distributed, numba, weakly.studies.simulate
from distributed import Scheduler, Worker
async def lead(_):
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as made:
        os.write(write, made.address.encode())
        await made.finished()
async def work(address):
    async with Worker(address, nthreads=1, dashboard=False) as made:
        await made.finished()
read, write = os.pipe()
address, pids = None, []
for each in (lead, work, work):
    pids.append(os.fork())
    if pids[-1] == 0:
        asyncio.run(each(address))
        os._exit(0)
    address = address or os.read(read, 100).decode()
print(address, *pids, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def cluster():
    """The address of a scheduler, the number of its process, and those of its workers'."""
    pytest.importorskip("distributed", reason="pip install 'weakly[dask]'")
    with subprocess.Popen([sys.executable, "-c", CLUSTER], text=True, stdin=-1, stdout=-1, stderr=-3) as mother:
        address, *pids = mother.stdout.readline().split()
        yield address, *map(int, pids)
        for pid in map(int, pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        mother.stdin.close()


@pytest.mark.filterwarnings("ignore")  # what Dask says of its own dying parts
def test_a_cluster_loses_a_worker_and_no_bit_and_then_its_scheduler(serial, cluster, monkeypatch):
    """Real processes, killed: the work of the one is done by another, and without the other nobody waits for ever."""
    address, scheduler, victim, _ = cluster
    monkeypatch.setattr(parallel, "LOST_AFTER", 1.0)
    lengths, killed = Lengths.of([0.5, 1.0, 2.0]), []

    def kill_after_the_first_chunks(pid, done):
        if done == 3 and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    with open_executor(scheduler=address) as executor:
        how = {"executor": executor, "progress": lambda done, total: kill_after_the_first_chunks(victim, done)}
        same_bits(serial, wk.simulate(lengths, **how, **BITS))
        assert killed == [victim]
        how["progress"] = lambda done, total: kill_after_the_first_chunks(scheduler, done)
        with pytest.raises(WeaklyError, match=f"the Dask scheduler at {address} was lost; run the command again"):
            wk.simulate(lengths, **how, **{**BITS, "n_recordings": 10_000_000})
        assert killed == [victim, scheduler]


def test_ctrl_c_ends_the_work():
    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        wk.simulate(1.0, **{**BITS, "n_recordings": 200_000}, progress=interrupt)
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_memory_stays_flat_and_chunks_are_made_as_they_are_needed():
    import tracemalloc

    how = {**ONE, "rng": 1}
    wk.simulate(1.0, n_recordings=10_000, **how)
    peaks = []
    for n in (40_000, 400_000):
        tracemalloc.start()
        wk.simulate(1.0, n_recordings=n, **how)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 1e6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_events": -1}, "n_events must be >= 0"),
        ({"n_events": 1.5}, "n_events must be a whole number"),
        ({"n_recordings": 0}, "n_recordings must be a whole number >= 1"),
        ({"recording_length": 0}, "recording_length must be > 0"),
        ({"recording_length": 0.5}, "event_length must be at most the recording's 0.5 s, got 1"),
        ({"placement": "random"}, "placement must be one of"),
        ({"gap": 1.0}, "gap needs placement 'spaced'"),
        ({"placement": "spaced", "gap": 2.0, "n_events": 60}, "60 events of 60 s together do not fit into 100 s"),
        ({"placement": "poisson", "n_events": stats.poisson(3)}, "must be a number"),
        ({"presence_criterion": None}, "exactly one of"),
    ],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(InvalidInput, match=message):
        wk.simulate(1.0, **{**ONE, **changes})


def test_events_longer_than_the_recording_are_counted_and_said():
    with pytest.warns(AssumptionWarning, match="longer than the recording"):
        found = wk.simulate(
            stats.expon(scale=5),
            n_events=1,
            recording_length=10,
            segment_length=1,
            presence_criterion=0.5,
            n_recordings=500,
            rng=1,
        )
    assert found.n_longer == pytest.approx(500 * np.exp(-2), abs=40)
    assert found.to_dict()["n_longer"] == found.n_longer


def test_results_say_what_was_asked():
    found = wk.simulate(1.0, **{**ONE, "segment_length": [0.5, 0.8]}, rng=1, n_recordings=100)
    document = found.to_dict()
    assert document["settings"]["n_recordings"] == 100
    assert len(document["rows"]) == 2
    assert len(document["best"]) == 1
    assert found.plot().get_ylabel() == "accuracy near events $f$"
    assert found.best(metric="wrong_time")["naive_wrong_time"].item() == min(found.wrong_time)


def test_where_nothing_is_chosen_the_answer_is_of_all_recordings():
    how = {"n_events": 3, "recording_length": 600, "presence_criterion": [0.3, 0.5], "n_recordings": 40, "rng": 0}
    one, two = (wk.simulate(40.0, segment_length=widths, **how) for widths in (60.0, [30.0, 60.0]))
    for name in ("overlap_accuracy", "event_recall", "wrong_time", "overlap_accuracy_se", "n_recordings"):
        assert one.best()[name].tolist() == one.to_frame()[name].tolist()
    assert all(seconds(value) in one.answer for value in one.wrong_time)
    assert one.best()["naive_overlap_accuracy"].tolist() == one.overlap_accuracy.tolist()
    assert "half" not in one.answer
    assert ("<svg" in one.page().html(), "<svg" in two.page().html()) == (False, True)  # one point is no picture
    assert [line.get_marker() for line in one.plot().lines[:2]] == ["o", "o"]
    assert "half" in two.answer  # there a length is chosen, and the headline is of recordings without a say in it
    assert set(two.best()["n_recordings"]) == {20}
    top = two.best().sort_values("overlap_accuracy").iloc[-1]
    assert f"{seconds(top['segment_length'])} segments are best" in (title := two.plot().get_title(loc="left"))
    assert percent(top["overlap_accuracy"]) in title
