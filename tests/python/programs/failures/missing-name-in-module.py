# A name that a module does not have.
# message: any
from collections import OrderedDict, FrozenDict

print(OrderedDict)
