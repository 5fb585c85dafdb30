"""`/v1/models` and `/v1/chat/completions`, as programs know them that speak to OpenAI."""
