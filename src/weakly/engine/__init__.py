"""Every count and score: events and a placement of segments in, a tally out.

``exact`` (a uniformly random phase, by ``sweep``), ``grid`` (one concrete grid), ``voting`` (overlapping
windows with votes), ``tally`` (the mergeable sums that every score follows from), ``scoring`` (many classes and
recordings at once).
"""
