# The mini language of format specifications.
value, big, text = 1234.5678, 1234567890, "chunk"
rows = [
    f"{value:.2f}", f"{value:,.1f}", f"{value:e}", f"{value:g}", f"{value:10.1f}|", f"{value:<10.1f}|", f"{value:^10.1f}|", f"{value:+.0f}",
    f"{big:,}", f"{big:_}", f"{big:x}", f"{big:#X}", f"{255:08b}", f"{255:#o}", f"{0.1234:.1%}", f"{-5:05d}", f"{5:+d}",
    f"{text:*^11}", f"{text:.3}", f"{text!r:>10}", f"{True:d}", f"{1e10:.0f}", f"{3:=+6d}", f"{big:>{15}}", f"{value=:.1f}",
]
for n in range(0, len(rows), 5):
    print("  ".join(rows[n:n + 5]))
print("%s %5.2f %-6d| %x %%" % ("old", 3.14159, 42, 255), "%(a)s" % {"a": 1})
