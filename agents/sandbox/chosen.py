"""Which provider of boxes this installation chose, and on what terms. Opens no box."""

from typing import Final, assert_never

from agents.sandbox.base import Box, BoxSpec, SandboxError, SandboxProvider
from agents.sandbox.sessions import Terms
from hyperagent.lib import conf
from hyperagent.lib.conf import Config

OFF: Final = (
    "Running code is switched off here: SANDBOX_PROVIDER=none. An administrator can set it to local, e2b or docker."
)
NO_BOXLITE: Final = (
    "SANDBOX_PROVIDER=boxlite: this version has no provider for it. An administrator can set it to local, docker or "
    "e2b."
)
MISSING: Final = (
    "SANDBOX_PROVIDER={chosen} needs the Python package {module}, which is not installed. Install the extra {chosen}."
)
NO_KEY: Final = "SANDBOX_PROVIDER=e2b needs E2B_API_KEY, and it is not set."


class NoSandbox:
    """Stands where there is none: says why, and opens nothing."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    async def why_not(self) -> str:
        return self._why

    async def open(self, spec: BoxSpec) -> Box:
        raise SandboxError(self._why)


def provider_of(config: Config) -> SandboxProvider:
    """One that cannot be had says why when it is asked. The libraries of the others are not loaded."""
    chosen = config.sandbox_provider
    if why := why_off(config):
        return NoSandbox(chosen.value, why)
    try:
        return _loaded(config)
    except ImportError as error:
        return NoSandbox(chosen.value, MISSING.format(chosen=chosen.value, module=error.name))


def _loaded(config: Config) -> SandboxProvider:
    match config.sandbox_provider:
        case conf.SandboxProvider.LOCAL:
            from agents.sandbox.local.provider import LocalSandbox  # late: Linux only
            from agents.sandbox.local.runtime import INSTALLED

            return LocalSandbox(libraries=INSTALLED, runtime=config.data_path / "run" / "boxes")
        case conf.SandboxProvider.E2B:
            import e2b_code_interpreter  # type: ignore[import-untyped]  # noqa: F401 (whether it is there)

            from agents.sandbox.e2b.provider import E2BSandbox  # late: its library

            return E2BSandbox(api_key=config.e2b_api_key.get_secret_value(), template=config.e2b_template)
        case conf.SandboxProvider.DOCKER:
            import docker  # type: ignore[import-untyped]  # noqa: F401 (whether it is there)

            from agents.sandbox.docker.provider import DockerSandbox  # late: its library

            return DockerSandbox(image=config.sandbox_image, installation=str(config.data_path))
        case conf.SandboxProvider.BOXLITE:
            return NoSandbox("boxlite", NO_BOXLITE)
        case conf.SandboxProvider.NONE:
            return NoSandbox("none", OFF)
        case other:
            assert_never(other)


def why_off(config: Config) -> str:
    """What can be told without asking the host: why there is no sandbox in this installation; else empty."""
    if config.sandbox_provider is conf.SandboxProvider.NONE:
        return OFF
    if config.sandbox_provider is conf.SandboxProvider.BOXLITE:
        return NO_BOXLITE
    if config.sandbox_provider is conf.SandboxProvider.E2B and not config.e2b_api_key.get_secret_value():
        return NO_KEY
    return ""


def terms_of(config: Config) -> Terms:
    return Terms(
        boxes=config.sandbox_max_boxes,
        boxes_per_user=config.sandbox_max_boxes_per_user,
        seconds_per_day=config.sandbox_seconds_per_day,
        snapshot_max_bytes=config.snapshot_max_size_bytes,
    )


def has_network(config: Config) -> bool:
    """Whether programs in a box can send anything anywhere. Those of this machine and of Docker cannot."""
    return config.sandbox_provider not in (
        conf.SandboxProvider.LOCAL,
        conf.SandboxProvider.DOCKER,
        conf.SandboxProvider.NONE,
    )
