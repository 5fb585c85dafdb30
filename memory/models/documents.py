"""Documents, what was read in them, and by what they are found. Reading, cutting and finding are not here."""

import uuid
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from pgvector.django import HalfVectorField

from memory.kinds import DocumentStatus, Origin, Visibility
from memory.reading.kinds import PICTURE_TYPES, picture_named

if TYPE_CHECKING:
    from hyperagent.accounts.models import User


class DocumentQuerySet(models.QuerySet["Document"]):
    def of(self, user: "User") -> "DocumentQuerySet":
        """Those that belong to this user: whoever owns a document may change, share and delete it."""
        return self.filter(owner=user)

    def seen_by(self, user: "User") -> "DocumentQuerySet":
        """Those that this user may read, in whatever state: `memory.sight` in Django's words."""
        # Each way of seeing leads to its documents by an index of its own: an OR would read through everybody's.
        every = Document.objects.order_by()
        ways = (
            every.filter(visibility=Visibility.EVERYONE),
            every.filter(visibility=Visibility.GROUPS, groups__in=user.groups.all()),
            every.filter(projects__members=user),
        )
        found = every.filter(owner=user).values("pk").union(*(way.values("pk") for way in ways), all=True)
        return self.filter(pk__in=found)


class Document(models.Model):
    """A file that somebody gave. The same bytes of the same owner are the same document."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="documents")
    filename = models.CharField(max_length=255)
    title = models.CharField(max_length=255, blank=True)
    doc_type = models.CharField(max_length=32, blank=True, help_text="By content: md, txt, pdf and so on.")
    sha256 = models.CharField(max_length=64, help_text="Of the file, in hexadecimal digits.")
    size_bytes = models.BigIntegerField(default=0)
    stored_as = models.CharField(max_length=255, blank=True, help_text="Its name in the file storage.")
    origin = models.CharField(
        max_length=16, default=Origin.UPLOAD, choices=[(kind.value, kind.value) for kind in Origin]
    )
    source_url = models.TextField(blank=True, help_text="Where a connector found it: an address, or a path.")
    connector = models.ForeignKey(
        "memory.Connector", null=True, blank=True, on_delete=models.SET_NULL, related_name="documents"
    )

    status = models.CharField(
        max_length=16, default=DocumentStatus.QUEUED, choices=[(kind.value, kind.value) for kind in DocumentStatus]
    )
    reason = models.TextField(blank=True, help_text="Why it failed, a sentence for people.")
    note = models.TextField(blank=True, help_text="What of it is missing though it can be used, a sentence for people.")
    delay = models.TextField(
        blank=True, db_default="", help_text="Why it gets no vectors just now, a sentence for people; while EMBEDDING."
    )
    pages_read = models.IntegerField(default=0)
    total_pages = models.IntegerField(default=0, help_text="0 until it is known.")
    total_chunks = models.IntegerField(default=0)
    total_terms = models.BigIntegerField(default=0, help_text="The lengths of its chunks, added up.")
    chunks_embedded = models.IntegerField(default=0)
    embedded_by = models.CharField(
        max_length=100,
        blank=True,
        db_collation="C",
        help_text="The EmbeddingModel that all of its chunks have vectors of.",
    )

    description = models.TextField(blank=True)
    language = models.CharField(max_length=8, blank=True, help_text="ISO 639-1.")
    date = models.DateField(null=True, blank=True, help_text="The document's own, not of the upload.")

    visibility = models.CharField(
        max_length=16, default=Visibility.PRIVATE, choices=[(kind.value, kind.value) for kind in Visibility]
    )
    groups = models.ManyToManyField(Group, blank=True, related_name="documents")

    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(db_default=Now())
    ready_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True, help_text="Until when whoever reads it may go on alone.")
    epoch = models.IntegerField(default=0, help_text="The number of that lease; a write with an old one fails.")
    attempts = models.IntegerField(default=0, help_text="How often its reading was begun since it was last given.")

    objects: ClassVar[models.Manager["Document"]] = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "filename")
        constraints = (
            models.UniqueConstraint(fields=["owner", "sha256"], name="memory_document_bytes_unique"),
            models.CheckConstraint(
                condition=models.Q(status__in=list(DocumentStatus)), name="memory_document_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(visibility__in=list(Visibility)), name="memory_document_visibility_known"
            ),
        )
        indexes = (
            models.Index(fields=["owner", "-created_at", "filename"], name="memory_document_of_owner"),
            models.Index(fields=["-created_at", "filename"], name="memory_document_newest"),
            models.Index(fields=["doc_type"], name="memory_document_type"),
            models.Index(fields=["date"], name="memory_document_date"),
            models.Index(
                fields=["visibility", "created_at"],
                condition=~models.Q(visibility="private"),
                name="memory_document_shared",
            ),
            models.Index(
                fields=["created_at"], condition=models.Q(status="embedding"), name="memory_document_to_embed"
            ),
            models.Index(
                fields=["updated_at"],
                condition=models.Q(status__in=["queued", "reading", "indexing"]),
                name="memory_document_unfinished",
            ),
            models.Index(fields=["embedded_by"], condition=models.Q(status="ready"), name="memory_document_by_model"),
        )

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_picture(self) -> bool:
        """It can be looked at, and no search finds it. Of one that came before its type was told: by its name."""
        return (self.doc_type or picture_named(self.filename)) in PICTURE_TYPES


class DocumentPage(models.Model):
    """The text of a page, as people see it beside an answer; a sheet or a slide is a page with a title.

    The document's text is that of its pages with an empty line between two: `start` counts its characters. `blocks` is
    what the page is made of, [[kind, level, start, end], …], where start and end count the page's own characters.
    """

    pk = models.CompositePrimaryKey("document", "number")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="pages")
    number = models.IntegerField(help_text="From 1.")
    title = models.CharField(max_length=255, blank=True)
    text = models.TextField()
    start = models.BigIntegerField()
    blocks = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"page {self.number} of {self.document_id}"


class Chunk(models.Model):
    """A passage that a search can find. `start` and `end` are its place in the document's text; its own text begins
    with a table's header where that had to be repeated. The first of a section is the parent of the others."""

    key = models.BigAutoField(primary_key=True)
    chunk_id = models.UUIDField(unique=True, editable=False, help_text="Of the document and the ordinal: `memory.ids`.")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="chunks")
    ordinal = models.IntegerField(help_text="From 0, without gaps.")
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="children")
    text = models.TextField()
    start = models.BigIntegerField()
    end = models.BigIntegerField()
    page = models.IntegerField(help_text="Where it begins, from 1.")
    last_page = models.IntegerField()
    section_title = models.CharField(max_length=255, blank=True)
    kind = models.CharField(max_length=16)
    tokens = models.IntegerField()

    class Meta:
        ordering = ("document", "ordinal")
        constraints = (models.UniqueConstraint(fields=["document", "ordinal"], name="memory_chunk_once"),)
        indexes = (
            GinIndex(
                SearchVector("section_title", config="simple"),
                condition=~models.Q(section_title=""),
                name="memory_chunk_section",
            ),
        )

    def __str__(self) -> str:
        return str(self.chunk_id)


