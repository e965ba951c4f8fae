# StringIO and BytesIO in place of files; printing into one.
import contextlib
import io
import sys

out = io.StringIO()
print("to a stream", 1, 2, sep="|", file=out)
with contextlib.redirect_stdout(out):
    print("captured")
    tools.shapes.plain_text()
with contextlib.redirect_stderr(io.StringIO()) as err:
    print("not seen", file=sys.stderr)
print(repr(out.getvalue()), repr(err.getvalue()))
raw = io.BytesIO("zeile eins\nzeile zwei ü\n".encode())
text = io.TextIOWrapper(raw, encoding="utf-8")
print(text.readline().strip(), text.read().split(), raw.closed)
help_text = io.StringIO("a\nb\nc"); help_text.readline(); print(help_text.readlines(), help_text.tell())
