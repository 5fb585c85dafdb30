"""The settings of an installation as it stands on the net: Django's own check of a deployment, and the cookies."""

import json
import os
import subprocess
import sys
from typing import Any, Final

import pytest

from hyperagent.lib.conf import BASE_DIR

PRODUCTION: Final = {
    "SITE_URL": "https://agents.example.org",
    "SECRET_KEY": "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5kL7nP9rT1vX3zB5dF7hK9",
    "DATABASE_URL": "postgresql://user:password@127.0.0.1:5432/hyperagent",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "TRUSTED_PROXIES": "1",
    "ENV_FILE": os.devnull,
    "DATA_DIR": "/nonexistent",
}
ASKED: Final = """
import json
from django.conf import settings
asked = ("SECURE_", "SESSION_", "CSRF_", "LANGUAGE_COOKIE_", "DEBUG", "ALLOWED_HOSTS")
print(json.dumps({name: str(getattr(settings, name)) for name in dir(settings) if name.startswith(asked)}))
"""

pytestmark = pytest.mark.threat("T35")


def manage(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=BASE_DIR,
        env={**environment, **PRODUCTION},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="module")
def settings_there() -> dict[str, Any]:
    done = manage("shell", "-v0", "-c", ASKED)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@pytest.mark.slow
def test_djangos_check_of_a_deployment_finds_nothing() -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "System check identified no issues" in done.stdout + done.stderr


@pytest.mark.threat("T25")
def test_over_https_cookies_are_bound_to_this_host(settings_there: dict[str, Any]) -> None:
    assert settings_there["SESSION_COOKIE_NAME"] == "__Host-sessionid"
    assert settings_there["CSRF_COOKIE_NAME"] == "__Host-csrftoken"
    for name in ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "LANGUAGE_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY"):
        assert settings_there[name] == "True", name
    # What the prefix asks for.
    for name in ("SESSION_COOKIE", "CSRF_COOKIE"):
        assert (settings_there[f"{name}_DOMAIN"], settings_there[f"{name}_PATH"]) == ("None", "/")
        assert settings_there[f"{name}_SAMESITE"] == "Lax"


def test_over_https_browsers_come_by_https_only(settings_there: dict[str, Any]) -> None:
    assert int(settings_there["SECURE_HSTS_SECONDS"]) >= 31_536_000
    assert settings_there["SECURE_HSTS_INCLUDE_SUBDOMAINS"] == "True"
    assert settings_there["SECURE_SSL_REDIRECT"] == "True"


@pytest.mark.threat("T34")
def test_nobody_is_shown_the_program(settings_there: dict[str, Any]) -> None:
    assert settings_there["DEBUG"] == "False"
    assert "*" not in settings_there["ALLOWED_HOSTS"]
