"""Answers about segments -> what the events were: when, how many, how long; and a table to train on."""
