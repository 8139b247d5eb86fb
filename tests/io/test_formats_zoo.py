# ruff: noqa: E501
"""Other people's shapes: what each is taken as, said in its sentence; and what cannot be taken as anything, refused.

The files in ``data/zoo`` are ours, made after real ones of many authors.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weakly import AssumptionWarning, InvalidInput
from weakly.io import FORMATS, check, detect, read, read_answers
from weakly.io.lint import FINDINGS
from weakly.io.source import Source
from weakly.studies.evaluate.evaluator import evaluate

DATA = Path(__file__).parent / "data"
pytestmark = pytest.mark.filterwarnings("ignore::weakly.base.errors.AssumptionWarning")

#: file: format, sentence, rows (of answers with present and annotator), recordings with lengths, the sum of the rows
# fmt: off
ZOO = {
    'epic.csv': (
        'csv',
        'recording = video_id (2), label = verb (2), time = start_timestamp to stop_timestamp in hh:mm:ss; not used: narration_id, narration, noun',
        [('P01_01', 0.14, 3.37, 'open'), ('P01_01', 4.37, 6.17, 'turn-on'), ('P01_02', 1.0, 62.5, 'open')],
        {'P01_01': None, 'P01_02': None},
        (3, 3, 0, 0, 0),
    ),
    'videos.csv': (
        'csv',
        'recording = video_id (2), label = class (2), time = t_start to t_end in seconds',
        [('v1', 0.5, 2.0, 'cut'), ('v1', 3.0, 4.0, 'pour'), ('v2', 1.0, 2.0, 'cut')],
        {'v1': None, 'v2': None},
        (3, 3, 0, 0, 0),
    ),
    'subjects.csv': (
        'csv',
        'recording = subject (2), label = behaviour (2), time = onset + duration in seconds; not used: session',
        [('s1', 1.0, 3.0, 'groom'), ('s1', 5.0, 6.0, 'rear'), ('s2', 0.5, 1.5, 'groom')],
        {'s1': None, 's2': None},
        (3, 3, 0, 0, 0),
    ),
    'rownumber.csv': (
        'csv',
        'recording = file (2), label = label (2), time = start to end in seconds',
        [('a.wav', 0.0, 1.0, 'x'), ('a.wav', 2.0, 3.0, 'y'), ('b.wav', 0.0, 1.0, 'x')],
        {'a.wav': None, 'b.wav': None},
        (3, 3, 0, 0, 0),
    ),
    'paths.csv': (
        'csv',
        'recording = path (2), label = species (1), time = begin to finish in seconds',
        [('site1/a.wav', 1.0, 2.0, 'owl'), ('site2/a.wav', 0.5, 1.0, 'owl')],
        {'site1/a.wav': None, 'site2/a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'german.csv': (
        'csv',
        'recording = Datei (2), label = Art (2), time = Anfang to Ende in seconds',
        [('a.wav', 1.5, 2.25, 'Amsel'), ('b.wav', 0.0, 1.0, 'Meise')],
        {'a.wav': None, 'b.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'french.csv': (
        'csv',
        'recording = fichier (1), label = espèce (1), time = début to fin in seconds, annotator = annotateur (2)',
        [('a.wav', 1.0, 2.0, 'merle'), ('a.wav', 3.0, 4.0, 'merle')],
        {'a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'ms.csv': (
        'csv',
        'recording = file_name (2), label = call_type (2), time = start_ms + duration_ms in ms',
        [('a.wav', 1.5, 1.75, 'trill'), ('b.wav', 0.0, 1.0, 'buzz')],
        {'a.wav': None, 'b.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'clock.csv': (
        'csv',
        'recording = recording_id (1), label = event (1), time = start to end in hh:mm:ss',
        [('r1', 1.5, 3.0, 'bark'), ('r1', 3600.0, 3602.25, 'bark')],
        {'r1': None},
        (2, 2, 0, 0, 0),
    ),
    'samples.csv': (
        'csv',
        'recording = wav_file (2), label = label (2), time = start_sample to end_sample in sample',
        [('a.wav', 1.0, 1.5, 'x'), ('b.wav', 0.0, 1.0, 'y')],
        {'a.wav': None, 'b.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'dates.csv': (
        'csv',
        'recording = file (2), label = label (2), time = start_datetime to end_datetime in dates',
        [('a.wav', 10.0, 12.5, 'robin'), ('b.wav', 0.5, 1.0, 'wren')],
        {'a.wav': None, 'b.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'audiomoth.csv': (
        'csv',
        'recording = filename (2), label = species (2), time = start_datetime to end_datetime in dates',
        [('20240501_060000.WAV', 10.0, 12.0, 'robin'), ('S4A_20240501_070000.wav', 1.0, 2.0, 'wren')],
        {'20240501_060000.WAV': None, 'S4A_20240501_070000.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'sub-01_task-rest_events.tsv': (
        'bids',
        "recording = the file's name (1), label = trial_type (2), time = onset + duration in seconds",
        [('sub-01_task-rest', 1.2, 1.8, 'go'), ('sub-01_task-rest', 5.6, 6.2, 'stop')],
        {'sub-01_task-rest': None},
        (2, 2, 0, 0, 0),
    ),
    'sub-02_run-1_eeg_events.tsv': (
        'szcore',
        "recording = the file's name (1), label = eventType (1), time = onset + duration in seconds, recording_length = recordingDuration",
        [('sub-02_run-1_eeg', 296.0, 336.0, 'sz_foc_ia')],
        {'sub-02_run-1_eeg': 3600.0},
        (1, 1, 0, 0, 0),
    ),
    'sub-03_events.tsv': (
        'szcore',
        "recording = the file's name (1), label = eventType (0), time = onset + duration in seconds, recording_length = recordingDuration",
        [],
        {'sub-03': 3600.0},
        (1, 0, 1, 0, 0),
    ),
    'activity.json': (
        'activitynet',
        "recording = the videos' names (2), label = label (1), time = segment in seconds, recording_length = duration (2)",
        [('v_a', 6.2, 77.3, 'Drinking coffee')],
        {'v_a': 82.73, 'v_b': 30.5},
        (1, 1, 0, 0, 0),
    ),
    'captions.json': (
        'activitynet',
        "recording = the videos' names (1), label = label (2), time = segment in seconds, recording_length = duration (1)",
        [('v_a', 0.8, 19.8, 'A man sits.'), ('v_a', 17.3, 60.8, 'He stands.')],
        {'v_a': 82.7},
        (2, 2, 0, 0, 0),
    ),
    'multithumos.json': (
        'activitynet',
        "recording = the videos' names (1), label = label (2), time = segment in seconds, recording_length = duration (1)",
        [('video_validation_1', 1.5, 3.0, '12'), ('video_validation_1', 1.0, 2.0, '3')],
        {'video_validation_1': 50.0},
        (2, 2, 0, 0, 0),
    ),
    'detections.json': (
        'activitynet',
        "recording = the videos' names (1), label = label (1), time = segment in seconds, recording_length = duration (0)",
        [('video_test_4', 1.0, 2.5, 'Diving')],
        {'video_test_4': None},
        (1, 1, 0, 0, 0),
    ),
    'aoef.json': (
        'aoef',
        'recording = path (3), label = the first tag (1), recording_length = duration',
        [('a.wav', 0.5, 0.75, 'Myotis myotis'), ('a.wav', 2.0, 3.0, 'Myotis myotis')],
        {'a.wav': 5.0, 'b.wav': 4.0, 'c.wav': 3.0},
        (2, 2, 0, 0, 0),
    ),
    'sleep-annot.txt': (
        'mne',
        "recording = the file's name (1), label = description (2), time = onset + duration in seconds",
        [('sleep', 0.5, 30.5, 'Sleep stage W'), ('sleep', 30.5, 60.5, 'Sleep stage 1')],
        {'sleep': None},
        (2, 2, 0, 0, 0),
    ),
    'meg-annot.csv': (
        'mne-csv',
        "recording = the file's name (1), label = description (2), time = onset + duration in dates",
        [('meg', 0.0, 1.0, 'BAD'), ('meg', 9.0, 11.425, 'saccade')],
        {'meg': None},
        (2, 2, 0, 0, 0),
    ),
    'aplose.csv': (
        'aplose',
        'recording = filename (2), label = annotation (2), time = start_time to end_time in seconds, annotator = annotator (2)',
        [('2012_a.wav', 5.5, 7.0, 'Whistles')],
        {'2012_a.wav': 60.0, '2012_b.wav': 60.0},
        (3, 1, 0, 0, 2),
    ),
    'boris.csv': (
        'boris',
        'recording = Observation id (2), label = Behavior (2), time = Start (s) to Stop (s) in seconds, recording_length = Total length; not used: Media file, Subject',
        [('obs1', 1.5, 4.0, 'lick'), ('obs1', 0.5, 1.0, 'cry'), ('obs2', 2.0, 3.0, 'lick')],
        {'obs1': 600.0, 'obs2': 500.0},
        (3, 3, 0, 0, 0),
    ),
    'zooniverse.csv': (
        'zooniverse',
        'recording = subject_data (1), label = annotations (1), annotator = user_name',
        [('a.wav', None, None, 'Is there a bat?', 1.0, 'ann'), ('a.wav', None, None, 'Is there a bat?', 0.0, 'bob')],
        {'a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'a.uem': (
        'uem',
        "recording = the first word (2), label = 'examined' (1), stretches that were examined",
        [('rec1', 0.0, 100.5, 'examined'), ('rec2', 10.0, 20.0, 'examined')],
        {'rec1': None, 'rec2': None},
        (2, 2, 0, 0, 0),
    ),
    'speech.lab': (
        'lab',
        "recording = the file's name (1), label = the words (2), time in seconds",
        [('speech', 0.0, 0.5, 'sil'), ('speech', 0.5, 1.25, 'hello world')],
        {'speech': None},
        (2, 2, 0, 0, 0),
    ),
    'htk.lab': (
        'lab',
        "recording = the file's name (1), label = the words (2), time in units of 100 ns",
        [('htk', 0.0, 0.31, 'sil'), ('htk', 0.31, 0.75, 'ah')],
        {'htk': None},
        (2, 2, 0, 0, 0),
    ),
    'freq.txt': (
        'audacity',
        "recording = the file's name (1), label = the track's texts (2), time in seconds",
        [('freq', 0.5, 1.25, '7'), ('freq', 3.0, 4.0, '8')],
        {'freq': None},
        (2, 2, 0, 0, 0),
    ),
    'quoted.selections.txt': (
        'raven',
        "recording = the file's name (1), label = Species (1), time = Begin Time (s) to End Time (s) in seconds",
        [('quoted', 0.5, 1.5, 'EATO')],
        {'quoted': None},
        (1, 1, 0, 0, 0),
    ),
    'blank.selections.txt': (
        'raven',
        "recording = the file's name (1), label = Species (1), time = Begin Time (s) to End Time (s) in seconds",
        [('blank', 0.5, 1.5, 'EATO')],
        {'blank': None},
        (1, 1, 0, 0, 0),
    ),
    'spreadsheet.csv': (
        'dcase',
        'recording = filename (2), label = event_label (1), time = onset to offset in seconds',
        [('a.wav', 1.0, 2.0, 'dog')],
        {'a.wav': None, 'b.wav': None},
        (2, 1, 1, 0, 0),
    ),
    'fewshot_extra.csv': (
        'fewshot',
        'recording = Audiofilename (1), a column a label (1), time = Starttime to Endtime in seconds',
        [('a.wav', 0.5, 1.5, 'Q', 1.0, ''), ('a.wav', 2.0, 3.0, 'Q', 0.0, '')],
        {'a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'answers.csv': (
        'csv',
        'recording = recording (1), label = label (1), time = onset to offset in seconds, answer = answer, annotator = annotator (1)',
        [('a.wav', 0.0, 3.0, 'dog', 1.0, 'ann'), ('a.wav', 3.0, 6.0, 'dog', 0.0, 'ann'), ('a.wav', 6.0, 9.0, 'dog', None, 'ann')],
        {'a.wav': None},
        (4, 3, 0, 0, 1),
    ),
    'track.txt': (
        'audacity',
        "recording = the file's name (1), label = the track's texts (1), time in seconds, answers = the words beside the questions",
        [('track', 0.0, 3.0, 'dog', 1.0, ''), ('track', 3.0, 6.0, 'dog', 0.0, ''), ('track', 6.0, 9.0, 'dog', 0.0, '')],
        {'track': None},
        (4, 3, 0, 0, 1),
    ),
    'raven_answers.selections.txt': (
        'raven',
        'recording = Begin File (1), label = Label (1), time = Begin Time (s) to End Time (s) in seconds, answer = Answer',
        [('a.wav', 0.0, 3.0, 'dog', 1.0, ''), ('a.wav', 3.0, 6.0, 'dog', 0.0, '')],
        {'a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'minimal.json': (
        'labelstudio',
        "recording = the tasks' sound (1), label = choices (1), annotator = completed_by (1)",
        [('a.wav', 0.0, 3.0, 'dog', 1.0, '7')],
        {'a.wav': None},
        (1, 1, 0, 0, 0),
    ),
    'records.json': (
        'records',
        'recording = video_id (2), label = label (2), time = start to end in seconds',
        [('v1', 0.5, 2.0, 'cut'), ('v2', 1.0, 2.0, 'pour')],
        {'v1': None, 'v2': None},
        (2, 2, 0, 0, 0),
    ),
    'crowsetta.csv': (
        'csv',
        'recording = notated_path (2), label = label (2), time = onset_s to offset_s in seconds',
        [('0.wav', 0.5, 0.6, 'i'), ('1.wav', 0.7, 0.9, 'a')],
        {'0.wav': None, '1.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'birds.csv': (
        'csv',
        'recording = soundscape (2), label = primary_label (2), time = start_s to end_s in seconds; not used: row_id',
        [('ss1', 0.0, 5.0, 'amerob'), ('ss1', 5.0, 10.0, 'houspa'), ('ss2', 0.0, 5.0, 'amerob')],
        {'ss1': None, 'ss2': None},
        (3, 3, 0, 0, 0),
    ),
    'durationfile.csv': (
        'csv',
        'recording = filename (2), label = label (1), time = onset to offset in seconds, recording_length = duration',
        [('a.wav', 1.0, 2.0, 'x'), ('b.wav', 3.0, 4.0, 'x')],
        {'a.wav': 10.0, 'b.wav': 12.0},
        (2, 2, 0, 0, 0),
    ),
    'probability.csv': (
        'csv',
        'recording = audio (1), label = name (1), time = start (s) to end (s) in seconds',
        [('a.wav', 0.0, 3.0, 'owl'), ('a.wav', 3.0, 6.0, 'owl')],
        {'a.wav': None},
        (2, 2, 0, 0, 0),
    ),
    'boris_events.tsv': (
        'boris-events',
        'recording = Observation id above the table (1), label = Behavior (1), time = Time of START to STOP in seconds, recording_length = Total length',
        [('nest 7', 1.5, 4.0, 'lick'), ('nest 7', 2.25, 5.75, 'lick')],
        {'nest 7': 60.0},
        (5, 2, 0, 0, 3),
    ),
    'boris8.csv': (
        'boris-events',
        'recording = Observation id (2), label = Behavior (1), time = Time of START to STOP in seconds, recording_length = Media duration (s)',
        [('obs1', 1.5, 2.5, 'lick'), ('obs1', 2.0, 4.0, 'lick')],
        {'obs1': 30.0, 'obs2': 20.0},
        (5, 2, 0, 0, 3),
    ),
    'nest.boris': (
        'boris-project',
        'recording = observations (2), label = behaviors (1), time = from press to press',
        [('day 1', 1.5, 4.0, 'lick')],
        {'day 1': 60.0, 'day 2': None},
        (3, 1, 0, 0, 2),
    ),
    'thumos_val.json': (
        'activitynet',
        "recording = the videos' names (2), label = label (2), time = segment in seconds, recording_length = duration (2)",
        [('video_validation_1', 0.5, 1.5, 'Diving'), ('video_validation_1', 11.0, 12.25, 'Shotput')],
        {'video_validation_1': 33.5, 'video_validation_2': 20.0},
        (2, 2, 0, 0, 0),
    ),
    'withheld.json': (
        'activitynet',
        "recording = the videos' names (3), label = label (1), time = segment in seconds, recording_length = duration (3)",
        [('a', 1.0, 2.0, 'Kayaking')],
        {'a': 10.0, 'b': 12.0, 'c': 14.0},
        (1, 1, 0, 0, 0),
    ),
    'Diving_val.txt': (
        'thumos',
        "recording = the first word (2), label = the file's name (1), time in seconds",
        [('video_validation_0000266', 72.8, 76.4, 'Diving'), ('video_validation_0000681', 44.0, 50.9, 'Diving'), ('video_validation_0000681', 1.5, 5.4, 'Diving')],
        {'video_validation_0000266': None, 'video_validation_0000681': None},
        (3, 3, 0, 0, 0),
    ),
    'charades_sta_train.txt': (
        'thumos',
        'recording = the first word (2), label = the words behind ## (2), time in seconds',
        [('AO8RW', 0.0, 6.9, 'a person is putting a book on a shelf.'), ('Y6R7T', 20.8, 30.0, 'person begins to play on a phone.')],
        {'AO8RW': None, 'Y6R7T': None},
        (2, 2, 0, 0, 0),
    ),
    'bat.wav.json': (
        'activitynet',
        "recording = the videos' names (1), label = label (1), time = segment in seconds, recording_length = duration (1)",
        [('MYOMYS.wav', 0.0225, 0.028, 'Myotis mystacinus')],
        {'MYOMYS.wav': 0.5},
        (1, 1, 0, 0, 0),
    ),
    'model_run.json': (
        'aoef',
        'recording = path (3), label = the first tag (1), recording_length = duration',
        [('a.wav', 0.5, 1.5, 'owl')],
        {'a.wav': 5.0, 'b.wav': 4.0, 'c.wav': 4.0},
        (1, 1, 0, 0, 0),
    ),
    'P64_r10_events.tsv': (
        'szcore',
        "recording = the file's name (1), label = eventType (1), time = onset + duration in seconds, recording_length = recordingDuration",
        [('P64_r10', 36.5, 56.75, 'sz')],
        {'P64_r10': 3600.0},
        (1, 1, 0, 0, 0),
    ),
    'chords.lab': (
        'lab',
        "recording = the file's name (1), label = the words (2), time in seconds",
        [('chords', 0.0, 1.5, 'N'), ('chords', 1.5, 3.25, 'C:maj')],
        {'chords': None},
        (2, 2, 0, 0, 0),
    ),
    'warbler.csv': (
        'csv',
        'recording = sound.files (2), no column names a label, time = start to end in seconds; not used: sel.comment',
        [('Phae1.wav', 1.25, 1.5, 'event'), ('Phae1.wav', 2.5, 2.75, 'event'), ('Phae2.wav', 0.25, 0.5, 'event')],
        {'Phae1.wav': None, 'Phae2.wav': None},
        (3, 3, 0, 0, 0),
    ),
    'noted.txt': (
        'audacity',
        "recording = the file's name (1), label = the track's texts (1), time in seconds",
        [('noted', 24.5, 60.0, 'seizure'), ('noted', 70.0, 71.5, 'seizure')],
        {'noted': None},
        (2, 2, 0, 0, 0),
    ),
    'turns.csv': (
        'csv',
        'recording = meeting_id (2), label = speaker (2), time = start_time to end_time in seconds; not used: words',
        [('ES2002a', 1.5, 2.5, 'A'), ('ES2002a', 2.0, 3.0, 'B'), ('ES2002b', 0.25, 1.0, 'A')],
        {'ES2002a': None, 'ES2002b': None},
        (3, 3, 0, 0, 0),
    ),
}

#: file: text, refusal
HOPELESS = {
    'two_sessions.csv': ('subject,session,onset,offset,label\ns1,1,1,2,x\ns1,1,5,6,x\ns1,2,1,2,x\ns2,1,0.5,1,y\n', '--columns recording=subject+session, or --columns recording=subject'),
    'same_names.csv': ('patient,file,start,end,label\np1,run1.edf,1,2,x\np1,run1.edf,5,6,x\np2,run1.edf,1,2,x\n', '--columns recording=file+patient, or --columns recording=file'),
    'unknown_id.csv': ('nestbox_code,start,end,label\nn1,1,2,x\nn1,3,4,x\nn2,1,2,x\n', "'nestbox_code' (2 values) could: say recording=nestbox_code"),
    'block.csv': ('block,start,end,label\nalpha,1,2,x\nalpha,3,4,y\nbeta,1,2,x\n', '--columns recording=block), or recording=@file'),
    'two_ids.csv': ('box_id,cam_id,start,end,label\n1a,c1,1,2,x\n1a,c1,3,4,x\n2b,c2,1,2,x\n', "'box_id' (2 values), or 'cam_id' could"),
    'backwards.csv': ('onset,offset,label\n5,6,x\n1,2,x\n', 'the times go backwards, so there may be several'),
    'no_times.csv': ('index,mid,display_name\n0,/m/1,Speech\n', 'no columns with onsets and offsets, nor labels of whole recordings: index, mid'),
    'no_end.csv': ('file,start,label\na.wav,1,x\n', 'no column says where events end: --point-length 0.2'),
    'dates.csv': ('station,begin,end,label\nA,2024-05-01T06:00:10,2024-05-01T06:00:12,x\n', 'nothing says when the recordings began; name the column that does (--columns origin=NAME)'),
    'samples.csv': ('file,start_sample,end_sample,label\na.wav,16000,24000,x\n', 'counts samples or frames; say how many a second has: --columns rate=16000'),
    'frames.csv': ('video,start_frame,end_frame,action\nv1,10,50,cut\n', "'start_frame' counts samples or frames"),
    'mixed.tsv': ('filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\nb.wav,1,2,dog\n', 'line 3: is cut short, or has another separator'),
    'cut.tsv': ('filename\tonset\toffset\tevent_label\na.wav\t1\t2\tdog\nb.wav\n', 'line 3: is cut short'),
    'quote.csv': ('filename,onset,offset,event_label\na.wav,1,2,"dog\nb.wav,1,2,cat\nc.wav,1,2,cow\nd.wav,1,2,ox"\n', 'line 2: a quote opens here and closes 3 lines later, with whole rows inside'),
    'open_quote.csv': ('filename,onset,offset,event_label\na.wav,1,2,"dog\nb.wav,1,2,cat\n', 'line 3: a quote is not closed'),
    'classes.csv': ('file,start_time,end_time,dog,dog\na.wav,0,3,1,0\n', "two columns are called 'dog'"),
    'wide_word.csv': ('Audiofilename,Starttime,Endtime,Q\na.wav,0,1,POS\na.wav,2,3,perhaps\n', "line 3, column 'Q': '<perhaps>' cannot be read as an answer"),
    'answer.csv': ('file,onset,offset,answer\na.wav,0,3,yes\na.wav,3,6,blue\n', "line 3, column 'answer': 'blue' cannot be read as an answer"),
    'track.txt': ('0\t3\t0123456789ab dog? yes\n3\t6\t0123456789ac dog? hmm\n', "line 2, column 'label': '0123456789ac dog? hmm' holds no answer"),
    'few_sessions.csv': ('subject,session,onset,offset,label\ns1,a,1,2,x\ns1,b,5,6,x\ns2,a,1,2,x\n', '--columns recording=subject+session, or --columns recording=subject'),
    'three_ids.csv': ('subject,session,run,onset,duration,label\ns1,a,1,1,2,x\ns1,a,2,1,2,x\ns1,b,1,1,2,x\ns2,a,1,1,2,x\n', '--columns recording=subject+session+run, or'),
    'visits.csv': ('subject,visit,onset,offset,label\ns1,first,1,2,x\ns1,first,5,6,x\ns1,second,1,2,x\ns1,second,7,8,x\n', '--columns recording=subject+visit, or --columns recording=subject'),
    'by_time.csv': ('nest,start,end,species\nn1,1,2,x\nn2,1.5,3,x\nn1,4,5,x\nn2,5,6,x\n', "'nest' (2 values) could: say recording=nest"),
    'numbered.csv': ('box,start,end,species\n1,1,2,x\n2,1.5,3,x\n1,4,5,x\n2,5,6,x\n', "'box' (2 values) could: say recording=box"),
    'melody.txt': ('0.01 220.5\n0.02 221.5\n0.03 223.5\n0.04 222.0\n', 'is of no known format'),
    'dataset.json': ('{"data": {"collection_type": "dataset", "recordings": [{"uuid": "r", "path": "a.wav", "duration": 5}]}}', 'is AOEF that lists 1 recording and no annotations'),
    'labels.json': ('{"v": {"duration": 9, "segments": [[0, 1], [2, 3]], "labels": ["x"]}}', "video v, column 'labels': 1 labels for 2 segments"),
    'unstopped.csv': ('Observation id,Time,Subject,Behavior,Status\no,1,a,lick,START\no,2,a,lick,START\n', "line 3: START of 'lick' where the other of START and STOP should be"),
    'empty.boris': ('{"behaviors_conf": {}, "observations": {}}', 'is a BORIS project without observations'),
    'timeless_events.tsv': ('onset\tduration\tresponse_time\nn/a\tn/a\t1.5\n1\t2\t0.5\n', "line 2, column 'onset': the event has a time that is not a number"),
    'charades.csv': ('id,actions,length\n0BH84,c019 11.90 21.20,24\n', 'make a row of each (id,start,end,class)'),
    'nameless.csv': ('file,onset,offset,label\na.wav,1,2,x\n,3,4,x\n', "line 3, column 'recording': the row names no recording"),
    'point.csv': ('file,onset,offset,label\na.wav,1,1,x\n', "line 2, column 'offset': the event has no length (a point?)"),
    'swapped.csv': ('file,onset,offset,label\na.wav,3,2,x\n', 'the event ends before it starts: onset 3, offset 2'),
    'comma.csv': ('file\tonset\toffset\tlabel\na.wav\t1,5\t2\tx\na.wav\t3\t4\tx\n', "'1,5' is not a number; a decimal comma?"),
    'jams.jams': ('{"annotations": [{"namespace": "segment_open", "data": {"time": [0, 1], "duration": [1], "value": ["a", "b"], "confidence": [null, null]}}], "file_metadata": {"duration": 10, "title": "a"}}', "its lists of times, durations, values are not equally long"),
    'region.json': ('[{"id": 1, "data": {"audio": "a.wav"}, "annotations": [{"id": 1, "result": [{"id": "r", "type": "labels"}]}]}]', "task 1, annotation 1, result 1, column 'value': has no value"),
    'video.json': ('{"database": {"v": {"duration": 10, "annotations": [{"label": "x"}]}}}', "video v, annotation 1, column 'segment': has no start and end"),
    'odd.json': ('{"a": 1}', 'is JSON of no known kind'),
    'big.csv': ('file,onset,offset,label\na.wav,1,1e999,x\n', "'1e999' is not a number"),
    'frames.txt': ('1-30 SIL\n31-150 take_cup\n151-300 pour\n', "its first line '1-30 SIL' is of no known format"),
    'tally.csv': ('file,start,end,species,yes,no\na.wav,0,10,owl,5,1\nb.wav,0,10,owl,3,4\n', "'yes' and 'no' count votes"),
    'yaml.txt': ('fine:\n  1: x\n', "its first line 'fine:' is of no known format"),
    'lengths.csv': ('filename,duration\n1001,10\n', 'lists the lengths of recordings and no events; give it as recording_length'),
    'sound.wav': ('RIFF0000WAVEfmt ', 'is sound or video (RIFF)'),
    'zoo.csv': ('classification_id,user_name,annotations,subject_data\n1,ann,nonsense,{}\n', "line 2, column 'annotations': is not the JSON of a Zooniverse export"),
    'rates.csv': ('file,start_sample,end_sample,label,fs\na.wav,1,2,x,0\n', "line 2, column 'fs': a rate must be > 0"),
}
# fmt: on


@pytest.mark.parametrize("name", ZOO)
def test_each_shape_is_taken_as_what_it_is(name):
    kind, sentence, rows, recordings, account = ZOO[name]
    path = DATA / "zoo" / name
    assert detect(Source(path)).name == kind
    answers = any(len(row) > 4 for row in rows)
    found = read_answers(path) if answers else read(path)
    assert found.reading == sentence
    columns = ["recording", "onset", "offset", "label", *(["present", "annotator"] if answers else [])]
    made = found.to_frame()[columns].to_numpy(dtype=object).tolist()
    assert [tuple(None if value != value else value for value in row) for row in made] == rows
    assert {n: None if v != v else v for n, v in found.recordings["length"].items()} == recordings
    assert tuple(found.account[word] for word in ("rows", "events", "empty", "skipped", "merged")) == account
    assert account[0] == sum(account[1:])


def test_what_was_not_annotated_is_not_empty():
    """A subset whose labels are withheld, and recordings that a model was not run on, are not called silent."""
    assert read(DATA / "zoo" / "withheld.json").recordings["annotated"].tolist() == [True, True, False]
    run = read(DATA / "zoo" / "model_run.json")
    assert run.recordings["annotated"].tolist() == [True, True, False]
    assert run.to_frame()["confidence"].tolist() == [0.75]


def test_there_are_enough_of_them():
    assert len(ZOO) >= 40
    assert len(HOPELESS) >= 30


@pytest.mark.parametrize("name", HOPELESS)
def test_what_cannot_be_known_is_refused_with_the_way_out(tmp_path, name):
    text, words = HOPELESS[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput) as error:
        read(tmp_path / name)
    assert words in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize("path", sorted(p for p in DATA.rglob("*") if p.is_file()), ids=lambda path: path.name)
def test_every_row_of_every_file_has_one_fate(path):
    if path.name == "lengths.csv":
        return
    for reader in (read, read_answers):
        try:
            sums = reader(path, recording_length=None, on_error="skip").account
        except InvalidInput:
            continue
        assert sums["rows"] == sums["events"] + sums["empty"] + sums["skipped"] + sums["merged"]
    sums = check(path).account
    assert sums["rows"] == sums["events"] + sums["empty"] + sums["skipped"] + sums["merged"]


NAMES = [
    "recording", "filename", "file", "file_name", "audio", "audio_file", "Audio File", "wav", "path", "uri", "video",
    "video_id", "videoID", "recording_id", "Recording ID", "clip", "clip_id", "subject", "patient", "participant_id",
    "session", "Observation id", "media_file", "track_id", "song", "fileID", "IN FILE", "Begin File", "soundscape",
    "trace_name", "yt_id", "record", "Datei", "fichier", "id", "edf_file",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_recording_is_called_no_number_changes(tmp_path, name):
    rng = np.random.default_rng(3)
    rows = []
    for k in range(12):
        start = 0.0
        for _ in range(8):
            start += rng.uniform(0.5, 3)
            rows.append((f"r{k:02d}", f"{start:.2f}", f"{start + 0.4:.2f}", "ab"[k % 2]))
            start += 0.4

    def results(column):
        path = tmp_path / "a.csv"
        path.write_text(f"{column},start,end,species\n" + "".join(",".join(row) + "\n" for row in rows))
        return evaluate(read(path), segment_length=1.0, presence_criterion=0.5).to_frame()

    assert results(name).equals(results("recording"))


def test_counts_of_votes_are_refused_until_somebody_says_what_they_mean(tmp_path):
    path = tmp_path / "z.csv"
    path.write_text("subject_id,workflow_id,choice,votes,total\n1,2,dog,3,5\n1,2,none,2,5\n7,2,dog,0,4\n")
    with pytest.raises(InvalidInput, match="'votes' and 'total' count votes") as refused:
        read_answers(path)
    assert "--columns answer=votes" in str(refused.value)
    with pytest.warns(AssumptionWarning, match="more than 0 is taken as present"):
        said = read_answers(path, columns={"answer": "votes"}).to_frame()
    assert said[["recording", "label", "present"]].to_numpy().tolist() == [
        ["1", "dog", 1.0], ["1", "none", 1.0], ["7", "dog", 0.0],
    ]  # fmt: skip


def test_a_video_with_an_empty_list_and_no_subset_is_empty(tmp_path):
    path = tmp_path / "v.json"
    one = {"duration": 10, "subset": "val", "annotations": [{"segment": [1, 2], "label": "cut"}]}
    path.write_text(json.dumps({"database": {"v1": one, "v2": {"duration": 5, "annotations": []}}}))
    assert read(path).recordings["annotated"].tolist() == [True, True]


ROWS = [("0.5", "1.0", "song"), ("1.5", "2.0", "call"), ("3.0", "3.5", "song"), ("4.0", "4.5", "call")]


def unknown_table(path, name, values, label="species"):
    """Two recordings that never overlap, in the order of their onsets: only the name and the values tell of them."""
    table = pd.DataFrame(ROWS, columns=["start", "end", label]).astype({"start": float, "end": float})
    table.insert(0, name, values)
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("values", [[1, 2, 1, 2], [1.0, 2.0, 1.0, 2.0], ["a", "b", "a", "b"]], ids=str)
def test_no_table_is_one_recording_without_a_word(tmp_path, values, ending):
    """Nothing but an unknown word over a column: it may be the recording, so reading, check and the sentence say so."""
    path = unknown_table(tmp_path / f"t{ending}", "lecture", values)
    with pytest.warns(AssumptionWarning, match=r"'lecture' is not used .* --columns recording=lecture"):
        found = read(path)
    assert len(found.recordings) == 1
    assert found.reading.endswith("not used: lecture")
    assert [item.kind for item in check(path).findings] == ["unused column"]
    assert sorted(read(path, columns={"recording": "lecture"}).recordings.index) == sorted({str(v) for v in values})
    assert read(path, columns={"recording": "@file"}).notes == ()


def test_a_number_called_like_an_id_is_refused_not_pooled(tmp_path):
    path = unknown_table(tmp_path / "t.csv", "plot_no", [1, 2, 1, 2])
    with pytest.raises(InvalidInput, match="--columns recording=plot_no"):
        read(path)


def test_words_that_may_be_recordings_are_said_to_be_taken_as_labels(tmp_path):
    path = unknown_table(tmp_path / "t.csv", "note", [""] * 4, label="hive")
    with pytest.warns(AssumptionWarning, match=r"'hive' is taken as the label .* --columns recording=hive"):
        assert read(path).labels == ["call", "song"]
    assert read(path, columns={"label": "hive"}).notes == ()


@pytest.mark.parametrize("name", ["species_id", "species_code", "Low Freq (Hz)"])
def test_the_number_of_a_class_or_a_frequency_is_no_recording(tmp_path, name):
    path = unknown_table(tmp_path / "t.csv", name, [7, 9, 7, 9])
    assert (read(path).labels, read(path).notes) == (["call", "song"], ())


def test_the_same_note_of_many_files_stands_once(tmp_path):
    for k in range(3):
        unknown_table(tmp_path / f"t{k}.csv", "lecture", [1, 2, 1, 2])
    with pytest.warns(AssumptionWarning, match=r"3 files, first .*t0.csv: no column names") as told:
        read(tmp_path)
    assert len(told) == 1


def test_every_format_has_a_sentence():
    """No reader is silent about what it took as what: each file of the tests has its line."""
    silent = []
    for path in sorted(p for p in DATA.rglob("*") if p.is_file() and p.name != "lengths.csv"):
        result = check(path)
        assert {item.kind for item in result.findings} <= set(FINDINGS)
        if not result.readings and not any(item.kind == "unreadable" for item in result.findings):
            silent.append(path.name)
    assert silent == []
    assert {detect(Source(DATA / "zoo" / name)).name for name in ZOO} <= set(FORMATS)


@pytest.mark.parametrize(
    ("text", "options", "events"),
    [
        ("file,onset,duration,label\na.wav,1,2,x\na.wav,4,1,x\n", {"columns": {"offset": "@next"}}, 1),
        ("file,OFFSET,DURATION,label\na.wav,1,2,x\n", {"columns": {"offset": "@next"}}, None),
        ("Begin Time (s)\tEnd Time (s)\n1\t2\n0\t1\n", {"columns": {"answer": "@present"}}, None),
        ("file,onset,offset,label\na.wav,1,2,x\n", {"format": "wide"}, None),
        ("0.5 1\n1.0 \u00b9\n", {}, None),
    ],
)
def test_options_that_do_not_fit_the_columns_are_no_bugs(tmp_path, text, options, events):
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    if events is None:
        with pytest.raises(InvalidInput):
            read(path, **options)
    else:
        with pytest.warns(AssumptionWarning, match="only end the one before"):
            assert len(read(path, **options)) == events
