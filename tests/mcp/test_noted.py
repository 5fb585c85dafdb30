"""What an agent has of connected servers is noted when it begins: a replay has the same, whatever was changed."""

from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from agents.craft.exchange import AgentInput
from agents.engine.states import EffectStatus, StepKind
from agents.mcp.definitions import Risk
from agents.mcp.values import Offered
from agents.pipeline.approving import _named
from agents.pipeline.work import _with_connected
from agents.registry import specs
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tools.tool import BadTool, Call, Reply, tool
from tests.doubles.memory_journal import Death
from tests.tools.doubles import APPROVE_ALL
from tests.tools.driving import case_of, seen

SERVER = UUID("00000000-0000-4000-8000-00000000cafe")


def offered(name: str, risk: Risk = Risk.READ, **more: Any) -> Offered:
    values: dict[str, Any] = {
        "called": f"mcp_shop_{name}",
        "server_id": SERVER,
        "server": "shop",
        "name": name,
        "description": f"Does {name}",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        "pin": "0" * 64,
        "risk": risk,
        "requires_approval": risk is not Risk.READ,
        "review": "1" * 64,
        **more,
    }
    return Offered.model_validate(values)


@dataclass
class Shop:
    """Servers in memory. `asked`: how often it was asked what there is; `called`: what was called, with its key."""

    tools: dict[str, list[Offered]]
    asked: int = 0
    called: list[tuple[str, Any, bool]] = field(default_factory=list)

    async def offered(self, about: About, lookups: Any = None) -> dict[str, list[Offered]]:
        self.asked += 1
        return self.tools

    async def call(self, call: Call, offered: Offered, arguments: dict[str, Any]) -> Reply:
        self.called.append((offered.called, arguments, bool(call.key)))
        return Reply(content=f"{offered.name} of {arguments['what']}")


async def program(context: AgentContext) -> Any:
    assert context.run.tools is not None
    context.connected = await context.run.tools.connected(context)
    names = tuple(context.connected)
    bought = seen(await context.tool("mcp_shop_buy", {"what": "tea"}, allowed=names))
    answer = await context.ask("input", {"question": "go on?", "options": []})
    read = seen(await context.tool("mcp_shop_look", {"what": "tea"}, allowed=names))
    strange = seen(await context.tool("mcp_shop_steal", {}, allowed=names))
    return {"names": names, "bought": bought, "read": read, "strange": strange, "answer": answer["text"]}


@pytest.mark.spec("B26", "B1", "B2")
async def test_a_run_goes_on_with_the_tools_that_it_began_with_and_an_effect_happens_once() -> None:
    shop = Shop({"chat": [offered("buy", Risk.WRITE), offered("look")], "mail": [offered("steal")]})
    case = case_of(program, Gateway(Providers(connections=shop), checks=APPROVE_ALL))

    assert (await case.drive()).how == "waiting"
    shop.tools = {}
    case.answer({"status": "answered", "text": "yes"})
    end = await case.drive()

    assert list(end.value["names"]) == ["mcp_shop_buy", "mcp_shop_look"]
    assert end.value["bought"]["content"] == '<untrusted source="mcp_shop_buy">\nbuy of tea\n</untrusted>'
    assert shop.called == [("mcp_shop_buy", {"what": "tea"}, True), ("mcp_shop_look", {"what": "tea"}, False)]
    assert shop.asked == 1
    assert end.value["strange"]["data"]["error"] == "unknown_tool"
    (row,) = case.store.effects(case.execution_id)
    assert (row.tool, row.status) == ("mcp_shop_buy", "finished")
    notes = [step.name for step in case.store.steps(case.execution_id) if step.kind is StepKind.NOTE]
    assert notes == ["connected"]


@pytest.mark.spec("B26")
async def test_without_a_person_to_ask_what_writes_is_refused() -> None:
    shop = Shop({"chat": [offered("buy", Risk.IRREVERSIBLE)]})

    async def buys(context: AgentContext) -> Any:
        assert context.run.tools is not None
        context.connected = await context.run.tools.connected(context)
        return seen(await context.tool("mcp_shop_buy", {"what": "tea"}))

    end = await case_of(buys, Gateway(Providers(connections=shop))).drive()

    assert end.value["data"]["error"] == "approval_unavailable"
    assert shop.called == []


