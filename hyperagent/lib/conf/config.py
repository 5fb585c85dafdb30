"""All settings of a process, typed."""

from collections.abc import Mapping
from typing import Self

from hyperagent.lib.conf.amounts import Amounts
from hyperagent.lib.conf.guarding import Guarding
from hyperagent.lib.conf.keeping import Keeping
from hyperagent.lib.conf.people import People
from hyperagent.lib.conf.servers import Servers
from hyperagent.lib.conf.services import Services
from hyperagent.lib.conf.web import Web
from hyperagent.lib.conf.work import Work


class Config(Web, Servers, People, Work, Amounts, Keeping, Guarding, Services):
    """One process's settings, by topic: a file for each."""

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Self:
        names = {field.alias for field in cls.model_fields.values()}
        return cls.model_validate({name: env[name].strip() for name in names if name and env.get(name, "").strip()})
