# What `dict` says of things that are no pairs.
# changed: 3.14
try:
    dict([1])
except TypeError as error:
    print(error)
