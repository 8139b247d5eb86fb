"""From recordings to a page that can be labelled: the campaign's store, its session, who may ask, and the end."""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ...base.errors import AssumptionWarning, InvalidInput
from ...base.results import private_files, to_json, write_file
from ...base.symbols import positive
from ...io.formats import write
from ...io.signals import RECORDINGS, header
from ...methods.base import Recording
from ...methods.by_hand import ByHand
from ...methods.information import Information
from ...model.answers import Answers
from ...model.events import Events
from ...studies.audit.auditor import audit
from ...studies.queries.campaign import Campaign
from ...studies.queries.exchange import collect
from ...studies.queries.query_set import COLUMNS, Queries, queries, recordings_of, with_events
from ...studies.queries.store import NAME
from ..serving import is_loopback, listen
from . import media
from .access import OWNER, Access, Own
from .ending import Ending, marked_events, pilot_of
from .follow_up import AdaptiveFollowUp, BeliefSummary, Repeats
from .live import QualityMonitor, goal_words
from .measurement import N_ITEMS, AnnotatorProfile, Measurement, neutral, usual_length
from .routes import Labeling, create_app
from .session import LabelingSession

LABELS = "labels"  # the folder of the exports, in the campaign's folder
NEUTRAL = "a glide, a train of pulses or a band of noise that stands out from the steady noise"
_SIGNAL = ("features", "scores", "feature_hop", "sample_rate")


def open_campaign(
    recordings: Sequence[str | Path],
    *,
    out: str | Path,
    label: str = "event",
    annotators: Sequence[str] = ("annotator",),
    team: bool | None = None,
    votes: int = 1,
    database: str | None = None,
    events: Events | None = None,
    live: Mapping[str, Any] | None = None,
    in_order: bool = False,
    repeats: float = 0.0,
    plays: bool = True,
    together: bool = False,
    instructions: str = "",
    samples: Path | None = None,
    places: Sequence[Path] = (),
    **how: Any,
) -> Labeling:
    """The campaign of these recordings, new or as far as it is, ready to be served.

    ``how`` are the options of :func:`weakly.queries`: method, segment_length, ... A folder that holds a campaign
    already (of ``weakly queries``, say) may be given before the recordings, or in their place. ``team``: whether the
    owner has another link than the annotators; left out, if there are several. ``live`` are the options of
    :class:`.live.QualityMonitor`. ``together``: all classes of a segment at once. ``repeats``: the share of segments
    that are asked again, unseen. ``plays``: whether the recordings are needed. ``instructions`` (Markdown) and the
    sounds of the folder ``samples`` stand beside every question; ``places`` are further folders that may be read. What
    is refused leaves nothing behind.
    """
    given = [Path(path) for path in recordings]
    is_campaign = bool(given) and (given[0] / NAME).is_file()
    own = Own(given[0] if is_campaign else out)
    folders = media.Folders([*given, *places, *own.places])
    if is_campaign:
        campaign = Campaign.open(given[0], database=database)
    else:
        found = queries(given, label=label, events=events, **how)
        _refuse_others(found.recordings, folders)
        campaign = Campaign.start(out, found, tool={"to": "label"}, database=database)
    with campaign.store.or_nothing():
        if plays:
            _refuse_others(campaign.everything(), folders)
        access = _access(own, campaign, [*given, *places], annotators, team)
        method, known = campaign.method(), campaign.everything()
        if campaign.parameters.get("batch") is not None:
            raise InvalidInput(
                "batch: the labeling page asks one segment at a time; make this campaign with weakly queries"
            )
        goals = {goal.word: goal.value for goal in (live or {}).get("goals", ())}
        if isinstance(method, Information) and "wrong_time" in goals:  # where to stop is no setting of the campaign
            method = replace(method, wrong_time=goals["wrong_time"])
        asked = list(campaign.parameters["label"])
        refused = {
            f"needs several classes, --label dog,cat; got {asked[0]}": len(asked) < 2,
            "asks about all classes, and repeats about one: leave out --repeats or --together": bool(repeats),
            "ticks classes, and marks are of one: leave out --mark or --together": method.is_strong,
        }
        if together and any(refused.values()):
            raise InvalidInput(f"together {next(why for why, is_so in refused.items() if is_so)}")
        more = AdaptiveFollowUp(method, known) if method.follows_answers else None
        session = LabelingSession(
            campaign.store, annotators=access.annotators, votes=votes, in_order=in_order, together=together,
            more=Repeats(positive("repeats", repeats, zero=True), known, more) if repeats else more,
        )  # fmt: skip
        learned = BeliefSummary(more, method) if more is not None and isinstance(method, Information) else None
        made = Labeling(
            session, known, folders, access, ", ".join(asked),
            live=QualityMonitor(known, learned=learned, **(live or {})),
            export=lambda: export(made, campaign, events),
            sample_rate=(campaign.state.settings.get("signal") or {}).get("sample_rate"),
            is_marking=method.name == ByHand.name, instructions=instructions,
            samples=samples_of(samples, folders) if plays else [],
        )  # fmt: skip
        made.ending = Ending(session, made.live, known, lambda: _strong(made, campaign))
        return made


