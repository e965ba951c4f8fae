# attack: a number of two hundred thousand digits, which costs its square to read
# property: S31
# timeout_ms: 5000
# build: [["return ", 1], ["9", 200000]]
# expect: error syntax|exception
