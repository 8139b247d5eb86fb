"""Who may ask: one link with a token for each annotator and one for the owner, or nobody but this machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

OWNER = "owner"


@dataclass(frozen=True)
class Person:
    """Somebody who asks: an annotator by name, the owner, or both."""

    annotator: str | None
    is_owner: bool


class Access:
    """The tokens of a campaign: they follow from its secret and the names, so links stay the same over restarts."""

    def __init__(self, annotators: Sequence[str], *, secret: str | None = None) -> None:
        self.annotators, self._secret = list(annotators), secret
        self._people: dict[str, Person] = {}
        if secret is not None:
            self._people = {self.token(name): Person(name, False) for name in annotators}
            self._people[self.token(None)] = Person(None, True)

    @property
    def needs_token(self) -> bool:
        """Whether nobody is let in without a token."""
        return self._secret is not None

    def token(self, annotator: str | None) -> str:
        """The token of an annotator, or (None) of the owner."""
        return self._sign(OWNER if annotator is None else f"annotator:{annotator}")

    def _sign(self, text: str) -> str:
        digest = hmac.new((self._secret or "").encode(), text.encode(), hashlib.sha256).digest()
        return base64.b32encode(digest).decode().lower()[:32]

    def ticket(self, query: str) -> str:
        """What lets the page's video element, which sends no header, read the file of this one query."""
        return self._sign(f"video:{query}")

    def admits(self, query: str, ticket: str) -> bool:
        """Whether the ticket is this query's."""
        return not self.needs_token or hmac.compare_digest(self.ticket(query).encode(), ticket.encode())

    def person(self, header: str | None) -> Person | None:
        """Who sent this Authorization header; None if it lets nobody in."""
        if not self.needs_token:
            return Person(self.annotators[0], True)
        kind, _, given = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        found = None
        for token, person in self._people.items():  # all of them, so that time tells nothing
            if hmac.compare_digest(token.encode(), given.strip().encode()):
                found = person
        return found

    def links(self, address: str) -> dict[str, str]:
        """The page of each person; what follows the # is never sent over the wire as part of an address."""
        if not self.needs_token:
            return {self.annotators[0]: address}
        return {name or OWNER: f"{address}#token={quote(self.token(name))}" for name in (*self.annotators, None)}
