# The methods of str that people reach for.
line = "  Key: value; other=thing  "
print(line.strip().partition(": "), "a,b,,c".split(","), "a b  c".split(), "x".join("123"))
print("report.tar.gz".removesuffix(".gz").rpartition("."), "unhappy".removeprefix("un"), "abc".zfill(6), "-5".zfill(4))
print("Hello".swapcase(), "hello world".title(), "they're".capitalize(), "tab\tx".expandtabs(4), "a\nb\r\nc".splitlines())
print("banana".count("an"), "banana".find("z"), "banana".rindex("a"), "banana".replace("a", "o", 2), "ab" * 3)
print("abc".translate(str.maketrans("ab", "xy", "c")), "a1".isalnum(), "1.5".isdecimal(), "x y".isidentifier(), "".isascii())
print("b" in "abc", "abc"[::-1], "abcdef"[1:5:2], "%".join(["50", ""]), "é" < "z", max("hello", key="hello".count))