def samples_of(folder: Path | None, folders: media.Folders) -> list[tuple[str, Path]]:
    """The sounds of a folder by class: CLASS/any.wav, or CLASS.wav, CLASS_2.wav."""
    if folder is None:
        return []
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in RECORDINGS)
    sounds = [path for path in found if media.kind_of(path) == "sound"]
    if not sounds:
        raise InvalidInput(
            f"samples: there are no sounds in {str(folder)!a}; put some into it, a folder for each class"
        )
    for path in sounds:
        if not folders.holds(path):
            raise InvalidInput(f"samples: {path} is in no folder that you named; name it again: --samples {folder}")
        header(path)
    stems = [re.sub(r"[ _-]*\d*$", "", path.stem) or path.stem for path in sounds]
    return [(stem if path.parent == folder else path.parent.name, path.resolve()) for stem, path in zip(stems, sounds)]


def _refuse_others(known: Mapping[str, Recording], folders: media.Folders) -> None:
    for one in known.values():
        if one.path is not None and not folders.holds(one.path):
            raise InvalidInput(
                f"{one.path}: is not there, or leads to another folder than those that you named; if it is yours, name "
                "its own folder as well: weakly label ... FOLDER"
            )


def open_measurement(
    recordings: Sequence[str | Path],
    *,
    out: str | Path,
    label: str = "event",
    annotators: Sequence[str] = ("annotator",),
    team: bool | None = None,
    database: str | None = None,
    events: Events | None = None,
    segment_length: float | None = None,
    n_items: int = N_ITEMS,
    sample_rate: float | None = None,
) -> Labeling:
    """The experiment that measures the criterion of each person, on known events or on the bundled neutral set."""
    folder = Path(out)
    given = [Path(path) for path in recordings]
    if given and events is None:
        raise InvalidInput("measuring on your own recordings needs their known events: give --events FILE")
    if given:
        found, _ = recordings_of(given, sample_rate=sample_rate)
        mine = label if label in set(events.to_frame()["label"]) else None  # type: ignore[union-attr]
        found = with_events(found, events, mine)  # type: ignore[arg-type]
        found = {name: one for name, one in found.items() if one.events is not None}
    else:
        given = [folder / "neutral"]
        found = neutral(given[0])
    length = usual_length(found) if segment_length is None else segment_length
    parameters = {"label": [label], "segment_length": length, "n_items": n_items}
    table = pd.DataFrame(columns=list(COLUMNS))
    first = Queries(table, found, "measure", {**parameters, **dict.fromkeys(_SIGNAL), "sample_rate": sample_rate})
    campaign = Campaign.start(folder, first, tool={"to": "label"}, database=database)
    with campaign.store.or_nothing():
        access = _access(Own(folder), campaign, given, annotators, team)
        asked = Measurement(found, length, label, access.annotators, n_items)
        session = LabelingSession(campaign.store, annotators=access.annotators, more=asked)
        made = Labeling(
            session, found, media.Folders(given), access, label, QualityMonitor(found),
            export=lambda: _write_cards(made, folder), measuring=n_items, listen_for=label if recordings else NEUTRAL,
            sample_rate=sample_rate,
        )  # fmt: skip
        if not recordings:
            new = [one.path for one in found.values() if one.path is not None and not one.path.is_file()]
            campaign.store.made[:0] = [*new, *given]
            with private_files():
                neutral(given[0], write=True)
    return made


def _access(
    own: Own, campaign: Campaign, places: Iterable[Path], annotators: Sequence[str], team: bool | None
) -> Access:
    """Who is let in: one person, or a team and its owner. A campaign that was made just now has new tokens."""
    names = [name.strip() for name in annotators]
    wrong = [name for name in names if not re.fullmatch(r"[\w .@+-]{1,80}", name) or name == OWNER]
    if wrong or len(set(names)) < len(names) or not names:
        raise InvalidInput(
            f"annotators must have different names of letters, digits, spaces and .@+-_, none of them {OWNER!r}; "
            f"got {', '.join(annotators)!r}"
        )
    if team is False and len(names) > 1:
        raise InvalidInput(f"team must be True for {len(names)} annotators, whom only their own links tell apart")
    access = Access(own, names, team=len(names) > 1 if team is None else team)
    if campaign.store.is_new:  # its folder may have held another one
        with suppress(FileNotFoundError, NotADirectoryError):
            own.file.unlink()
    if not own.file.exists():
        campaign.store.made.insert(0, own.file)
    access.renew(places=[str(path.resolve()) for path in places])
    return access


