"""The addresses of ``weakly label``: ask, tell, undo, correct; the sound and the picture of a segment; how it goes.

All under ``/api/1``: the number changes when an address changes its meaning. Segments are named by their query, never
by a path. Nobody sees what another person answered; the owner sees counts and agreement.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from ...base.errors import InvalidInput, WeaklyError, optional
from ...methods.base import Recording
from ...model.intervals import merge
from ...studies.queries.store import Answer, StoreTrouble
from ..serving import STATIC, Guard, Limits, add_parts, handle_errors, static_parts
from . import media
from .access import OWNER, Access, Person
from .ending import Ending
from .live import QualityMonitor, progress, sentences, summary
from .measurement import AnnotatorProfile, card_of
from .session import Item, LabelingSession

optional("fastapi", extra="label")

from fastapi import Depends, FastAPI, Request  # noqa: E402
from fastapi import Query as Within  # noqa: E402
from fastapi.responses import FileResponse, JSONResponse, Response  # noqa: E402
from pydantic import BaseModel, ConfigDict, Field  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

_OWN = Path(__file__).parent / "static"
API = "/api/1"
MOST_CONTEXT = 30.0  # seconds on either side
MOST_RECENT = 30  # answers in the list of the last ones
MOST_SAMPLE = 30.0  # seconds of a sample sound
T = TypeVar("T")

Id = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
Query = Annotated[str, Field(min_length=1, max_length=64)]
Present = Annotated[int, Field(ge=0, le=1)] | None
Seconds = Annotated[float, Field(ge=0, le=1e9)]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Work(_Told):
    """What was done for an answer. ``id`` is made by the client: the same answer sent again is taken once."""

    id: Id
    seconds: Annotated[float, Field(ge=0, le=86400)] | None = Field(None, description="active seconds")
    plays: Annotated[int, Field(ge=0, le=10**6)] = 1
    reviewed_seconds: Annotated[float, Field(ge=0, le=86400)] | None = Field(
        None, description="seconds of the recording that played or were shown, repeats among them"
    )
    reached: Annotated[float, Field(ge=0, le=86400)] | None = Field(
        None, description="seconds from the segment's start to where it was stopped, at most"
    )
    speed: Annotated[float, Field(ge=0.1, le=10)] = 1.0
    context: bool = Field(False, description="whether more than the segment was heard or seen")
    picture: bool = Field(False, description="whether the picture of a measured sound was shown")
    replaces: bool = Field(False, description="whether your earlier answer to this query, if any, is taken back")


class Tell(_Work):
    """An answer about one class of a segment."""

    query: Query
    present: Present = Field(description="1 present, 0 absent, null unsure")

    marks: Annotated[list[tuple[Seconds, Seconds]], Field(max_length=500)] = Field(
        [], description="where events begin and end, in seconds of the recording, where people mark"
    )


class Ticks(_Work):
    """The answers about all classes of a segment. The seconds of work stand with the first of them."""

    present: Annotated[dict[Query, Present], Field(min_length=1, max_length=500)]


class Undo(_Told):
    """Take back the last answer."""

    id: Id


class Member(_Told):
    """Somebody of the team whom the owner pauses, lets go on, or withdraws for good."""

    annotator: Annotated[str, Field(min_length=1, max_length=80)]
    state: Literal["paused", "working", "withdrawn"]


class Stroke(_Told):
    """A stretch of a recording, by its name, in which an event is (1), none is (0), or what the answers say (null)."""

    query: Query
    label: Annotated[str, Field(min_length=1, max_length=500)]
    present: Present
    id: Id


class Remark(_Told):
    """What to do with a segment besides answering it, with a note."""

    query: Query
    note: Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")] = ""  # which PostgreSQL cannot hold
    id: Id


@dataclass
class Labeling:
    """What the page is about: the session, its recordings, who may ask, and what to do at the end."""

    session: LabelingSession
    recordings: dict[str, Recording]
    folders: media.Folders
    access: Access
    label: str
    live: QualityMonitor
    export: Callable[[], list[Path]]
    sample_rate: float | None = None
    measuring: int | None = None  # how many items a measurement has
    is_marking: bool = False  # people mark where events are, and do not only answer
    listen_for: str = ""  # what a measurement asks to notice
    instructions: str = ""  # the owner's text, Markdown
    samples: Sequence[tuple[str, Path]] = ()  # sounds by class
    ending: Ending | None = None

    def card(self, annotator: str) -> AnnotatorProfile | str | None:
        """The card of this person, or why there is none."""
        return card_of(self.session, annotator, self.label, self.recordings)


def said_by(answer: Answer | None) -> int | None:
    """1 present, 0 absent, None unsure or nothing yet."""
    return None if answer is None or isnan(answer.present) else int(answer.present)


def create_app(labeling: Labeling, *, host: str = "127.0.0.1", names: Iterable[str] = ()) -> FastAPI:
    """The application, to be run by any ASGI server."""
    app = FastAPI(
        title="weakly label", version=metadata.version("weakly"), docs_url=None, redoc_url=None,
        description="Ask for the next segment, tell what was noticed. Version 1.",
    )  # fmt: skip
    app.add_middleware(Guard, limits=Limits(body_kb=16), host=host, names=names)
    handle_errors(app)

    @app.exception_handler(StoreTrouble)
    async def trouble(request: Request, error: StoreTrouble) -> JSONResponse:
        """Not the client's mistake: the same request may be sent again."""
        return JSONResponse({"field": None, "message": str(error)}, 503, headers={"Retry-After": "1"})

    page = static_parts(_OWN)
    page["/"] = page.pop("/static/label.html")
    add_parts(app, page | static_parts(STATIC, "page.css", "dom.js", "server.js", "icon.svg"))
    session = labeling.session
    # Who asks and tells stands in one line: threads that fight for the store's lock make each other wait.
    line = ThreadPoolExecutor(1, "session")

    async def in_line(work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(line, work)

    async def person(request: Request) -> Person:
        found = labeling.access.person(request.headers.get("authorization"))
        if found is None:
            raise HTTPException(
                401, "this page needs the link with your token, which weakly label printed; ask the campaign's owner"
            )
        return found

    Anybody = Annotated[Person, Depends(person)]

    def refuse_paused(who: str | None) -> None:
        if who in session.paused:
            raise HTTPException(403, "the owner of the campaign has paused your link; what you answered is kept")

    async def listener(who: Anybody) -> Person:
        if who.annotator in session.paused:
            await in_line(session.refresh)  # may go on by now, at another server's word
            refuse_paused(who.annotator)
        return who

    Listener = Annotated[Person, Depends(listener)]

    async def annotator(who: Listener) -> str:
        if who.annotator is None:
            raise HTTPException(403, "this link is the owner's; annotators have links of their own")
        return who.annotator

    async def owner(who: Anybody) -> Person:
        if not who.is_owner:
            raise HTTPException(403, "only the owner of the campaign sees this")
        return who

    Who = Annotated[str, Depends(annotator)]

    def state(who: str, *, refresh: bool = True) -> dict[str, Any]:
        items = session.ask(who, refresh=refresh)
        said = {"annotator": who, "label": labeling.label, "measuring": labeling.measuring,
                "has_targets": bool(labeling.live.goals)}  # fmt: skip
        at = progress(session, who, ahead=labeling.live.answers_left(session))
        if labeling.measuring is not None:
            at["left"] = max(0, labeling.measuring - at["answered"])
            at["minutes_left"] = at["left"] * (at["seconds_per_query"] or 5.0) / 60
        return said | {"items": [shown(item, who) for item in items], "progress": at}

    def ending_for(who: Person) -> Ending:
        """The end; the team sees it when nobody has anything to answer, so that no answer rests on those of others."""
        if labeling.ending is None or not (who.is_owner or labeling.ending.has_come):
            raise HTTPException(403, "how the campaign ends is shown when everything is answered")
        return labeling.ending

    def shown(item: Item, who: str | None) -> dict[str, Any]:
        """What an annotator may know of a segment; what it holds is not among it."""
        found = media.about(Path(labeling.recordings[item.recording].path or ""), labeling.sample_rate)
        ticket = labeling.access.ticket(who, item.query)
        film = f"video/{item.query}?ticket={ticket}" if found["kind"] == "video" else None
        return {
            "query": item.query, "recording": "" if labeling.measuring else item.recording, "label": item.label,
            "onset": item.onset, "offset": item.offset, "recording_length": labeling.recordings[item.recording].length,
            "with_context": span(item, True), "video": film, **found,
            "classes": [
                {"query": each.query, "label": each.label, "present": said_by(session.answer_of(who, each.query))}
                for each in session.classes(item, who)
            ] if session.together and who is not None and item.query in session.items else None,
        }  # fmt: skip

    def item_of(query: str, who: Person | None) -> Item:
        """The segment of a query, or a stretch of a strip (:meth:`.Ending.place`); None: whoever has its ticket."""
        if query.startswith("@"):
            return ending_for(who or Person(None, True)).place(query)
        item = session.items.get(query)
        if item is None:
            raise HTTPException(404, "there is no such query in this campaign")
        return item

    def file_of(item: Item) -> Path:
        try:
            return labeling.folders.allowed(labeling.recordings[item.recording].path)
        except InvalidInput as error:
            raise HTTPException(403, str(error)) from error

    def span(item: Item, context: bool) -> tuple[float, float]:
        around = min(MOST_CONTEXT, item.offset - item.onset) if context and labeling.measuring is None else 0.0
        return max(0.0, item.onset - around), min(labeling.recordings[item.recording].length, item.offset + around)

    @app.get(f"{API}/me")
    async def me(who: Anybody) -> dict[str, Any]:
        """Who you are to this campaign, and what it asks for."""
        return {"annotator": who.annotator, "is_owner": who.is_owner, "label": labeling.label,
                "measuring": labeling.measuring, "listen_for": labeling.listen_for,
                "campaign": session.campaign, "together": session.together,
                "marking": labeling.is_marking, "instructions": labeling.instructions,
                "samples": [{"label": label, "name": path.stem} for label, path in labeling.samples]}  # fmt: skip

    @app.get(f"{API}/ask")
    async def ask(who: Who) -> dict[str, Any]:
        """The segment to answer now (the first of ``items``), those that come after it, and how far you are."""
        found = await in_line(lambda: state(who))
        refuse_paused(who)  # at another server, by now
        return found

    @app.post(f"{API}/tick")
    async def tick(said: Ticks, who: Who) -> dict[str, Any]:
        """Take the answers about all classes of a segment, as ``tell`` does."""
        return await tell(said, who)

    @app.post(f"{API}/tell")
    async def tell_one(said: Tell, who: Who) -> dict[str, Any]:
        """Take an answer; ``kept`` is false if another one of yours to the same query is there already.

        An error with status 422 means that it is not stored and never will be, any other that it may be sent again.
        ``problem``: the answer is stored, and what comes next could not be done; ``items`` may be missing.
        """
        return await tell(said, who)

    def marks_of(said: Tell | Ticks) -> list[list[float]]:
        """The marks of an answer, in order and those that touch as one; what cannot be is refused."""
        marks = said.marks if isinstance(said, Tell) else []
        if not labeling.is_marking and marks:
            raise InvalidInput("marks: this campaign asks about segments; weakly label --mark makes one that is marked")
        if not labeling.is_marking or not isinstance(said, Tell) or said.query not in session.items:
            return []
        item = session.items[said.query]
        if said.present is not None and bool(marks) != bool(said.present):
            raise InvalidInput(f"present: {len(marks)} marks, and the answer {said.present}; present means marked")
        if wrong := [one for one in marks if not item.onset - 1e-3 <= one[0] < one[1] <= item.offset + 1e-3]:
            raise InvalidInput(
                f"marks must lie in the segment from {item.onset:g} to {item.offset:g} s, got {wrong[0]}"
            )
        return list(merge(np.clip(np.array(marks).reshape(-1, 2), item.onset, item.offset)).tolist())

    async def tell(said: Tell | Ticks, who: str) -> dict[str, Any]:
        acts = [(word, "shown") for word in ("context", "picture") if getattr(said, word)]
        acts += [("speed", f"{said.speed:g}")] if said.speed != 1 else []
        acts += [("replay", str(said.plays - 1))] if said.plays > 1 else []
        acts += [("mark", f"{a:.6f} {b:.6f}") for a, b in marks_of(said)]
        told = []
        answers = {said.query: said.present} if isinstance(said, Tell) else said.present
        for k, (query, present) in enumerate(answers.items()):
            heard = [] if said.reviewed_seconds is None else [
                ("reviewed", f"{0.0 if k else said.reviewed_seconds:.3f} {said.reached or 0.0:.3f}")
            ]  # fmt: skip
            told.append(session.offer(
                who, query=query, present=float("nan") if present is None else float(present), replaces=said.replaces,
                id=f"{said.id}.{k}" if k else said.id, acts=acts + heard,
                seconds=float("nan") if k or said.seconds is None else said.seconds,
            ))  # fmt: skip

        def take() -> dict[str, Any]:
            kept = {session.take(each) for each in told} == {True}
            try:
                return {"kept": kept} | state(who, refresh=False)
            except WeaklyError as error:  # of what comes next: the answer is stored
                return {"kept": kept, "problem": str(error)}

        now = await in_line(take)
        if labeling.measuring is not None and now.get("items") == []:
            try:
                await asyncio.to_thread(labeling.export)  # the card is what the measurement was for
            except (WeaklyError, OSError) as error:
                now["problem"] = str(error)
        return now

    @app.post(f"{API}/undo")
    async def undo(said: Undo, who: Who) -> dict[str, Any]:
        """Take back your last answer; its segment comes next. What was said stays in the store, as taken back."""
        item, now = await in_line(lambda: (session.undo(who, id=said.id), state(who)))
        return {"undone": None if item is None else item.query} | now

    @app.post(f"{API}/bookmark")
    async def bookmark(said: Remark, who: Who) -> dict[str, Any]:
        """Keep a note about a segment."""
        await in_line(lambda: session.remark(who, query=said.query, kind="bookmark", note=said.note, id=said.id))
        return {"kept": True}

    @app.post(f"{API}/later")
    async def later(said: Remark, who: Who) -> dict[str, Any]:
        """Put a segment behind all others that wait for you."""
        await in_line(lambda: session.remark(who, query=said.query, kind="later", id=said.id))
        return await in_line(lambda: state(who))

    @app.get(f"{API}/mine")
    async def mine(who: Who) -> dict[str, Any]:
        """Your last answers, the newest first, and the queries of a second pass: unsure or bookmarked."""

        def look() -> dict[str, Any]:
            marked = {row.query for row in session.acts("bookmark") if row.annotator == who}
            given: dict[Any, Item] = {}  # one for each segment that is asked at once, the newest first
            again = []
            for one in reversed(session.answers_by(who)):
                item = session.items.get(one.query)
                if item is not None:
                    given.setdefault(item.place if session.together else item.query, item)
                    again += [item] if isnan(one.present) or one.query in marked else []
            rows = [
                {**shown(item, who), "present": said_by(session.answer_of(who, item.query)),
                 "is_bookmarked": item.query in marked} for item in islice(given.values(), MOST_RECENT)
            ]  # fmt: skip
            places = {item.place if session.together else item.query: item.query for item in reversed(again)}
            return {"answers": rows, "again": list(places.values())}

        return await in_line(look)

    @app.get(f"{API}/item/{{query}}")
    async def item(query: str, who: Who) -> dict[str, Any]:
        """A segment that you have answered, to be answered again."""
        given = session.answer_of(who, query)
        if given is None:
            raise HTTPException(404, "you have not answered such a query")
        return shown(item_of(query, None), who) | {"present": said_by(given), "marks": session.marks(given)}

    @app.get(f"{API}/sound/{{query}}", response_class=Response)
    def sound(
        query: str, who: Listener, context: bool = False, speed: Annotated[float, Within(ge=0.1, le=1)] = 1
    ) -> Response:
        """The sound of a segment as WAV, with as much on either side if context is asked for, or slower and deeper."""
        item = item_of(query, who)
        onset, offset = span(item, context)
        return Response(media.sound(file_of(item), onset=onset, offset=offset, speed=speed), media_type="audio/wav")

    @app.get(f"{API}/guide/{{number}}", response_class=Response)
    def guide(number: int, who: Listener) -> Response:
        """One of the owner's sample sounds."""
        if not 0 <= number < len(labeling.samples):
            raise HTTPException(404, "there is no such sample")
        return Response(media.sound(labeling.samples[number][1], onset=0, offset=MOST_SAMPLE), media_type="audio/wav")

    @app.get(f"{API}/sample/{{number}}", response_class=Response)
    def sample(number: int, who: Who) -> Response:
        """The sound of a whole known event, before a measurement: one after the other by number."""
        known = {} if labeling.measuring is None else labeling.recordings
        pool = [
            (name, event) for name, one in known.items() if media.kind_of(Path(one.path or "")) == "sound"
            for event in ([] if one.events is None else one.events)
        ]  # fmt: skip
        if not pool:
            raise HTTPException(404, "there is no sample to hear")
        name, (onset, offset) = pool[7 * number % len(pool)]
        path = labeling.folders.allowed(labeling.recordings[name].path)
        around = {"onset": max(0.0, onset - 0.3), "offset": min(labeling.recordings[name].length, offset + 0.3)}
        return Response(media.sound(path, **around), media_type="audio/wav")

    @app.get(f"{API}/picture/{{query}}", response_class=Response)
    def picture(
        query: str, who: Listener, context: bool = False, shift: Annotated[float, Within(ge=-60, le=60)] = 0,
        contrast: Annotated[float, Within(ge=0, le=120)] = 0, part: Annotated[float, Within(ge=0.01, le=1)] = 1,
    ) -> Response:  # fmt: skip
        """The spectrogram of a segment as PNG, or its traces as SVG; ``Weakly-Span`` says from when to when.

        ``shift``: decibels by which the darkest colour lies higher; ``contrast``: decibels between the darkest and the
        brightest; ``part``: of the frequencies, from 0.
        """
        item = item_of(query, who)
        onset, offset = span(item, context)
        body, kind = media.picture(file_of(item), onset=onset, offset=offset, sample_rate=labeling.sample_rate,
                                   shift=shift, span=contrast, part=part)  # fmt: skip
        return Response(body, media_type=kind, headers={"Weakly-Span": f"{onset:.6f},{offset:.6f}"})

    @app.get(f"{API}/video/{{query}}", response_class=FileResponse)
    async def video(query: str, ticket: str = "") -> FileResponse:
        """The video file of a segment's recording, whole or in ranges; the page plays the segment of it."""
        if not labeling.access.admits(query, ticket, but=session.paused):
            raise HTTPException(401, "this video needs the ticket of its segment")
        item = item_of(query, None)
        if media.kind_of(Path(labeling.recordings[item.recording].path or "")) != "video":
            raise HTTPException(404, "this recording is no video")
        return FileResponse(file_of(item))

    @app.get(f"{API}/live")
    def live(who: Anybody) -> dict[str, Any]:
        """What is measured so far: your card, if items of known events were among the segments; the labels; targets."""
        session.refresh()
        found = None if who.annotator is None else labeling.card(who.annotator)
        card = found.to_dict() if isinstance(found, AnnotatorProfile) else None
        refused = found if isinstance(found, str) else None
        state = labeling.live.state(session, who.annotator)
        return {"card": card, "no_card": refused, **state,
                "sentences": sentences(card or refused, state, who.annotator)}  # fmt: skip

    @app.get(f"{API}/team")
    def team(who: Annotated[Person, Depends(owner)]) -> dict[str, Any]:
        """How the team goes on: answers and pace of each, how far they agree, who is odd. For the owner."""
        session.refresh()
        held = {name: labeling.access.token(name) is not None for name in labeling.access.annotators}
        state = {
            name: "withdrawn" if not held[name] else "paused" if name in session.paused else "working" for name in held
        }
        found = summary(session)
        splits = [row | shown(session.items[row["query"]], None) | {"label": row["label"]} for row in found["splits"]]
        return found | {"splits": splits, "links": state if labeling.access.is_team else {}}

    @app.post(f"{API}/member")
    def member(said: Member, who: Annotated[Person, Depends(owner)]) -> dict[str, Any]:
        """Pause somebody, let them go on, or withdraw their link for good. For the owner."""
        if not labeling.access.is_team or said.annotator not in labeling.access.annotators:
            raise HTTPException(404, "there is nobody of this name in the team")
        if said.state == "withdrawn":
            labeling.access.own.withdraw(said.annotator)
        else:
            session.pause(said.annotator, said.state == "paused")
        return team(who)

    @app.post(f"{API}/export")
    async def export(who: Annotated[Person, Depends(owner)]) -> JSONResponse:
        """Write labels, answers, the cards and what they say into the campaign's folder. For the owner."""
        written = await asyncio.to_thread(labeling.export)
        return JSONResponse({"folder": str(written[0].parent), "files": [path.name for path in written]})

    @app.get(f"{API}/end")
    def end(who: Listener, first: Annotated[int, Within(ge=0)] = 0) -> dict[str, Any]:
        """What the campaign comes to: a strip for each recording, the most doubtful first, from this one on."""
        strips = [shown(place, who.annotator) | row for place, row in ending_for(who).strips(first)]
        return {"rows": strips, "total": len(labeling.recordings), "labels": ending_for(who).labels}

    @app.post(f"{API}/correct")
    def correct(said: Stroke, who: Listener) -> dict[str, Any]:
        """Say that an event is, or is not, in a stretch of a recording; the last word on a moment counts."""
        ending, place = ending_for(who), item_of(said.query, who)
        ending.correct(place, said.label, said.present, who.annotator or OWNER, id=said.id)
        return {"kept": True}

    return app
