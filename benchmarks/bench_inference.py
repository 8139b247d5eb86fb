"""From answers back to events: do intervals cover, are frames calibrated, what does it do for training, how fast?"""

from __future__ import annotations

import math
import time
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

import weakly as wk
from weakly.posterior.chain import Prepared, prepare
from weakly.posterior.renewal import Renewal
from weakly.studies.infer.training import forward_corrected_loss

from .inference_worlds import KINDS, LAWS, ask, recover, reliability, timelines

# --- training ------------------------------------------------------------------------------------------------------


def _fit(x: Any, y: Any, *, insertion: float = 0.0, deletion: float = 0.0) -> Any:
    """A logistic classifier of frames by the forward-corrected loss (the plain one if nothing is inserted or lost)."""
    data = np.column_stack((x, np.ones(len(x))))

    def objective(w: Any) -> Any:
        p = 1 / (1 + np.exp(-np.clip(data @ w, -30, 30)))
        loss = forward_corrected_loss(p, y, insertion_rate=insertion, deletion_rate=deletion).mean()
        q = np.clip(p * (1 - deletion) + (1 - p) * insertion, 1e-12, 1 - 1e-12)
        slope = (q - y) / (q * (1 - q)) * (1 - deletion - insertion) * p * (1 - p)
        return loss + 1e-5 * w @ w, data.T @ slope / len(y) + 2e-5 * w

    return optimize.minimize(objective, np.zeros(data.shape[1]), jac=True, method="L-BFGS-B").x


def _f1(w: Any, x: Any, truth: Any) -> float:
    said = np.column_stack((x, np.ones(len(x)))) @ w > 0
    return float(2 * (said & truth).sum() / max(1, said.sum() + truth.sum()))


