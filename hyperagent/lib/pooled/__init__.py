"""Django's Postgres, with a pool that lends warm connections (`base`). Django looks for the module of that name."""
