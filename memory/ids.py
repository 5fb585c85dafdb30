"""Names that are computed, so that whoever does a thing again gives the same ones. Pure."""

import uuid
from typing import Final

_CHUNKS: Final = uuid.UUID("0d7a2f5e-6c1b-4a55-9a0e-3f1f6f0c2b9d")


def chunk_id(document_id: uuid.UUID, ordinal: int) -> uuid.UUID:
    return uuid.uuid5(_CHUNKS, f"{document_id} {ordinal}")
