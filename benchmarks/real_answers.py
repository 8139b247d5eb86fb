"""Other people's strong annotations made into answers and forgotten: what is inferred, and what is said of it.

    python -m benchmarks.real_answers ../shared/data table.csv [hard|person|unknown] [minutes] [widths] [sets ...]
    python -m benchmarks.real_answers table.csv [more tables]

``hard``: criterion .5, no slips, both told. ``person``: a criterion from beta(4, 4) for every answer, 3 % guesses and
5 % lapses, told as such. ``unknown``: the same answers, and nothing is told of who gave them. The law of lengths is
that of the set, told. Of large sets recordings are drawn (seed 0), up to so many minutes (30); recordings of the
few-shot sets, of 8 to 30 minutes, are cut to pieces of one minute first. Widths: "1,3,10" seconds. Every row is saved
as it comes. The second form prints tables: what is found over the truth, with 95 % intervals, and * where the number is
not called identified.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import weakly as wk
from weakly.model.intervals import EventArrays, merge
from weakly.posterior.renewal import lengths_of_truncated_events

GUESS, LAPSE, CRITERION = 0.03, 0.05, stats.beta(4, 4)
WHO = {
    "hard": {"presence_criterion": 0.5},
    "person": {"annotator": wk.Annotator(presence_criterion=CRITERION, guess_rate=GUESS, lapse_rate=LAPSE),
               "criterion_per": "answer"},
    "unknown": {},
}  # fmt: skip


def lines_of(events, label=None):
    """Merged events of one class (or of any) by recording, and lengths."""
    lines = events.timelines(label)
    return np.split(lines.bounds, lines.starts[1:-1]), lines.lengths


def pieces(recordings, lengths, size=60.0):
    """The same in pieces; what is left over at the end of a recording is left out."""
    made = []
    for events, length in zip(recordings, lengths):
        for a in np.arange(0, length - size + 1e-9, size):
            inside = events[(events[:, 1] > a) & (events[:, 0] < a + size)]
            made.append(np.clip(inside - a, 0, size))
    return made, np.full(len(made), size)


def desed(folder, label):
    return lines_of(wk.read(folder / "desed/validation.tsv", recording_length=10.0, on_error="clip"), label)


def powdermill(folder, label):
    return lines_of(wk.read(folder / "powdermill_raven", recording_length=300.0, on_error="clip"), label)


def voices(folder, only_main):
    """Recordings below three minutes: of long ones there are too few in an hour."""
    every = wk.read(folder / "voxconverse/dev.rttm")
    ends = every.extents[every.extents < 180]
    table = every.to_frame().query("recording in @ends.index").assign(seconds=lambda t: t["offset"] - t["onset"])
    made = []
    for name in ends.index:
        mine = table[table["recording"] == name]
        if only_main:
            mine = mine[mine["label"] == mine.groupby("label")["seconds"].sum().idxmax()]
        made.append(merge(mine[["onset", "offset"]].to_numpy()))
    return made, ends.to_numpy(np.float64)


def spinetail(folder):
    song = wk.read(folder / "audio_spinetail/spinetail.txt", recording_length=19.5, on_error="clip")
    return lines_of(song, song.labels[0])


def animals(folder):
    table = pd.read_csv(folder / "audioset_strong/audioset_strong_eval_top110classes_downloaded.tsv", sep="\t")
    mine = dict(iter(table[table["event_label"] == "/m/0jbk"].groupby("filename")))
    none = np.empty((0, 2))
    made = [merge(mine[name][["onset", "offset"]].to_numpy()) if name in mine else none
            for name in sorted(table["filename"].unique())]  # fmt: skip
    return made, np.full(len(made), 10.0)


def birds(folder):
    table = pd.concat([pd.read_csv(path) for path in sorted((folder / "nips4bplus").glob("*.csv"))])
    made = []
    for _, each in table.groupby("file"):
        each = each[each["type"] == "bird"]
        spans = np.column_stack((each["start"], each["start"] + each["length"])).clip(0, 5)
        made.append(merge(spans))
    return made, np.full(len(made), 5.0)


def few_shot(folder, subset):
    table = pd.read_csv(folder / "dcase_fewshot_bioacoustic/subset_gt.csv", sep="\t")
    ends = pd.read_csv(folder / "dcase_fewshot_bioacoustic/subset_meta.csv", sep="\t").set_index("filename")["duration"]
    table["filename"] = table["filename"].where(
        table["filename"].isin(ends.index), table["filename"].str.replace(" ", "_")
    )
    table = table[table["event_label"] == f"VAL@{subset}"]
    unknown = set(table["filename"]) - set(ends.index)
    assert not unknown, unknown
    groups = {name: merge(each[["onset", "offset"]].to_numpy()) for name, each in table.groupby("filename")}
    return pieces(groups.values(), ends[list(groups)])


SETS = {
    "DESED, speech": lambda folder: desed(folder, "Speech"),
    "DESED, dog": lambda folder: desed(folder, "Dog"),
    "DESED, alarm bell": lambda folder: desed(folder, "Alarm_bell_ringing"),
    "AudioSet, animal": animals,
    "NIPS4Bplus, any bird": birds,
    "few-shot PB": lambda folder: few_shot(folder, "PB"),
    "few-shot HB": lambda folder: few_shot(folder, "HB"),
    "few-shot ME": lambda folder: few_shot(folder, "ME"),
    "Powdermill, EATO": lambda folder: powdermill(folder, "EATO"),
    "Powdermill, BTNW": lambda folder: powdermill(folder, "BTNW"),
    "VoxConverse, anybody": lambda folder: voices(folder, False),
    "VoxConverse, main speaker": lambda folder: voices(folder, True),
    "spinetail": spinetail,
}


def drawn(recordings, lengths, most):
    """Recordings at random, of at most so many seconds together."""
    order = np.random.default_rng(0).permutation(len(lengths))
    kept = np.sort(order[np.cumsum(np.asarray(lengths)[order]) <= most + 1e-6])
    return [recordings[k] for k in kept], np.asarray(lengths)[kept]


def asked(recordings, lengths, width, who):
    """Answers about segments of one width, by the definition of the criterion."""
    rng, rows = np.random.default_rng(0), []
    for r, (events, end) in enumerate(zip(recordings, lengths)):
        starts = np.arange(0, end - 1e-9, width)
        ends = np.minimum(starts + width, end)
        shared = np.minimum(events[:, 1], ends[:, None]) - np.maximum(events[:, 0], starts[:, None])
        criterion = 0.5 if who == "hard" else CRITERION.rvs((len(starts), 1), random_state=rng)
        met = ((shared > 0) & (shared >= criterion * (events[:, 1] - events[:, 0]) - 1e-9)).any(axis=1)
        if who != "hard":
            met ^= rng.random(len(starts)) < np.where(met, LAPSE, GUESS)
        rows.append(pd.DataFrame({"recording": f"r{r}", "onset": starts, "offset": ends, "present": met.astype(float)}))
    return pd.concat(rows, ignore_index=True).assign(label="event")


def row_of(name, recordings, lengths, width, who):
    """Truth, what is inferred, and what is said of it."""
    lines, begun = EventArrays.of(recordings, lengths), time.process_time()
    said = asked(recordings, lengths, width, who)
    found = wk.infer(said, event_length={"event": lengths_of_truncated_events(lines)}, rng=0, draws=100,
                     recording_length={f"r{k}": float(x) for k, x in enumerate(lengths)}, **WHO[who])  # fmt: skip
    row, part = found.overall.iloc[0], found.parts["event"]
    return {
        "set": name, "who": who, "width": width, "recordings": len(lengths), "minutes": lengths.sum() / 60,
        "present": said["present"].mean(), "painted": row["painted_seconds"],
        "seconds": float(np.ptp(lines.bounds, axis=1).sum()), "found_seconds": row["event_seconds"],
        "low_seconds": row["event_seconds_ci"][0], "high_seconds": row["event_seconds_ci"][1],
        "events": len(lines.bounds), "found_events": row["n_events"],
        "low_events": row["n_events_ci"][0], "high_events": row["n_events_ci"][1],
        "identified": part.identified, "log B": part.bayes_factor, "differ": part.rates_differ,
        "step": found.settings["step"], "sentences": " | ".join(found.sentences()),
        "CPU seconds": time.process_time() - begun,
    }  # fmt: skip


def main(folder, save, who="hard", minutes="30", widths="1,3,10", *names):
    """Every row, saved as it comes."""
    rows = []
    for name in names or SETS:
        recordings, lengths = drawn(*SETS[name](Path(folder)), 60 * float(minutes))
        for width in map(float, widths.split(",")):
            rows.append(row_of(name, recordings, lengths, width, who))
            pd.DataFrame(rows).to_csv(save, index=False)


def shown(*tables):
    """What is found over the truth, of events and of their seconds, a column per annotator and width."""
    rows = pd.concat(map(pd.read_csv, tables)).drop_duplicates(["set", "who", "width"], keep="last")
    rows = rows.assign(order=[list(SETS).index(name) for name in rows["set"]]).sort_values(["who", "width", "order"])
    for word in ("events", "seconds"):
        low, value, high = (rows[f"{end}_{word}"] / rows[word] for end in ("low", "found", "high"))
        star = np.where(rows["identified"] | (word == "seconds"), "", "*")
        cells = [f"{v:.2f} ({a:.2f} to {b:.2f}){s}" for v, a, b, s in zip(value, low, high, star)]
        table = rows.assign(cell=cells).pivot(index=["order", "set"], columns=["who", "width"], values="cell")
        print(word, table.droplevel("order").fillna("").to_string(), sep="\n")
        held = (low <= 1 + 1e-9) & (high >= 1 - 1e-9)
        sums = rows.assign(held=held, wrong=rows["identified"] & ~held, n=1).groupby(["who", "width"])
        print(sums[["n", "held", "identified", "wrong"]].sum().to_string())


if __name__ == "__main__":
    warnings.simplefilter("ignore", wk.AssumptionWarning)
    (main if Path(sys.argv[1]).is_dir() else shown)(*sys.argv[1:])
