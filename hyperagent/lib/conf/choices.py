"""The closed choices among settings."""

from enum import StrEnum


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class RoutingMode(StrEnum):
    """`auto` asks a model only where the patterns are unsure; `llm` always does, `deterministic` never."""

    AUTO = "auto"
    DETERMINISTIC = "deterministic"
    LLM = "llm"


class ExecutionMode(StrEnum):
    STANDARD = "standard"
    CODEACT = "codeact"


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


class HitlPolicy(StrEnum):
    """`durable` waits for days and reminds; `interactive` gives up when the time for an answer is over."""

    DURABLE = "durable"
    INTERACTIVE = "interactive"


class ViolationAction(StrEnum):
    BLOCK = "block"
    WARN = "warn"
    LOG = "log"


class SandboxProvider(StrEnum):
    LOCAL = "local"
    E2B = "e2b"
    BOXLITE = "boxlite"
    DOCKER = "docker"
    NONE = "none"


class SearchProvider(StrEnum):
    TAVILY = "tavily"
    SEARXNG = "searxng"
    DDGS = "ddgs"


class BudgetEnd(StrEnum):
    """What a run does at the end of a budget that its person may not raise: finish with what there is, or wait."""

    FINISH = "finish"
    WAIT = "wait"


class UnpricedModels(StrEnum):
    """Calls of models without a known price, where a budget in money holds."""

    ALLOW = "allow"
    REFUSE = "refuse"
