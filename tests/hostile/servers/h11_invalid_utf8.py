"""Sends bytes that are not UTF-8, a byte order mark, zero bytes, UTF-16, overlong forms, half characters and raw
control bytes; in a result for each call, and around the legacy handshake as lines of their own."""

import json

from base import Message, Server, write

TEXTS = [
    *(b"\xff\xfe\xfa", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"a\x00b", b"\x80"),
    *(b"\\ud800", b"\\udc00\\ud800", b"\x1b[31m", b"\xef\xbb\xbf"),
]


class InvalidUtf8(Server):
    """The next of the texts with each call."""

    calls = 0

    def initialize(self, request: Message) -> None:
        write(b"\xef\xbb\xbf")
        super().initialize(request)
        write(b"\x00\x00\x00\n\xff\xff\n\r\n\n   \n")
        write('{"jsonrpc":"2.0","method":"notifications/x"}\n'.encode("utf-16") + b"\n")

    def call(self, request: Message) -> None:
        words = TEXTS[self.calls % len(TEXTS)]
        self.calls += 1
        id = json.dumps(request["id"]).encode()
        block = b'"content":[{"type":"text","text":"%b"}]' % words
        structured = b'"structuredContent":{"k%b":"%b"}' % (words, words)
        result = b'{"resultType":"complete",%b,%b}' % (block, structured)
        write(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id, result))


InvalidUtf8().run()
