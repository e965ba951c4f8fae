# attack: fills its memory with a mark, in every size of object there is, for the next program to find
# property: S12
# expect: value "left"
mark = b"left-by-the-" + b"program-before"
kept = [bytearray(mark * (1 << power)) for power in range(15) for _ in range(8)]
texts = [(mark * count).decode() for count in range(1, 400)]
return "left"
