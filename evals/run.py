"""`python -m evals.run --model NAME`: how well a model routes, plans, chooses tools, hands off and composes.

Providers and keys come from the environment and `.env`, as for the server. Prints a table, writes JSON, and exits with
1 if a suite falls below the threshold, or if the model could not be asked somewhere.
"""

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agents.engine.errors import StepFailed
from agents.runtime.driven import PipelineSettings
from evals.casebook import SUITES, Case, read_cases
from evals.first_call import calls_of_models
from evals.suites import RUNNERS, Answered, context_of, trouble_of
from hyperagent.lib import conf
from hyperagent.lib.llm.config import BadSettings, LLMSettings
from hyperagent.lib.llm.errors import ModelGarbled
from hyperagent.lib.llm.gateway import ModelGateway

TIER_VARIABLES: Final = ("MAX_MODEL", "PRO_MODEL", "FLASH_MODEL")
FAILED, WRONG_USE = 1, 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case. `asked`: how many calls of a model it took. `error`: why one of them came to nothing,
    where that is not the model's fault."""

    suite: str
    id: str
    question: str
    passed: bool
    got: str
    faults: tuple[str, ...] = ()
    asked: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """`asked`: the cases in which a model was asked at all."""

    suite: str
    passed: int
    cases: int
    asked: int
    errors: int

    @property
    def share(self) -> float:
        return self.passed / self.cases if self.cases else 0.0


def settings_for(model: str, env: Mapping[str, str]) -> LLMSettings:
    """The environment's settings with this model in every tier and for every agent. Raises BadSettings."""
    settings = LLMSettings.from_env({**env, **dict.fromkeys(TIER_VARIABLES, model)})
    return settings.model_copy(update={"agents": {}, "fallbacks": {}})


async def evaluate(
    models: ModelGateway, suites: Sequence[str], *, limit: int | None, at_once: int, settings: PipelineSettings
) -> list[Outcome]:
    """Every case of the suites, in their order, some at once."""
    slots = asyncio.Semaphore(at_once)

    async def one(suite: str, case: Case) -> Outcome:
        async with slots:
            return await outcome_of(suite, case, models, settings)

    return await asyncio.gather(*(one(suite, case) for suite in suites for case in read_cases(suite, limit=limit)))


async def outcome_of(suite: str, case: Case, models: ModelGateway, settings: PipelineSettings) -> Outcome:
    """What became of one case. One with an error has not passed, whatever the pipeline made of it without a model."""
    context = context_of(models)
    failed = ""
    try:
        answered = await RUNNERS[suite](case, context, settings)
    except StepFailed as failure:
        answered = Answered("(no answer)", [failure.message])
        failed = "" if failure.code == ModelGarbled.code else failure.message
    error = trouble_of(context) or failed
    return Outcome(
        suite,
        case.id,
        case.question,
        passed=not answered.faults and not error,
        got=answered.got,
        faults=tuple(answered.faults),
        asked=calls_of_models(context),
        error=error,
    )


def scores_of(outcomes: Sequence[Outcome]) -> list[Score]:
    names = dict.fromkeys(outcome.suite for outcome in outcomes)
    return [_score(name, [outcome for outcome in outcomes if outcome.suite == name]) for name in names]


def _score(suite: str, outcomes: Sequence[Outcome]) -> Score:
    return Score(
        suite,
        passed=sum(outcome.passed for outcome in outcomes),
        cases=len(outcomes),
        asked=sum(outcome.asked > 0 for outcome in outcomes),
        errors=sum(bool(outcome.error) for outcome in outcomes),
    )


def table_of(scores: Sequence[Score], outcomes: Sequence[Outcome]) -> str:
    lines = [f"{'suite':<14}{'passed':>8}{'cases':>8}{'asked':>8}{'share':>8}{'errors':>8}"]
    lines += [
        f"{one.suite:<14}{one.passed:>8}{one.cases:>8}{one.asked:>8}{one.share:>8.0%}{one.errors:>8}" for one in scores
    ]
    for outcome in outcomes:
        if not outcome.passed:
            why = f"error: {outcome.error}" if outcome.error else "; ".join(outcome.faults)
            lines.append(f"- {outcome.id}: {outcome.question[:60]!r}: {why[:160]}")
    return "\n".join(lines)


def write(folder: Path, model: str, scores: Sequence[Score], outcomes: Sequence[Outcome]) -> Path:
    now = datetime.now(UTC)
    path = folder / f"{re.sub(r'[^a-zA-Z0-9.-]+', '-', model)}-{now:%Y%m%dT%H%M%SZ}.json"
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        "model": model,
        "at": now.isoformat(),
        "scores": [{**asdict(score), "share": round(score.share, 4)} for score in scores],
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }
    path.write_text(json.dumps(kept, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.run", description="Evaluates a model.")
    parser.add_argument("--model", required=True, help="such as openai/gpt-5.4 or mine/some-model")
    parser.add_argument("--suite", action="append", choices=SUITES, help="may be given several times; all if not")
    parser.add_argument("--limit", type=int, help="so many cases of each suite")
    parser.add_argument("--threshold", type=float, default=0.8, help="share of each suite that has to pass, 0 to 1")
    parser.add_argument("--at-once", type=int, default=4, help="cases at the same time")
    parser.add_argument(
        "--routing-mode",
        choices=("auto", "llm"),
        default="llm",
        help="llm asks the router always; auto, as a server does, only where the patterns are not sure",
    )
    parser.add_argument("--out", type=Path, help="the folder of what is written; evals in DATA_DIR if not given")
    return parser.parse_args(arguments)


async def _run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    models = ModelGateway(settings_for(options.model, env))
    try:
        outcomes = await evaluate(
            models,
            options.suite or list(SUITES),
            limit=options.limit,
            at_once=max(1, options.at_once),
            settings=PipelineSettings(routing_mode=options.routing_mode),
        )
    finally:
        await models.aclose()
    scores = scores_of(outcomes)
    print(table_of(scores, outcomes))
    folder = options.out or Path(env.get("DATA_DIR") or "var") / "evals"
    print(f"written to {write(folder, options.model, scores, outcomes)}")
    return FAILED if any(score.errors or score.share < options.threshold for score in scores) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(sys.argv[1:] if arguments is None else arguments)
    env = dict(os.environ)
    try:
        conf.read_env_file(env)
        return asyncio.run(_run(options, env))
    except (BadSettings, conf.BadConfig) as error:
        print(error, file=sys.stderr)
        return WRONG_USE


if __name__ == "__main__":
    sys.exit(main())
