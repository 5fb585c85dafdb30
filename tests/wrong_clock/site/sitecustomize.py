"""What Python loads first where libfaketime bends the clock. That refuses the call by which Python sleeps (`EINVAL` of
`clock_nanosleep` until a moment of the monotonic clock), so here it sleeps by another.
"""

import select
import time
from typing import SupportsIndex


def sleep(seconds: float | SupportsIndex, /) -> None:
    select.select((), (), (), float(seconds))


time.sleep = sleep
