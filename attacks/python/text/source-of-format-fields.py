# attack: texts with fields in fields, and tens of thousands of them
# property: S24
# timeout_ms: 2000
# build: [["x = 1\ny = f'", 1], ["{x:{x}}", 20000], ["'\nz = ", 1], ["f'{", 200], ["x", 1], ["}'", 200]]
# expect: contained
