"""The same calls over HTTP, and the page: parse, call, answer; no arithmetic, no file of the server in reach.

``models`` (what may be asked, from the table of symbols), ``uploads`` (annotation files that people send), ``jobs``
(work that reports progress and can be cancelled), ``calls`` (from a question to a result) and ``app`` (the addresses).
"""

from __future__ import annotations

from ..serving import Limits
from .app import create_app, serve

__all__ = ["Limits", "create_app", "serve"]
