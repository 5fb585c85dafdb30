"""Where an image that was made is put. Pure."""

import hashlib
import re
import unicodedata
from typing import Final

FOLDER: Final = "images"
_WORDS: Final = 6
_SLUG_CHARS: Final = 48
ENDINGS: Final = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif"}
MEDIA_TYPES: Final = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def path_of(prompt: str, shape: str, *, kind: str) -> str:
    """Of its first words; what is asked for again gets the same path, and so becomes the file's next version."""
    plain = unicodedata.normalize("NFKD", prompt).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain)[:_WORDS])[:_SLUG_CHARS].strip("-") or "image"
    mark = hashlib.sha256(f"{shape}\n{prompt}".encode()).hexdigest()[:4]
    return f"{FOLDER}/{slug}-{mark}.{ENDINGS[kind]}"
