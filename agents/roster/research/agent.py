"""The research agent: plans, searches with helpers at its side, weighs what was found, and reports with sources."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agents.craft.briefing import briefing, house_rules, short_briefing
from agents.craft.exchange import AgentInput, HandoffInfo, Work
from agents.craft.handing_over import hand_over, handoff_tools
from agents.craft.hearing import with_said
from agents.craft.loop import react
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import ask_small
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.pipeline.citations import check
from agents.roster.research import subquestions
from agents.roster.research.config import Config, Proposal, Subquestion, config_of
from agents.roster.research.findings import Findings, passages_in
from agents.roster.research.report import ASK, ASKING, may_ask, written
from agents.roster.research.scenarios import SCENARIOS
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, ModelReply, Role

SPEC = AgentSpec(
    name="research",
    description="Investigates a question in many sources, side by side, and writes a report with citations.",
    capabilities=("web research", "reports with sources", "comparing sources", "market, academic, technical and news"),
    typical_use_cases=(
        "Research the state of solid-state batteries and write a report",
        "How large is the market for e-bikes in Europe, and who leads it?",
        "Compare the three big cloud databases for a small team, with sources",
        "What do studies say about four-day weeks?",
        "What is behind this week's rail strike?",
    ),
    tools=(
        "web_search",
        "web_search_news",
        "web_search_deep",
        "fetch_url",
        "generate_image",
        "analyze_image",
        "fork",
        "wait",
        ASK,
    ),
    temperature=0.3,
    max_iterations=8,
    timeout_s=1_800,
    data_fields=("depth", "scenario", "subquestions", "sources", "analysis", "synthesis"),
)

HERE = Path(__file__).parent
NEEDS: Final = ("web", "documents")


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was made of the findings before the report; empty where it was not."""

    analysis: str = ""
    synthesis: str = ""

    def told(self) -> str:
        return f"\n\n## Analysis\n{self.analysis}\n\n## Synthesis\n{self.synthesis}" if self.synthesis else ""


async def run(context: AgentContext, task: AgentInput) -> Work:
    lacking: dict[str, str] = await context.note("lacking", lambda: _lacking(context))
    with stage(context, "init_config", "Planning the research"):
        proposal = await _proposal(context, task)
    handoff = await _handed_over(context, task, proposal)
    if handoff is not None:
        return Work(result="", handoff=handoff)
    config = config_of(task.options, proposal, lacking=lacking)
    with stage(context, "search_loop", f"Searching: {config.scenario.title}"):
        findings = await _findings(context, task, config, lacking)
    if findings.handoff is not None:
        shared = _shared(findings, findings.told())
        return Work(result="", handoff=findings.handoff, shared=shared, sources=findings.sources)
    told = f"{briefing(task)}\n\n## Focus\n{config.focus or task.task}\n\n{findings.told()}"
    weighed = await _weighed(context, task, config, told) if config.depth.weighs else Weighed()
    with stage(context, "write_report", "Writing the report"):
        text, model = await _report(context, task, config, told + weighed.told())
    return _work(config, findings, weighed, text or weighed.synthesis, model)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """One child looks it up and answers; without a search, what the small model knows itself."""
    lacking: dict[str, str] = await context.note("lacking", lambda: _lacking(context))
    able = [agent for agent, provider in (("web", "web"), ("rag", "documents")) if not lacking[provider]]
    nothing = {"depth": "quick", "scenario": "technical", "sources": [], "analysis": "", "synthesis": ""}
    questions = tuple(Subquestion(question=task.task, agent=agent) for agent in able[:1])
    started = await subquestions.start(context, task, questions)
    for one in await subquestions.collect(context, questions, started):
        if one.output is not None:
            asked = [{"question": task.task, "agent": one.question.agent, "answered": True}]
            sources = one.output.metadata.sources
            shown = [source.model_dump(mode="json", exclude_none=True) for source in sources]
            data = {**nothing, "subquestions": asked, "sources": shown}
            return Work(result=one.output.result, data=data, confidence=0.5, sources=sources)
    system = read_prompt(HERE / "prompt_small.md")
    reply = await ask_small(context, task, SPEC, system=system, user=short_briefing(task), stage="write")
    text = f"{reply.text}\n\nNothing was looked up for this. {lacking['web']}".strip()
    return Work(result=text, data={**nothing, "subquestions": []}, confidence=0.2, model_used=reply.model)


def _lacking(context: AgentContext) -> dict[str, str]:
    door = context.run.tools
    no_tools = "This process has no tools, so nothing can be searched."
    return {name: door.lacks((name,)) if door else no_tools for name in NEEDS}


