# print with sep, end, file and flush; lines put together of pieces.
import sys

print("a", "b", sep="-", end="!\n")
print("no newline", end="")
print(" … joined")
print()
print(*[1, 2, 3], sep="\n")
print("tab\tand \"quotes\"", 'single', None, True, 1.0, [1, "x"], {"k": (1,)}, sep=" | ")
sys.stdout.write("written\n")
for n in range(3):
    print(n, end=" " if n < 2 else "\n", flush=True)
print("é ☕ 日本 👍", repr("é\n"), ascii("é"))
print("to stderr", file=sys.stderr)
print("multi\nline\n\nwith blank")
sys.stderr.write("more\n")
print("last", end="")
