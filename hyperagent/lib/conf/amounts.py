"""How much of each thing: files, questions, requests, tokens and money."""

from typing import Annotated

from pydantic import Field, field_validator

from hyperagent.lib.conf.choices import BudgetEnd, UnpricedModels
from hyperagent.lib.conf.values import DOLLARS, TOKENS, Lower, Percents, Topic
from hyperagent.lib.llm.prices import FORM as PRICES_FORM
from hyperagent.lib.llm.prices import read as read_prices


class Amounts(Topic):
    document_max_bytes: int = Field(
        100_000_000,
        alias="DOCUMENT_MAX_BYTES",
        ge=1_000,
        le=10_000_000_000,
        description="bytes of one document, 1000 to 10000000000",
    )
    workspace_file_max_bytes: int = Field(
        100_000_000,
        alias="WORKSPACE_FILE_MAX_BYTES",
        ge=1_000,
        le=10_000_000_000,
        description="bytes of one file in a workspace, 1000 to 10000000000",
    )
    workspace_quota_bytes: int = Field(
        1_000_000_000,
        alias="WORKSPACE_QUOTA_BYTES",
        ge=1_000,
        le=100_000_000_000_000,
        description="bytes of all files of one person or project, 1000 to 100000000000000",
    )
    runs_per_minute: int = Field(
        600, alias="RUNS_PER_MINUTE", ge=0, le=10**6, description="questions of one person in a minute, 0 for no limit"
    )
    runs_per_hour: int = Field(
        6_000, alias="RUNS_PER_HOUR", ge=0, le=10**6, description="questions of one person in an hour, 0 for no limit"
    )
    runs_at_once: int = Field(
        500,
        alias="RUNS_AT_ONCE",
        ge=0,
        le=10**6,
        description="questions of one person that are worked on or wait for a runner, 0 for no limit",
    )
    uploads_per_hour: int = Field(
        1_000, alias="UPLOADS_PER_HOUR", ge=0, le=10**6, description="files of one person in an hour, 0 for no limit"
    )
    upload_bytes_per_day: int = Field(
        20_000_000_000,
        alias="UPLOAD_BYTES_PER_DAY",
        ge=0,
        le=10**15,
        description="bytes of one person's files in a day, 0 for no limit",
    )
    searches_per_minute: int = Field(
        300, alias="SEARCHES_PER_MINUTE", ge=0, le=10**6, description="searches of one person in a minute, 0: no limit"
    )
    requests_per_minute: int = Field(
        1_200,
        alias="REQUESTS_PER_MINUTE",
        ge=0,
        le=10**6,
        description="requests of one person to the API in a minute, 0 for no limit",
    )
    sockets_at_once: int = Field(
        100,
        alias="SOCKETS_AT_ONCE",
        ge=0,
        le=10**6,
        description="open sockets of one person in one web process, 0 for no limit",
    )
    run_budget_tokens: int = Field(
        0, alias="RUN_BUDGET_TOKENS", ge=0, le=10**12, description="tokens of one run, 0 for no limit"
    )
    run_budget_usd: float = Field(
        0, alias="RUN_BUDGET_USD", ge=0, le=1_000_000, description="dollars of one run such as 2.50, 0 for no limit"
    )
    # What each person, and all together, may use in a day or a month (of UTC); others are set in `/usage/budgets/`.
    user_budget_usd_per_day: float = Field(0, alias="USER_BUDGET_USD_PER_DAY", ge=0, le=1_000_000, description=DOLLARS)
    user_budget_tokens_per_day: int = Field(0, alias="USER_BUDGET_TOKENS_PER_DAY", ge=0, le=10**12, description=TOKENS)
    user_budget_usd_per_month: float = Field(
        0, alias="USER_BUDGET_USD_PER_MONTH", ge=0, le=1_000_000, description=DOLLARS
    )
    user_budget_tokens_per_month: int = Field(
        0, alias="USER_BUDGET_TOKENS_PER_MONTH", ge=0, le=10**12, description=TOKENS
    )
    installation_budget_usd_per_day: float = Field(
        0, alias="INSTALLATION_BUDGET_USD_PER_DAY", ge=0, le=1_000_000, description=DOLLARS
    )
    installation_budget_tokens_per_day: int = Field(
        0, alias="INSTALLATION_BUDGET_TOKENS_PER_DAY", ge=0, le=10**12, description=TOKENS
    )
    installation_budget_usd_per_month: float = Field(
        0, alias="INSTALLATION_BUDGET_USD_PER_MONTH", ge=0, le=1_000_000, description=DOLLARS
    )
    installation_budget_tokens_per_month: int = Field(
        0, alias="INSTALLATION_BUDGET_TOKENS_PER_MONTH", ge=0, le=10**12, description=TOKENS
    )
    budget_end: Annotated[BudgetEnd, Lower] = Field(BudgetEnd.FINISH, alias="BUDGET_END", description="finish or wait")
    budget_alerts: Percents = Field(
        (50, 80, 100), alias="BUDGET_ALERTS", description="percentages from 1 to 100, with commas between, or none"
    )
    unpriced_models: Annotated[UnpricedModels, Lower] = Field(
        UnpricedModels.ALLOW, alias="UNPRICED_MODELS", description="allow or refuse"
    )
    model_prices: str = Field("", alias="MODEL_PRICES", description=PRICES_FORM)

    @field_validator("model_prices")
    @classmethod
    def _prices(cls, value: str) -> str:
        read_prices(value)
        return value
