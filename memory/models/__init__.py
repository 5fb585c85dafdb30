"""The tables of what is known: documents, projects and memories."""

from memory.models.documents import (
    Chunk,
    Document,
    DocumentPage,
    DocumentVector,
    EmbeddingModel,
    Posting,
    Vector,
    VectorGraph,
)
from memory.models.memories import Memory, MemorySwitch, MemoryUse
from memory.models.projects import Connector, ConnectorItem, Project

__all__ = [
    "Chunk",
    "Connector",
    "ConnectorItem",
    "Document",
    "DocumentPage",
    "DocumentVector",
    "EmbeddingModel",
    "Memory",
    "MemorySwitch",
    "MemoryUse",
    "Posting",
    "Project",
    "Vector",
    "VectorGraph",
]
