"""Every setting that the environment gives: read once, typed, every bad value named at once. No Django here.

Django's own settings are made of it in `hyperagent.settings`; the models' part is read by `hyperagent.lib.llm.config`.
"""

from hyperagent.lib.conf.choices import (
    BudgetEnd,
    ExecutionMode,
    HitlPolicy,
    LogFormat,
    LogLevel,
    RoutingMode,
    SandboxProvider,
    SearchProvider,
    Switch,
    UnpricedModels,
    ViolationAction,
)
from hyperagent.lib.conf.config import Config
from hyperagent.lib.conf.environment import (
    BASE_DIR,
    INSTANCE_FILE,
    join_instance,
    process_env,
    read_env_file,
    set_unless_given,
)
from hyperagent.lib.conf.loading import load, number_as
from hyperagent.lib.conf.problems import BadConfig
from hyperagent.lib.conf.secrets import (
    NO_SECRETS,
    SECRET_LISTS,
    SECRET_NAMES,
    SECRET_URLS,
    is_secret,
    secrets_in,
    shown,
)
from hyperagent.lib.conf.values import REDACTABLE
from hyperagent.lib.conf.web import LOCAL_HOSTS

__all__ = [
    "BASE_DIR",
    "INSTANCE_FILE",
    "LOCAL_HOSTS",
    "NO_SECRETS",
    "REDACTABLE",
    "SECRET_LISTS",
    "SECRET_NAMES",
    "SECRET_URLS",
    "BadConfig",
    "BudgetEnd",
    "Config",
    "ExecutionMode",
    "HitlPolicy",
    "LogFormat",
    "LogLevel",
    "RoutingMode",
    "SandboxProvider",
    "SearchProvider",
    "Switch",
    "UnpricedModels",
    "ViolationAction",
    "is_secret",
    "join_instance",
    "load",
    "number_as",
    "process_env",
    "read_env_file",
    "secrets_in",
    "set_unless_given",
    "shown",
]
