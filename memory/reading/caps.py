"""How much of a file is read, and what reading it may take. Pure."""

from typing import Final

MIB: Final = 1024 * 1024

FILE_BYTES: Final = 200 * MIB
PAGES: Final = 10_000
PAGE_CHARS: Final = 12_000
"""Where formats without pages are cut into pages, at the next end of a block."""
PAGE_CHARS_MOST: Final = 1_000_000
"""Of a page that the file itself has; the rest of it is left out."""
CHARS: Final = 40_000_000
TEXT_BYTES: Final = 24 * MIB
"""Of plain text, Markdown and CSV, which are held whole; the rest is left out."""
HTML_BYTES: Final = 4 * MIB
MAIL_BYTES: Final = 48 * MIB
"""Of a mail with what is attached, which is held whole; the rest is left out."""
ROWS: Final = 100_000
COLUMNS: Final = 256
CELL_CHARS: Final = 32_767
"""Of a cell of a sheet: what Excel lets stand in one."""

UNPACKED_BYTES: Final = 1024 * MIB
"""Of all members of a zip container, as its directory says."""
MEMBERS: Final = 20_000
MEMBER_BYTES: Final = 150 * MIB
"""Of a member that has to be read whole."""
SHEET_BYTES: Final = 48 * MIB
"""Of the XML of a sheet; the rows after it are left out."""
RATIO: Final = 250
RATIO_COUNTS_FROM: Final = 10 * MIB

MEMORY_BYTES: Final = 640 * MIB
CPU_S: Final = 300
FRAME_WAIT_S: Final = 90.0
"""How long the next page may take; time that the caller takes does not count."""
FRAME_BYTES: Final = 32 * MIB

IMAGE_WIDTH_MOST: Final = 2_400
IMAGE_PIXELS_MOST: Final = 8_000_000
PICTURE_PIXELS_MOST: Final = 50_000_000
"""Of a picture that somebody gives; four bytes each while it is open."""
