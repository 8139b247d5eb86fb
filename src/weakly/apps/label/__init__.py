"""`weakly label`: hear a segment, press a key, and know how good the labels are.

``session`` (who hears what next, over the campaign's store), ``follow_up`` (what is asked after answers),
``measurement`` (how a person hears), ``media`` (sound and picture of a segment), ``live`` (how good the labels are by
now), ``ending`` (what they come to, and corrections), ``access`` (tokens), ``routes`` (the addresses) and ``launch``
(from recordings to the page and to the exports).
:class:`Client` asks from Python, with nothing but the standard library.
"""

from __future__ import annotations

import http.client
import json
import secrets
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ...base.errors import InvalidInput
from .measurement import AnnotatorProfile

__all__ = ["AnnotatorProfile", "Client"]


@dataclass(frozen=True)
class Client:
    """One annotator at a labeling server: the link that ``weakly label`` printed, or its address and the token.

    Examples
    --------
    ::

        client = Client("http://127.0.0.1:8765/#token=...")
        while items := client.ask()["items"]:
            sound = client.sound(items[0]["query"])  # the bytes of a WAV file
            client.tell(items[0]["query"], present=detector(sound))
    """

    address: str
    token: str | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        address, _, token = self.address.partition("#token=")
        object.__setattr__(self, "address", address)
        object.__setattr__(self, "token", self.token or unquote(token) or None)

    def ask(self) -> dict[str, Any]:
        """What to answer now (the first of ``items``), what comes after it, and the progress."""
        return dict(json.loads(self._call("ask")))

    def tell(
        self, query: str, *, present: bool | None, seconds: float | None = None, id: str | None = None
    ) -> dict[str, Any]:
        """Send an answer (None: unsure); with the same ``id`` it may be sent again and counts once."""
        said = None if present is None else int(present)
        body = {"query": query, "present": said, "seconds": seconds, "id": id or secrets.token_hex(12)}
        return dict(json.loads(self._call("tell", body)))

    def undo(self, *, id: str | None = None) -> dict[str, Any]:
        """Take back the last answer."""
        return dict(json.loads(self._call("undo", {"id": id or secrets.token_hex(12)})))

    def sound(self, query: str) -> bytes:
        """The WAV file of a segment."""
        return self._call(f"sound/{query}")

    def _call(self, path: str, body: dict[str, Any] | None = None) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address.rstrip('/')}/api/1/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            with error:
                said = error.read()
            try:
                message = json.loads(said)["message"]
            except (ValueError, KeyError, TypeError):
                message = f"the server answered {error.code}"
            # What the server cannot do now is told as if it were away: the same answer may be sent again.
            kind = ConnectionError if error.code >= 500 else InvalidInput
            raise kind(str(message)) from error
        except http.client.HTTPException as error:  # killed in the middle of an answer
            raise ConnectionError(f"the server broke off: {error!r}") from error
