"""The one way to ask a model: whom to ask, again, elsewhere, how many at once, and what it cost. Reads no protocol
itself and knows neither journal nor agents."""

import asyncio
import logging
import random
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from hyperagent.lib.llm import adapter, estimates, images, plain, resolve, retry, structured
from hyperagent.lib.llm.config import LLMSettings, UnknownProvider, named_model
from hyperagent.lib.llm.errors import ModelError, ModelRefused, Reason, model_error, not_configured, scrub
from hyperagent.lib.llm.images import Drawn, Shape
from hyperagent.lib.llm.pace import Pace
from hyperagent.lib.llm.prices import FREE, NO_PRICES, Price
from hyperagent.lib.llm.providers import BUNDLED, LOCAL_EMBEDDING, Protocol
from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.slots import ProcessSlots, Slots, SlotsTaken
from hyperagent.lib.llm.structured import Structured, Unfit
from hyperagent.lib.llm.taken import Taken
from hyperagent.lib.llm.transport import ERROR_BODY_LIMIT_BYTES, Response, Transport, TransportFault
from hyperagent.lib.llm.types import Delta, Embedded, FinishReason, ModelReply, ModelRequest, Piece, Restarted, Usage
from hyperagent.lib.llm.watching import Watched
from hyperagent.lib.llm.wire.faults import ErrorInStream, WireFault, error_fields, reason_of
from hyperagent.lib.llm.wire.reader import ANSWER_LIMIT_BYTES, Answer, Underway

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")


