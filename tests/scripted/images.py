"""How providers answer who wants an image. Values only."""

from typing import Any

from tests.scripted.script import Script


def image_answer(protocol: str, script: Script) -> dict[str, Any]:
    """OpenAI's answer, or Gemini's."""
    usage = script.usage
    made = usage.completion_tokens or 0
    if protocol == "gemini":
        parts = [{"text": script.text}, {"inlineData": {"mimeType": "image/png", "data": script.image}}]
        counted = {"promptTokenCount": usage.prompt_tokens, "candidatesTokenCount": made, "totalTokenCount": made}
        return {"candidates": [{"content": {"parts": parts, "role": "model"}}], "usageMetadata": counted}
    image = {"url": script.text} if script.image is None else {"b64_json": script.image}
    said = {"input_tokens": usage.prompt_tokens, "output_tokens": made, "total_tokens": usage.prompt_tokens + made}
    details = {"text_tokens": usage.prompt_tokens, "image_tokens": 0}
    return {"created": 1, "data": [image], "usage": {**said, "input_tokens_details": details}}
