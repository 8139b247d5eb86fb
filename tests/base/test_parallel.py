"""Chunks come back in order, few at a time, whoever computes them and whatever dies."""

import os
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import weakly as wk
from weakly.base import parallel
from weakly.base.errors import InvalidInput, WeaklyError
from weakly.base.parallel import in_order, open_executor, worker_count


def slow_square(x):
    time.sleep(0.01 * (x % 3))
    return x * x


def die_once(x, marker):
    if x == 5 and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return x * x


class Counting(Executor):
    """Counts what is under way; done only when asked for."""

    _max_workers = 2

    def __init__(self):
        self.open, self.most, self.cancelled = 0, 0, 0

    def submit(self, function, /, *arguments, **keywords):
        executor = self
        executor.open += 1
        executor.most = max(executor.most, executor.open)

        class Lazy(Future):
            def result(self, timeout=None):
                executor.open -= 1
                return function(*arguments)

            def cancel(self):
                executor.cancelled += 1
                return True

        return Lazy()


def test_results_come_in_order():
    wanted = [x * x for x in range(30)]
    assert list(in_order(slow_square, [(x,) for x in range(30)])) == wanted
    with ThreadPoolExecutor(4) as pool:
        assert list(in_order(slow_square, ((x,) for x in range(30)), total=30, executor=pool)) == wanted


def test_only_a_few_chunks_are_under_way():
    executor = Counting()
    assert sum(in_order(abs, ((x,) for x in range(200)), executor=executor)) == sum(range(200))
    assert executor.most <= 3 * 2 + 2


def test_what_has_not_begun_is_cancelled():
    executor = Counting()
    results = in_order(slow_square, ((x,) for x in range(200)), executor=executor)
    next(iter(results))
    results.close()
    assert executor.cancelled == executor.open
    assert executor.cancelled > 0


def test_a_dead_worker_of_a_process_pool_changes_nothing(tmp_path):
    marker = str(tmp_path / "died")
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
        pytest.warns(RuntimeWarning, match="a worker process died"),
    ):
        found = list(in_order(die_once, [(x, marker) for x in range(20)], executor=pool))
    assert found == [x * x for x in range(20)]


def test_a_chunk_that_a_cluster_gives_up_is_sent_again():
    class KilledWorker(Exception):
        pass

    class Unlucky(Counting):
        left = 2

        def submit(self, function, /, *arguments, **keywords):
            future = Future()
            if arguments == (3,) and self.left:
                self.left -= 1
                future.set_exception(KilledWorker("tcp://..."))
            else:
                future.set_result(function(*arguments))
            return future

    assert list(in_order(slow_square, [(x,) for x in range(6)], executor=Unlucky())) == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize("status", ["closed", "connecting"])
def test_a_scheduler_that_is_lost_is_an_error_and_no_wait_for_ever(monkeypatch, status):
    class Client:
        class scheduler:
            address = "tcp://gone:1"

        def __init__(self):
            self.status = status

        def nthreads(self):
            return {"a": 1}

    class Cluster(Counting):
        _client = Client()

        def submit(self, function, /, *arguments, **keywords):
            return Future()

    monkeypatch.setattr(parallel, "LOST_AFTER", 0.0)
    monkeypatch.setattr(Future, "result", lambda self, timeout=None: (_ for _ in ()).throw(TimeoutError))
    with pytest.raises(WeaklyError, match="scheduler at tcp://gone:1 was lost"):
        list(in_order(abs, [(1,)], executor=Cluster()))


def test_an_error_of_the_work_is_the_callers_at_once():
    calls = []

    def fail(x):
        calls.append(x)
        raise ValueError("no")

    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="no"):
        list(in_order(fail, [(1,)], executor=pool))
    assert calls == [1]


def test_progress_is_told_and_may_stop_the_work():
    told = []
    list(in_order(slow_square, [(x,) for x in range(4)], progress=lambda done, total: told.append((done, total))))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_bar_is_silent_where_nobody_looks(capsys):
    list(in_order(slow_square, [(x,) for x in range(3)], progress=True))
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_after_a_second_on_a_terminal(monkeypatch, capsys):
    clock = iter(range(100))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(parallel.time, "monotonic", lambda: float(next(clock)))
    list(in_order(abs, [(x,) for x in range(5)], progress=True, label="squaring"))
    assert "squaring" in capsys.readouterr().err


def test_the_default_has_a_thread_per_processor_and_leaves_none():
    before = threading.active_count()
    with parallel.threads() as pool:
        assert worker_count(pool) == parallel.cpu_count()
        assert list(in_order(slow_square, [(2,)], executor=pool)) == [4]
    assert threading.active_count() <= before


def test_executors_by_name():
    with open_executor() as nobody:
        assert nobody is None
    with open_executor(workers=2) as pool:
        assert worker_count(pool) == 2
    with pytest.raises(InvalidInput, match="workers must be at least 1"), open_executor(workers=0):
        pass
    with pytest.raises(InvalidInput, match="not both"), open_executor(workers=2, scheduler="local"):
        pass


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def refuse(address, timeout):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    with (
        pytest.raises(InvalidInput, match="no scheduler answers at 'tcp://nowhere:1'"),
        open_executor(scheduler="tcp://nowhere:1"),
    ):
        pass


def test_no_digit_depends_on_the_threads_of_blas():
    sample = np.random.default_rng(0).gamma(2.0, 0.5, 60_000)

    def found():
        lengths = wk.Lengths.of(sample)
        best = wk.theory.overlap_accuracy(event_length=lengths, segment_length=[0.5, 1.5], presence_criterion=0.5)
        others = [lengths.expect(lambda d, k=k: np.sin(k * d)) for k in range(9)]
        return lengths.mean, lengths.std, *map(float, best), *others

    with threadpool_limits(1):
        alone = found()
    with threadpool_limits(2):
        assert found() == alone


def test_an_executor_that_was_given_goes_on_and_one_that_was_made_ends():
    with ThreadPoolExecutor(1) as mine:
        with parallel.threads(mine) as pool:
            assert pool is mine
        assert mine.submit(slow_square, 2).result() == 4
    with parallel.threads(None) as pool:
        assert pool.submit(slow_square, 3).result() == 9
    with pytest.raises(RuntimeError, match="shutdown"):
        pool.submit(slow_square, 3)
