# What was printed before the failure comes back.
for n in range(3):
    print("step", n)
    print("half", end="")
    if n == 1:
        raise RuntimeError("stopped at one")
    print()
