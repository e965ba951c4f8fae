# attack: replaces the streams and print by ones that raise, lie about what they wrote and never end a line
# property: S25
# stdout: still here
# expect: value "held"
import builtins
import io
import sys


class Liar(io.TextIOBase):
    def write(self, text):
        return -(2**63)

    def flush(self):
        raise RuntimeError("flush")

    @property
    def encoding(self):
        raise RuntimeError("encoding")

    def __getattr__(self, name):
        raise RuntimeError(name)


out = sys.stdout
out.write("still ")
print("here")
builtins.print = None
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Liar()
sys.stdin = None
return "held"
