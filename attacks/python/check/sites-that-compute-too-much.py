# attack: call sites whose arguments take all time and memory to compute, and are never computed
# property: S31
# timeout_ms: 2000
# expect: value "ran"
def never():
    tools.probe.echo(a="x" * 10**9, b=9**9**9, c=[0] * 10**10, d=1 << 10**10, e="%9999999999d" % 1, f=b"x" * 10**12)
    tools.probe.echo(a=(("x" * 4000) * 4000) * 4000, b=-(10**4000) ** 100, c=f"{1:>9999999999}", d=(1,) * 10**10)


return "ran"
