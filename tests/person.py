"""People of a whole site (`tests.site`), each with an account and a session of their own, and what they say to its API.

Made in the site's database, for the login form asks for half a second of hashing each time; it has tests of its own.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from psycopg.types.json import Jsonb

from hyperagent.accounts.models import User
from tests.site import EMAIL, PASSWORD, Site

CSRF_TOKEN = "c" * 32
# A copy of the first account, so that a column that is new needs nothing here.
_MAKE = """
    INSERT INTO accounts_user SELECT made.* FROM accounts_user AS first, jsonb_populate_record(first, %s) AS made
    WHERE first.email = %s RETURNING id, password
"""
_SIGN_IN = """
    INSERT INTO django_session (session_key, session_data, expire_date) VALUES (%s, %s, now() + interval '1 day')
    RETURNING session_key
"""


@dataclass(frozen=True)
class Person:
    site: Site
    id: UUID
    email: str
    display_name: str
    cookies: Mapping[str, str] = field(repr=False)
    password: str = PASSWORD

    def get(self, path: str) -> httpx.Response:
        return self._send("GET", path, None)

    def post(self, path: str, body: Any) -> httpx.Response:
        return self._send("POST", path, body)

    def delete(self, path: str) -> httpx.Response:
        return self._send("DELETE", path, None)

    def ask(self, question: str, **more: Any) -> UUID:
        """Says it in a new conversation; the id of the run. `more`: mode, options."""
        made = self.post("conversations", {})
        assert made.status_code == 201, made.text
        said = self.post(f"conversations/{made.json()['id']}/messages", {"text": question, **more})
        assert said.status_code == 201, said.text
        return UUID(said.json()["reply"]["execution"]["id"])

    def stop_all(self) -> None:
        """Ends what this person still has going, so that it takes no line of the next test's script."""
        going = self.site.query("SELECT id FROM agents_execution WHERE user_id = %s AND ended_at IS NULL", self.id)
        ids = [row["id"] for row in going]
        for id_ in ids:
            self.post(f"executions/{id_}/cancel", {})
        self.site.until_ended(*ids)

    def _send(self, method: str, path: str, body: Any) -> httpx.Response:
        return httpx.request(
            method,
            self.site.url(path),
            json=body,
            cookies=dict(self.cookies),
            headers={"X-CSRFToken": CSRF_TOKEN, "Referer": self.site.base_url},
            timeout=30,
        )


def new_person(site: Site, name: str = "Alice", **fields: Any) -> Person:
    """`fields`: columns of the account, such as `is_staff=True`."""
    id_, email = uuid.uuid4(), f"{name.lower()}-{uuid.uuid4().hex[:12]}@example.org"
    row = {"id": str(id_), "email": email, "display_name": name, **fields}
    [made] = site.query(_MAKE, Jsonb(row), EMAIL)
    session = {
        SESSION_KEY: str(id_),
        BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[0],
        HASH_SESSION_KEY: User(password=made["password"]).get_session_auth_hash(),
    }
    [kept] = site.query(_SIGN_IN, uuid.uuid4().hex, SessionStore().encode(session))
    cookies = {settings.SESSION_COOKIE_NAME: kept["session_key"], settings.CSRF_COOKIE_NAME: CSRF_TOKEN}
    return Person(site, id_, email, name, cookies)
