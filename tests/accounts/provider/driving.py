"""Starts the provider, and walks a person of the test to it and back."""

import subprocess
import sys
import tempfile
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from django.test import Client

from hyperagent.embedded.instance import free_port
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.sign_on import SignOn
from tests.accounts.provider.serve import CLIENT_ID, CLIENT_SECRET

CALLBACK = "/accounts/sso/callback/"


class Provider:
    """Use as a context manager."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.browser = httpx.Client(base_url=self.url, timeout=30)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="provider-")
        command = [sys.executable, "-m", "tests.accounts.provider.serve", self.url.rpartition(":")[2]]
        self._process = subprocess.Popen(
            [*command, self._folder.name], cwd=BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def control(self, **wanted: Any) -> None:
        answer = self.browser.post("/control/", json=wanted)
        assert answer.status_code == 200, answer.text[:2000]

    def sign_on(self, **more: Any) -> SignOn:
        return SignOn(
            **{"issuer": self.url, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "name": "Acme"} | more
        )

    def there(self, page: Client, begin: str = "/accounts/sso/") -> str:
        """Begins here, signs in there: the address that leads back, as this browser would call it."""
        sent = page.get(begin)
        assert sent.status_code == 302, sent.content[:2000]
        return self.back_from(sent["Location"])

    def back_from(self, url: str) -> str:
        answer = self.browser.get(url)
        if "/reauthenticate/" in answer.headers.get("location", ""):
            answer = self._asked_anew(answer.headers["location"])
        assert answer.status_code == 302, answer.text[:2000]
        parts = urlsplit(answer.headers["location"])
        assert parts.path == CALLBACK, answer.headers["location"]
        return f"{parts.path}?{parts.query}"

    def _asked_anew(self, location: str) -> httpx.Response:
        self.browser.get(location)
        form = {"password": "password at the provider", "csrfmiddlewaretoken": self.browser.cookies["provider_csrf"]}
        answer = self.browser.post(location, data=form)
        assert answer.status_code == 302, answer.text[:2000]
        return self.browser.get(answer.headers["location"])

    def walk(self, page: Client, begin: str = "/accounts/sso/") -> Any:
        """To the provider and back; what we answered in the end."""
        return page.get(self.there(page, begin), follow=True)