class ModelGateway:
    """Asks the models that the settings name. One for a process; safe for many calls at once on one event loop.

    `slots` shares the providers' limits with other processes; without, they hold for this one. `chance` gives numbers
    from 0 to 1 that spread the waits. `pace`: when streams are read that go on for a while; without, as they come.
    """

    def __init__(
        self,
        settings: LLMSettings,
        slots: Slots | None = None,
        *,
        chance: Callable[[], float] = random.random,
        pace: Pace | None = None,
    ) -> None:
        self.settings = settings
        self._slots = slots or ProcessSlots()
        self._chance = chance
        self._transport = Transport(settings.limits, pace)
        self.prices = NO_PRICES
        """The installation's own; they go before LiteLLM's. Replaced as a whole when they change."""
        self._without_schemas: set[tuple[str, str]] = set()

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def stream(self, request: ModelRequest, *, taken: Taken | None = None) -> AsyncGenerator[Delta, None]:
        """Pieces as they come, Restarted where something else comes in the place of all of them, the ModelReply last.

        Leave it early with `contextlib.aclosing` or by cancelling the task: either stops the provider at once, and
        `taken`, to which everything is added that was paid for, then has what each attempt took. Raises ModelError:
        that of the model asked first, when it and all of its fallbacks failed; it has what was paid for all of them.
        """
        taken = Taken() if taken is None else taken
        before = len(taken)
        clock = asyncio.get_running_loop().time
        began = clock()
        first_error: ModelError | None = None
        broken: Reason | None = None
        """Why what was given last came to no end."""
        for target in resolve.targets(self.settings, request):
            for attempt in count(1):
                shown = False
                try:
                    async with aclosing(self._attempt(target, request, taken, before)) as items:
                        async for item in items:
                            if broken is not None:
                                yield Restarted(reason=broken.value)
                            broken, shown = None, True
                            yield item
                    return
                except ModelError as error:
                    failed = error
                first_error = first_error or failed
                step = retry.after(
                    failed, attempt=attempt, spent_s=clock() - began, limits=self.settings.limits, chance=self._chance()
                )
                _log(failed, attempt, step)
                if shown:
                    broken = failed.reason
                if not isinstance(step, retry.Again):
                    break
                await asyncio.sleep(step.wait_s)
        assert first_error is not None  # there is at least one target, and each left the loop by an error
        first_error.paid = tuple(taken[before:])
        raise first_error

    async def complete(self, request: ModelRequest, *, taken: Taken | None = None) -> ModelReply:
        """The whole answer. `taken`: as of `stream`. Raises ModelError."""
        async with aclosing(self.stream(request, taken=taken)) as items:
            async for item in items:
                if isinstance(item, ModelReply):
                    return item
        raise AssertionError("a stream ends with a reply or an error")

    async def structured(self, request: ModelRequest, schema: type[T], *, taken: Taken | None = None) -> Structured[T]:
        """The answer as a value of `schema`: by the provider's own schema mode where there is one, else asked for in
        words; what does not fit goes back to the model twice. `taken`: as of `stream`, with each of the answers. Raises
        ModelError, ModelGarbled at the end; it has what was paid for all of them."""
        taken = Taken() if taken is None else taken
        before = len(taken)
        try:
            value, reply, repairs = await self._structured(request, schema, taken)
        except ModelError as error:
            error.paid = tuple(taken[before:])
            raise
        return Structured(value=value, reply=reply, repairs=repairs, replies=tuple(taken[before:]))

    async def _structured(self, request: ModelRequest, schema: type[T], taken: Taken) -> tuple[T, ModelReply, int]:
        """The value, the answer in which it was, and how many repairs it took."""
        target = resolve.targets(self.settings, request)[0]
        native = await self._has_schemas(target)
        asked = structured.ask_natively(request, schema) if native else structured.ask_in_words(request, schema)
        try:
            reply = await self.complete(asked, taken=taken)
        except ModelRefused as error:
            if not native or error.reason is not Reason.BAD_REQUEST:
                raise
            asked = structured.ask_in_words(request, schema)
            reply = await self.complete(asked, taken=taken)
            if (reply.provider, reply.model) == (target.provider.name, target.model):
                # Only now is it known that the schema was refused, and not the question.
                self._without_schemas.add((target.provider.name, target.model))
        for repairs in range(structured.REPAIRS + 1):
            value = structured.read(reply.text, schema)
            if not isinstance(value, Unfit):
                return value, reply, repairs
            if repairs < structured.REPAIRS:
                asked = structured.ask_again(asked, schema, reply, value)
                reply = await self.complete(asked, taken=taken)
        raise model_error(
            Reason.MALFORMED,
            provider=reply.provider,
            model=reply.model,
            detail=scrub(reply.text, target.provider.secrets),
        )

    async def embed(self, texts: Sequence[str], *, model: str | None = None) -> list[list[float]]:
        """One vector for each text, in order. `model` is a name such as EMBEDDING_MODEL takes. Raises ModelError."""
        return (await self.embedded(texts, model=model)).vectors

    async def embedded(self, texts: Sequence[str], *, model: str | None = None) -> Embedded:
        """The same with what it took."""
        target = self._embedding_target(model)
        vectors, tokens = await self._patiently(target, lambda: self._embed_once(target, texts), [])
        return Embedded(
            vectors=vectors,
            tokens=tokens,
            provider=target.provider.name,
            model=target.model,
            cost_usd=self._cost_of_tokens(target, Usage(prompt_tokens=tokens)),
        )

    async def embedding_price(self, *, model: str | None = None) -> Price | None:
        """What such a model costs; None: not known. Raises ModelError."""
        target = self._embedding_target(model)
        if not adapter.is_loaded() and not (self._own_price(target) or target.provider.plain):
            await asyncio.to_thread(adapter.litellm_library)
        return self._own_price(target) or adapter.price_of(target)

    def _embedding_target(self, model: str | None) -> Target:
        name = model or self.settings.embedding_model
        if name == LOCAL_EMBEDDING:
            raise not_configured(
                "EMBEDDING_MODEL is 'local', and the gateway serves only the embedding models of providers. "
                "Set it to a name such as 'openai/text-embedding-3-small'."
            )
        try:
            return Target(*named_model(self.settings, name))
        except UnknownProvider as error:
            raise not_configured(f"{error}.") from error

    async def draw(self, prompt: str, shape: Shape) -> Drawn:
        """An image of what `prompt` says, by the model that IMAGE_MODEL names. Raises ModelError; it has what was paid
        for answers in which there was none."""
        target = resolve.image_target(self.settings)
        if target is None:
            raise not_configured(resolve.NO_IMAGE_MODEL)
        paid: list[ModelReply] = []
        drawn = await self._patiently(target, lambda: self._draw_once(target, prompt, shape), paid)
        return drawn.after(paid)

    async def sees(self, request: ModelRequest) -> bool | None:
        """Whether the model that this request would go to looks at pictures; None if only asking it will tell. Raises
        NoModelConfigured."""
        target = resolve.targets(self.settings, request)[0]
        if target.provider.plain:
            return None if target.provider.capable else False
        await asyncio.to_thread(adapter.litellm_library)
        return adapter.has_vision(target)

    async def prices_of(self, request: ModelRequest) -> dict[str, Price | None]:
        """By `provider/model` what those cost to whom this request may go; None: not known. Empty where nobody serves
        models."""
        try:
            asked = resolve.targets(self.settings, request)
        except ModelError:
            return {}
        if not adapter.is_loaded() and not all(self._own_price(target) or target.provider.plain for target in asked):
            await asyncio.to_thread(adapter.litellm_library)
        return {
            f"{target.provider.name}/{target.model}": self._own_price(target) or adapter.price_of(target)
            for target in asked
        }

    def _own_price(self, target: Target) -> Price | None:
        own = self.prices.price_of(target.provider.name, target.model)
        return FREE if own is None and target.provider.name == BUNDLED else own

    def _cost_usd(self, target: Target, answer: Answer, usage: Usage) -> Decimal | None:
        """Of so much, by the own price, else as the provider says, else by LiteLLM's table; None: not known."""
        if answer.cost_usd is not None and self._own_price(target) is None:
            return answer.cost_usd
        return self._cost_of_tokens(target, usage)

    def _cost_of_tokens(self, target: Target, usage: Usage) -> Decimal | None:
        own = self._own_price(target)
        return adapter.cost_usd(target, usage) if own is None else own.cost(usage)

    async def _patiently(self, target: Target, once: Callable[[], Awaitable[R]], paid: list[ModelReply]) -> R:
        """One whole answer, asked for again where that may help. `paid` gets what those took that could not be used.
        Raises ModelError."""
        clock = asyncio.get_running_loop().time
        began = clock()
        for attempt in count(1):
            try:
                async with self._slot(target):
                    return await once()
            except ModelError as error:
                paid.extend(error.paid)
                error.paid = tuple(paid)
                step = retry.after(
                    error, attempt=attempt, spent_s=clock() - began, limits=self.settings.limits, chance=self._chance()
                )
                _log(error, attempt, step)
                if not isinstance(step, retry.Again):
                    raise
            await asyncio.sleep(step.wait_s)
        raise AssertionError("unreachable")

    async def _attempt(
        self, target: Target, request: ModelRequest, taken: Taken, before: int
    ) -> AsyncGenerator[Piece | ModelReply, None]:
        """One call to one model: its pieces, then its reply, which counts what was taken from `before` on, too, and
        comes in the place of it. What came to nothing and is paid for is added. Raises ModelError."""
        if not _can_be_asked(target):
            await asyncio.to_thread(adapter.litellm_library)
        underway = Underway()
        if_left = partial(self._paid_for, target, request, underway, None)
        with Watched(target, request) as watched, taken.attempt(if_left):
            try:
                async with self._slot(target):
                    watched.asked()
                    async with aclosing(self._open(target, request, underway)) as pieces:
                        async for piece in pieces:
                            if not watched.has_begun:
                                watched.begun()
                            yield piece
                answer = underway.answer()
                if reason := _why_unusable(answer):
                    raise model_error(reason, provider=target.provider.name, model=target.model)
            except (ModelError, asyncio.CancelledError, GeneratorExit) as error:
                reason = error.reason if isinstance(error, ModelError) else None
                paid = self._paid_for(target, request, underway, reason)
                if paid is not None:
                    taken.append(paid)
                    watched.took(paid)
                raise
            assert answer is not None
            reply = self._reply(target, request, answer)
            watched.answered(reply)
        reply = reply.after(taken[before:])
        taken[before:] = [reply]
        yield reply

    def _paid_for(
        self, target: Target, request: ModelRequest, underway: Underway, reason: Reason | None
    ) -> ModelReply | None:
        """What is paid for of an attempt that ends here for this reason, None if nothing is."""
        answer = underway.answer()
        return None if answer is None or not underway.is_billed(reason) else self._reply(target, request, answer)

    def _reply(self, target: Target, request: ModelRequest, answer: Answer) -> ModelReply:
        """What was read, with what it took; where it broke off before the provider had told that, estimated."""
        usage = answer.usage
        if answer.is_broken:
            usage = estimates.usage_of_broken(request.model_dump(mode="json"), answer)
        return ModelReply(
            text=answer.text,
            thinking=answer.thinking,
            thinking_signature=answer.thinking_signature,
            tool_calls=answer.tool_calls,
            finish_reason=answer.finish_reason or FinishReason.LENGTH,
            usage=usage,
            provider=target.provider.name,
            model=target.model,
            cost_usd=self._cost_usd(target, answer, usage),
            is_estimate=usage != answer.usage,
        )

    def _open(self, target: Target, request: ModelRequest, underway: Underway) -> AsyncGenerator[Piece, None]:
        """The pieces; the answer is `underway`."""
        if adapter.reads_itself(target, request):
            return self._read(target, request, underway)
        return adapter.stream_through_litellm(
            target,
            request,
            underway,
            temperature=resolve.temperature(self.settings, request),
            limits=self.settings.limits,
            call_prefix=_call_prefix(),
        )

    async def _read(self, target: Target, request: ModelRequest, underway: Underway) -> AsyncGenerator[Piece, None]:
        """The cheap path: we send and read."""
        call = adapter.wire_call(
            target,
            request,
            temperature=resolve.temperature(self.settings, request),
            call_prefix=_call_prefix(),
        )
        posting = self._transport.post(call.url, headers=call.headers, body=call.body)
        reader = underway.reader = call.reader
        del call  # What was asked is long, and not held while the answer comes.
        try:
            async with await posting as response:
                await _refuse_bad_status(response, target)
                underway.is_accepted = True
                if response.content_type == "application/json":
                    for piece in reader.feed_whole(await response.read_some(ANSWER_LIMIT_BYTES)):
                        yield piece
                while not reader.ended and (chunk := await response.read_at_beat()):
                    for piece in reader.feed(chunk):
                        yield piece
                    response.heard(reader.pieces)
                for piece in reader.finish():
                    yield piece
        except (TransportFault, WireFault, ErrorInStream) as fault:
            raise _error(fault, target) from fault

    @asynccontextmanager
    async def _slot(self, target: Target) -> AsyncIterator[None]:
        limit = target.provider.max_concurrency
        if limit is None:
            yield
            return
        try:
            async with self._slots.hold(
                target.provider.name, limit=limit, timeout_s=self.settings.limits.slot_timeout_s
            ):
                yield
        except SlotsTaken as error:
            raise model_error(Reason.NO_FREE_SLOT, provider=target.provider.name, model=target.model) from error

    async def _has_schemas(self, target: Target) -> bool:
        if (target.provider.name, target.model) in self._without_schemas:
            return False
        if target.provider.plain:
            return True
        await asyncio.to_thread(adapter.litellm_library)
        return adapter.has_schemas(target)

    async def _embed_once(self, target: Target, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        if not target.provider.plain:
            return await adapter.embed(target, texts, timeout_s=self.settings.limits.first_token_timeout_s)
        body = orjson.dumps({"model": target.model, "input": list(texts), "encoding_format": "float"})
        url = f"{target.provider.base_url}/embeddings"
        try:
            async with await self._transport.post(url, headers=plain.headers(target), body=body) as response:
                await _refuse_bad_status(response, target)
                return plain.vectors(await response.read_some(ANSWER_LIMIT_BYTES), texts=texts)
        except (TransportFault, WireFault) as fault:
            raise _error(fault, target) from fault

    async def _draw_once(self, target: Target, prompt: str, shape: Shape) -> Drawn:
        if target.provider.protocol is Protocol.OPENAI:
            answer = await self._image_answer(target, prompt, shape)
            cost_usd = await adapter.image_cost_usd(target, answer)
        else:
            timeout_s = self.settings.limits.first_token_timeout_s
            answer, cost_usd = await adapter.draw(target, prompt, shape, timeout_s=timeout_s)
        try:
            return images.drawn(target, answer, cost_usd=cost_usd)
        except WireFault as fault:
            usage = images.usage_of(answer.get("usage"))
            error = _error(fault, target)
            error.paid = (images.paid_for(target.provider.name, target.model, usage, cost_usd=cost_usd),)
            raise error from fault

    async def _image_answer(self, target: Target, prompt: str, shape: Shape) -> dict[str, Any]:
        body, url = images.request_body(target, prompt, shape), adapter.images_url(target)
        try:
            async with await self._transport.post(url, headers=plain.headers(target), body=body) as response:
                await _refuse_bad_status(response, target)
                return images.answer_of(await response.read_some(images.ANSWER_LIMIT_BYTES))
        except (TransportFault, WireFault) as fault:
            error = _error(fault, target)
            if isinstance(fault, images.TooLarge):
                usage = Usage(prompt_tokens=estimates.prompt_tokens_of({"messages": [{"content": prompt}]}))
                name, model = target.provider.name, target.model
                error.paid = (images.paid_for(name, model, usage, cost_usd=None, is_estimate=True),)
            raise error from fault


async def _refuse_bad_status(response: Response, target: Target) -> None:
    if 200 <= response.status < 300:
        return
    fields = error_fields(await response.read_some(ERROR_BODY_LIMIT_BYTES))
    in_head_s = retry.retry_after_s(response.headers.get("Retry-After"))
    raise model_error(
        reason_of(fields, status=response.status),
        provider=target.provider.name,
        model=target.model,
        status=response.status,
        detail=scrub(fields.message, target.provider.secrets),
        retry_after_s=fields.retry_after_s if in_head_s is None else in_head_s,
    )


def _error(fault: TransportFault | WireFault | ErrorInStream, target: Target) -> ModelError:
    reason = Reason.MALFORMED
    retry_after_s: float | None = None
    if isinstance(fault, TransportFault):
        reason = fault.reason
    elif isinstance(fault, ErrorInStream):
        reason, retry_after_s = reason_of(fault.fields, status=None), fault.fields.retry_after_s
    return model_error(
        reason,
        provider=target.provider.name,
        model=target.model,
        detail=scrub(str(fault), target.provider.secrets),
        retry_after_s=retry_after_s,
    )


def _can_be_asked(target: Target) -> bool:
    """Whether everything is loaded that a call to it takes."""
    return target.provider.plain or adapter.is_loaded()


def _why_unusable(answer: Answer | None) -> Reason | None:
    """An answer that is cut off or empty is none."""
    if answer is None or answer.finish_reason is None:
        return Reason.STREAM_CUT
    if answer.text.strip() or answer.tool_calls:
        return None
    return {
        FinishReason.CONTENT_FILTER: Reason.FILTERED,
        FinishReason.LENGTH: Reason.ALL_THOUGHT,
    }.get(answer.finish_reason, Reason.EMPTY_ANSWER)


def _call_prefix() -> str:
    return uuid.uuid4().hex[:12]


def _log(error: ModelError, attempt: int, step: "retry.Again | retry.Elsewhere") -> None:
    logger.warning(
        "model call failed: provider=%s model=%s reason=%s status=%s attempt=%d next=%s detail=%s",
        error.provider,
        error.model,
        error.reason.value,
        error.status,
        attempt,
        f"again in {step.wait_s:.1f} s" if isinstance(step, retry.Again) else "elsewhere",
        error.detail,
    )
