"""Two processes are never called alike, wherever they run: who held a run is told by the name alone."""

from hyperagent.lib import queue
from hyperagent.lib.process_names import own_name


def test_two_of_one_host_and_one_number_have_names_of_their_own() -> None:
    """As two containers on the host's network, each with a worker that is its process 1: the end of one freed the runs
    of the other."""
    one, other = own_name(), own_name()

    assert one != other
    assert queue.cluster_name(one) != queue.cluster_name(other)
