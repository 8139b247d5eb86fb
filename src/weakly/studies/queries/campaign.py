"""A campaign: the queries of one folder, the answers so far, what did not fit, and the labels they make.

The folder's ``campaign.db`` owns them (:mod:`.store`); everything beside it is an export. Answers come in pieces, from
any tool, from several processes at once: each is added once, and the labels follow from all of them.
"""

from __future__ import annotations

import inspect
import json
import os
import secrets
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.results import inputs_kept, private_files, refuse_input, to_json, write_file
from ...base.symbols import positive
from ...io.formats import write
from ...methods import METHODS
from ...methods.base import Method, Recording
from ...model.answers import Answers
from ...model.events import Events
from ...model.intervals import merge
from .exchange import Collected, Exporter, Returned, collect, read_returned, text_of
from .query_set import COLUMNS, REPEAT, asked_so_far, make_method, queries, with_scores, with_signal
from .store import NAME, Answer, CampaignState, Store, fingerprint, shortened

if TYPE_CHECKING:
    from .query_set import Queries

QUERIES, ANSWERS = "queries.csv", "answers.csv"
_PLACES = ("features", "scores")
_SIGNAL = (*_PLACES, "feature_hop", "sample_rate")


@dataclass(frozen=True)
class Campaign:
    """One campaign, as its store holds it at this moment."""

    folder: Path
    store: Store
    state: CampaignState
    own: Method | None = None  # the method object, where it is not one of weakly's

    @classmethod
    def open(cls, path: str | Path, *, method: Method | None = None, database: str | None = None) -> Campaign:
        """The campaign of a folder, or of a file in it such as ``queries.csv``; a method of your own is given again.

        ``database`` is needed where the folder's campaign is in a database that asks for a password.
        """
        path = Path(path)
        folder = path if path.is_dir() else path.parent
        _refuse_rest(folder)
        if not path.exists() or not (folder / NAME).is_file():
            raise InvalidInput(f"{path}: no such file; a campaign's folder is made by weakly queries")
        store = _store_of(folder, database)
        state = store.state()
        if "method" not in state.settings:
            raise InvalidInput(f"{folder}: holds no campaign yet; make it with weakly queries")
        _check(folder, state)
        return cls(folder, store, state, method)

    @classmethod
    @private_files()
    def start(
        cls, out: str | os.PathLike[str], queries: Queries, *, tool: Mapping[str, Any], database: str | None = None
    ) -> Campaign:
        """The campaign of a folder with these queries: a new one, or the one that is there with the same settings.

        What was typed into its files so far is taken into the store first. ``database`` is the address of another
        store than the folder's own file, such as ``postgresql://...``; the folder remembers it, without the password.
        What is refused leaves nothing behind.
        """
        folder = Path(out)
        _refuse_rest(folder)
        store = _store_of(folder, database)
        store.made = [path for path in (folder / NAME, folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with store.or_nothing():
            return cls._started(folder, store, queries, tool)

    @classmethod
    def _started(cls, folder: Path, store: Store, queries: Queries, tool: Mapping[str, Any]) -> Campaign:
        before = store.state()
        parameters = dict(queries.parameters)
        signal = {name: parameters.pop(name) for name in _SIGNAL}
        settings = {"method": queries.method, "parameters": json.loads(json.dumps(parameters, default=str))}
        known = {name: _place(folder, one.path) | {"seconds": one.length} for name, one in queries.recordings.items()}
        if parameters.get("budget") is not None and before.recordings and set(known) != set(before.recordings):
            other = "this campaign has other ones than were given; give another folder"
            raise InvalidInput(f"{folder}: a budget is shared by all recordings, and {other}")
        for word in _PLACES:
            if isinstance(signal[word], str) and signal[word] != "arrays":
                signal[word] = _place(folder, Path(signal[word]))
        settings |= {"signal": signal, "tool": dict(tool)}
        store.check(before, settings, known)
        if "method" in before.settings:
            _check(folder, before)
            cls(folder, store, before).take_typed()
        state = store.add(settings, known, queries.frame[list(COLUMNS)])
        if (store.address or "").startswith("postgresql"):
            own = Store(folder / NAME)
            own.setting("campaign", store.setting("campaign", secrets.token_hex(8)), anew=True)
            own.setting("database", store.address, anew=True)
        return cls(folder, store, state)

    @property
    def queries(self) -> pd.DataFrame:
        """One row per query, in the order in which they were asked."""
        return self.state.queries

    @property
    def answers(self) -> list[Answer]:
        """Every answer that was given, in the order of arrival."""
        return self.state.answers

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the method; campaigns of before hold a search of change points, of which one is left."""
        held = dict(self.state.settings["parameters"])
        if (search := held.pop("search", "peaks")) != "peaks":
            gone = "which is gone: make the campaign anew in another folder"
            raise InvalidInput(f"{self.folder}: its change points were searched by {shortened(search)}, {gone}")
        return {name: value for name, value in held.items() if name != "penalty"}

    def method(self) -> Method:
        """The method that asks."""
        name = self.state.settings["method"]
        if self.own is not None:
            return self.own
        if name not in METHODS or not METHODS[name].by_name or "own" in self.parameters:
            how = "go on from Python, with Campaign.open(folder, method=...)"
            raise InvalidInput(f"{self.folder}: asked by the method {name!r} of somebody's own: {how}")
        return make_method(name, self.parameters, list(self.everything().values()))

    def everything(self) -> dict[str, Recording]:
        """All recordings of the campaign, those too that were not asked about yet."""
        held, settings = self.state.recordings, self.state.settings
        known = {name: Recording(name, one["seconds"], path=_found(self.folder, one)) for name, one in held.items()}
        features, scores, hop, rate = ((settings.get("signal") or {}).get(name) for name in _SIGNAL)
        listens = settings["method"] == "information" and self.parameters.get("signal", True)
        if not listens or "arrays" in (features, scores):
            return known
        if scores and (place := _found(self.folder, scores)) is not None:
            return with_scores(known, place, hop, self.parameters["label"][0])
        return with_signal(False, known, features and _found(self.folder, features), hop, rate)

    def options(self) -> dict[str, Any]:
        """What :func:`weakly.queries` needs to go on: the method, its parameters, the signal, the answers so far."""
        signal = dict(self.state.settings.get("signal") or {})
        for word in _PLACES:
            if signal.get(word) == "arrays":
                how = "go on from Python, with weakly.queries"
                raise InvalidInput(f"{self.folder}: the {word} were given as arrays: {how}")
            if signal.get(word):
                signal[word] = _found(self.folder, signal[word])
        parameters, method = self.parameters, self.own or self.state.settings["method"]
        if self.own is not None:
            parameters = {"label": parameters["label"]}
        if odd := [name for name in {**parameters, **signal} if name not in inspect.signature(queries).parameters]:
            raise InvalidInput(f"{self.folder}: the campaign's settings hold {odd[0]!r}, which is no option: damaged?")
        answers = self._without_repeats(collect(self.queries, self.answers).answers)
        return {"method": method, **parameters, **signal, "answers": answers}

    def _without_repeats(self, answers: Answers) -> Answers:
        """The answers that the method goes by: segments that were asked again tell of the annotator."""
        again = set(self.queries.loc[self.queries["method"].str.startswith(REPEAT), "query"])
        frame = answers.to_frame()
        return Answers(frame[~frame["query"].isin(again)].reset_index(drop=True), answers.recordings)

    @property
    def tool(self) -> dict[str, Any]:
        """The tool that the queries were written for last."""
        return dict(self.state.settings.get("tool") or {"to": "csv"})

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse options that are not the campaign's, naming both."""
        rest = dict(given)
        if isinstance(rest.get("label"), str):
            rest["label"] = [rest["label"]]
        signal = {name: rest.pop(name) for name in _SIGNAL if name in rest}
        signal |= {word: _place(self.folder, Path(signal[word])) for word in _PLACES if signal.get(word) is not None}
        settings = {"method": rest.pop("method")} if "method" in rest else {}
        self.store.check(self.state, {**settings, "parameters": rest, "signal": signal}, {})

    def next(self) -> Queries:
        """What the method asks now; the queries that wait for an answer are asked again."""
        return queries(self.everything(), **self.options())

    def take(self, exports: Iterable[str | Path]) -> Collected:
        """The answers so far together with those in the files, which are kept; with what did not fit."""
        new = self._read(exports)
        self.store.tell(new.answers)
        state = self._export_answers()
        brought = collect(self.queries, new.answers)
        found = collect(state.queries, state.answers, unknown=new.unknown, unreadable=new.unreadable)
        both: Any = {
            name: list(dict.fromkeys(getattr(found, name) + getattr(brought, name)))
            for name in ("duplicates", "contradictions")
        }
        return replace(found, **both)

    def _read(self, paths: Iterable[str | Path]) -> Returned:
        """The answers in files; the campaign's own may be written again, for they are taken in."""
        own, given = set(self._typed()), list(map(Path, paths))
        with inputs_kept():
            mine = read_returned(self.queries, [path for path in given if path in own], self.folder)
        other = read_returned(self.queries, [path for path in given if path not in own], self.folder)
        return Returned(mine.answers + other.answers, mine.unknown + other.unknown, mine.unreadable + other.unreadable)

    def _typed(self) -> list[Path]:
        """The files of the folder in which answers may stand."""
        places = ("clips.csv", ANSWERS, "raven/*.txt", "audacity/*.txt", "tasks*.json")
        return [path for place in places for path in sorted(self.folder.glob(place)) if path.is_file()]

    def take_typed(self) -> Campaign:
        """The campaign with what was typed into the folder's own files since they were written."""
        export = Exporter(self)
        changed = [path for path in self._typed() if text_of(path).strip() and export.changed(path)]
        new = self._read(changed)
        if new.unreadable:
            raise InvalidInput(f"{new.unreadable[0]}; nothing was written: correct it and run again")
        if not self.store.tell(new.answers):
            return self
        return replace(self, state=self._export_answers())

    @private_files()
    def _export_answers(self) -> CampaignState:
        """Write ``answers.csv``; what somebody changed in it is taken in first. The state after."""
        path = self.folder / ANSWERS
        with self.store.begin() as connection:  # one at a time, so that the newest state is written last
            if path.is_file() and fingerprint(path.read_bytes()) not in self.store.written(ANSWERS, on=connection):
                self.store.tell(self._read([path]).answers, connection)
            state = self.store.state(connection)
            text = _answers_text(collect(state.queries, state.answers).answers)
            self.store.written(ANSWERS, text, on=connection)
            write_file(path, text)
        return state

    def labels(self, found: Collected) -> Events:
        """The labels that the answers make: present segments that touch become one; recordings without any stay.

        A recording of which nothing was answered is kept as not annotated; what is asked again makes no labels.
        """
        method, recordings = self.method(), self.everything()
        real = self.queries[~self.queries["calibration"]]
        frame = found.answers.to_frame()
        given = Answers(frame[frame["query"].isin(set(real["query"]))])
        rows: list[tuple[str, float, float, str]] = []
        heard: dict[str, bool] = {}
        asked = real[["recording", "label"]].drop_duplicates().astype(str)
        for label, mine in asked.groupby("label", sort=False)["recording"]:
            each = {name: (one, asked_so_far(given, name, str(label))) for name, one in recordings.items()}
            how = method.among(each)
            for name in mine:
                labels = how.labels(*each[name])
                sure = ~np.isnan(labels.present) if len(each[name][1]) else np.zeros(1)
                heard[name] = heard.get(name, False) or bool(sure.any())
                rows += [(name, a, b, str(label)) for a, b in merge(labels.events).tolist()]
        table = pd.DataFrame(rows, columns=["recording", "onset", "offset", "label"])
        table = table.astype({"recording": object, "onset": float, "offset": float, "label": object})
        events = Events.from_frame(table, recording_length={name: recordings[name].length for name in heard})
        events.recordings["annotated"] = [heard.get(str(name), False) for name in events.recordings.index]
        return events

    def next_round(self, found: Collected) -> int:
        """How many queries the method would ask now, besides those that are waiting for an answer."""
        if not self.method().follows_answers:
            return 0
        following = queries(self.everything(), **{**self.options(), "answers": self._without_repeats(found.answers)})
        return int((~following.frame["query"].isin(set(self.queries["query"]))).sum())

    def write_labels(self, events: Events, found: Collected, out: str | Path) -> list[Path]:
        """Strong labels (DCASE, Raven, Audacity, all of it as CSV), weak labels (DCASE), the answers, and the summary.

        A file that somebody changed since it was written is not written over.
        """
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        kinds = {"strong.tsv": "dcase", "weak.tsv": "dcase-weak", "raven": "raven", "audacity": "audacity",
                 "events.csv": "csv", ANSWERS: "clips"}  # fmt: skip
        with tempfile.TemporaryDirectory() as name:
            made = Path(name)
            (made / "raven").mkdir()
            (made / "audacity").mkdir()
            with warnings.catch_warnings():
                # events.csv and answers.csv beside them hold everything that a smaller format leaves out.
                warnings.simplefilter("ignore", AssumptionWarning)
                for file, kind in kinds.items():
                    write(found.answers if kind in ("dcase-weak", "clips") else events, made / file, format=kind)
            (made / "summary.json").write_text(to_json(found.to_dict()) + "\n", encoding="utf-8")
            files = {path: folder / path.relative_to(made) for path in sorted(made.rglob("*")) if path.is_file()}
            export = Exporter(self)
            for path, target in files.items():
                refuse_input(target)
                if export.changed(target) and target.read_bytes() != path.read_bytes():
                    why = "was changed since weakly answers wrote it, and is not written over"
                    raise InvalidInput(f"{target}: {why}; move it away, or give another --out")
            for path, target in files.items():
                export.place(target, path.read_text(encoding="utf-8"))
        return [folder / name for name in (*kinds, "summary.json")]


def _answers_text(answers: Answers) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / ANSWERS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            write(answers, path, format="clips")
        return path.read_bytes()


def _place(folder: Path, path: Path | None) -> dict[str, Any]:
    """A place on the disk, absolute and from the folder, so that it is found from anywhere and after both moved."""
    if path is None:
        return {"path": None, "relative": None}
    whole = path.resolve()
    return {"path": str(whole), "relative": Path(os.path.relpath(whole, folder.resolve())).as_posix()}


def _found(folder: Path, place: Mapping[str, Any]) -> Path | None:
    if place.get("path") is None:
        return None
    near = Path(os.path.normpath(folder / place["relative"])) if place.get("relative") else None
    return near if near is not None and near.exists() else Path(place["path"])


def _refuse_rest(folder: Path) -> None:
    """Refuse a folder that holds a campaign's table of queries and not its store."""
    if (folder / QUERIES).is_file() and not (folder / NAME).is_file():
        rest = f"the rest of this campaign is missing ({NAME}); bring it back, or give another folder"
        raise InvalidInput(f"{folder / QUERIES}: {rest}")


def _store_of(folder: Path, database: str | None) -> Store:
    """The store of a folder's campaign: its file, or the database that is given or that the file remembers."""
    own, held = Store(folder / NAME), None
    if (folder / NAME).is_file():
        held = own.setting("database")
        if database is not None and held is None and own.setting("method") is not None:
            other = "--database asks for another place; give another folder"
            raise InvalidInput(f"{folder}: holds a campaign in {NAME}, and {other}")
    if held is not None and not str(held).startswith("postgresql"):
        raise InvalidInput(f"{own.name}: the database that it remembers is no address of PostgreSQL: damaged?")
    if database is None:
        return own if held is None else Store(held)
    store = Store(database)
    if held not in (None, store.address) and own.setting("campaign") != store.setting("campaign"):
        here = f"belongs to the campaign in {Store(held).name}"
        raise InvalidInput(f"{folder}: {here}, and {store.name} holds another one; give another folder")
    return store


def _check(folder: Path, state: CampaignState) -> None:
    """Refuse what no command has written; the parameters are checked by whoever makes the method."""
    settings = state.settings
    if missing := sorted(set(state.queries["recording"]) - state.recordings.keys()):
        raise InvalidInput(
            f"{folder}: the campaign asks about {shortened(missing[0])}, which it does not hold: damaged?"
        )
    asked = set(state.queries["query"])
    if lost := [one.query for one in state.answers if one.query not in asked]:
        all_in = f"in all {len(lost)} of {len(state.answers)} answers"
        raise InvalidInput(
            f"{folder}: the query {shortened(lost[0])} is gone and its answer is not ({all_in}): damaged?"
        )
    label, tool = settings.get("parameters", {}).get("label"), settings.get("tool") or {}
    signal = settings.get("signal") or {}
    kinds = {"to": str, "url_prefix": str, "cut": bool}
    rules = {
        "label": (label, isinstance(label, list) and label and all(isinstance(name, str) for name in label)),
        **{word: (signal.get(word), _is_place(signal.get(word))) for word in _PLACES},
        "tool": (tool, all(name in kinds and isinstance(value, kinds[name]) for name, value in tool.items())),
    }
    for name, (value, is_right) in rules.items():
        if not is_right:
            raise InvalidInput(f"{folder}: the campaign's settings hold the {name} {shortened(value)}: damaged?")
    for name in ("feature_hop", "sample_rate"):
        if signal.get(name) is not None:
            positive(name, signal[name])


def _is_place(value: Any) -> bool:
    """Whether this can say where features or scores are."""
    if not isinstance(value, dict):
        return value in (None, "arrays")
    ends = [value.get(end) for end in ("path", "relative")]
    return all(end is None or (isinstance(end, str) and "\0" not in end) for end in ends)
