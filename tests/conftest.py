"""What every test has: real servers, a cast of three, and a network that ends at this machine."""

import contextlib
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import django
import hypothesis
import pytest
from django.conf import settings
from django.utils import translation
from pydantic import SecretStr

from tests import migrated, services

# What the machine or its `.env` may say about models, accounts and the like has no place in a test.
FOREIGN = ("_API_KEY", "_MODEL", "_MODEL_PROVIDER", "_PROVIDER", "_PROVIDERS", "BUNDLED_MODEL_URL")
# No test is about time: an example that takes long on a busy machine is none that fails.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
WORST_FIRST = ("failed", "skipped", "passed")
# Of a run that breaks down, hundreds of others follow the failure that matters.
FIRST_FAILURES, FAILURE_CHARS = 3, 1500
_outcomes: dict[str, dict[str, str]] = {}
_failures: list[str] = []
_running = pytest.StashKey[services.Services]()
_migrating = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Before Django is set up. The processes of xdist inherit the environment of the one that starts them."""
    config.addinivalue_line("markers", "spec(*numbers): the requirements of docs/requirements.md that the test shows")
    config.addinivalue_line("markers", "threat(*numbers): the threats of docs/security.md that the test meets")
    if hasattr(config, "workerinput"):
        _use_own_redis_database(config.workerinput["workerid"])
    else:
        # The processes of xdist are told by the option: to them, all is named.
        is_named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.threat is not None
        config.option.slow |= is_named or config.option.campaign
        for name in [name for name in os.environ if name.endswith(FOREIGN)]:
            del os.environ[name]
        # Some hundred processes are started, each of which would compile the product anew.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        config.stash[_running] = services.Services()
        os.environ.update(services.environment(config.stash[_running]))
        if config.getoption("numprocesses", None):
            # While they look for their tests, which all wait for it.
            config.stash[_migrating] = subprocess.Popen([sys.executable, "-m", "tests.migrated"], cwd=config.rootpath)
    django.setup()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a fresh clone each process of xdist compiles a part of the tests, and finds the others' parts compiled."""
    config = session.config
    if hasattr(config, "workerinput") and config.args == config.getini("testpaths"):
        number, count = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
        files = sorted((config.rootpath / "tests").rglob("test_*.py"))
        for path in files[number::count]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # told when it is collected
                importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Ten thousand tests stay: Python need not look through them for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-to", metavar="FILE", help="where `make spec` finds the outcomes")
    parser.addoption("--slow", action="store_true", help="the slow ones, too; those of a named file always run")
    parser.addoption("--campaign", action="store_true", help="the tests of `make campaign`, and only those")
    parser.addoption("--threat", metavar="T16", help="only the tests of this threat of docs/security.md")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import ByFile  # needs pytest-xdist

    return ByFile(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from tests.scheduling import slow_first  # needs pytest-xdist

        items[:] = slow_first(items)
    is_campaign = config.getoption("--campaign")
    _keep(config, items, lambda item: is_campaign == (item.get_closest_marker("campaign") is not None))
    if not config.getoption("--slow"):
        _keep(config, items, lambda item: item.get_closest_marker("slow") is None)
    if threat := config.getoption("--threat"):
        _keep(config, items, lambda item: any(threat in mark.args for mark in item.iter_markers("threat")))
    for item in items:
        numbers = [number for mark in item.iter_markers("spec") for number in mark.args]
        item.user_properties += [("spec", number) for number in numbers]


def _keep(config: pytest.Config, items: list[pytest.Item], wanted: Callable[[pytest.Item], bool]) -> None:
    others = [item for item in items if not wanted(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if wanted(item)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In the process that gathers: a test is as good as the worst of its set-up, call and tear-down."""
    for number in [value for name, value in report.user_properties if name == "spec"]:
        tests = _outcomes.setdefault(str(number), {})
        worst = min(tests.get(report.nodeid, "passed"), report.outcome, key=WORST_FIRST.index)
        tests[report.nodeid] = worst
    if report.failed and len(_failures) < FIRST_FAILURES:
        _failures.append(f"{report.nodeid} ({report.when})\n{report.longreprtext[-FAILURE_CHARS:]}\n")


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--record-to")
    if path and not hasattr(session.config, "workerinput"):
        is_second_try = session.config.getoption("--last-failed") and Path(path).exists()
        known = json.loads(Path(path).read_text()) if is_second_try else {}
        for number, tests in _outcomes.items():
            known.setdefault(number, {}).update(tests)
        Path(path).write_text(json.dumps(known, indent=1, sort_keys=True))
        Path(path).with_name("failures.txt").write_text("\n".join(_failures))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--slow"):
        terminalreporter.write_line("The slow tests were left out; `make test-all` runs them, too.")


def pytest_unconfigure(config: pytest.Config) -> None:
    if migrating := config.stash.get(_migrating, None):
        migrating.wait()
    started = config.stash.get(_running, None)
    if started is not None:
        started.stop()


def _use_own_redis_database(worker: str) -> None:
    number = 1 + int(worker.removeprefix("gw"))
    url = os.environ["REDIS_URL"]
    own = f"{url.partition('?')[0]}?db={number}" if url.startswith("unix://") else f"{url.rsplit('/', 1)[0]}/{number}"
    os.environ["REDIS_URL"] = own
    # pytest-django has read the settings by now, before this file could say so.
    settings.CONFIG = settings.CONFIG.model_copy(update={"redis_url": SecretStr(own)})
    layer: Any = settings.CHANNEL_LAYERS["default"]["CONFIG"]
    layer["hosts"][0]["address"] = own
    settings.CACHES = {**settings.CACHES, "default": {**settings.CACHES["default"], "LOCATION": own}}


@pytest.fixture(autouse=True, scope="session")
def _network_ends_here() -> Iterator[None]:
    """Connections leave for loopback and sockets only; anything else is a bug of the test or of the product."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not str(address[0]).startswith(("127.", "::1", "localhost", "0.0.0.0")):
            raise PermissionError(f"a test wants to reach {address[0]}; only this machine can be reached")
        return connect(self, address)

    return guarded


@pytest.fixture(autouse=True)
def _plain_static_names(request: pytest.FixtureRequest) -> None:
    """Django's own test server finds static files by their own names only."""
    if "live_server" in request.fixturenames:
        settings = request.getfixturevalue("settings")
        plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}


@pytest.fixture(autouse=True)
def _own_language() -> None:
    """Django's middleware leaves the language of the last request active, which in a test is the test's own thread."""
    translation.deactivate()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Django's test database begins as a copy of the migrated one."""
    from django.db import connections  # Django is set up after this file is read

    connections["default"].settings_dict["TEST"]["TEMPLATE"] = migrated.ensure()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    from tests import clean_slate  # Django is set up after this file is read

    with django_db_blocker.unblock():
        clean_slate.use()


@cache
def _hash_of(password: str, hashers: tuple[str, ...]) -> str:
    """Half a second of work, and the same for each test: done once."""
    from django.contrib.auth.hashers import make_password

    return make_password(password)


def _user(email: str, **fields: Any) -> Any:
    from django.conf import settings

    from hyperagent.accounts.models import User  # the models exist once Django is set up

    password = _hash_of("correct horse battery staple", tuple(settings.PASSWORD_HASHERS))
    return User.objects.create(email=email, password=password, **fields)


@pytest.fixture
def alice(db: None) -> Any:
    """Alice asks."""
    return _user("alice@example.org", display_name="Alice")


@pytest.fixture
def bob(db: None) -> Any:
    """Bob reviews: he may open the admin pages."""
    return _user("bob@example.org", display_name="Bob", is_staff=True)


@pytest.fixture
def charlie(db: None) -> Any:
    """Charlie must see nothing of the others."""
    return _user("charlie@example.org", display_name="Charlie")
