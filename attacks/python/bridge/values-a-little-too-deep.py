# attack: returns a value nested deeper than the gateway reads
# property: S24
# expect: error output_limit|exception
value = []
for _ in range(200):
    value = [value]
return value
