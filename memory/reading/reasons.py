"""Why a file is not read, each with the sentence that people get: what is wrong with it, and the way out. Pure."""

from memory.reading import caps
from memory.reading.values import Unreadable


def empty() -> Unreadable:
    return Unreadable("empty", "The file is empty: it has no bytes. Save it again and give it once more.")


def no_pages() -> Unreadable:
    return Unreadable("empty", "The PDF has no pages. Export it anew and give that.")


def locked(what: str) -> Unreadable:
    return Unreadable("encrypted", f"The {what} is locked with a password. Save it without the password first.")


def no_text() -> Unreadable:
    return Unreadable("no_text", "There is no text in the file. Give one that has some.")


def scanned() -> Unreadable:
    return Unreadable(
        "no_text",
        "The PDF has no text, only pictures of it (a scan). Texts in pictures are not recognised here: "
        "run it through an OCR program first and give its result.",
    )


def broken(what: str, *, program: str = "the program that made it") -> Unreadable:
    return Unreadable("broken", f"The {what} is damaged or cut off. Open it in {program}, save it anew and give that.")


def broken_table(fault: str) -> Unreadable:
    return Unreadable("broken", f"The file is no table that can be read: {fault}. Save it as CSV anew and give that.")


def reader_died() -> Unreadable:
    return Unreadable(
        "broken",
        "The file could not be read: it is damaged, or hides something that the reader does not survive. "
        "Open it in the program that made it, save it anew and give that.",
    )


def entities() -> Unreadable:
    return Unreadable(
        "broken",
        "The file declares XML entities, which Office programs never do: it may be an attack, and is not read. "
        "Save it anew in an Office program and give that.",
    )


def too_large(size_bytes: int) -> Unreadable:
    has, most = size_bytes // caps.MIB, caps.FILE_BYTES // caps.MIB
    return Unreadable("too_big", f"The file has {has} MB, and {most} MB can be read. Split it and give its parts.")


def too_much_memory() -> Unreadable:
    return Unreadable("too_big", "Reading the file took more memory than a file may take. Split it and give its parts.")


def bomb() -> Unreadable:
    return Unreadable(
        "too_big",
        f"Unpacked, the file would be many times its size (more than {caps.UNPACKED_BYTES // caps.MIB} MB, or over "
        f"{caps.RATIO} times as much): it is not read, for it may be a “zip bomb”. Split it and give its parts.",
    )


def large_member(most_bytes: int) -> Unreadable:
    return Unreadable(
        "too_big",
        f"A part of the file is larger than {most_bytes // caps.MIB} MB unpacked. Split it and give its parts.",
    )


def too_slow() -> Unreadable:
    return Unreadable(
        "timed_out", "Reading the file took too long. Split it, or save it in a simpler format, and give that."
    )


def not_in_zip(doc_type: str) -> Unreadable:
    return Unreadable(
        "not_supported",
        f"The file is a zip archive, but no .{doc_type}: nothing in it is what such a file must have. "
        "Unpack it and give what is inside.",
    )


def picture(kind: str, *, though: str = "") -> Unreadable:
    """`though`: the ending of a name that claims something else."""
    named = f" though its name ends in {though}" if though else ""
    return Unreadable(
        "not_supported",
        f"This is a picture ({kind.upper()}){named}: it has no text that could be searched. "
        "Attach it to a question to have it looked at.",
    )


def no_such_page(number: int, total: int) -> Unreadable:
    return Unreadable("not_there", f"There is no page {number}: the document has {total}.")


def no_picture() -> Unreadable:
    return Unreadable("not_supported", "This is no picture that can be opened. PNG, JPEG, WebP and GIF can.")


def large_picture(width: int, height: int) -> Unreadable:
    most = caps.PICTURE_PIXELS_MOST // 1_000_000
    return Unreadable(
        "too_big", f"The picture has {width:,} × {height:,} pixels, and {most} million can be opened. Save it smaller."
    )
