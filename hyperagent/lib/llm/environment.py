"""Environment variables about models, read one by one; what cannot be read is kept, to be reported all at once."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, TypeAdapter, ValidationError

from hyperagent.lib.llm.providers import BUNDLED, OWN_PROVIDERS, Choice, Limits, Protocol, Provider
from hyperagent.lib.llm.types import Tier

TIER_VARIABLES = {
    Tier.MAX: (("MAX_MODEL_PROVIDER",), ("MAX_MODEL",)),
    Tier.PRO: (("PRO_MODEL_PROVIDER",), ("PRO_MODEL",)),
    Tier.FLASH: (("LITE_MODEL_PROVIDER", "FLASH_MODEL_PROVIDER"), ("FLASH_MODEL", "LITE_MODEL")),
}
FALLBACK_VARIABLES = {
    Tier.MAX: ("MAX_FALLBACKS",),
    Tier.PRO: ("PRO_FALLBACKS",),
    Tier.FLASH: ("FLASH_FALLBACKS", "LITE_FALLBACKS"),
}
_AGENT_VARIABLE = re.compile(r"^([A-Z][A-Z0-9_]*?)_(MODEL_PROVIDER|MODEL|TEMPERATURE)$")
_FIELDS = {"MODEL_PROVIDER": "provider", "MODEL": "model", "TEMPERATURE": "temperature"}
_NOT_AGENTS = {"MAX", "PRO", "FLASH", "LITE", "EMBEDDING", "BUNDLED", "IMAGE"}
# Who tells what instructions on an approval mean. Its variables have names of their own.
CLASSIFIER = "hitl_classifier"
CLASSIFIER_PROVIDER, CLASSIFIER_MODEL = "HITL_CLASSIFIER_PROVIDER", "HITL_CLASSIFIER_MODEL"
_PROVIDER_NAME = re.compile(r"^[a-z0-9][a-z0-9_.-]*$")


class Fault(NamedTuple):
    variable: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.variable}={self.value!r}: {self.allowed}"


class _CompatibleProvider(BaseModel):
    """One item of OPENAI_COMPATIBLE_PROVIDERS (S189)."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=_PROVIDER_NAME.pattern)
    base_url: HttpUrl
    api_key: SecretStr | None = None
    tier_models: dict[Tier, str] = Field(min_length=1)
    enable_thinking: bool | None = None
    max_concurrency: int | None = Field(default=None, gt=0)
    embedding_model: str | None = None


_COMPATIBLE_PROVIDERS = TypeAdapter(list[_CompatibleProvider])
_COMPATIBLE_ALLOWED = (
    'a JSON list of objects such as {"name": "mine", "base_url": "http://localhost:9000/v1", "api_key": "...", '
    '"tier_models": {"pro": "some-model"}}, each with a name of its own'
)


