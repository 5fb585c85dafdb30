"""LangGraph behind FastAPI: a graph with one chat-model node, its state kept in Postgres by its own saver.

Run by the interpreter of its own environment (`benchmarks.environments`); `python langgraph_app.py --port … `.
"""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from serving import Answer, options, serve

GIVEN = options("--database")
# As its documentation has it; more connections were not faster, for the saver uses one at a time.
CONNECTION = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


@asynccontextmanager
async def opened() -> AsyncIterator[Answer]:
    model = ChatOpenAI(model=GIVEN.model, base_url=f"{GIVEN.upstream}/v1", api_key="k", streaming=True)

    async def ask_model(state: MessagesState) -> dict[str, object]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask_model)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    async with AsyncConnectionPool(GIVEN.database, min_size=4, max_size=20, kwargs=CONNECTION) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        graph = builder.compile(checkpointer=saver)

        async def answer(text: str) -> AsyncIterator[str]:
            thread = {"configurable": {"thread_id": str(uuid.uuid4())}}
            asked = {"messages": [{"role": "user", "content": text}]}
            async for message, _ in graph.astream(asked, thread, stream_mode="messages"):
                if isinstance(message, AIMessageChunk) and message.content:
                    yield message.content

        yield answer


serve(opened, port=GIVEN.port)
