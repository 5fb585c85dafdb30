"""The chat agent: answers from the conversation itself."""

from pathlib import Path
from typing import Any

from agents.prompts import fill, read_prompt
from agents.roster.chat.window import messages_within
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import ModelRequest, Tier

SPEC = AgentSpec(
    name="chat",
    description="Talks with the user: answers, explains, drafts and translates from the conversation itself.",
    capabilities=("conversation", "explanation", "drafting", "translation", "summaries of given text"),
    typical_use_cases=("What is a Kahn sort?", "Make this paragraph shorter", "Bonjour, how do I say this in German?"),
)

HERE = Path(__file__).parent
BUDGET_CHARS = 60_000
# The bundled model reads about 90 tokens a second: a long prompt would make people wait.
SMALL_BUDGET_CHARS = 1_200
SMALL_MAX_TOKENS = 400


async def run(context: AgentContext, task: dict[str, Any]) -> dict[str, Any]:
    """`task`: question, history, and whether the model is capable. Gives `answer` and the model that wrote it."""
    capable = task["capable"]
    if capable:
        today = (await context.now()).date().isoformat()
        system = fill(read_prompt(HERE / "prompt.md"), today=today)
    else:
        system = read_prompt(HERE / "prompt_small.md")
    request = ModelRequest(
        tier=Tier(task["tier"]) if task["tier"] else SPEC.tier,
        messages=messages_within(
            task["history"],
            task["question"],
            system=system,
            budget_chars=BUDGET_CHARS if capable else SMALL_BUDGET_CHARS,
        ),
        temperature=SPEC.temperature,
        max_tokens=None if capable else SMALL_MAX_TOKENS,
        provider=task["provider"],
        model=task["model"],
        agent=SPEC.name,
    )
    reply = await context.model(request, stage="agent")
    return {"answer": reply.text, "model": reply.model, "provider": reply.provider}
