"""What Python loads first where libfaketime bends the clock. That refuses the call by which Python sleeps (`EINVAL` of
`clock_nanosleep` until a moment of the monotonic clock), so here it sleeps by another.
"""

import select
import time


def sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


time.sleep = sleep
