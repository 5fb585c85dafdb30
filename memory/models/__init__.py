"""The tables of what is known: documents, projects, memories and files."""

from memory.models.documents import (
    Chunk,
    Document,
    DocumentPage,
    DocumentVector,
    EmbeddingModel,
    Posting,
    SketchedOwner,
    Vector,
    VectorSketch,
)
from memory.models.memories import Memory, MemorySwitch, MemoryUse
from memory.models.projects import Connector, ConnectorItem, Project
from memory.models.workspaces import FileVersion, StoredBytes, WorkspaceFile

__all__ = [
    "Chunk",
    "Connector",
    "ConnectorItem",
    "Document",
    "DocumentPage",
    "DocumentVector",
    "EmbeddingModel",
    "FileVersion",
    "Memory",
    "MemorySwitch",
    "MemoryUse",
    "Posting",
    "Project",
    "SketchedOwner",
    "StoredBytes",
    "Vector",
    "VectorSketch",
    "WorkspaceFile",
]