def train(seeds: int = 5, *, widths: tuple[float, ...] = (1, 2, 5, 10), n: int = 60) -> pd.DataFrame:
    """F1 at 1/2 of a linear frame classifier trained on strong, weak, soft and corrected labels; rates from answers."""
    law, rate, length, step = LAWS["lognormal, mean 1 s"], 0.095, 60.0, 0.1
    scores: dict[tuple[str, float], list[float]] = defaultdict(list)
    for seed in range(seeds):
        rng = np.random.default_rng([7, seed])
        shift = rng.normal(size=6)
        shift *= 2.2 / np.linalg.norm(shift)
        sets = []
        for _ in range(2):
            recordings = timelines(rng, law, rate, length=length, n=n)
            middle = np.arange(0, length, step) + step / 2
            truth = np.concatenate([((middle > e[:, :1]) & (middle < e[:, 1:])).any(axis=0) for e in recordings])
            sets.append((recordings, truth, rng.normal(size=(len(truth), 6)) + truth[:, None] * shift))
        (recordings, truth, x), (_, test, x_test) = sets
        scores["strong", 0].append(_f1(_fit(x, truth.astype(float)), x_test, test))
        for width in widths:
            answers = ask(rng, recordings, length=length, width=width, criterion=0.5, noise=0.0)
            other = ask(rng, recordings, length=length, width=width, criterion=0.7, noise=0.0)
            for name, said in (("", answers), (", .5 assumed where .7 is true", other)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kit = wk.infer(
                        said, event_length=law, presence_criterion=0.5, step=step, draws=10, rng=seed
                    ).training()
                frames, noise = kit.frames, kit.rates.iloc[0]
                hard, soft = frames["hard"].to_numpy(), frames["posterior"].to_numpy()
                corrected = _fit(x, hard, insertion=noise["insertion_rate"], deletion=noise["deletion_rate"])
                scores[f"forward correction{name}", width].append(_f1(corrected, x_test, test))
                if not name:
                    scores["hard weak labels", width].append(_f1(_fit(x, hard), x_test, test))
                    scores["posterior as soft labels", width].append(_f1(_fit(x, soft), x_test, test))
    rows = [{"labels": k, "segment_length": w, "f1": np.mean(v), "sd": np.std(v)} for (k, w), v in scores.items()]
    return pd.DataFrame(rows)


# --- speed ---------------------------------------------------------------------------------------------------------


def plain(n: int, p: Any, chance: float, width: int, said: Any, criterion: float, noise: float) -> tuple[float, Any]:
    """The same recursion in plain Python, as one would write it down: log-likelihood and P(active); fixed segments."""
    longest, tail = len(p), np.cumsum(p[::-1])[::-1]
    mean = float(np.arange(1, longest + 1) @ p)

    def edges(i: int, bit: int) -> Any:
        def factor(k: int, met: int) -> float:
            return (1 - noise if met else noise) if said[k] else (noise if met else 1 - noise)

        k = i // width  # the segment of step i; bit: satisfied so far
        yield (
            0,
            i + 1,
            0 if (i + 1) % width == 0 else bit,
            (1 - chance) * (factor(k, bit) if (i + 1) % width == 0 else 1),
        )
        for l in range(1, min(longest, n - i) + 1):
            weight = tail[l - 1] if i == 0 or i + l == n else p[l - 1]
            if i == 0 and l == n:
                weight = tail[n - 1 :].sum()
            for shift in (-0.25, 0.25):
                value, now, at = chance * weight / 2, bit, k
                while True:
                    a, b = max(0.0, i + shift), min(float(n), i + l + shift)
                    reach = min(b - at * width, (at + 1) * width - a)
                    met = (
                        1
                        if now or (reach > 1e-9 and reach >= criterion * l * (1 - 1e-9) and criterion * l <= width)
                        else 0
                    )
                    if (at + 1) * width <= i + l:
                        value *= factor(at, met)
                        at, now = at + 1, 0
                    if at * width >= i + l or (at + 1) * width > i + l:
                        break
                if at * width < i + l:
                    a, b = max(0.0, i + shift), min(float(n), i + l + shift)
                    reach = min(b - at * width, (at + 1) * width - a)
                    met = (
                        1
                        if now or (reach > 1e-9 and reach >= criterion * l * (1 - 1e-9) and criterion * l <= width)
                        else 0
                    )
                else:
                    met = 0
                yield l, i + l, met, value

    ahead = np.zeros((n + 1, 2))
    ahead[0, 0] = 1 / (1 - chance + chance * mean)
    for i in range(n):
        for bit in (0, 1):
            if ahead[i, bit] > 0:
                for _, to, met, value in edges(i, bit):
                    ahead[to, met] += ahead[i, bit] * value
    total = ahead[n, 0]
    back = np.zeros((n + 1, 2))
    back[n, 0] = 1.0
    active = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        for bit in (0, 1):
            for l, to, met, value in edges(i, bit):
                back[i, bit] += value * back[to, met]
                if l and ahead[i, bit] > 0:
                    share = ahead[i, bit] * value * back[to, met] / total
                    active[i] += share
                    active[to] -= share
    return math.log(total), np.cumsum(active)[:n]


def speed() -> dict[str, float]:
    """Seconds of one processor: an hour and two of 3 s clips at .1 s, 36 s beside plain Python, 1,000 recordings."""
    rng = np.random.default_rng(0)
    calls = Renewal(wk.Lengths.law(LAWS["lognormal, mean 1 s"]), 0.095, 0.1)
    who = wk.Annotator(guess_rate=0.05, lapse_rate=0.05)
    found = {}

    def once(length: float, width: float = 3.0) -> tuple[float, Any, Any]:
        starts = np.arange(0, length, width)
        spans, said = np.column_stack((starts, starts + width)), (rng.random(len(starts)) < 0.3).astype(float)
        best = math.inf
        for _ in range(3):
            begun = time.process_time()
            ready = prepare(spans, said, renewal=calls, recording_length=length, annotator=who)
            made = ready.posterior(calls)
            best = min(best, time.process_time() - begun)
        return best, made, said

    once(30.0)
    found["minute"], found["hour"], found["two hours"] = (once(length)[0] for length in (60.0, 3600.0, 7200.0))
    found["ours"], made, said = once(36.0)
    starts = np.arange(0, 36.0, 3.0)
    ready = prepare(np.column_stack((starts, starts + 3)), said, renewal=calls, recording_length=36.0, annotator=who)
    found["pass"] = math.inf
    for _ in range(20):
        begun = time.process_time()
        ready.posterior(calls)
        found["pass"] = min(found["pass"], time.process_time() - begun)
    begun = time.process_time()
    log_likelihood, active = plain(360, calls.steps, calls.chance, 30, said, 0.5, 0.05)
    found["plain"] = time.process_time() - begun
    assert abs(log_likelihood - made.log_likelihood) < 1e-9, (log_likelihood, made.log_likelihood)
    assert np.abs(active - made.active).max() < 1e-9
    answers = ask(
        rng, timelines(rng, LAWS["lognormal, mean 1 s"], 0.095, length=60.0, n=1000), length=60.0, width=3.0,
        criterion=0.5, noise=0.05,
    )  # fmt: skip
    how = {"lengths": LAWS["lognormal, mean 1 s"], "annotator": who, "rng": 0, "draws": 20}
    results = []
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as pool:
            begun = time.perf_counter()
            results.append(wk.infer(answers, event_rate=0.1, recording_length=60.0, executor=pool, **how))
            found[f"1,000 minutes, {workers} threads"] = time.perf_counter() - begun
    pd.testing.assert_frame_equal(results[0].summary, results[1].summary, check_exact=True)
    pd.testing.assert_frame_equal(results[0].active, results[1].active, check_exact=True)
    few = ask(
        rng, timelines(rng, LAWS["lognormal, mean 1 s"], 0.095, length=36.0, n=100), length=36.0, width=3.0,
        criterion=0.5, noise=0.05,
    )  # fmt: skip
    whole, passes = Prepared.posterior, []

    def counted(self: Prepared, renewal: Any) -> Any:
        passes.append(1)
        return whole(self, renewal)

    Prepared.posterior = counted  # type: ignore[method-assign]
    begun = time.process_time()
    wk.infer(few, recording_length=36.0, **how)
    found["infer"] = (time.process_time() - begun) / len(passes)
    found["passes"] = len(passes) / 100
    Prepared.posterior = whole  # type: ignore[method-assign]
    return found


def run() -> list[dict[str, Any]]:
    """The rows of the table."""
    warnings.simplefilter("ignore", wk.AssumptionWarning)
    fast = speed()
    rows: list[dict[str, Any]] = [
        {
            "what": "the recursion over 36 s of 3 s clips (each pass of a fit), against plain Python",
            "ours": fast["pass"],
            "theirs": fast["plain"],
            "ratio": fast["plain"] / fast["pass"],
            "target": 1000,
        },
        {
            "what": "a whole infer of 100 such recordings, rate estimated, for each pass of the search",
            "ours": fast["infer"],
            "theirs": fast["plain"],
            "ratio": fast["plain"] / fast["infer"],
            "how": f"{fast['passes']:.2g} passes, {1e3 * fast['infer']:.2g} ms each with everything else",
        },
        {
            "what": "one pass from scratch: answers prepared, then the recursion",
            "ours": fast["ours"],
            "theirs": fast["plain"],
            "ratio": fast["plain"] / fast["ours"],
        },
        {
            "what": "posterior of two hours of 3 s clips at .1 s, against one hour (linear: 2)",
            "measured": f"{fast['two hours'] / fast['hour']:.3g}",
            "target": "< 2.6",
            "met": fast["two hours"] / fast["hour"] < 2.6,
            "how": f"one hour {fast['hour']:.3g} s, a minute {1000 * fast['minute']:.3g} ms",
        },
        {
            "what": "1,000 recordings of a minute, two threads against one",
            "ratio": fast["1,000 minutes, 1 threads"] / fast["1,000 minutes, 2 threads"],
            "ours": fast["1,000 minutes, 2 threads"],
            "theirs": fast["1,000 minutes, 1 threads"],
        },
    ]
    found = recover(2)
    for kind, word in KINDS.items():
        rows.append(
            {
                "what": f"95 % intervals of {word} cover, 20 worlds x 2",
                "measured": f"{found[f'{kind}_inside'].mean():.3g}",
                "target": ".90 to .98",
            }
        )
    bins = reliability(found)
    off = float(bins["off"].abs()[bins["share"] > 0.01].max())
    rows.append(
        {"what": "frames: distance from calibration, ten bins (with 1 % of frames)", "measured": f"{off:.3f}",
         "target": "<= 0.02", "how": f"standard errors up to {bins['se'][bins['share'] > 0.01].max():.3f}"}
    )  # fmt: skip
    for row in train(2).itertuples():
        rows.append(
            {"what": f"F1 of a classifier: {row.labels}, {row.segment_length:g} s", "measured": f"{row.f1:.2f}"}
        )
    return rows


if __name__ == "__main__":
    import sys

    if sys.argv[1:2] == ["train"]:
        print(train().pivot(index="labels", columns="segment_length", values="f1").round(2).to_string())
    else:
        print(speed())
