# Normalisation, categories, graphemes, case folding, widths.
import unicodedata

words = tools.shapes.unicode()["words"]
for key, value in words.items():
    print(f"{key}: {len(value)} code points, {len(value.encode('utf-8'))} bytes, {ascii(value)}")
nfc = unicodedata.normalize("NFC", words["café"])
print(nfc == "é", len(nfc), unicodedata.name(nfc), unicodedata.category("☕"), unicodedata.east_asian_width("日"))
print("Straße".casefold() == words["ß"].casefold(), "ǅ".title(), "ß".upper(), "İ".lower() == "i̇")
strip = lambda s: "".join(c for c in unicodedata.normalize("NFD", s) if not unicodedata.combining(c))
print(strip("Émile Roux, Bjørn, Zoë"), sorted(tools.shapes.unicode()["sorted"], key=strip))
print("\N{GREEK SMALL LETTER ALPHA}", "👍🏽"[0], "日本"[::-1], "½".isnumeric(), "٣".isdigit(), int("٣"))
