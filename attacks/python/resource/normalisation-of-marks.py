# attack: sorts a million combining marks, which costs their square
# property: S21
# timeout_ms: 1000
# expect: error timeout
import unicodedata

text = "a" + "\u0315\u0300" * 500_000
while True:
    unicodedata.normalize("NFC", text)
