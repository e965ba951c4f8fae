# attack: doubles a text without end
# property: S23
# timeout_ms: 5000
# expect: error memory_limit
text = "x"
while True:
    text += text