async def _proposal(context: AgentContext, task: AgentInput) -> Proposal:
    scenarios = "\n".join(f"  - `{name}`: {scenario.title}" for name, scenario in SCENARIOS.items())
    system = fill(read_prompt(HERE / "init_config.md"), scenarios=scenarios, rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=briefing(task)))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=0, keeps_temperature=True)
    return await context.structured(await with_said(context, request), Proposal, stage="analyze")


async def _handed_over(context: AgentContext, task: AgentInput, proposal: Proposal) -> HandoffInfo | None:
    if proposal.handoff_to == "none":
        return None
    return await hand_over(context, proposal.handoff_to, task.task, why=proposal.focus)


async def _findings(context: AgentContext, task: AgentInput, config: Config, lacking: dict[str, str]) -> Findings:
    """The subquestions are looked up while the main search goes on."""
    started = await subquestions.start(context, task, config.subquestions)
    findings = Findings(trouble=lacking["web"])
    if not lacking["web"]:
        findings = await _searched(context, task, config)
    answered = await subquestions.collect(context, config.subquestions, started)
    return replace(findings, answered=answered)


async def _searched(context: AgentContext, task: AgentInput, config: Config) -> Findings:
    system = fill(
        read_prompt(HERE / "search.md"),
        depth=config.depth.title,
        search=config.scenario.search,
        subquestions="; ".join(one.question for one in config.subquestions) or "there are none",
        rules=house_rules(),
    )
    user = f"{briefing(task, plan=False)}\n\n## Focus\n{config.focus or task.task}"
    looped = await react(
        context,
        task.model_copy(update={"speaks": False}),
        SPEC,
        system=system,
        user=user,
        tools=(*(name for name in SPEC.tools if name != ASK), *handoff_tools(SPEC), *context.connected),
        stage="search_agent",
        max_iterations=config.depth.rounds,
    )
    return Findings(
        notes="" if looped.handoff else looped.text,
        passages=passages_in(looped),
        failed=looped.came_to_nothing,
        handoff=looped.handoff,
    )


async def _weighed(context: AgentContext, task: AgentInput, config: Config, told: str) -> Weighed:
    """Without it, where it fails, the report is written from the findings alone."""
    try:
        with stage(context, "analyze", "Weighing the sources"):
            analysis = (await _ask(context, task, "analyze", told, judge=config.scenario.judge)).text
        with stage(context, "synthesize", "Putting the findings together"):
            quiet = task.model_copy(update={"speaks": False})
            synthesis = (await _ask(context, quiet, "synthesize", f"{told}\n\n## Analysis\n{analysis}")).text
    except StepFailed:
        return Weighed()
    return Weighed(analysis, synthesis)


async def _report(context: AgentContext, task: AgentInput, config: Config, told: str) -> tuple[str, str | None]:
    system = fill(
        read_prompt(HERE / "report.md"),
        words=str(config.depth.words),
        report=config.scenario.report,
        asking=ASKING if may_ask(context, task) else "",
        rules=house_rules(),
    )
    reply = await written(context, task, SPEC, system=system, user=told)
    return reply.text, reply.model


async def _ask(context: AgentContext, task: AgentInput, prompt: str, told: str, **more: str) -> ModelReply:
    system = fill(read_prompt(HERE / f"{prompt}.md"), rules=house_rules(), **more)
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=told))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.model(await with_said(context, request), stage=prompt, shown=task.speaks)


def _shared(findings: Findings, told: str) -> dict[str, Any]:
    sources = [source.model_dump(mode="json", exclude_none=True) for source in findings.sources]
    return {"research_findings": told, "research_sources": sources}


def _work(config: Config, findings: Findings, weighed: Weighed, text: str, model: str | None) -> Work:
    sources = findings.sources
    text = check(text, len(sources))
    shown = [source.model_dump(mode="json", exclude_none=True) for source in sources]
    unanswered = sum(one.output is None for one in findings.answered)
    share = unanswered / len(findings.answered) if findings.answered else 0
    data = {
        "depth": config.depth_name,
        "scenario": config.scenario_name,
        "subquestions": [
            {"question": one.question.question, "agent": one.question.agent, "answered": one.output is not None}
            for one in findings.answered
        ],
        "sources": shown,
        "analysis": weighed.analysis,
        "synthesis": weighed.synthesis,
    }
    failed = findings.failed and not sources
    return Work(
        result=text,
        data={} if failed else data,
        done=not failed,
        error="errors" if failed else None,
        partial_data=data if failed else {},
        confidence=round((0.85 if sources else 0.3) * (1 - 0.3 * share), 2),
        sources=sources,
        shared=_shared(findings, text),
        model_used=model,
    )
