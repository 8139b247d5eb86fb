# ruff: noqa: E501
"""What volunteers, clinics and archives leave: small files in strangers' shapes, each with its owner's meaning.

A stranger's file is read right, or it is refused (or read with a note) in words that print the option which reads it
right. Every option that such words print is run, as printed. The files are ours, made after real ones.
"""

import gzip
import io
import json
import random
import re
import shlex
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass, field

import pytest

from weakly import InvalidInput
from weakly.cli.common import SHARED, ReadingOptions
from weakly.io import check, read, read_answers

NAN = float("nan")
READING = {f"--{each.name.replace('_', '-')}": each.name for each in ReadingOptions.__dataclass_fields__.values()}
# What a message prints: an option and its value, without the sign that ends the sentence.
PRINTED = re.compile(r"(--[a-z][a-z-]+)[ =]('[^']*'|\"[^\"]*\"|[^\s,;:()]+(?:,[^\s,;:()]+)*)")


@dataclass
class Stranger:
    """A set of files, the door at which it is read, what its owner means, and the option that settles it."""

    name: str
    files: dict
    means: list
    door: str = "events"
    way: str = ""  # "" where nothing has to be said
    noted: bool = False  # read with a note instead of refused; the note prints the way
    also: str = ""  # options that the owner gives in any case
    empty: tuple = ()  # recordings that hold nothing
    lengths: dict = field(default_factory=dict)

    def write(self, folder):
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        names = [str(folder / name) for name in self.files if not name.endswith(".hea")]
        return names


def options(text):
    """The arguments of reading that a command would make of options as they are printed."""
    given, words = {}, shlex.split(text)
    for name, value in zip(words[::2], words[1::2], strict=True):
        role = READING[name]
        kind = SHARED[role][0]
        given[role] = [*given.get(role, []), value] if kind == list[str] else kind(value)
    return ReadingOptions.of(**given).arguments()


def printed(text):
    """Every option with its value that a message prints."""
    found = [(name, value.rstrip(".?")) for name, value in PRINTED.findall(text) if name in READING]
    return [f"{name} {value}" for name, value in found]


def taken(stranger, paths, text):
    """The rows that are read with these options, as plain tuples, the empty recordings, lengths, and all that is said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = (read if stranger.door == "events" else read_answers)(paths, **options(text))
    said = " | ".join(str(each.message) for each in caught)
    frame = rows.to_frame()
    names = ["recording", "onset", "offset", "label"] + (["annotator", "present"] if stranger.door == "answers" else [])
    values = [
        tuple(round(v, 6) if isinstance(v, float) else v for v in row)
        for row in frame[names].itertuples(index=False, name=None)
    ]
    return sorted(values, key=repr), rows, said


def meaning(stranger):
    return sorted((tuple(float(v) if isinstance(v, int) else v for v in row) for row in stranger.means), key=repr)


def same(one, other):
    return len(one) == len(other) and all(
        len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b)) for a, b in zip(one, other)
    )


def table(*lines):
    return "\n".join(lines) + "\n"


def as_xlsx(*sheets):
    """A workbook as spreadsheets write it: shared texts, numbers, a sheet each."""
    texts, parts = [], {}
    for k, (_, rows) in enumerate(sheets, 1):
        cells = []
        for r, row in enumerate(rows, 1):
            line = []
            for c, value in enumerate(row):
                at = f"{chr(65 + c)}{r}"
                if isinstance(value, str):
                    texts.append(value)
                    line.append(f'<c r="{at}" t="s"><v>{len(texts) - 1}</v></c>')
                elif value is not None:
                    line.append(f'<c r="{at}"><v>{value}</v></c>')
            cells.append(f'<row r="{r}">{"".join(line)}</row>')
        parts[f"xl/worksheets/sheet{k}.xml"] = (
            '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
            + "".join(cells) + "</sheetData></worksheet>"
        )  # fmt: skip
    listed = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, (name, _) in enumerate(sheets, 1))
    parts["xl/workbook.xml"] = (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
        f"{listed}</sheets></workbook>"
    )
    parts["xl/_rels/workbook.xml.rels"] = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        + "".join(f'<Relationship Id="rId{k}" Target="worksheets/sheet{k}.xml"/>' for k in range(1, len(sheets) + 1))
        + "</Relationships>"
    )
    parts["xl/sharedStrings.xml"] = (
        '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        + "".join(f"<si><t>{text}</t></si>" for text in texts) + "</sst>"
    )  # fmt: skip
    return zipped({"[Content_Types].xml": "<Types/>", **parts})


def as_ods(*sheets):
    """An OpenDocument spreadsheet; a run of equal cells is written once."""
    body = ""
    for name, rows in sheets:
        lines = ""
        for row in rows:
            cells = "".join(
                f'<table:table-cell office:value-type="float" office:value="{v}"><text:p>{v}</text:p></table:table-cell>'
                if not isinstance(v, str)
                else f'<table:table-cell office:value-type="string"><text:p>{v}</text:p></table:table-cell>'
                for v in row
            )
            lines += (
                f'<table:table-row>{cells}<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
            )
        body += f'<table:table table:name="{name}">{lines}<table:table-row table:number-rows-repeated="100000"/></table:table>'
    text = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        f"{body}</office:spreadsheet></office:body></office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": text})


def zipped(parts):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return held.getvalue()


def jams(title, *annotations, duration=10):
    made = [
        {"namespace": space, "annotation_metadata": {"annotator": {"name": who}}, "time": 0, "duration": duration,
         "data": [{"time": a, "duration": d, "value": v, "confidence": None} for a, d, v in data]}
        for space, who, data in annotations
    ]  # fmt: skip
    return json.dumps({"annotations": made, "file_metadata": {"title": title, "duration": duration}, "sandbox": {}})


def textgrid(*tiers, length=4):
    text = f'File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = {length}\ntiers? <exists>\nsize = {len(tiers)}\nitem []:\n'
    for k, (name, spans) in enumerate(tiers, 1):
        text += f'    item [{k}]:\n        class = "IntervalTier"\n        name = "{name}"\n        xmin = 0\n        xmax = {length}\n        intervals: size = {len(spans)}\n'
        for j, (a, b, words) in enumerate(spans, 1):
            text += f'        intervals [{j}]:\n            xmin = {a}\n            xmax = {b}\n            text = "{words}"\n'
    return text


CHB = """Data Sampling Rate: 256 Hz
*************************

Channels in EDF Files:
**********************
Channel 1: FP1-F7
Channel 2: F7-T7

File Name: chb01_01.edf
File Start Time: 11:42:54
File End Time: 12:42:54
Number of Seizures in File: 0

File Name: chb01_03.edf
File Start Time: 23:43:04
File End Time: 24:43:04
Number of Seizures in File: 2
Seizure 1 Start Time: 2996 seconds
Seizure 1 End Time: 3036 seconds
Seizure 2 Start Time:  3100 seconds
Seizure 2 End Time:  3150 seconds

File Name: chb01_04.edf
Number of Seizures in File: 1
Seizure Start Time: 1467 seconds
Seizure End Time: 1494 seconds
"""
SIENA = """Data Sampling Rate: 512 Hz
******************

Channels in EDF Files:
**********************
Channel 1: Fp1

Seizure n 1
File name: PN00-1.edf
Registration start time: 19.39.33
Registration end time:  20.22.58
Seizure start time: 19.58.36
Seizure end time: 19.59.46

