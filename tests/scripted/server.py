"""The scripted server: which line answers which call, at what pace, with which fault, and what it saw.

It runs on a thread with a loop of its own, so synchronous and asynchronous tests use it alike and a test that blocks
its loop does not block the model. `python -m tests.scripted` runs it as a process.
"""

import asyncio
import base64
import hashlib
import itertools
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
from aiohttp import web

from tests.scripted.images import image_answer
from tests.scripted.script import Call, Script, ScriptedCall, echo_of, stamped_word
from tests.scripted.speak import AnthropicSpeaker, Ending, GeminiSpeaker, OpenAISpeaker, Speaker

EMBEDDING_DIMENSIONS = 8
ECHO_CALLS_KEPT = 10_000


class ScriptedServer:
    """`strict`: a call without a line and a line left over are both wrong (`verify`). `echo`: a call without a line is
    answered from its own words. With `api_key`, other keys get 401."""

    def __init__(self, *, echo: bool = False, api_key: str | None = None, port: int = 0) -> None:
        self.echo = echo
        self.api_key = api_key
        self.port = port
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._open = 0
        self._scripts: list[Script] = []
        self._used: dict[int, int] = {}
        self._released = threading.Event()
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._started = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._startup_error: BaseException | None = None

    @property
    def url(self) -> str:
        """Without a path: OpenAI's base is `url + "/v1"`, Anthropic's is this, Gemini's is `url + "/v1beta"`."""
        return f"http://127.0.0.1:{self.port}"

    # What tests tell and ask.

    def script(self, *lines: Script) -> None:
        with self._changed:
            self._scripts.extend(lines)

    def say(self, text: str, **more: Any) -> None:
        self.script(Script(text=text, **more))

    def release(self) -> None:
        """Lets go on what is held and what would be."""
        self._released.set()

    def reset(self) -> None:
        self.release()
        self._released = threading.Event()
        with self._changed:
            self.calls.clear()
            self._scripts.clear()
            self._used.clear()

    def verify(self) -> None:
        """Raises AssertionError for calls that no line was for and for lines that no call used."""
        with self._changed:
            unexpected = [f"{call.model}: {call.last_user[:200]!r}" for call in self.calls if not call.expected]
            left = [script for script in self._scripts if self._owed(script)]
        assert not unexpected, f"calls without a line in the script: {unexpected}"
        assert not left, f"lines that no call used: {left}"

    def wait_until(self, condition: Callable[["ScriptedServer"], bool], *, timeout_s: float = 10.0) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), timeout=timeout_s):
                raise AssertionError(f"not within {timeout_s} s; calls so far: {self.calls}")

    # Its life.

    def start(self) -> "ScriptedServer":
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True, name="scripted-model")
        self._thread.start()
        self.wait_started()
        return self

    def wait_started(self) -> None:
        self._started.wait(10)
        if self._startup_error:
            raise self._startup_error

    def stop(self) -> None:
        if self._loop and self._stopping and self._thread:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(10)

    async def serve(self) -> None:
        """Until `stop`."""
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        # Handlers are cancelled when their client leaves: that is how a silent stream notices.
        runner = web.AppRunner(self.app(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024).start()
            self.port = runner.addresses[0][1]
        except BaseException as error:
            self._startup_error = error
            raise
        finally:
            self._started.set()
        await self._stopping.wait()
        await runner.cleanup()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_post("/v1/images/generations", self._images)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/messages", self._anthropic)
        app.router.add_post("/v1beta/models/{action:.+}", self._gemini)
        app.router.add_post("/_script", self._control_script)
        app.router.add_get("/_calls", self._control_calls)
        app.router.add_get("/_times", self._control_times)
        app.router.add_post("/_release", self._control_release)
        app.router.add_post("/_reset", self._control_reset)
        app.router.add_get("/_verify", self._control_verify)
        return app

    # The faces.

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        options = body.get("stream_options") or {}
        speaker = OpenAISpeaker(body["model"], self._next_id(), include_usage=bool(options.get("include_usage")))
        texts = [_text_of(message.get("content")) for message in body["messages"] if message["role"] == "user"]
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        call = self._note(request, "openai", body["model"], texts, bool(body.get("stream")), body)
        return await self._answer(request, call, speaker, schema)

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        speaker = AnthropicSpeaker(body["model"], self._next_id())
        texts = [_text_of(message["content"]) for message in body["messages"] if message["role"] == "user"]
        schema = (body.get("output_format") or {}).get("schema")
        call = self._note(request, "anthropic", body["model"], texts, bool(body.get("stream")), body)
        return await self._answer(request, call, speaker, schema)

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        model, _, action = request.match_info["action"].partition(":")
        body = orjson.loads(await request.read())
        speaker = GeminiSpeaker(model, self._next_id())
        texts = [_text_of(content["parts"]) for content in body["contents"] if content.get("role") != "model"]
        config = body.get("generationConfig") or {}
        schema = config.get("response_json_schema") or config.get("responseJsonSchema")
        call = self._note(request, "gemini", model, texts, action == "streamGenerateContent", body)
        return await self._answer(request, call, speaker, schema)

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        call = self._note(request, "embeddings", body["model"], [str(texts[-1])], False, body)
        speaker = OpenAISpeaker(body["model"], self._next_id(), include_usage=False)
        script = self._line_for(call) if self._scripts else None
        if self._wrong_key(call) or (script and script.status != 200):
            return self._error_response(call, speaker, script or Script(status=401, error_code="invalid_api_key"))
        encoded = body.get("encoding_format") == "base64"
        rows = [
            {"object": "embedding", "index": index, "embedding": _vector(str(text), encoded=encoded)}
            for index, text in enumerate(texts)
        ]
        self._end(call, finished=True)
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return _json({"object": "list", "data": rows, "model": body["model"], "usage": usage})

    async def _images(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        speaker = OpenAISpeaker(body["model"], self._next_id(), include_usage=False)
        call = self._note(request, "images", body["model"], [body["prompt"]], False, body)
        return await self._answer(request, call, speaker, None)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        return _json({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})

    # One answer.

    async def _answer(
        self, request: web.Request, call: Call, speaker: Speaker, schema: dict[str, Any] | None
    ) -> web.StreamResponse:
        if self._wrong_key(call):
            refusal = Script(status=401, error_message=f"Incorrect API key provided: {_key_of(call)}")
            return self._error_response(call, speaker, refusal)
        script = self._line_for(call) or (echo_of(call.last_user, schema) if self.echo else None)
        if script is None:
            call.expected = False
            return self._error_response(
                call, speaker, Script(status=400, error_message="no line in the script for this")
            )
        try:
            if script.first_delay_s:
                await asyncio.sleep(script.first_delay_s)
            if script.refuse:
                _abort(request)
                return web.Response()
            if script.status != 200:
                return self._error_response(call, speaker, script)
            if not call.stream or script.whole:
                return self._whole(call, speaker, script)
            return await self._stream(request, call, speaker, script)
        except (asyncio.CancelledError, ConnectionError):
            self._end(call, finished=False)
            raise

    async def _stream(self, request: web.Request, call: Call, speaker: Speaker, script: Script) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        await _send(response, speaker.head(), script)
        began, released = time.monotonic(), self._released
        for number, said in enumerate(_steps(speaker, script)):
            if script.tokens_per_s is not None:
                wait_s = began + number / script.tokens_per_s - time.monotonic()
                if wait_s > 0:
                    await asyncio.sleep(wait_s)
            if number == script.cut_after:
                _abort(request)
                self._end(call, finished=True)
                return response
            if number == script.silence_after:
                await asyncio.Event().wait()  # until the client leaves
            while number == script.kept_open_after:
                await _send(response, b": keep-alive\n\n", script)
                await asyncio.sleep(0.02)
            while number == script.held_after and not released.is_set():
                await asyncio.sleep(0.02)
            if number == script.malformed_after:
                await _send(response, b'data: {"choices": [{"delta": {"cont\n\n', script)
            if number == script.error_after:
                fault = speaker.error_event(503, script.error_code, script.error_message)
                await _send(response, fault, script)
                break
            await _send(response, speaker.text(_stamp()) if said is None else said, script)
            call.tokens_sent = number + 1
        else:
            tail = speaker.calls(_with_ids(script.tool_calls, speaker.reply_id)) + speaker.tail(_ending(script, call))
            await _send(response, tail, script)
        await response.write_eof()
        self._end(call, finished=True)
        return response

    def _whole(self, call: Call, speaker: Speaker, script: Script) -> web.StreamResponse:
        if call.protocol == "images" or script.image is not None:
            self._end(call, finished=True)
            return _json(image_answer(call.protocol, script))
        call.tokens_sent = len(script.tokens())
        calls = _with_ids(script.tool_calls, speaker.reply_id)
        body = speaker.whole(script.text, script.thinking, calls, _ending(script, call))
        self._end(call, finished=True)
        return _json(body)

    def _error_response(self, call: Call, speaker: Speaker, script: Script) -> web.StreamResponse:
        headers = {"Retry-After": script.retry_after} if script.retry_after is not None else {}
        self._end(call, finished=True)
        return _json(speaker.error(script.status, script.error_code, script.error_message), script.status, headers)

    # Its books.

    def _note(
        self, request: web.Request, protocol: str, model: str, texts: list[str], stream: bool, body: dict[str, Any]
    ) -> Call:
        call = Call(
            protocol=protocol,
            path=request.path_qs,
            model=model,
            last_user=texts[-1] if texts else "",
            stream=stream,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
            peer=str(request.transport and request.transport.get_extra_info("peername")),
        )
        with self._changed:
            self.calls.append(call)
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
            if self.echo and len(self.calls) > ECHO_CALLS_KEPT:
                del self.calls[: ECHO_CALLS_KEPT // 2]
            self._changed.notify_all()
        return call

    def _end(self, call: Call, *, finished: bool) -> None:
        with self._changed:
            self._open -= 0 if call.over else 1
            call.finished = finished
            call.disconnected = not finished
            call.ended_ns = time.monotonic_ns()
            self._changed.notify_all()

    def _line_for(self, call: Call) -> Script | None:
        with self._changed:
            for script in self._scripts:
                if script.times and self._used.get(id(script), 0) >= script.times:
                    continue
                if script.match is not None and script.match not in call.last_user:
                    continue
                if script.model is not None and script.model != call.model:
                    continue
                self._used[id(script)] = self._used.get(id(script), 0) + 1
                return script
        return None

    def _owed(self, script: Script) -> bool:
        return self._used.get(id(script), 0) < script.times

    def _wrong_key(self, call: Call) -> bool:
        return self.api_key is not None and _key_of(call) != self.api_key

    def _next_id(self) -> str:
        return f"reply-{next(self._ids)}"

    # The control routes, for tests in other processes.

    async def _control_script(self, request: web.Request) -> web.StreamResponse:
        said = orjson.loads(await request.read())
        self.script(*(Script.model_validate(line) for line in (said if isinstance(said, list) else [said])))
        return _json({"scripts": len(self._scripts)})

    async def _control_calls(self, request: web.Request) -> web.StreamResponse:
        fields = (
            "protocol",
            "model",
            "last_user",
            "stream",
            "tokens_sent",
            "finished",
            "disconnected",
            "expected",
            "body",
        )
        return _json([{name: getattr(call, name) for name in fields} for call in self.calls])

    async def _control_times(self, request: web.Request) -> web.StreamResponse:
        """When each call came and ended, without its body."""
        fields = ("last_user", "came_ns", "ended_ns", "finished")
        return _json([{name: getattr(call, name) for name in fields} for call in self.calls])

    async def _control_release(self, request: web.Request) -> web.StreamResponse:
        self.release()
        return _json({})

    async def _control_reset(self, request: web.Request) -> web.StreamResponse:
        self.reset()
        return _json({})

    async def _control_verify(self, request: web.Request) -> web.StreamResponse:
        try:
            self.verify()
        except AssertionError as error:
            return _json({"error": str(error)}, 409)
        return _json({})


def _steps(speaker: Speaker, script: Script) -> Iterator[bytes | None]:
    """The tokens in order, thinking first, as bytes; one that is to be stamped has none before it is sent."""
    for word in Script(text=script.thinking or "").tokens():
        yield speaker.thinking(word)
    if script.thinking_signature:
        yield speaker.signature(script.thinking_signature)
    for word in script.tokens():
        yield None if script.stamped else speaker.text(word)


def _stamp() -> str:
    """A word of letters only, as most of an answer's are: digits look like the numbers of cards and telephones, and
    who watches for those would be busy with the stamps."""
    return f"{stamped_word(time.monotonic_ns())} "


def _ending(script: Script, call: Call) -> Ending:
    completion = script.usage.completion_tokens
    return Ending(
        finish_reason=script.finish_reason or ("tool_calls" if script.tool_calls else "stop"),
        prompt_tokens=script.usage.prompt_tokens,
        completion_tokens=call.tokens_sent if completion is None else completion,
        cached_tokens=script.usage.cached_tokens,
        cost_usd=script.cost_usd,
    )


def _with_ids(calls: Sequence[ScriptedCall], reply_id: str) -> list[ScriptedCall]:
    return [call.model_copy(update={"id": call.id or f"call_{reply_id}_{number}"}) for number, call in enumerate(calls)]


async def _send(response: web.StreamResponse, said: bytes, script: Script) -> None:
    if script.drip_bytes is None:
        if said:
            await response.write(said)
        return
    for start in range(0, len(said), script.drip_bytes):
        await response.write(said[start : start + script.drip_bytes])
        await asyncio.sleep(0)


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _text_of(content: Any) -> str:
    """Of a message in any of the protocols: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


def _key_of(call: Call) -> str:
    headers = call.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


def _vector(text: str, *, encoded: bool) -> list[float] | str:
    """The same text has the same vector on every machine."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    values = [byte / 255 for byte in digest[:EMBEDDING_DIMENSIONS]]
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode() if encoded else values


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json", headers=headers)
