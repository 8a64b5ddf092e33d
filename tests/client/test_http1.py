"""One HTTP/1.1 connection: how answers are cut and framed, and what is no answer."""

import socket
from collections.abc import Iterator

import pytest

from volcano.client.http1 import Answer, Connection, connect

BODY = b"one two"
FRAMED = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nWarning: a\r\nwarning: b\r\n\r\n" + BODY,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\none\r\n4\r\n two\r\n0\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    + BODY,
}


@pytest.mark.parametrize("step", [1, 5, 1000])
@pytest.mark.parametrize("form", FRAMED)
def test_answers_end_by_themselves_however_they_are_cut(form: str, step: int) -> None:
    answer = Answer()
    for at in range(0, len(FRAMED[form]), step):
        assert not answer.is_complete
        answer.feed(FRAMED[form][at : at + step])
    assert answer.is_complete
    assert answer.keeps_open
    assert answer.status == 200
    assert answer.take() == BODY
    assert answer.take() == b""
    assert "x" not in dict(answer.headers), "what an interim answer says is of no interest"


def test_repeated_headers_are_kept() -> None:
    answer = Answer()
    answer.feed(FRAMED["length"])
    assert [value for name, value in answer.headers if name == "warning"] == ["a", "b"]


def test_without_a_length_the_end_of_the_connection_is_the_end() -> None:
    answer = Answer()
    answer.feed(b"HTTP/1.1 200 OK\r\n\r\none ")
    answer.feed(b"two")
    assert not answer.is_complete
    answer.feed(b"")
    assert answer.is_complete
    assert not answer.keeps_open
    assert answer.take() == BODY


@pytest.mark.parametrize("code", [b"204 No Content", b"304 Not Modified"])
def test_some_codes_have_no_body(code: bytes) -> None:
    answer = Answer()
    answer.feed(b"HTTP/1.1 " + code + b"\r\n\r\n")
    assert answer.is_complete


@pytest.mark.parametrize("form", ["length", "chunks"])
@pytest.mark.parametrize("said", [0, 10, 60])
def test_half_an_answer_is_none(form: str, said: int) -> None:
    answer = Answer()
    if said:
        answer.feed(FRAMED[form][:said])
    with pytest.raises(ConnectionError, match="closed the connection before the answer was"):
        answer.feed(b"")


def test_two_answers_to_one_request_are_no_answer() -> None:
    with pytest.raises(ConnectionError, match="it answered more than once"):
        Answer().feed(FRAMED["length"] + FRAMED["chunks"])


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: seven\r\n\r\n",
    ],
    ids=["ssh", "tls", "upgrade", "length"],
)
def test_other_protocols_are_named_as_such(data: bytes) -> None:
    with pytest.raises(ConnectionError, match="its answer is not HTTP"):
        Answer().feed(data)


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    """Our end and the server's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = connect("localhost", listener.getsockname()[1], 5.0)
        server, _ = listener.accept()
    connection = Connection(ours, "localhost:1")
    yield connection, server
    connection.close()
    server.close()


def test_requests_on_the_wire(ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    server.sendall(FRAMED["length"])
    answer = connection.exchange("POST", "/a?b=c", {"accept": "*/*"}, b"{}")
    assert server.recv(1000) == (
        b"POST /a?b=c HTTP/1.1\r\nhost: localhost:1\r\naccept-encoding: identity\r\n"
        b"accept: */*\r\ncontent-length: 2\r\n\r\n{}"
    )
    assert answer.status == 200


def test_one_connection_carries_several_exchanges(ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    for form in ("length", "chunks", "interim"):
        assert connection.is_idle()
        server.sendall(FRAMED[form])
        answer = connection.exchange("GET", "/", {})
        assert connection.read(answer) == BODY
    server.close()
    assert not connection.is_idle()


def test_the_body_is_given_out_as_it_comes(ends: tuple[Connection, socket.socket]) -> None:
    connection, server = ends
    head, _, rest = FRAMED["chunks"].partition(b" two")
    server.sendall(head)
    chunks = connection.chunks(connection.exchange("GET", "/", {}))
    assert next(chunks) == b"one"
    server.sendall(b" two" + rest)
    assert list(chunks) == [b" two"]