@private_files()
def export(labeling: Labeling, campaign: Campaign, events: Events | None = None) -> list[Path]:
    """Write everything that the answers make into the campaign's folder: labels, answers and the audit.

    Strong labels as DCASE, Raven, Audacity and CSV; with the law of event lengths, what :func:`weakly.infer` says.
    Known events are what the audit takes as the truth; without them it tells how far people agree.
    """
    now = replace(campaign, state=campaign.store.state())
    found, session = collect(now.state.queries, now.state.answers), labeling.session
    frame = found.answers.to_frame()
    given = map(session.answer_of, frame["annotator"], frame["query"])
    frame["reviewed_seconds"] = [math.nan if one is None else session.reviewed_seconds(one) for one in given]
    found = replace(found, answers=Answers(frame, found.answers.recordings))
    folder = campaign.folder / LABELS
    assert labeling.ending is not None
    strong, changes = labeling.ending.events(), labeling.ending.corrections
    paths = now.write_labels(strong, found, folder)
    if labeling.is_marking:
        paths.append(folder / "pilot.csv")
        write(pilot_of(session, strong), paths[-1], format="csv")
    if changes:
        paths.append(write_file(folder / "corrections.csv", pd.DataFrame(changes).to_csv(index=False)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # recordings that nobody was asked about have no row
        return paths + _write_inference(labeling, folder) + _write_audit(found.answers, events, folder)


def _strong(labeling: Labeling, campaign: Campaign) -> Events:
    """The events that the answers, or the marks, make by now."""
    if labeling.is_marking:
        return marked_events(labeling.session, labeling.recordings)
    now = replace(campaign, state=campaign.store.state())
    return now.labels(collect(now.state.queries, now.state.answers))


def _write_inference(labeling: Labeling, folder: Path) -> list[Path]:
    """What the answers say of the events: those that are likely, with how sure they are, and P(event) over time."""
    live, session = labeling.live, labeling.session
    paths = [folder / name for name in ("quality.json", "inferred.csv", "active.csv")]
    quality = {"labels": live.labels(session), "spent": live.spent(session), "goals": list(map(goal_words, live.goals))}
    write_file(paths[0], to_json(quality) + "\n")
    known = live.known(session)
    if known is None:
        return paths[:1]
    events, active = known
    write(events, paths[1], format="csv")
    write_file(paths[2], active.to_csv(index=False))
    return paths


def _write_audit(answers: Answers, events: Events | None, folder: Path) -> list[Path]:
    """The audit as a page and as numbers; none while nothing is answered."""
    if not answers.to_frame()["present"].notna().any():
        return []
    made = audit(strong=events, answers=answers, unlisted="unknown")
    return [made.report(folder / "audit.html"), write_file(folder / "audit.json", to_json(made.to_dict()) + "\n")]


@private_files()
def _write_cards(labeling: Labeling, folder: Path) -> list[Path]:
    """One card for each person whose answers to items of known events depend on them: card.json, or card-NAME.json of
    several, and card-people.json of people at large from three on; none at all is an error."""
    names = labeling.session.people
    cards: dict[Path, AnnotatorProfile] = {}
    refused = []
    for name in names:
        card = labeling.card(name)
        path = folder / ("card.json" if len(names) == 1 else f"card-{re.sub(r'[^A-Za-z0-9.-]', '_', name)}.json")
        if isinstance(card, AnnotatorProfile):
            cards[path] = card
        elif card is not None:
            path.unlink(missing_ok=True)  # of answers that were taken back
            refused.append(card if len(names) == 1 else f"{name}: {card}")
    if refused and not cards:
        raise InvalidInput("; ".join(refused))
    if len(cards) >= 3 and (people := AnnotatorProfile.at_large(list(cards.values()))) is not None:
        cards[folder / "card-people.json"] = people
    return [write_file(path, json.dumps(card.to_dict(), indent=1) + "\n") for path, card in cards.items()]


def serve(
    labeling: Labeling,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open_browser: bool = True,
    names: Iterable[str] = (),
    new_tokens: bool = False,
) -> None:
    """Serve the page until it is interrupted; on another host than this machine only to a team."""
    access, store = labeling.access, labeling.session.store
    if not is_loopback(host) and not access.is_team:
        raise InvalidInput(
            f"host {host} lets other machines in: name the annotators, --annotators ana,ben, so that their links are "
            "not the owner's"
        )

    def at(address: str) -> tuple[Any, str]:
        store.is_new, store.made = False, []  # from here on the campaign stays
        if new_tokens:
            access.renew(all=True)
        links = access.links(address)
        for name, link in links.items():
            said = f"{name}: {link}" if access.is_team else f"weakly is at {link} (stop with Ctrl-C)"
            print(said, file=sys.stderr, flush=True)
        if len(links) < len(access.annotators) + access.is_team:
            print("weakly: note: links were withdrawn; --new-tokens gives everybody a new one", file=sys.stderr)
        return create_app(labeling, host=host, names=names), links.get(OWNER) or next(iter(links.values()), address)

    listen(at, host=host, port=port, open_browser=open_browser)