Seizure n 2
File name: PN00-2.edf
Registration start time: 23.58.00
Registration end time: 00.56.37
Start time: 00:01:00
End time: 00:01:30
"""
SPEAKERS = [("a", 0, 2, "ann"), ("a", 1, 3, "bob")]
OWLS = [("a.wav", 0, 3, "owl", "kim", 1), ("a.wav", 0, 3, "owl", "lee", 0), ("a.wav", 3, 6, "owl", "kim", 0),
        ("a.wav", 3, 6, "owl", "lee", 0), ("b.wav", 0, 3, "owl", "kim", 1)]  # fmt: skip
TWO_OWLS = [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 3, 6, "owl", "", 0), ("b.wav", 0, 3, "owl", "", 1)]


def long(header, *cells):
    return table(header, *cells)


VOLUNTEERS = [
    Stranger("volunteers, 0/1 under a class", {"v.csv": table(
        "filename,start_s,end_s,volunteer,owl", "a.wav,0,3,kim,1", "a.wav,0,3,lee,0", "a.wav,3,6,kim,0", "a.wav,3,6,lee,0",
        "b.wav,0,3,kim,1")}, OWLS, "answers"),
    Stranger("participants, yes/no under a class", {"v.csv": table(
        "filename,start_s,end_s,participant,owl", "a.wav,0,3,kim,yes", "a.wav,0,3,lee,no", "a.wav,3,6,kim,no",
        "a.wav,3,6,lee,no", "b.wav,0,3,kim,yes")}, OWLS, "answers"),
    Stranger("the same as events: the present ones", {"v.csv": table(
        "filename,start_s,end_s,volunteer,owl", "a.wav,0,3,kim,1", "a.wav,0,3,lee,0", "b.wav,0,3,kim,1")},
        [("a.wav", 0, 3, "owl"), ("b.wav", 0, 3, "owl")]),
    Stranger("wide with a reader", {"w.csv": table(
        "file,start,end,reader,owl,dog", "a.wav,0,3,kim,1,0", "a.wav,3,6,kim,0,")},
        [("a.wav", 0, 3, "owl", "kim", 1), ("a.wav", 0, 3, "dog", "kim", 0), ("a.wav", 3, 6, "owl", "kim", 0)],
        "answers"),
    Stranger("wide, TRUE/FALSE, an expert", {"w.csv": table(
        "recording,begin,end,expert_id,owl,dog", "a.wav,0,3,7,TRUE,FALSE", "a.wav,3,6,7,FALSE,FALSE")},
        [("a.wav", 0, 3, "owl", "7", 1), ("a.wav", 0, 3, "dog", "7", 0), ("a.wav", 3, 6, "owl", "7", 0),
         ("a.wav", 3, 6, "dog", "7", 0)], "answers"),
    Stranger("columns that may be people or classes", {"w.csv": table(
        "file,start,end,ann,bob", "a.wav,0,3,yes,no", "a.wav,3,6,no,no")},
        [("a.wav", 0, 3, "event", "ann", 1), ("a.wav", 0, 3, "event", "bob", 0), ("a.wav", 3, 6, "event", "ann", 0),
         ("a.wav", 3, 6, "event", "bob", 0)], "answers", way="--columns annotator=ann+bob"),
    Stranger("the same, meant as classes", {"w.csv": table(
        "file,start,end,owl,dog", "a.wav,0,3,yes,no", "a.wav,3,6,no,no")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 0, 3, "dog", "", 0), ("a.wav", 3, 6, "owl", "", 0),
         ("a.wav", 3, 6, "dog", "", 0)], "answers", way="--columns label=owl+dog"),
    Stranger("raters by their names", {"w.csv": table(
        "file,start,end,rater1,rater2", "a.wav,0,3,1,0", "a.wav,3,6,0,0")},
        [("a.wav", 0, 3, "event", "rater1", 1), ("a.wav", 0, 3, "event", "rater2", 0),
         ("a.wav", 3, 6, "event", "rater1", 0), ("a.wav", 3, 6, "event", "rater2", 0)], "answers"),
    Stranger("raters beside a class", {"w.csv": table(
        "file,start,end,species,ann,bob", "a.wav,0,3,owl,present,absent", "a.wav,3,6,dog,absent,absent")},
        [("a.wav", 0, 3, "owl", "ann", 1), ("a.wav", 0, 3, "owl", "bob", 0), ("a.wav", 3, 6, "dog", "ann", 0),
         ("a.wav", 3, 6, "dog", "bob", 0)], "answers", way="--columns annotator=ann+bob"),
    Stranger("raters behind the names of DCASE", {"w.csv": table(
        "file,onset,offset,event_label,bo,eli", "a.wav,0,10,owl,absent,absent", "a.wav,10,20,owl,absent,present")},
        [("a.wav", 0, 10, "owl", "bo", 0), ("a.wav", 0, 10, "owl", "eli", 0), ("a.wav", 10, 20, "owl", "bo", 0),
         ("a.wav", 10, 20, "owl", "eli", 1)], "answers", way="--columns annotator=bo+eli"),
    Stranger("epochs with a start and no end", {"e.csv": table(
        "subject,epoch,start,rater1,rater2", "s1,1,0,1,0", "s1,2,30,0,0", "s2,1,0,1,1")},
        [("s1", 0, 30, "event", "rater1", 1), ("s1", 0, 30, "event", "rater2", 0), ("s1", 30, 60, "event", "rater1", 0),
         ("s1", 30, 60, "event", "rater2", 0), ("s2", 0, 30, "event", "rater1", 1), ("s2", 0, 30, "event", "rater2", 1)],
        "answers", way="--columns length=30s"),
    Stranger("epochs, numbers only", {"e.csv": table(
        "subject,epoch,rater1,rater2", "s1,1,yes,no", "s1,2,no,no")},
        [("s1", 0, 10, "event", "rater1", 1), ("s1", 0, 10, "event", "rater2", 0), ("s1", 10, 20, "event", "rater1", 0),
         ("s1", 10, 20, "event", "rater2", 0)], "answers", also="--columns length=10s"),
    Stranger("epochs of stages by two scorers", {"e.csv": table(
        "subject,epoch,scorer1,scorer2", "s1,0,W,W", "s1,1,N1,W")},
        [("s1", 0, 30, "W"), ("s1", 0, 30, "W"), ("s1", 30, 60, "N1"), ("s1", 30, 60, "W")],
        also="--columns length=30s,annotator=scorer1+scorer2"),
    Stranger("times in the clip's name", {"c.csv": table(
        "clip,user,answer", "hill_12_15.wav,kim,yes", "hill_15_18.wav,kim,no")},
        [("hill", 12, 15, "event", "kim", 1), ("hill", 15, 18, "event", "kim", 0)], "answers"),
    Stranger("times in BirdNET's clip names", {"c.csv": table(
        "file,coder,owl", "0.800_2_hill_12.00s_15.00s.wav,kim,1", "0.512_1_hill_15.00s_18.00s.wav,kim,0")},
        [("hill", 12, 15, "owl", "kim", 1), ("hill", 15, 18, "owl", "kim", 0)], "answers"),
    Stranger("present clips only", {"c.csv": table(
        "file,start,end,species", "a.wav,0,3,owl", "a.wav,9,12,owl", "b.wav,3,6,dog")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 9, 12, "owl", "", 1), ("b.wav", 3, 6, "dog", "", 1)], "answers"),
    Stranger("present clips only, of many lengths", {"c.csv": table(
        "file,start,end,species", "a.wav,0,3,owl", "a.wav,9,14,owl", "b.wav,3,6.5,dog")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 9, 14, "owl", "", 1), ("b.wav", 3, 6.5, "dog", "", 1)], "answers",
        way="--columns answer=@present"),
    Stranger("one class without a person", {"c.csv": table(
        "filename,start_s,end_s,owl", "a.wav,0,3,1", "a.wav,3,6,0", "b.wav,0,3,1")}, TWO_OWLS, "answers"),
    Stranger("whole clips, present/absent", {"c.csv": table("file,owl", "a.wav,present", "b.wav,absent")},
        [("a.wav", NAN, NAN, "owl", "", 1), ("b.wav", NAN, NAN, "owl", "", 0)], "answers"),
    Stranger("a class, and an answer under another name", {"c.csv": table(
        "file,start,end,species,heard_it", "a.wav,0,3,owl,yes", "a.wav,3,6,owl,no")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 3, 6, "owl", "", 0)], "answers"),
    Stranger("a flag beside events is asked about", {"c.csv": table(
        "file,start,end,species,overlapping", "a.wav,0,3.5,owl,1", "a.wav,3,9,owl,0", "a.wav,20,21,dog,1")},
        [("a.wav", 0, 3.5, "owl", "", 1), ("a.wav", 3, 9, "owl", "", 0), ("a.wav", 20, 21, "dog", "", 1)], "answers",
        way="--columns answer=overlapping"),
    Stranger("Sonic clips by an expert, unsure", {"c.tsv": table(
        "file\tstart\tend\texpert\tcrane", "a\t0\t5\tx\tyes", "a\t5\t10\tx\t?", "a\t10\t15\ty\tno")},
        [("a", 0, 5, "crane", "x", 1), ("a", 5, 10, "crane", "x", NAN), ("a", 10, 15, "crane", "y", 0)], "answers"),
]  # fmt: skip
LABELS = [
    Stranger("two classes by a semicolon", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,dog;cat", "a.wav,2,3,dog")},
        [("a.wav", 0, 1, "dog"), ("a.wav", 0, 1, "cat"), ("a.wav", 2, 3, "dog")]),
    Stranger("two classes by a stroke", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,dog|cat", "a.wav,2,3,dog")},
        [("a.wav", 0, 1, "dog"), ("a.wav", 0, 1, "cat"), ("a.wav", 2, 3, "dog")]),
    Stranger("two classes as a list", {"l.csv": table(
        "file,start,end,labels", 'a.wav,0,1,"[""dog"",""cat""]"', "a.wav,2,3,\"['dog']\"")},
        [("a.wav", 0, 1, "dog"), ("a.wav", 0, 1, "cat"), ("a.wav", 2, 3, "dog")]),
    Stranger("an empty label is no class", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,dog", "a.wav,2,3,", "b.wav,0,1,cat")},
        [("a.wav", 0, 1, "dog"), ("b.wav", 0, 1, "cat")]),
    Stranger("silence that is absence", {"s.txt": table("0\t1\tSIL", "1\t2\tsong", "2\t3\tSIL")},
        [("s", 1, 2, "song")], way="--absent SIL", noted=True),
    Stranger("background that is absence", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,background", "a.wav,1,3,dog", "b.wav,0,9,background")},
        [("a.wav", 1, 3, "dog")], way="--absent background", noted=True, empty=("b.wav",)),
    Stranger("no_dog is absence", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,no_dog", "a.wav,1,3,dog", "b.wav,0,9,no_dog")},
        [("a.wav", 1, 3, "dog")], way="--absent no_dog", noted=True, empty=("b.wav",)),
    Stranger("the class 0 is absence", {"l.csv": table(
        "file,start,end,class", "a.wav,0,1,0", "a.wav,1,3,1", "a.wav,3,4,2")},
        [("a.wav", 1, 3, "1"), ("a.wav", 3, 4, "2")], way="--absent 0", noted=True),
    Stranger("several words of absence", {"l.csv": table(
        "file,start,end,label", "a.wav,0,1,silence", "a.wav,1,3,dog", "a.wav,3,4,noise")},
        [("a.wav", 1, 3, "dog")], way="--absent noise,silence", noted=True),
    Stranger("what was viewed", {"m.txt": table(
        "startSec\tdurationSec\teventName\t", "100\t115\tsegmentViewed\t", "105\t0.9\tspindle\t", "400\t115\tsegmentViewed\t")},
        [("m", 105, 105.9, "spindle")], way="--examined label=segmentViewed", noted=True),
    Stranger("all classes as one", {"t.rttm": table(
        "SPEAKER m 1 0.0 1.0 <NA> <NA> ann <NA> <NA>", "SPEAKER m 1 2.0 1.0 <NA> <NA> bob <NA> <NA>")},
        [("m", 0, 1, "speech"), ("m", 2, 3, "speech")], also="--merge 'speech=*'"),
]  # fmt: skip
POINTS = [
    Stranger("onsets with a label", {"p.csv": table("file,time,label", "a.wav,1.0,kick", "a.wav,2.0,snare")},
        [("a.wav", 0.9, 1.1, "kick"), ("a.wav", 1.9, 2.1, "snare")], way="--point-length 0.2"),
    Stranger("points of an Audacity track", {"p.txt": table("1.0\t1.0\tclick", "2.0\t2.0\tclick")},
        [("p", 0.9, 1.1, "click"), ("p", 1.9, 2.1, "click")], way="--point-length 0.2"),
    Stranger("beats: a time and a number", {"song.beats": table("0.50 1", "1.00 2", "1.50 3", "2.00 4", "2.50 1")},
        [("song", t - 0.1, t + 0.1, b) for t, b in ((0.5, "1"), (1.0, "2"), (1.5, "3"), (2.0, "4"), (2.5, "1"))],
        way="--point-length 0.2"),
    Stranger("beats: times alone", {"song.txt": table("0.512", "1.024", "1.536")},
        [("song", 0.412, 0.612, "event"), ("song", 0.924, 1.124, "event"), ("song", 1.436, 1.636, "event")],
        way="--point-length 0.2"),
    Stranger("picks of phases", {"picks.csv": table(
        "trace_id,phase,time_s", "t1,P,10.0", "t1,S,15.0", "t2,P,9.0")},
        [("t1", 9.9, 10.1, "P"), ("t1", 14.9, 15.1, "S"), ("t2", 8.9, 9.1, "P")], way="--point-length 0.2"),
    Stranger("JAMS beats", {"b.jams": jams("song", ("beat", "", [(1.0, 0, 1), (2.0, 0, 2)]))},
        [("b", 0.9, 1.1, "1"), ("b", 1.9, 2.1, "2")], way="--point-length 0.2"),
    Stranger("a point near the start is cut at 0", {"p.csv": table("file,time,label", "a.wav,0.05,kick", "a.wav,2,kick")},
        [("a.wav", 0, 0.15, "kick"), ("a.wav", 1.9, 2.1, "kick")], way="--point-length 0.2"),
]  # fmt: skip
UNITS = [
    Stranger("TIMIT: sample numbers", {"SA1.PHN": table("0 3050 h#", "3050 4559 sh", "4559 16000 ix")},
        [("SA1", 0, 0.190625, "h#"), ("SA1", 0.190625, 0.284938, "sh"), ("SA1", 0.284938, 1, "ix")],
        way="--columns rate=16000"),
    Stranger("milliseconds under plain names", {"m.csv": table(
        "file,start,end,label", "a.wav,1200,1900,dog", "a.wav,5200,5450,dog", "b.wav,12000,12750,cat")},
        [("a.wav", 1.2, 1.9, "dog"), ("a.wav", 5.2, 5.45, "dog"), ("b.wav", 12, 12.75, "cat")],
        way="--columns rate=1000", noted=True),
    Stranger("sample numbers in a track without names", {"m.txt": table("16000\t24000\tdog", "48000\t52000\tcat")},
        [("m", 1, 1.5, "dog"), ("m", 3, 3.25, "cat")], way="--columns rate=16000", noted=True),
    Stranger("a spreadsheet's day fractions", {"x.csv": table(
        "file,start,end,label", "a.wav,0.0000115741,0.0000347222,dog", "a.wav,0.000694444,0.000706019,cat")},
        [("a.wav", 1.000002, 2.999998, "dog"), ("a.wav", 59.999962, 61.000042, "cat")], way="--columns rate=1/86400",
        noted=True),
    Stranger("frames under plain names, told", {"f.csv": table("video,start,end,action", "v1,0,50,cut", "v1,75,100,pour")},
        [("v1", 0, 2, "cut"), ("v1", 3, 4, "pour")], also="--columns rate=25"),
    Stranger("minutes by their name", {"f.csv": table("file,start_min,end_min,label", "a,1,2,x", "a,3,3.5,x")},
        [("a", 60, 120, "x"), ("a", 180, 210, "x")]),
]  # fmt: skip
BARE = [
    Stranger("start,end by commas", {"dog/a.txt": table("1.0,2.5", "4.0,5.0")},
        [("a", 1, 2.5, "dog"), ("a", 4, 5, "dog")]),
    Stranger("start and end by tabs", {"dog/a.tsv": table("1.0\t2.5", "4.0\t5.0")},
        [("a", 1, 2.5, "dog"), ("a", 4, 5, "dog")]),
    Stranger("start,end,label by commas", {"a.csv": table("1.0,2.5,dog", "4.0,5.0,cat")},
        [("a", 1, 2.5, "dog"), ("a", 4, 5, "cat")]),
    Stranger("SALAMI: the next start ends", {"s.txt": table("0.0\tSilence", "0.5\tIntro", "27.5\tVerse", "40\tEnd")},
        [("s", 0, 0.5, "Silence"), ("s", 0.5, 27.5, "Intro"), ("s", 27.5, 40, "Verse")], way="--columns offset=@next"),
    Stranger("the same under names", {"s.csv": table("song,start,section", "x,0,intro", "x,10,verse", "x,30,end")},
        [("x", 0, 10, "intro"), ("x", 10, 30, "verse")], way="--columns offset=@next"),
]  # fmt: skip
CLIPS = [
    Stranger("ESC-50", {"esc50.csv": table(
        "filename,fold,target,category,esc10,src_file,take", "1-1-A-0.wav,1,0,dog,True,1,A", "1-2-A-1.wav,1,1,rain,False,2,A", "1-3-A-0.wav,1,0,dog,True,3,A")},
        [("1-1-A-0.wav", NAN, NAN, "dog", "", 1), ("1-2-A-1.wav", NAN, NAN, "rain", "", 1), ("1-3-A-0.wav", NAN, NAN, "dog", "", 1)], "answers"),
    Stranger("FSD50K", {"dev.csv": table(
        "fname,labels,mids,split", '64760,"Electric_guitar,Guitar","/m/02sgy,/m/0342h",train', "16399,Bark,/m/0b,val")},
        [("64760", NAN, NAN, "Electric_guitar", "", 1), ("64760", NAN, NAN, "Guitar", "", 1),
         ("16399", NAN, NAN, "Bark", "", 1)], "answers"),
    Stranger("HumBug's metadata", {"meta.csv": table(
        "id,length,name,sample_rate,record_datetime,sound_type,species",
        "220,0.5,r1.wav,8000,13-02-18 17:51,mosquito,an stephensi", "221,2.5,r2.wav,8000,13-02-18 17:52,background,")},
        [("r1.wav", 0, 0.5, "mosquito", "", 1), ("r2.wav", 0, 2.5, "background", "", 1)], "answers",
        also="--columns recording=name,label=sound_type,recording_length=length"),
    Stranger("a file and a class under any name", {"c.csv": table("wav,what_i_heard", "a.wav,owl", "b.wav,dog", "c.wav,owl")},
        [("a.wav", NAN, NAN, "owl", "", 1), ("b.wav", NAN, NAN, "dog", "", 1), ("c.wav", NAN, NAN, "owl", "", 1)], "answers",
        way="--columns label=what_i_heard"),
    Stranger("species of whole files", {"c.csv": table("recording_id,species", "r1,owl", "r2,dog", "r2,owl")},
        [("r1", NAN, NAN, "owl", "", 1), ("r2", NAN, NAN, "dog", "", 1), ("r2", NAN, NAN, "owl", "", 1)], "answers"),
    Stranger("whole files with their lengths", {"c.csv": table("file,duration,category", "a.wav,5,owl", "b.wav,5,dog")},
        [("a.wav", 0, 5, "owl", "", 1), ("b.wav", 0, 5, "dog", "", 1)], "answers"),
]  # fmt: skip
CLINICS = [
    Stranger("CHB-MIT's summary", {"chb01-summary.txt": CHB},
        [("chb01_03.edf", 2996, 3036, "seizure"), ("chb01_03.edf", 3100, 3150, "seizure"),
         ("chb01_04.edf", 1467, 1494, "seizure")], empty=("chb01_01.edf",), lengths={"chb01_01.edf": 3600, "chb01_03.edf": 3600}),
    Stranger("Siena's list", {"Seizures-list-PN00.txt": SIENA},
        [("PN00-1.edf", 1143, 1213, "seizure"), ("PN00-2.edf", 180, 210, "seizure")], lengths={"PN00-1.edf": 2605}),
    Stranger("an open end, skipped", {"o.csv": table(
        "file,onset,offset,label", "a,10,20,sz", "a,50,None,sz", "b,5,n/a,sz")},
        [("a", 10, 20, "sz")], way="--on-error skip"),
    Stranger("an open end lasts to the recording's", {"o.csv": table(
        "file,onset,offset,label,file_duration", "a,10,20,sz,60", "a,50,,sz,60", "b,5,n/a,sz,30")},
        [("a", 10, 20, "sz"), ("a", 50, 60, "sz"), ("b", 5, 30, "sz")], way="--open-end recording"),
    Stranger("one open end of many files", {"x.tsv": table("onset\tduration\teventType", "1\t2\tsz", "5\tn/a\tsz"),
                                           "y.tsv": table("onset\tduration\teventType", "1\t3\tsz")},
        [("x", 1, 3, "sz"), ("y", 1, 4, "sz")], way="--on-error skip"),
    Stranger("a negative onset is clipped at 0", {"n.csv": table("file,onset,offset,label", "a,-0.5,2,x", "a,3,4,x")},
        [("a", 0, 2, "x"), ("a", 3, 4, "x")], way="--on-error clip"),
]  # fmt: skip
BORIS = table(
    "Observation id,Media file,Total length,FPS,Subject,Behavior,Behavioral category,Comment,Status,Time",
    "o1,a.mp4,60,25,s,groom,,,START,1", "o1,a.mp4,60,25,s,groom,,,STOP,3", "o1,a.mp4,60,25,s,groom,,,START,10",
)  # fmt: skip
DOCUMENTS = [
    Stranger("JAMS of one title are two recordings", {
        "one.jams": jams("Untitled", ("segment_open", "", [(0, 1, "dog")])),
        "two.jams": jams("Untitled", ("segment_open", "", [(2, 1, "dog")]))},
        [("one", 0, 1, "dog"), ("two", 2, 3, "dog")]),
    Stranger("JAMS of several namespaces", {"s.jams": jams("s", ("chord", "", [(0, 2, "C:maj")]), ("segment_open", "", [(0, 9, "verse")]))},
        [("s", 0, 9, "verse")], way="--where namespace=segment_open"),
    Stranger("a point of another namespace does not matter", {"s.jams": jams("s", ("beat", "", [(1, 0, 1)]), ("segment_open", "", [(0, 9, "verse")]))},
        [("s", 0, 9, "verse")], way="--where namespace=segment_open"),
    Stranger("JAMS under its title, told", {"s.jams": jams("My song", ("segment_open", "", [(0, 9, "verse")]))},
        [("My song", 0, 9, "verse")], also="--columns recording=title"),
    Stranger("tiers of a TextGrid", {"g.TextGrid": textgrid(("words", [(0, 2, "one"), (2, 4, "two")]), ("phones", [(0, 1, "w"), (1, 4, "ah")]))},
        [("g", 0, 2, "one"), ("g", 2, 4, "two")], way="--tier words"),
    Stranger("BORIS: a START without a STOP", {"b.csv": BORIS}, [("o1", 1, 3, "groom")], way="--on-error skip"),
    Stranger("BORIS: the same, open to the end", {"b.csv": BORIS}, [("o1", 1, 3, "groom"), ("o1", 10, 60, "groom")],
        way="--open-end recording"),
    Stranger("Raven's channels are not joined unsaid", {"r.Table.1.selections.txt": table(
        "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tSpecies",
        "1\tSpectrogram 1\t1\t1.0\t3.0\t100\t900\towl", "2\tSpectrogram 1\t2\t2.0\t4.0\t100\t900\towl")},
        [("r", 1, 3, "owl")], way="--where channel=1", noted=True),
]  # fmt: skip
ROWS = [["file", "start", "end", "label"], ["a.wav", 1, 2.5, "dog"], ["b.wav", 0, 1, "cat"]]
PLAIN = [("a.wav", 1, 2.5, "dog"), ("b.wav", 0, 1, "cat")]
CSV = table(*(",".join(map(str, row)) for row in ROWS))
APLOSE = table(
    "dataset,filename,start_time,end_time,start_frequency,end_frequency,annotation,annotator,start_datetime,end_datetime,is_box",
    "d,a.wav,0,10,0,100,whale,kim,,,0", "d,a.wav,1,2,10,90,whale,kim,,,1", "d,a.wav,1.5,2.5,10,90,whale,lee,,,1",
)  # fmt: skip
OFFICE = [
    Stranger("gzip", {"a.csv.gz": gzip.compress(CSV.encode())}, PLAIN),
    Stranger("a zip of one table", {"a.zip": zipped({"a.csv": CSV})}, PLAIN),
    Stranger("xlsx of one sheet", {"a.xlsx": as_xlsx(("Sheet1", ROWS))}, PLAIN),
    Stranger("xlsx of one table and notes", {"a.xlsx": as_xlsx(("notes", [["read me"]]), ("events", ROWS))}, PLAIN),
    Stranger("xlsx of two tables", {"a.xlsx": as_xlsx(("old", ROWS[:2]), ("new events", ROWS))}, PLAIN, way="--sheet 'new events'"),
    Stranger("a packed track", {"s.txt.gz": gzip.compress(b"0\t1\tdog\n")}, [("s", 0, 1, "dog")]),
    Stranger("ods", {"a.ods": as_ods(("Sheet1", ROWS))}, PLAIN),
    Stranger("US dates with an origin", {"d.csv": table(
        "file,start,end,label,recording_start", "a,05/13/2024 06:00:10,05/13/2024 06:00:12.5,dog,05/13/2024 06:00:00")},
        [("a", 10, 12.5, "dog")]),
    Stranger("APLOSE's weak half", {"r.csv": APLOSE}, [("a.wav", 0, 10, "whale", "kim", 1)], "answers",
        also="--where is_box=0"),
    Stranger("APLOSE's boxes of two people", {"r.csv": APLOSE}, [("a.wav", 1, 2, "whale")], way="--annotator kim", noted=True),
]  # fmt: skip
OPTIONS = [
    Stranger("the sentence's own words", {"c.csv": table("file,start,end,owl", "a.wav,0,3,1", "a.wav,3,6,0")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 3, 6, "owl", "", 0)], "answers", also="--columns answer=owl"),
    Stranger("the class that was given", {"c.csv": table("file,start,end", "a.wav,0,3", "a.wav,3,6.5")},
        [("a.wav", 0, 3, "sz"), ("a.wav", 3, 6.5, "sz")], also="--label sz"),
    Stranger("the recording is the file, everywhere", {"turn.rttm": table("SPEAKER m 1 0.0 1.0 <NA> <NA> ann <NA> <NA>")},
        [("turn", 0, 1, "ann")], also="--columns recording=@file"),
]  # fmt: skip
# Shapes that nobody here had seen when the readers were written.
LATER = [
    Stranger("ticks beside empty cells", {"t.csv": table("file,start,end,owl,fox", "a.wav,0,3,x,", "a.wav,3,6,,X")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 0, 3, "fox", "", 0), ("a.wav", 3, 6, "owl", "", 0),
         ("a.wav", 3, 6, "fox", "", 1)], "answers", way="--columns label=owl+fox"),
    Stranger("validated by somebody", {"b.csv": table(
        "clip,validated_by,is_correct", "0.9_3_SITE_20200101_050000_12.0s_15.0s.wav,jo,TRUE",
        "0.5_4_SITE_20200101_050000_15.0s_18.0s.wav,jo,FALSE")},
        [("SITE_20200101_050000", 12, 15, "event", "jo", 1), ("SITE_20200101_050000", 15, 18, "event", "jo", 0)], "answers"),
    Stranger("counts beside 0 and 1", {"c.csv": table("file,start,end,kim,lee", "a,0,3,2,0", "a,3,6,0,1")},
        [("a", 0, 3, "lee", "", 0), ("a", 3, 6, "lee", "", 1)], "answers", way="--columns answer=lee", noted=True),
    Stranger("a class and its presence", {"p.csv": table(
        "user_name,filename,gunshot_present,saw_presence", "kim,a.wav,1,0", "lee,b.wav,0,1")},
        [("a.wav", NAN, NAN, "gunshot", "kim", 1), ("a.wav", NAN, NAN, "saw", "kim", 0),
         ("b.wav", NAN, NAN, "gunshot", "lee", 0), ("b.wav", NAN, NAN, "saw", "lee", 1)], "answers"),
    Stranger("a data set's name is no class", {"f.csv": table(
        "itemid,datasetid,hasbird", "64486,ff1010,0", "2525,ff1010,1")},
        [("64486", NAN, NAN, "hasbird", "", 0), ("2525", NAN, NAN, "hasbird", "", 1)], "answers"),
    Stranger("two scorers' stages, no recording", {"h.csv": table(
        "epoch,stage_scorer1,stage_scorer2", "1,W,W", "2,N1,W")},
        [("h", 0, 30, "W"), ("h", 0, 30, "W"), ("h", 30, 60, "N1"), ("h", 30, 60, "W")], way="--columns length=30s"),
    Stranger("choices in a cell", {"l.csv": table(
        "file,start,end,labels", 'a.wav,0,1,"{""choices"":[""dog"",""cat""]}"', "a.wav,2,3,dog")},
        [("a.wav", 0, 1, "dog"), ("a.wav", 0, 1, "cat"), ("a.wav", 2, 3, "dog")]),
    Stranger("pauses and marks of silence", {"s.lab": table("0.0 1.0 #", "1.0 2.0 a", "2.0 3.0 sp")},
        [("s", 1, 2, "a")], way="--absent '#,sp'", noted=True),
    Stranger("times of day and names that tell the start", {"d.csv": table(
        "file,start_time,end_time,species", "SITE_20240513_060000.wav,06:00:10,06:00:12,owl")},
        [("SITE_20240513_060000.wav", 10, 12, "owl")], way="--columns origin=@name", noted=True),
    Stranger("first and last frames by spaces", {"f.txt": table("0 24 cut", "25 59 pour", "60 90 stir")},
        [("f", 0, 0.96, "cut"), ("f", 1, 2.36, "pour"), ("f", 2.4, 3.6, "stir")], way="--columns rate=25", noted=True),
    Stranger("a confidence behind the label", {"b.csv": table("1.0,2.0,dog,0.9", "3.0,4.0,cat,0.8")},
        [("b", 1, 2, "dog"), ("b", 3, 4, "cat")]),
    Stranger("TUH's events", {"t.tse": table("version = tse_v1.0.0", "", "0.0000 10.2500 bckg 1.0000", "10.2500 35.5000 fnsz 1.0000")},
        [("t", 10.25, 35.5, "fnsz")], way="--absent bckg", noted=True),
    Stranger("a label before its times", {"b.txt": table("dog 1.0 2.0", "cat 3.0 4.0")},
        [("b", 1, 2, "dog"), ("b", 3, 4, "cat")], way="--columns recording=@file", noted=True),
    Stranger("the same by tabs", {"b.txt": table("dog\t1.0\t2.0", "cat\t3.0\t4.0")},
        [("b", 1, 2, "dog"), ("b", 3, 4, "cat")], way="--columns recording=@file", noted=True),
    Stranger("starts and lengths without names", {"b.csv": table("a.wav,1.0,0.5,dog", "a.wav,3.0,0.2,cat")},
        [("a.wav", 1, 1.5, "dog"), ("a.wav", 3, 3.2, "cat")], way="--columns length=offset"),
    Stranger("starts and ends of a seizure", {"c.csv": table(
        "patient_id,seizure_start,seizure_end,type", "p1,100,None,FS", "p1,300,360,FS", "p2,10,,GS")},
        [("p1", 300, 360, "FS")], way="--on-error skip", empty=("p2",)),
    Stranger("an end that is not yet", {"c.csv": table("file,start,end,label", "a,10,ongoing,sz", "a,50,60,sz")},
        [("a", 50, 60, "sz")], way="--on-error skip"),
    Stranger("channels of turns are not joined unsaid", {"c.rttm": table(
        "SPEAKER m 1 0.0 1.0 <NA> <NA> ann <NA> <NA>", "SPEAKER m 2 0.5 1.0 <NA> <NA> ann <NA> <NA>")},
        [("m", 0, 1, "ann")], way="--where channel=1", noted=True),
    Stranger("a person beside our own names", {"o.csv": table(
        "recording,onset,offset,label,bo", "a,0,3,owl,TRUE", "a,3,6,owl,FALSE")},
        [("a", 0, 3, "owl", "", 1), ("a", 3, 6, "owl", "", 0)], "answers", way="--columns answer=bo", noted=True),
    Stranger("an object in each line", {"r.jsonl": table(
        '{"file": "a.wav", "start": 1, "end": 2, "label": "dog"}', '{"file": "b.wav", "start": 3, "end": 4, "label": "cat"}')},
        [("a.wav", 1, 2, "dog"), ("b.wav", 3, 4, "cat")]),
    Stranger("a clip's words beside its class", {"e.csv": table(
        "file_name,transcript,emotion", "a.wav,hello there,happy", "b.wav,go away,sad", "c.wav,ok then,happy")},
        [("a.wav", NAN, NAN, "happy", "", 1), ("b.wav", NAN, NAN, "sad", "", 1), ("c.wav", NAN, NAN, "happy", "", 1)],
        "answers", way="--columns label=emotion"),
]  # fmt: skip
# Forms of volunteers, lists of clinics and exports of archives, met after all of the above.
LAST = [
    Stranger("a German table, decimal commas", {"g.csv": table("Datei;Beginn;Ende;Art", "a.wav;1,5;2,75;Amsel", "b.wav;0,25;3;Drossel")},
        [("a.wav", 1.5, 2.75, "Amsel"), ("b.wav", 0.25, 3, "Drossel")]),
    Stranger("regions of Sonic Visualiser", {"s.csv": table("TIME,VALUE,DURATION,LABEL", "1.5,0,0.5,call", "3.25,1,0.75,song")},
        [("s", 1.5, 2, "call"), ("s", 3.25, 4, "song")], way="--columns answer=@none", noted=True),
    Stranger("Arbimon's validations", {"v.csv": table("recording,species,songtype,val", "a.wav,Turdus,Song,1", "b.wav,Turdus,Song,0")},
        [("a.wav", NAN, NAN, "Turdus", "", 1), ("b.wav", NAN, NAN, "Turdus", "", 0)], "answers", way="--columns answer=val"),
    Stranger("t_min is no minute", {"tp.csv": table("recording_id,species_id,songtype_id,t_min,f_min,t_max,f_max", "003b,14,1,44.5,2531,45,5531", "006a,23,1,39,7235,46,9283")},
        [("003b", 44.5, 45, "14"), ("006a", 39, 46, "23")]),
    Stranger("the species under a longer name", {"p.csv": table("Filename,Start Time (s),End Time (s),Species eBird Code", "a.flac,1,2.5,amerob", "a.flac,4,5,????")},
        [("a.flac", 1, 2.5, "amerob"), ("a.flac", 4, 5, "????")]),
    Stranger("onset and offset of a seizure", {"z.csv": table("Patient,Recording,Seizure onset,Seizure offset,Type", "P1,r1.edf,00:12:30,00:13:45,FIAS", "P1,r2.edf,01:02:03,01:02:33,FBTC")},
        [("r1.edf", 750, 825, "FIAS"), ("r2.edf", 3723, 3753, "FBTC")]),
    Stranger("calls that were accepted", {"d.csv": table("ID,Label,Accepted,Score,Begin Time (s),End Time (s)", "1,USV,1,0.8,0.5,0.55", "2,USV,0,0.3,1.5,1.58", "3,USV,1,0.9,2.5,2.6")},
        [("d", 0.5, 0.55, "USV", "", 1), ("d", 1.5, 1.58, "USV", "", 0), ("d", 2.5, 2.6, "USV", "", 1)], "answers", way="--columns answer=Accepted"),
    Stranger("a row of totals", {"t.csv": table("file,start,end,species", "a.wav,1,2,owl", "b.wav,1,4,owl", "Total,,,2")},
        [("a.wav", 1, 2, "owl"), ("b.wav", 1, 4, "owl")], way="--on-error skip"),
    Stranger("counts of each minute", {"c.csv": table("recording,minute,species,count", "a.wav,0,owl,2", "a.wav,1,owl,0", "a.wav,2,owl,1")},
        [("a.wav", 0, 60, "owl", "", 1), ("a.wav", 60, 120, "owl", "", 0), ("a.wav", 120, 180, "owl", "", 1)], "answers",
        also="--columns length=60s,answer=count"),
    Stranger("the minutes in which it called", {"c.csv": table("recording,minute,species", "a.wav,0,owl", "a.wav,2,owl")},
        [("a.wav", 0, 60, "owl", "", 1), ("a.wav", 120, 180, "owl", "", 1)], "answers", way="--columns length=60s"),
    Stranger("the minute and the second", {"c.csv": table("recording,minute,second,species", "a.wav,0,30,owl", "a.wav,2,10,owl")},
        [("a.wav", 30, 31, "owl", "", 1), ("a.wav", 130, 131, "owl", "", 1)], "answers",
        way="--columns onset=minute+second,length=1s", noted=True),
    Stranger("counts are asked about", {"c.csv": table("recording,species,count", "a.wav,owl,2", "b.wav,owl,0", "c.wav,owl,1")},
        [("a.wav", NAN, NAN, "owl", "", 1), ("b.wav", NAN, NAN, "owl", "", 0), ("c.wav", NAN, NAN, "owl", "", 1)], "answers",
        way="--columns answer=count", noted=True),
    Stranger("how loud, from 0 to 3", {"i.csv": table("file,start,end,owl", "a.wav,0,60,0", "a.wav,60,120,3", "a.wav,120,180,1")},
        [("a.wav", 0, 60, "owl", "", 0), ("a.wav", 60, 120, "owl", "", 1), ("a.wav", 120, 180, "owl", "", 1)], "answers",
        way="--columns answer=owl", noted=True),
    Stranger("shares of the time", {"r.csv": table("file,start,end,rain", "a.wav,0,60,0.25", "a.wav,60,120,0")},
        [("a.wav", 0, 60, "rain", "", 1), ("a.wav", 60, 120, "rain", "", 0)], "answers", way="--columns answer=rain", noted=True),
    Stranger("minutes and seconds apart", {"m.csv": table("file,start_min,start_sec,end_min,end_sec,label", "a.wav,0,30,1,5,dog", "a.wav,2,10,2,40,dog")},
        [("a.wav", 30, 65, "dog"), ("a.wav", 130, 160, "dog")], way="--columns onset=start_min+start_sec,offset=end_min+end_sec"),
    Stranger("one time in two units", {"m.csv": table("file,start_min,start_s,end_s,label", "a.wav,0.5,30,45,dog", "a.wav,2,120,160,dog")},
        [("a.wav", 30, 45, "dog"), ("a.wav", 120, 160, "dog")]),
    Stranger("minutes and seconds of a start", {"m.csv": table("file,min,sec,duration,label", "a.wav,0,30,5,dog", "a.wav,2,10,6,dog")},
        [("a.wav", 30, 35, "dog"), ("a.wav", 130, 136, "dog")], way="--columns onset=min+sec"),
    Stranger("the words of two people", {"w.csv": table("file,start,end,species_ann,species_bob", "a.wav,0,3,owl,owl", "a.wav,4,9,fox,owl")},
        [("a.wav", 0, 3, "owl"), ("a.wav", 0, 3, "owl"), ("a.wav", 4, 9, "fox"), ("a.wav", 4, 9, "owl")],
        way="--columns annotator=species_ann+species_bob"),
    Stranger("up to three species of a clip", {"f.csv": table("file,start,end,Species 1,Species 2,Species 3", "a.wav,0,10,owl,fox,", "a.wav,10,20,owl,,")},
        [("a.wav", 0, 10, "owl"), ("a.wav", 0, 10, "fox"), ("a.wav", 10, 20, "owl")],
        way="--columns 'label=Species 1+Species 2+Species 3'"),
    Stranger("BirdNET's detections, validated", {"b.csv": table("Start (s),End (s),Scientific name,Common name,Confidence,File,Correct", "0,3,Strix aluco,Tawny Owl,0.9,a.wav,1", "3,6,Strix aluco,Tawny Owl,0.4,a.wav,0")},
        [("a.wav", 0, 3, "Tawny Owl", "", 1), ("a.wav", 3, 6, "Tawny Owl", "", 0)], "answers", way="--columns answer=Correct", noted=True),
    Stranger("a Raven table, validated", {"r.selections.txt": "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tBegin File\tSpecies\tValid\n1\tSpectrogram 1\t1\t0\t3\ta.wav\towl\tyes\n2\tSpectrogram 1\t1\t4\t9\ta.wav\towl\tno\n"},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 4, 9, "owl", "", 0)], "answers", way="--columns answer=Valid"),
    Stranger("1 and -1", {"pm.csv": table("file,start,end,label,target", "a.wav,0,3,owl,1", "a.wav,3,6,owl,-1")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 3, 6, "owl", "", 0)], "answers"),
    Stranger("-1 beside 0 and 1 was not asked", {"pm.csv": table("file,start,end,owl", "a.wav,0,3,1", "a.wav,3,6,-1", "a.wav,6,9,0")},
        [("a.wav", 0, 3, "owl", "", 1), ("a.wav", 6, 9, "owl", "", 0)], "answers"),
    Stranger("dates under another name", {"u.csv": table("UTC,Duration (s),Species,File", "2020-05-01 06:00:10,2,dolphin,P_20200501_060000.wav")},
        [("P_20200501_060000.wav", 10, 12, "dolphin")], way="--columns onset=UTC", noted=True),
    Stranger("dates of clips without a length", {"u.csv": table("UTC,Species,File", "2020-05-01 06:00:10,dolphin,P_20200501_060000.wav", "2020-05-01 06:00:20,seal,P_20200501_060000.wav")},
        [("P_20200501_060000.wav", 10, 11, "dolphin", "", 1), ("P_20200501_060000.wav", 20, 21, "seal", "", 1)], "answers", way="--columns onset=UTC,length=1s", noted=True),
    Stranger("offsets into the file, all as long", {"k.csv": table("filename,offset,label", "a.wav,0,owl", "a.wav,5,fox", "b.wav,10,owl")},
        [("a.wav", 0, 5, "owl", "", 1), ("a.wav", 5, 10, "fox", "", 1), ("b.wav", 10, 15, "owl", "", 1)], "answers",
        way="--columns onset=offset,length=5s", noted=True),
    Stranger("the time of day of whole recordings", {"x.csv": table("file,species,length,time", "XC1.mp3,Strix aluco,0:42,06:30", "XC2.mp3,Turdus merula,1:05,22:15")},
        [("XC1.mp3", 0, 42, "Strix aluco"), ("XC2.mp3", 0, 65, "Turdus merula")], way="--columns onset=@none", noted=True,
        lengths={"XC1.mp3": 42}),
    Stranger("mm:ss in the names", {"m.csv": table("Recording,Species,Start (mm:ss),End (mm:ss)", "a.wav,owl,0:12,0:15", "a.wav,owl,1:02,1:10")},
        [("a.wav", 12, 15, "owl"), ("a.wav", 62, 70, "owl")]),
    Stranger("a bat's milliseconds", {"b.csv": table("File;Spec;Begin [ms];End [ms]", "a.wav;Ppip;120;125,5", "a.wav;Ppip;220;226")},
        [("a.wav", 0.12, 0.1255, "Ppip"), ("a.wav", 0.22, 0.226, "Ppip")]),
    Stranger("probabilities are no events unsaid", {"p.csv": table("file,start,end,owl", "a.wav,0,3,0.91", "a.wav,3,6,0.05")},
        [("a.wav", 0, 3, "event"), ("a.wav", 3, 6, "event")], way="--columns answer=@none", noted=True),
]  # fmt: skip
VIA = "# Exported using VGG Image Annotator (http://www.robots.ox.ac.uk/~vgg/software/via)"
NOLDUS = (
    "Date_dmy,Time_Relative_hms,Time_Relative_sf,Duration_sf,Observation,Event_Log,Behavior,Subject,Event_Type,Comment"
)
ARBIMON = (
    "id,recording,site,year,month,day,hour,minute,species,songtype,x1,x2,y1,y2,frequency,validated,url,score,site_id"
)
TOOLS = [
    Stranger("VIA's segments in two columns", {"via.csv": table(VIA, "# CSV_HEADER = metadata_id,file_list,temporal_segment_start,temporal_segment_end,metadata",
        '"1_a1b2c3d4","[""a.mp4""]",1.5,3.25,"{""TEMPORAL-SEGMENTS"":""wave""}"', '"2_b1b2c3d4","[""b.mp4""]",10,12,"{""TEMPORAL-SEGMENTS"":""walk""}"')},
        [("a.mp4", 1.5, 3.25, "wave"), ("b.mp4", 10, 12, "walk")]),
    Stranger("VIA's segments in one cell, with options by number", {"via.csv": table(VIA, '# SHAPE_ID = {"POINT":1,"RECTANGLE":2}',
        '# ATTRIBUTE = {"1":{"aname":"Activity","type":4,"options":{"0":"wave","1":"walk"},"default_option_id":""}}', "# CSV_HEADER = metadata_id,file_list,flags,temporal_coordinates,spatial_coordinates,metadata",
        '"1_a1b2c3d4","[""a.mp4""]",0,"[1.5,3.25]","[]","{""1"":""0""}"', '"1_b1b2c3d4","[""a.mp4""]",0,"[10,12]","[]","{""1"":""1""}"')},
        [("a.mp4", 1.5, 3.25, "wave"), ("a.mp4", 10, 12, "walk")]),
    Stranger("VIA's segments with two attributes", {"via.csv": table(VIA, '# ATTRIBUTES = {"1":"Activity","2":"Actor"}', "# CSV_HEADER = metadata_id,file_list,flags,temporal_coordinates,spatial_coordinates,metadata",
        '"1_a1b2c3d4","[""a.mp4""]",0,"[1.5,3.25]","[]","{""1"":""wave"",""2"":""anna""}"', '"1_b1b2c3d4","[""a.mp4""]",0,"[10,12]","[]","{""1"":""walk"",""2"":""ben""}"')},
        [("a.mp4", 1.5, 3.25, "wave"), ("a.mp4", 10, 12, "walk")], way="--columns label=Activity"),
    Stranger("Noldus Observer's event log", {"n.csv": table(NOLDUS, "03-05-2021,00:00:00,0.00,12.50,cow1,Event log0001,walking,cow,State start,", "03-05-2021,00:00:12,12.50,0.00,cow1,Event log0001,walking,cow,State stop,",
        "03-05-2021,00:00:12,12.50,7.50,cow1,Event log0001,lying,cow,State start,", "03-05-2021,00:00:20,20.00,0.00,cow1,Event log0001,lying,cow,State stop,")},
        [("cow1", 0, 12.5, "walking"), ("cow1", 12.5, 20, "lying")]),
    Stranger("Noldus Observer's points", {"n.csv": table(NOLDUS, "03-05-2021,00:00:10,10.00,0.00,cow1,Event log0001,cough,cow,Point,", "03-05-2021,00:00:20,20.00,0.00,cow1,Event log0001,cough,cow,Point,")},
        [("cow1", 9.9, 10.1, "cough"), ("cow1", 19.9, 20.1, "cough")], way="--point-length 0.2", noted=True),
    Stranger("Arbimon's matches, validated", {"pm.csv": table(ARBIMON, "1,A_20240319_135700.WAV,Bio_3,2024,3,19,13,57,Amazona albifrons,Simple Call,9.696,11.0293,1031.25,23062.5,24000,not present,https://x/1,0.21,5",
        "2,A_20240319_135700.WAV,Bio_3,2024,3,19,13,57,Amazona albifrons,Simple Call,1.5,2.75,1031.25,23062.5,24000,present,https://x/1,0.31,5", "3,B_20240319_135700.WAV,Bio_3,2024,3,19,13,57,Amazona albifrons,Simple Call,4,5,1031.25,23062.5,24000,(not validated),https://x/1,0.2,5")},
        [("A_20240319_135700.WAV", 9.696, 11.0293, "Amazona albifrons", "", 0), ("A_20240319_135700.WAV", 1.5, 2.75, "Amazona albifrons", "", 1)], "answers"),
    Stranger("Arbimon's matches that nobody has looked at", {"pm.csv": table(ARBIMON, "1,A.WAV,Bio_3,2024,3,19,13,57,Amazona albifrons,Simple Call,9.5,11,1031.25,23062.5,24000,(not validated),https://x/1,0.21,5")},
        [("A.WAV", 9.5, 11, "Amazona albifrons")]),
    Stranger("BirdCLEF's windows, named by their ends", {"train_soundscape_labels.csv": table("row_id,site,audio_id,seconds,birds", "7019_COR_5,COR,7019,5,nocall", "7019_COR_10,COR,7019,10,obnthr1 rucwar", "28933_SSW_5,SSW,28933,5,nocall")},
        [("7019", 5, 10, "obnthr1", "", 1), ("7019", 5, 10, "rucwar", "", 1)], "answers", empty=("28933",)),
    Stranger("windows of the same length, named by their ends", {"w.csv": table("file,t_end,label", "a.wav,5,owl", "a.wav,15,fox")},
        [("a.wav", 0, 5, "owl"), ("a.wav", 10, 15, "fox")], also="--columns offset=t_end,length=5s"),
    Stranger("a start and an end in one cell", {"r.csv": table("file,time,species", "a.wav,0:05-0:10,owl", "a.wav,1:02 - 1:05,fox")},
        [("a.wav", 5, 10, "owl"), ("a.wav", 62, 65, "fox")]),
    Stranger("a start and an end in one cell under another name", {"r.csv": table("file,segment,label", "a.wav,5-10,owl", "a.wav,62.5 to 65,fox")},
        [("a.wav", 5, 10, "owl"), ("a.wav", 62.5, 65, "fox")]),
    Stranger("years are no starts and ends", {"y.csv": table("filename,period,category", "a.wav,2019-2020,dog", "b.wav,2020-2021,cat")},
        [("a.wav", NAN, NAN, "dog", "", 1), ("b.wav", NAN, NAN, "cat", "", 1)], "answers"),
    Stranger("how many birds", {"n.csv": table("file,start,end,birds", "a.wav,0,3,2", "a.wav,3,6,0", "a.wav,6,9,1")},
        [("a.wav", 0, 3, "birds", "", 1), ("a.wav", 3, 6, "birds", "", 0), ("a.wav", 6, 9, "birds", "", 1)], "answers", way="--columns answer=birds", noted=True),
    Stranger("a title above the names", {"t.csv": table("Owl survey 2023,,,", "filename,onset,offset,label", "a.wav,1,2.5,owl", "b.wav,3,4,owl")},
        [("a.wav", 1, 2.5, "owl"), ("b.wav", 3, 4, "owl")]),
    Stranger("sounds in folders", {"list.txt": table("dog/a.wav", "dog/b.wav", "data/cat/c.wav")},
        [("dog/a.wav", NAN, NAN, "dog", "", 1), ("dog/b.wav", NAN, NAN, "dog", "", 1), ("data/cat/c.wav", NAN, NAN, "cat", "", 1)], "answers", way="--columns label=@folder"),
]  # fmt: skip
ZOO = [
    *VOLUNTEERS,
    *LABELS,
    *POINTS,
    *UNITS,
    *BARE,
    *CLIPS,
    *CLINICS,
    *DOCUMENTS,
    *OFFICE,
    *OPTIONS,
    *LATER,
    *LAST,
    *TOOLS,
]


def test_the_zoo_is_large():
    assert len({each.name for each in ZOO}) == len(ZOO) >= 60


@pytest.mark.parametrize("stranger", ZOO, ids=[each.name for each in ZOO])
def test_strangers_are_read_as_their_owners_mean(stranger, tmp_path):
    paths = stranger.write(tmp_path)
    ways = [stranger.way]
    if stranger.way and not stranger.noted:
        with pytest.raises(InvalidInput) as refused:
            taken(stranger, paths, stranger.also)
        said = str(refused.value)
    else:
        values, rows, said = taken(stranger, paths, stranger.also)
    if stranger.way:
        ways = printed(said)
        name = stranger.way.split()[0]
        shown = [way for way in ways if way.startswith(name)]
        assert stranger.way in ways or (name == "--point-length" and shown), said
    for way in [*(each for each in ways if each != stranger.way), stranger.way]:  # all that is printed runs
        values, rows, _ = taken(stranger, paths, f"{stranger.also} {way}".strip())
    assert same(values, meaning(stranger)), rows.reading
    assert set(stranger.empty) <= set(rows.silent)
    for name, length in stranger.lengths.items():
        assert rows.recordings["length"][name] == length


@pytest.mark.parametrize("stranger", ZOO, ids=[each.name for each in ZOO])
def test_check_accounts_for_every_row(stranger, tmp_path):
    paths = stranger.write(tmp_path)
    arguments = options(f"{stranger.also} {stranger.way}".strip())
    arguments.pop("on_error", None)
    result = check(paths, **arguments)
    account = result.account
    assert account["rows"] == sum(account[name] for name in ("events", "empty", "skipped", "merged"))
    assert not [item for item in result.findings if item.kind == "unreadable"]


def test_an_id_is_no_answer(tmp_path):
    path = tmp_path / "via.csv"
    path.write_text("filename,region_count,region_id,shape\na.wav,1,0,box\n")
    with pytest.raises(InvalidInput, match="none is known to name labels of whole recordings; 'shape' could"):
        read_answers(path)


def test_what_ends_before_0_cannot_be_cut(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("file,onset,duration,label\na,-3,1,x\na,3,1,x\n")
    with pytest.raises(InvalidInput, match=r"ends before 0: onset -3, offset -2; on_error='skip'"):
        read(path, on_error="clip")


def test_tables_under_random_names_are_never_misread_silently(tmp_path):
    """A small part of ``python benchmarks/strange_tables.py``, which makes 5,000."""
    from benchmarks.strange_tables import made, outcome

    chance, found = random.Random(5), Counter()
    for _ in range(150):
        text, door, means, known, shape = made(chance)
        found[known, shape, outcome(tmp_path / "table.csv", text, door, means)] += 1
    assert not [key for key in found if key[2] == "silent"]
    right = {shape for known, shape, how in found if known and how == "right"}
    assert right >= {"events", "long", "class columns", "one class", "numbered raters"}
