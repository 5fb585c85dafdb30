"""The web as tools reach it: searching by a service that the administrator chose, and reading pages by the one door."""
