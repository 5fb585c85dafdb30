"""Tests of the engine. They need no database; the contract suite is plugged into each store by a file of its own."""

import pytest

pytest.register_assert_rewrite("tests.engine.contract", "tests.engine.driving")
