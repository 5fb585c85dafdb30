"""How well facts of long conversations are stored once and found again."""
