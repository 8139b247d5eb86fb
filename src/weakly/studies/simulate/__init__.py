"""Synthetic recordings -> what weak labels make of them, with standard errors."""
