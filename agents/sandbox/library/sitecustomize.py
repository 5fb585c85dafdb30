"""Run by each Python in a box before its program: modules of the working folder are found too, but only from here on. A
file of that folder never runs before a program, whatever it is called."""

import os
import sys

sys.path.append(os.path.expanduser("~"))  # noqa: PTH111 (as little as can be is imported here)
