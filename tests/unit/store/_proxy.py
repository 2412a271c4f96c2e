"""A network between a client and a server that can be slow, or let nothing through."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Passes on what a loopback port gets."""

    def __init__(self, to_port: int, *, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self.is_open = threading.Event()
        self.is_open.set()
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.is_open.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to_port))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.is_open.wait()
                time.sleep(self.delay_s)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.close()
