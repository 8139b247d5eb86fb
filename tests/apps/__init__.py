"""Tests of the programs: the labeler, the page, the reproduction. A package: its conftest is not the only one."""
