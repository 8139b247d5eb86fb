"""Recordings: lengths from headers, blocks, features, damaged files, soundscapes."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from weakly.base.errors import AssumptionWarning, InvalidInput
from weakly.io.signals import blocks, durations, header, write_clip
from weakly.io.soundscape import load_features, log_mel, soundscape
from weakly.model.intervals import Features

soundfile = pytest.importorskip("soundfile")


@pytest.fixture(scope="module")
def scene():
    return soundscape(6, n_events=3, snr=20, rng=3)


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "mp3"])
def test_every_format_gives_its_length_and_its_samples(tmp_path, scene, kind):
    path = scene.write(tmp_path / f"a.{kind}")
    slack = 0.1 if kind == "mp3" else 1e-3  # MP3 pads to whole frames
    assert header(path).seconds == pytest.approx(6.0, abs=slack)
    heard = np.concatenate(list(blocks(path, seconds=1.7)))
    assert len(heard) / 16000 == pytest.approx(6.0, abs=slack)
    features = log_mel(path)
    assert features.times[-1] == pytest.approx(6.0, abs=0.1)
    assert features.values.shape[1] == 40


def test_blocks_do_not_change_the_features(tmp_path, scene, monkeypatch):
    path = scene.write(tmp_path / "a.wav")
    whole = log_mel(path)
    import weakly.io.soundscape as module

    monkeypatch.setattr(module, "blocks", lambda p, sample_rate=None: blocks(p, seconds=0.731))
    assert np.allclose(log_mel(path).values, whole.values, atol=1e-4)


@pytest.mark.parametrize("rate", [250, 8000, 22050, 96000])
def test_any_rate_and_stereo(tmp_path, rate):
    t = np.arange(3 * rate) / rate
    tone = np.sin(2 * np.pi * rate / 10 * t)
    soundfile.write(tmp_path / "a.wav", np.column_stack((tone, tone)), rate)
    features = log_mel(tmp_path / "a.wav")
    assert features.times[-1] == pytest.approx(3.0, abs=0.1)
    assert np.isfinite(features.values).all()


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg"])
def test_truncated_files_are_named_skipped_and_counted(tmp_path, scene, kind):
    good = scene.write(tmp_path / f"good.{kind}")
    cut = tmp_path / f"cut.{kind}"
    cut.write_bytes(good.read_bytes()[: good.stat().st_size * 6 // 10])
    junk = tmp_path / f"junk.{kind}"
    junk.write_bytes(b"not audio at all" * 20)
    with pytest.warns(AssumptionWarning, match=r"skipped 2 of 3 recordings: .*cut.*truncated"):
        listing = durations([good, cut, junk])
    assert list(listing.seconds) == [good]
    assert set(listing.skipped) == {cut, junk}


def test_headers_of_recorders_are_understood(tmp_path, scene):
    whole = scene.write(tmp_path / "a.wav").read_bytes()
    at = whole.index(b"data")
    streamed, padded, cut = (tmp_path / f"{name}.wav" for name in ("streamed", "padded", "cut"))
    streamed.write_bytes(whole[: at + 4] + b"\xff\xff\xff\xff" + whole[at + 8 :])  # the length was never filled in
    assert header(streamed).seconds == pytest.approx(6, abs=0.01)
    note = b"note" + (3).to_bytes(4, "little") + b"abc\0"  # a chunk of odd length, and the byte that evens it out
    padded.write_bytes(whole[:at] + note + whole[at:])
    assert header(padded).seconds == pytest.approx(6, abs=0.01)
    cut.write_bytes(whole[:at] + note + whole[at:-2])
    with pytest.raises(InvalidInput, match=r"truncated: \d+ of \d+ bytes"):
        header(cut)


def test_a_missing_file():
    with pytest.raises(InvalidInput, match="no such file"):
        header("nowhere.wav")


def test_names_get_as_many_folders_as_they_need(tmp_path, scene):
    paths = [scene.write(tmp_path / folder / "a.wav") for folder in ("x", "y")]
    assert list(durations(paths).names()) == ["x/a.wav", "y/a.wav"]
    assert list(durations(paths[:1]).names()) == ["a.wav"]


def test_signals_need_a_rate(tmp_path):
    np.save(tmp_path / "ecg.npy", np.sin(np.arange(5000) / 30))
    pd.DataFrame({"lead": np.sin(np.arange(500) / 30)}).to_csv(tmp_path / "ecg.csv", index=False)
    with pytest.raises(InvalidInput, match="no sample rate"):
        header(tmp_path / "ecg.npy")
    assert header(tmp_path / "ecg.npy", sample_rate=250).seconds == 20.0
    assert header(tmp_path / "ecg.csv", sample_rate=250).seconds == 2.0
    assert log_mel(tmp_path / "ecg.npy", sample_rate=250).times[-1] == pytest.approx(20, abs=0.1)


def test_embeddings_with_their_times(tmp_path):
    values = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", embeddings=values, start=[0.0, 3, 6, 9], end=[3.0, 6, 9, 12])
    table = pd.DataFrame(values, columns=["x", "y", "z"]).assign(time=[1.5, 4.5, 7.5, 10.5])
    table.to_parquet(tmp_path / "a.parquet")
    both = {"time": [1.5, 4.5, 7.5, 10.5], "end": [3.0, 6.0, 9.0, 12.0]}  # a time is not taken for a start
    pd.DataFrame({**both, "embedding": list(values)}).to_parquet(tmp_path / "b.parquet")
    for features in (
        load_features(tmp_path / "a.npy", hop=3),
        load_features(tmp_path / "a.npz"),
        load_features(tmp_path / "a.parquet"),
        load_features(tmp_path / "b.parquet"),
    ):
        assert features.times.tolist() == [1.5, 4.5, 7.5, 10.5]
        assert np.array_equal(features.values, values)
    with pytest.raises(InvalidInput, match="give hop"):
        load_features(tmp_path / "a.npy")
    with pytest.raises(InvalidInput, match="increasing"):
        Features(np.array([1.0, 0.0]), np.zeros((2, 2), np.float32))


def test_clips_are_cut_exactly_and_faded(tmp_path, scene):
    path = scene.write(tmp_path / "a.wav")
    clip, rate = soundfile.read(write_clip(path, tmp_path / "c.wav", onset=1.5, offset=2.25))
    whole, _ = soundfile.read(path)
    assert len(clip) == 0.75 * rate
    assert np.allclose(clip[200:-200], whole[24200:35800], atol=1e-3)
    assert abs(clip[0]) <= abs(whole[24000])
    assert np.abs(clip[:3]).max() < 0.1 * max(np.abs(whole).max(), 1e-9) + np.abs(whole[24000:24003]).max() * 0.1


def test_soundscapes_are_what_they_say():
    for snr in (0.0, 20.0):
        quiet = soundscape(20, n_events=5, snr=snr, background="white", rng=7)
        samples, rate = quiet.samples.astype(float), quiet.sample_rate
        inside = np.zeros(len(samples), bool)
        for a, b in quiet.events:
            inside[round(a * rate) : round(b * rate)] = True
        noise = samples[~inside].var()
        ratio = 10 * np.log10((samples[inside].var() - noise) / noise)
        assert ratio == pytest.approx(snr, abs=0.7)
    gaps = quiet.events[1:, 0] - quiet.events[:-1, 1]
    assert (gaps >= 0.1 - 1e-3).all()
    assert np.array_equal(soundscape(5, rng=1, n_events=2).samples, soundscape(5, rng=1, n_events=2).samples)
    assert len(soundscape(5, n_events=0, rng=1).events) == 0
    with pytest.raises(InvalidInput, match="need"):
        soundscape(2, n_events=10, rng=1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat(tmp_path):
    """The features of ten minutes need little more memory than themselves."""
    path = tmp_path / "long.wav"
    with soundfile.SoundFile(path, "w", 8000, 1) as file:
        for k in range(10):
            file.write(np.random.default_rng(k).standard_normal(60 * 8000).astype(np.float32) * 0.1)
    code = (
        "import numpy.fft; from weakly.io.soundscape import log_mel\n"
        "import soundfile\n"
        # The high-water mark of getrusage is inherited from the parent; this one is not.
        "def most(): return int(next(x for x in open('/proc/self/status') if x.startswith('VmHWM')).split()[1])\n"
        f"before = most(); n = len(log_mel({str(path)!r}))\n"
        "print(n, (most() - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, more = map(int, done.stdout.split())
    assert rows == pytest.approx(30_000, abs=2)
    # The samples alone would be 19 MB, their overlapping frames 38 MB, their spectra 62 MB; the features are 5 MB.
    assert more < 45


def test_channels_keep_their_own_bands_and_time_is_the_long_axis(tmp_path):
    """A change that the mean of the channels would hide is heard; channels x time is read as it is meant."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2560, 4)).astype(np.float32)
    values[1200:1400, 2] *= 4
    values[1200:1400, 3] = -values[1200:1400, 2]  # the mean of the channels does not change
    np.save(tmp_path / "a.npy", values)
    np.save(tmp_path / "b.npy", values.T)
    np.save(tmp_path / "mean.npy", values.mean(axis=1))
    a, b, mean = (log_mel(tmp_path / f"{name}.npy", sample_rate=256) for name in ("a", "b", "mean"))
    assert header(tmp_path / "b.npy", sample_rate=256).seconds == 10
    assert np.array_equal(a.values, b.values)
    assert a.values.shape[1] == 4 * mean.values.shape[1]
    inside = (a.times > 4.8) & (a.times < 5.4)
    assert (a.values[inside].mean() - a.values[~inside].mean()) > 0.5
    assert mean.values[inside].mean() < mean.values[~inside].mean()
    bands = a.values.reshape(len(a), 4, -1)
    np.save(tmp_path / "one.npy", values[:, 2])
    assert np.allclose(bands[:, 2], log_mel(tmp_path / "one.npy", sample_rate=256).values, atol=1e-4)
