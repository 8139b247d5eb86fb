"""Tests of the programs: the labeler, the page, the reproduction. A package, because its conftest is not the only one."""