class EnvironmentReader:
    """Reads variables and keeps what cannot be read. An empty variable counts as one that is not set."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.faults: list[Fault] = []

    def text(self, *variables: str) -> str | None:
        return next((self._env[name].strip() for name in variables if self._env.get(name, "").strip()), None)

    def names(self, *variables: str) -> tuple[str, ...]:
        return tuple(name.strip() for name in (self.text(*variables) or "").split(",") if name.strip())

    def number(self, variable: str, default: float, *, low: float, high: float) -> float:
        said = self.text(variable)
        if said is None:
            return default
        value = _float(said)
        if value is None or not low <= value <= high:
            self.faults.append(Fault(variable, said, f"a number from {low:g} to {high:g}"))
            return default
        return value

    def count(self, variable: str, default: int | None) -> int | None:
        said = self.text(variable)
        if said is None:
            return default
        if not said.isdecimal() or not 1 <= int(said) <= 10_000:
            self.faults.append(Fault(variable, said, "a whole number from 1 to 10000"))
            return default
        return int(said)

    def url(self, variable: str) -> str | None:
        said = self.text(variable)
        if said is not None and not re.match(r"^https?://[^/\s]+\S*$", said):
            self.faults.append(Fault(variable, without_password(said), "an address such as https://host/v1"))
            return None
        return said.rstrip("/") if said else None

    def providers(self) -> Iterable[Provider]:
        found = [*self._own_providers(), *self._compatible_providers()]
        bundled = self.url("BUNDLED_MODEL_URL")
        if bundled and not found:
            model = self.text("BUNDLED_MODEL_NAME") or "smollm2-135m-instruct"
            found.append(
                Provider(
                    name=BUNDLED,
                    protocol=Protocol.OPENAI,
                    base_url=bundled,
                    tier_models=dict.fromkeys(Tier, model),
                    plain=True,
                    capable=False,
                )
            )
        return found

    def _own_providers(self) -> Iterable[Provider]:
        for name, (protocol, models) in OWN_PROVIDERS.items():
            prefix = name.upper()
            base_url = self.url(f"{prefix}_BASE_URL")
            max_concurrency = self.count(f"{prefix}_MAX_CONCURRENCY", None)
            key = self.text(f"{prefix}_API_KEY")
            if key is not None:
                yield Provider(
                    name=name,
                    protocol=protocol,
                    base_url=base_url,
                    api_key=SecretStr(key),
                    tier_models=models,
                    max_concurrency=max_concurrency,
                )

    def _compatible_providers(self) -> Iterable[Provider]:
        variable = "OPENAI_COMPATIBLE_PROVIDERS"
        said = self.text(variable)
        if said is None:
            return
        try:
            items = _COMPATIBLE_PROVIDERS.validate_json(said)
        except ValidationError as error:
            # Only the places and reasons: the value holds keys.
            for problem in error.errors(include_input=False, include_url=False, include_context=False):
                place = ".".join(str(part) for part in problem["loc"])
                self.faults.append(
                    Fault(variable, f"[hidden] {place}".strip(), f"{problem['msg']}; {_COMPATIBLE_ALLOWED}")
                )
            return
        taken = {*OWN_PROVIDERS, BUNDLED}
        for item in items:
            if item.name in taken:
                self.faults.append(Fault(variable, f"name {item.name}", "a name that no other provider has"))
                continue
            taken.add(item.name)
            yield Provider(
                name=item.name,
                protocol=Protocol.OPENAI,
                base_url=str(item.base_url).rstrip("/"),
                api_key=item.api_key,
                tier_models=item.tier_models,
                plain=True,
                enable_thinking=item.enable_thinking,
                max_concurrency=item.max_concurrency,
                embedding_model=item.embedding_model,
            )

    def tier_choice(self, tier: Tier) -> Choice:
        providers, models = TIER_VARIABLES[tier]
        return Choice(provider=self.text(*providers), model=self.text(*models))

    def agents(self) -> dict[str, Choice]:
        """<AGENT>_MODEL and its kind by agent, in small letters; other programs' variables may be among them."""
        found: dict[str, dict[str, str]] = {}
        for variable in self._env:
            match = _AGENT_VARIABLE.match(variable)
            said = self.text(variable)
            if match is None or match[1] in _NOT_AGENTS or said is None:
                continue
            found.setdefault(match[1].lower(), {})[_FIELDS[match[2]]] = said
        if said := self.text(CLASSIFIER_PROVIDER):
            found.setdefault(CLASSIFIER, {})["provider"] = said
        return {agent: Choice.model_validate(fields) for agent, fields in found.items()}

    def limits(self) -> Limits:
        usual = Limits()
        return Limits(
            connect_timeout_s=self.number("LLM_CONNECT_TIMEOUT_SECONDS", usual.connect_timeout_s, low=0.1, high=300),
            first_token_timeout_s=self.number(
                "LLM_FIRST_TOKEN_TIMEOUT_SECONDS", usual.first_token_timeout_s, low=0.1, high=3600
            ),
            token_timeout_s=self.number("LLM_TOKEN_TIMEOUT_SECONDS", usual.token_timeout_s, low=0.1, high=3600),
            keep_alive_timeout_s=self.number(
                "LLM_KEEP_ALIVE_TIMEOUT_SECONDS", usual.keep_alive_timeout_s, low=0.1, high=3600
            ),
            attempts=self.count("LLM_ATTEMPTS", usual.attempts) or usual.attempts,
            retry_budget_s=self.number("LLM_RETRY_BUDGET_SECONDS", usual.retry_budget_s, low=0, high=3600),
            slot_timeout_s=self.number("LLM_SLOT_TIMEOUT_SECONDS", usual.slot_timeout_s, low=0.1, high=3600),
        )


def temperature_in(text: str) -> float | None:
    """None if it is no temperature of a model."""
    value = _float(text)
    return value if value is not None and 0 <= value <= 2 else None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def without_password(value: str) -> str:
    """What stands between the scheme, or a name, and the host is hidden, whatever signs are in it."""
    return re.sub(r":(//)?.*(?=@)", r":\1***", value, count=1, flags=re.DOTALL)
