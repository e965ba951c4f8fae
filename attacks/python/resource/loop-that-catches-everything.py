# attack: a loop that catches everything that may end it, at every place where it could
# property: S21
# timeout_ms: 700
# expect: error timeout
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
    finally:
        pass
