"""Lengths or pilot annotations, a criterion and a price -> how to label, how good it will be, what it costs."""
