"""From pages to the pieces that a search can find. Pure."""
