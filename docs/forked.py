"""Commands and programs that cost no imports: each runs in a copy of one process that has everything imported.

``python forked.py ADDRESS`` is that process. ``python -SE forked.py ADDRESS weakly plan ...`` runs a command there, and
``... ADDRESS -c CODE`` a program, with the caller's folder, environment and streams; it ends as they do.
"""

import gc
import json
import os
import signal
import socket
import sys

IMPORTED = (
    *("matplotlib.pyplot", "numba", "pyarrow.pandas_compat", "pydantic.type_adapter", "rich.table", "scipy.signal"),
    *("scipy.stats", "soundfile", "sqlalchemy.dialects.sqlite", "weakly.cli", "weakly.studies.infer.estimation"),
)


def serve(address: str) -> None:
    """Wait for commands; each gets a process of its own."""
    import importlib
    import warnings

    for name in IMPORTED:
        importlib.import_module(name)
    sys.modules["weakly.base.compiled"].PATIENCE = (0.5, 0.2)  # all of them together need most kernels
    weakly = sys.modules["weakly"]
    for name in weakly.__all__:
        getattr(weakly, name)
    # What numba imports once it is asked for something, and the machine code that most commands need.
    weakly.evaluate([[(1.0, 2.0)]], recording_length=9.0, segment_length=[1.0, 2.0], presence_criterion=0.5)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind(address)
        waiting.listen(64)
        print("ready", flush=True)
        while True:
            connection, _ = waiting.accept()
            with warnings.catch_warnings(action="ignore"):  # libraries hold threads of their own
                child = os.fork()
            if child == 0:
                waiting.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _run(connection)
            connection.close()


def _run(connection: socket.socket) -> None:
    text, streams, _, _ = socket.recv_fds(connection, 65536, 3)
    while part := connection.recv(65536):
        text += part
    words, folder, environment = json.loads(text)
    for k, stream in enumerate(streams):
        os.dup2(stream, k)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        open(k, "rw"[k > 0], encoding="utf-8", closefd=False)  # noqa: SIM115
        for k in range(3)
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, code = words, 1
    try:
        if words[0] == "-c":
            import warnings

            warnings.simplefilter("ignore")
            exec(words[1], {"__name__": "__main__"})
        else:
            from weakly.cli import main

            main(words[1:])
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code % 256]))
        os._exit(code)


def ask(address: str, words: list[str]) -> int:
    """The exit code of a command that runs there."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        text = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
        sent = socket.send_fds(connection, [text], [0, 1, 2])
        connection.sendall(text[sent:])
        connection.shutdown(socket.SHUT_WR)
        return (connection.recv(1) or b"\1")[0]


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
