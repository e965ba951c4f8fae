# attack: looks whether a call of the program before left after its end
# property: S33
# expect: value [0, 0]
import time

first = tools.probe.noted(mark="python after the end").times
time.sleep(0.1)
return [first, tools.probe.noted(mark="python after the end").times]