def test_a_task_that_was_given_some_tools_has_no_others() -> None:
    spec = specs()["mail"]
    connected = {"mcp_shop_buy": object()}
    whole = AgentInput(agent_id="a", agent_name="mail", task="x", tools=spec.tools)
    part = whole.model_copy(update={"tools": spec.tools[:1]})

    assert _with_connected(whole, spec, connected).tools == (*spec.tools, "mcp_shop_buy")
    assert _with_connected(part, spec, connected) == part
    # All that it has was given by nobody: such a task is not left out because one of its tools needs a yes.
    assert _named(None, spec, _with_connected(whole, spec, connected)) == ()  # type: ignore[arg-type]


async def test_a_run_from_before_more_was_noted_of_them_has_their_names() -> None:
    async def before(context: AgentContext) -> Any:
        await context.note("connected", lambda: {"chat": ["mcp_shop_buy"]})
        return await context.ask("input", {"question": "go on?", "options": []})

    async def now(context: AgentContext) -> Any:
        assert context.run.tools is not None
        tools = await context.run.tools.connected_tools(context)
        await context.ask("input", {"question": "go on?", "options": []})
        return {agent: [asdict(one) for one in each] for agent, each in tools.items()}

    shop = Shop({"chat": [offered("buy", Risk.WRITE)]})
    programs = [before, now]

    async def program(context: AgentContext) -> Any:
        return await programs.pop(0)(context)

    case = case_of(program, Gateway(Providers(connections=shop)))
    await case.drive()
    case.answer({"status": "answered", "text": "yes"})

    end = await case.drive()

    assert end.value == {"chat": [{"name": "mcp_shop_buy", "requires_approval": False, "irreversible": False}]}
    assert shop.asked == 0


def test_no_tool_of_ours_is_called_like_a_strangers() -> None:
    async def look(call: Call) -> str:
        """Looks."""
        return ""

    with pytest.raises(BadTool, match="begin with mcp_"):
        tool(agents=("chat",), name="mcp_shop_look")(look)


@dataclass
class FarShop(Shop):
    """Says before it touches the world, as the product's servers do. `away`: where the database is away, once each."""

    away: set[str] = field(default_factory=set)

    async def call(self, call: Call, offered: Offered, arguments: dict[str, Any]) -> Reply:
        self._look("before")
        await call.touching()
        reply = await super().call(call, offered, arguments)
        self._look("after")
        return reply

    def _look(self, where: str) -> None:
        if where in self.away:
            self.away.remove(where)
            raise OperationalError("server closed the connection unexpectedly")


async def buying(context: AgentContext) -> Any:
    assert context.run.tools is not None
    context.connected = await context.run.tools.connected(context)
    return seen(await context.tool("mcp_shop_buy", {"what": "tea"}))


@pytest.mark.spec("B2", "B26")
async def test_what_was_broken_off_before_a_server_was_called_is_done_and_nobody_is_asked_whether_it_happened() -> None:
    begun = 0
    for at in range(1, 12):
        shop = FarShop({"chat": [offered("buy", Risk.WRITE)]})
        case = case_of(buying, Gateway(Providers(connections=shop), checks=APPROVE_ALL))
        await case.drive(death=Death.WRITE_IS_STORED, at=at)
        effects = case.store.effects(case.execution_id)
        if not [one for one in effects if one.status is EffectStatus.STARTED and one.response is None]:
            continue
        begun += 1

        end = await case.drive()

        assert (end.how, end.value["is_error"]) == ("completed", False)
        assert [name for name, _, _ in shop.called] == ["mcp_shop_buy"]
    assert begun


@pytest.mark.spec("B2", "B26")
@pytest.mark.parametrize(("where", "how", "called"), [("before", "completed", 0), ("after", "waiting", 1)])
async def test_a_person_is_asked_only_where_a_server_may_have_done_it(where: str, how: str, called: int) -> None:
    shop = FarShop({"chat": [offered("buy", Risk.WRITE)]}, away={where})
    case = case_of(buying, Gateway(Providers(connections=shop), checks=APPROVE_ALL))

    end = await case.drive()

    assert (end.how, len(shop.called)) == (how, called)
    if how == "completed":
        assert end.value["content"].endswith("Call it again.")
