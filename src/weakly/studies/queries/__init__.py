"""Recordings in, the segments to ask out; the campaign that keeps them; the way to the annotator's tool and back."""
