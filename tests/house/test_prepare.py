"""`manage.py prepare`: a database that is not there yet, and the first administrator."""

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pydantic import SecretStr

from hyperagent.embedded import instance
from hyperagent.lib.conf import BASE_DIR


@pytest.fixture
def operator(settings: Any) -> None:
    named = {"admin_email": "Root@example.org", "admin_password": SecretStr("chosen by the operator")}
    settings.CONFIG = settings.CONFIG.model_copy(update=named)


def prepare(port: int, *options: str) -> subprocess.CompletedProcess[str]:
    url = f"postgresql://somebody:word@127.0.0.1:{port}/nothing"
    env = {**os.environ, "DATABASE_URL": url, "ENV_FILE": os.devnull}
    command = [sys.executable, "manage.py", "prepare", *options]
    return subprocess.run(command, cwd=BASE_DIR, env=env, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_one_that_does_not_answer_is_told_at_once_without_its_password() -> None:
    done = prepare(instance.free_port())

    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert "word" not in done.stderr


@pytest.mark.slow
def test_one_that_is_starting_is_waited_for() -> None:
    """What answers on its port after a while refuses everybody: that it was asked is what is looked at."""
    port, asked = instance.free_port(), threading.Event()

    def begin_late() -> None:
        time.sleep(2)
        with socket.create_server(("127.0.0.1", port)) as server:
            server.settimeout(30)
            with suppress(OSError):
                server.accept()[0].close()
                asked.set()

    late = threading.Thread(target=begin_late)
    late.start()
    done = prepare(port, "--wait", "8")
    late.join()

    assert asked.is_set()
    assert (done.returncode, "does not answer" in done.stderr) == (1, True)


@pytest.mark.slow
@pytest.mark.usefixtures("operator", "db")
def test_the_first_administrator_is_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    from hyperagent.accounts.models import User  # the models exist once Django is set up

    call_command("prepare")
    call_command("prepare")

    user = User.objects.get(is_superuser=True)
    assert user.email == "Root@example.org"
    assert user.is_staff
    assert user.check_password("chosen by the operator")
    assert capsys.readouterr().out.split("\n")[:2] == [
        '{"administrator": "Root@example.org"}',
        '{"administrator": null}',
    ]


@pytest.mark.usefixtures("operator")
def test_rights_never_go_to_whoever_registered_with_the_address_of_the_first_administrator(alice: Any) -> None:
    type(alice).objects.filter(pk=alice.pk).update(email="root@example.org")

    with pytest.raises(CommandError, match="Set another HYPERAGENT_ADMIN_EMAIL"):
        call_command("prepare")

    alice.refresh_from_db()
    assert not alice.is_superuser


@pytest.mark.usefixtures("operator", "db")
def test_an_address_that_shows_as_another_one_is_refused_by_the_name_of_its_setting(settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"admin_email": "ro\u200bot@example.org"})

    with pytest.raises(CommandError, match=r"^HYPERAGENT_ADMIN_EMAIL='ro\\u200bot@example.org' .*cannot be seen"):
        call_command("prepare")


@pytest.mark.slow
@pytest.mark.usefixtures("operator", "db")
@pytest.mark.parametrize("password", ["kestrel-7", "password1234", "root@example.org"])
def test_a_password_that_nobody_else_may_have_is_refused_by_the_name_of_its_setting(
    password: str, settings: Any
) -> None:
    from hyperagent.accounts.models import User  # the models exist once Django is set up

    settings.CONFIG = settings.CONFIG.model_copy(update={"admin_password": SecretStr(password)})

    with pytest.raises(CommandError, match=r"^HYPERAGENT_ADMIN_PASSWORD is not allowed: ") as refused:
        call_command("prepare")

    assert password not in str(refused.value)
    assert not User.objects.exists()
