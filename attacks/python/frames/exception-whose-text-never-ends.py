# attack: ends with an exception whose text is computed without end
# property: S21
# timeout_ms: 1000
# expect: error timeout
class Endless(Exception):
    def __str__(self):
        while True:
            pass


raise Endless()
