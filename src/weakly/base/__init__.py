"""How anything fails, is kept, runs side by side and leaves; it knows nothing of events or people.

``errors`` (exceptions and the warning), ``compiled`` (numba kernels and where their machine code is kept), ``parallel``
(fixed chunks on any executor), ``symbols`` (every quantity: name, unit, domain, check), ``results`` (``Finding``,
``Condition``, numbers for JSON, in words and in columns, files that are written whole or not at all), ``report``
(``Result``, its HTML), ``plot`` (looks).

>>> from weakly.base.symbols import check
>>> float(check("presence_criterion", 0.5))
0.5
"""
