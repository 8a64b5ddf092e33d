"""The HTTPS front: HTTP/1.1 on the running loop, from sockets to plain requests and back.

`listener.py` owns the socket and TLS, `connection.py` one connection each, `wire.py` the text of
heads. Bytes are parsed by httptools (the parser of Node.js). Knows nothing of Kubernetes.
"""

from volcano.server.front.listener import Front, server_tls

__all__ = ["Front", "server_tls"]
