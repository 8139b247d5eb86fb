"""Who may ask, and what is played to them: a token in the link of each person, and the places that the owner named.

Both are in a file of the user's own, apart from the campaign: its folder may be copied, handed on or come from somebody
else, so neither a token nor the path of a recording counts because it is in there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import InvalidInput
from ...base.results import private_files, write_file
from ..serving import bearer

OWNER = "owner"


@dataclass(frozen=True)
class Person:
    """Somebody who asks: an annotator by name, the owner, or both."""

    annotator: str | None
    is_owner: bool


class Own:
    """What a user keeps of a campaign where nobody else can read it: its tokens, and the places of its recordings."""

    def __init__(self, campaign: str | Path) -> None:
        self.campaign = Path(campaign).resolve()
        base = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.local/state"
        name = hashlib.sha256(os.fsencode(self.campaign)).hexdigest()[:32]
        self.file = Path(os.path.expanduser(base)) / "weakly" / "campaigns" / f"{name}.json"

    @property
    def tokens(self) -> dict[str, str | None]:
        """The tokens by name, as the file has them now; None if one was withdrawn."""
        return self._held()[0]

    @property
    def places(self) -> list[str]:
        """The folders and files of recordings that this user named."""
        return self._held()[1]

    def _held(self) -> tuple[dict[str, str | None], list[str]]:
        try:
            held = json.loads(self.file.read_text(encoding="utf-8"))
            return dict(held["tokens"]), list(held["places"])
        except (FileNotFoundError, NotADirectoryError):
            return {}, []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{self.file}: damaged ({error}); remove it, and new tokens are made") from error

    @private_files()
    def keep(self, tokens: dict[str, str | None], places: Iterable[str] = ()) -> None:
        """Write both, the places with those that are there."""
        places = list(dict.fromkeys([*self.places, *places]))
        if (tokens, places) == (self.tokens, self.places):
            return
        held = {"campaign": ascii(str(self.campaign)), "tokens": tokens, "places": places}
        try:
            write_file(self.file, json.dumps(held, indent=1) + "\n")
        except OSError as error:
            raise InvalidInput(
                f"{self.file}: the tokens cannot be kept there ({error.strerror}); set XDG_STATE_HOME to a folder of "
                "yours"
            ) from error

    def withdraw(self, name: str) -> None:
        """This name's link lets nobody in any more; a server that runs knows at once."""
        if self.tokens.get(name) is None:
            known = ", ".join(each for each, token in self.tokens.items() if token) or "nobody"
            raise InvalidInput(f"withdraw: {name!r} has no link to {self.campaign}; those who have one: {known}")
        self.keep({**self.tokens, name: None})


class Access:
    """Who is let in by which token. Alone, one person is annotator and owner; in a team, the owner has another link."""

    def __init__(self, own: Own, annotators: Sequence[str], *, team: bool) -> None:
        self.own, self.annotators, self.is_team = own, list(annotators), team
        self._people = {OWNER: Person(None if team else self.annotators[0], True)}
        if team:
            self._people |= {name: Person(name, False) for name in self.annotators}

    def renew(self, *, all: bool = False, places: Iterable[str] = ()) -> None:
        """Make the tokens that nobody has yet, or (all) every one anew; keep the places too."""
        made: dict[str, str | None] = {name: secrets.token_hex(16) for name in self._people}
        self.own.keep(made if all else made | self.own.tokens, places)

    def _held(self) -> dict[str, str]:
        """The tokens that let somebody in now."""
        try:
            held = self.own.tokens
        except InvalidInput:  # damaged since the start: nobody, and whoever asks is not told where the file is
            return {}
        return {name: token for name in self._people if (token := held.get(name))}

    def token(self, annotator: str | None) -> str | None:
        """The token of an annotator, or (None) of the owner; None if it was withdrawn."""
        return self._held().get(annotator if self.is_team and annotator is not None else OWNER)

    def ticket(self, annotator: str | None, query: str) -> str:
        """What lets this person's video element, which sends no header, read the file of this one query."""
        return _signed(self.token(annotator) or secrets.token_hex(16), query)

    def admits(self, query: str, ticket: str, *, but: Collection[str] = ()) -> bool:
        """Whether the ticket is this query's, and was given to somebody who is let in, and is none of these."""
        held = [token for name, token in self._held().items() if name not in but]
        return any(_same(_signed(token, query), ticket) for token in held)

    def person(self, header: str | None) -> Person | None:
        """Who sent this Authorization header; None if it lets nobody in."""
        given = bearer(header or "")
        # All of them are compared, so that time tells nothing.
        found = [self._people[name] for name, token in self._held().items() if _same(token, given)]
        return found[0] if found else None

    def links(self, address: str) -> dict[str, str]:
        """The page of each person; what follows the # is never sent over the wire as part of an address."""
        held = self._held()
        whose = {name: name for name in (*self.annotators, OWNER)} if self.is_team else {self.annotators[0]: OWNER}
        return {name: f"{address}#token={held[key]}" for name, key in whose.items() if key in held}


def _signed(token: str, query: str) -> str:
    return hmac.new(token.encode(), f"video:{query}".encode(), hashlib.sha256).hexdigest()[:32]


def _same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())