class Posting(models.Model):
    """How often a term stands in a chunk, or, with the key 0, in the document's name: the keyword index. Written by
    COPY, read by SQL only. The index of the primary key holds the other columns too (migration 0002), so that a search
    reads nothing else: an owner's term is one stretch of it, and so is a term of one document."""

    pk = models.CompositePrimaryKey("owner_id", "term", "document_id", "chunk_key")
    owner_id = models.UUIDField()
    term = models.CharField(max_length=64, db_collation="C")
    document_id = models.UUIDField()
    chunk_key = models.BigIntegerField()
    count = models.SmallIntegerField()
    length = models.SmallIntegerField(help_text="Of the chunk, in terms.")

    class Meta:
        indexes = (models.Index(fields=["document_id", "chunk_key"], name="memory_posting_of_document"),)

    def __str__(self) -> str:
        return f"{self.term} in {self.chunk_key}"


class EmbeddingModel(models.Model):
    """A model whose vectors are stored, or are to be. The one that was chosen last is the current one."""

    name = models.CharField(max_length=100, primary_key=True, db_collation="C", help_text="As EMBEDDING_MODEL has it.")
    dimensions = models.IntegerField(default=0, help_text="Of its vectors; 0 until the first is stored.")
    chosen_at = models.DateTimeField(db_default=Now(), help_text="When an embedder was first started with it.")
    problem = models.TextField(blank=True, help_text="Why it makes no vectors just now, a sentence for people.")

    def __str__(self) -> str:
        return self.name


