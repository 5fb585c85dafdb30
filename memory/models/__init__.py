"""The tables of what is known: documents, projects and memories."""

from memory.models.documents import Chunk, Document, DocumentPage, Posting, Vector
from memory.models.memories import Memory, MemorySwitch, MemoryUse
from memory.models.projects import Connector, Project

__all__ = [
    "Chunk",
    "Connector",
    "Document",
    "DocumentPage",
    "Memory",
    "MemorySwitch",
    "MemoryUse",
    "Posting",
    "Project",
    "Vector",
]
