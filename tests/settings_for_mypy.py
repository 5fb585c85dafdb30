"""Settings for the type checker: the product's, where no server and no environment is needed to read them."""

import os

os.environ.setdefault("SECRET_KEY", "only-the-type-checker-reads-this-key")
os.environ.setdefault("DATABASE_URL", "postgresql://localhost/nobody-connects")
os.environ.setdefault("REDIS_URL", "redis://localhost:1/0")

from hyperagent.settings import *  # noqa: F403