class Vector(models.Model):
    """What a model makes of a chunk, or of a window of it if the model does not read it whole. Of unit length.

    It goes with its chunk, by a constraint of the database that also holds against who is just writing it; and a search
    reads it in an index that has all of it, an owner's lying together (both in migration 0002).
    """

    pk = models.CompositePrimaryKey("chunk_key", "model", "window")
    chunk_key = models.BigIntegerField()
    model = models.CharField(max_length=100, db_collation="C", help_text="The name of an EmbeddingModel.")
    window = models.SmallIntegerField(default=0)
    owner_id = models.UUIDField()
    document_id = models.UUIDField()
    embedding = HalfVectorField()

    class Meta:
        indexes = (models.Index(fields=["document_id"], name="memory_vector_of_document"),)

    def __str__(self) -> str:
        return f"{self.chunk_key}.{self.window} by {self.model}"


class VectorSketch(models.Model):
    """The sketches of up to sixteen vectors of a document: `memory.vectors.sketched` says what they are. Either all
    vectors that it has of the model have one, or none has. Written and read by SQL only: they lie in the columns s0 to
    s15 (migration 0006), in the order of `keys`, and go with the document."""

    pk = models.CompositePrimaryKey("document_id", "model", "part")
    document_id = models.UUIDField()
    model = models.CharField(max_length=100, db_collation="C", help_text="The name of an EmbeddingModel.")
    part = models.IntegerField()
    owner_id = models.UUIDField()
    keys = ArrayField(models.BigIntegerField(), help_text="Of their chunks.")

    class Meta:
        indexes = (models.Index(fields=["model", "owner_id", "document_id"], name="memory_sketch_of_owner"),)

    def __str__(self) -> str:
        return f"{self.document_id}.{self.part} by {self.model}"


class SketchedOwner(models.Model):
    """Somebody of whose vectors a search reads the sketches first, and how many of the nearest it then looks at."""

    pk = models.CompositePrimaryKey("owner_id", "model")
    owner_id = models.UUIDField()
    model = models.CharField(max_length=100, db_collation="C", help_text="The name of an EmbeddingModel.")
    rows = models.IntegerField(help_text="How many vectors there were when it was measured.")
    candidates = models.IntegerField(help_text="Of the sketches' nearest; 0 if no number of them is good enough.")

    def __str__(self) -> str:
        return f"{self.owner_id} by {self.model}"


class DocumentVector(models.Model):
    """What a model makes of a document as a whole: its names and its description. It goes with the document."""

    pk = models.CompositePrimaryKey("document_id", "model")
    document_id = models.UUIDField()
    model = models.CharField(max_length=100, db_collation="C", help_text="The name of an EmbeddingModel.")
    text_hash = models.CharField(max_length=32, help_text="Of what was read, so that a change is seen.")
    embedding = HalfVectorField()

    def __str__(self) -> str:
        return f"{self.document_id} by {self.model}"
