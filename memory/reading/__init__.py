"""From a file that somebody gave to pages of text. Knows no table, no user and no queue."""
