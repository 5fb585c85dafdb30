"""Opens a picture, which proves that it is one, and gives it in a size that a model looks at. Without what a camera
writes into it: place, time, owner."""

from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageOps, UnidentifiedImageError

from memory.reading import caps, reasons

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")
_JPEG_QUALITY: Final = 88


def seen(path: Path, *, longest: int) -> dict[str, Any]:
    """Its kind, width and height as the file has them, and its picture, `longest` pixels at most: PNG where it has
    few colours or transparency, else JPEG. Raises Unreadable."""
    try:
        with Image.open(path, formats=FORMATS) as opened:
            kind, (width, height) = str(opened.format), opened.size
            if width * height > caps.PICTURE_PIXELS_MOST:
                raise reasons.large_picture(width, height)
            opened.draft("RGB", (longest, longest))  # JPEG: decoded smaller at once
            picture = ImageOps.exif_transpose(opened)
            picture.thumbnail((longest, longest))
            media_type, content = _written(picture)
    except (UnidentifiedImageError, Image.DecompressionBombError):
        raise reasons.no_picture() from None
    except (OSError, SyntaxError, ValueError, IndexError, EOFError):
        raise reasons.broken("picture") from None
    return {
        "kind": kind,
        "width": width,
        "height": height,
        "media_type": media_type,
        "content": b64encode(content).decode(),
    }


def _written(picture: Image.Image) -> tuple[str, bytes]:
    out = BytesIO()
    if picture.mode in ("RGBA", "LA", "P", "PA", "1", "L"):
        picture.convert("RGBA" if picture.mode in ("RGBA", "LA", "P", "PA") else "L").save(out, "PNG")
        return "image/png", out.getvalue()
    picture.convert("RGB").save(out, "JPEG", quality=_JPEG_QUALITY)
    return "image/jpeg", out.getvalue()
