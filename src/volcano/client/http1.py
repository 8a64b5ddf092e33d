"""One HTTP/1.1 connection that is written and waited for: a socket and the parser of httptools.

For `blocking`. The standard library's http.client would do the same, but loads the whole of
`email` to read headers, which costs a command line more than everything else it does.
"""

import select
import socket
from collections.abc import Iterator, Mapping

import httptools

_READ_BYTES = 65_536
_CLOSED_EARLY = "it closed the connection before the answer was complete"


class Answer:
    """What the server has said so far to one request; filled by the parser's callbacks.

    Attributes:
        status: HTTP code, once `has_head`.
        headers: names in lower case with their values, in order; a name may come twice.
        keeps_open: the connection can carry another request after this answer.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.has_head = False
        self.is_complete = False
        self.keeps_open = False
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Take what came from the server; no data is the end of the connection.

        Raises:
            ConnectionError: it is no HTTP, or it ended too early.
        """
        if data:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                if isinstance(error.__context__, ConnectionError):
                    raise error.__context__ from error
                raise ConnectionError(f"its answer is not HTTP/1.1: {error}") from error
        elif self.has_head and not self.keeps_open and not self._has_length():
            self.is_complete = True  # such a body ends with the connection
        else:
            raise ConnectionError(_CLOSED_EARLY)

    def take(self) -> bytes:
        """Body bytes that came since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data

    def _has_length(self) -> bool:
        return any(name in ("content-length", "transfer-encoding") for name, _ in self.headers)

    def on_message_begin(self) -> None:
        """For the parser: an answer begins."""
        if self.is_complete:
            raise ConnectionError("it answered more than once")

    def on_header(self, name: bytes, value: bytes) -> None:
        """For the parser: one header; after the body it would be a trailer, which nobody reads."""
        if not self.has_head:
            self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """For the parser: the head is read; of an interim answer (1xx) nothing is kept."""
        status = self._parser.get_status_code()
        if status < 200:
            self.headers.clear()
            return
        self.status = status
        self.has_head = True
        self.keeps_open = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        """For the parser: a piece of the body."""
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """For the parser: the end of the answer, or of an interim one."""
        self.is_complete = self.has_head


class Connection:
    """A connected socket, plain or TLS; one exchange at a time.

    Every method raises `OSError`: `TimeoutError` for a silent server, `ConnectionError` with a
    text for people when it broke off or answered something else than HTTP.
    """

    def __init__(self, sock: socket.socket, host: str) -> None:
        self._sock = sock
        self._host = host

    def close(self) -> None:
        """Give up the connection."""
        self._sock.close()

    def is_idle(self) -> bool:
        """Whether it can carry a request: the server has neither closed it nor said anything."""
        readable, _, _ = select.select([self._sock], [], [], 0)
        return not readable

    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """Send a request and wait for the head of the answer.

        Args:
            target: path and query, quoted.
            headers: of ASCII without line breaks; host, encoding and length are added.
        """
        lines = [
            f"{method} {target} HTTP/1.1",
            f"host: {self._host}",
            "accept-encoding: identity",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        if body or method not in ("GET", "HEAD", "DELETE"):
            lines.append(f"content-length: {len(body)}")
        self._sock.sendall("\r\n".join([*lines, "\r\n"]).encode("ascii") + body)
        answer = Answer()
        while not answer.has_head:
            answer.feed(self._sock.recv(_READ_BYTES))
        return answer

    def read(self, answer: Answer) -> bytes:
        """The whole body."""
        while not answer.is_complete:
            answer.feed(self._sock.recv(_READ_BYTES))
        return answer.take()

    def chunks(self, answer: Answer) -> Iterator[bytes]:
        """The body as it comes, however long that takes; the connection is kept from idling out."""
        self._sock.settimeout(None)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        while True:
            data = answer.take()
            if data:
                yield data
            if answer.is_complete:
                return
            answer.feed(self._sock.recv(_READ_BYTES))


def connect(host: str, port: int, timeout_seconds: float) -> socket.socket:
    """A TCP connection to the first address of `host` that takes one.

    Raises:
        OSError: of the last address tried, or of looking the name up.
    """
    # An ASCII name as bytes keeps Python from loading its codec for international ones.
    name = host.encode("ascii") if host.isascii() else host
    trouble: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(
        name, port, type=socket.SOCK_STREAM
    ):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(timeout_seconds)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            trouble = error
        else:
            return sock
    assert trouble is not None, "getaddrinfo gives an address or raises"
    raise trouble
