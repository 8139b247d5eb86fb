"""Ratios measured side by side in one run: how much faster, how well it scales; never absolute times."""
