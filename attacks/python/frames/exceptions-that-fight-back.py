# attack: ends with an exception whose texts, names and attributes raise, lie and grow
# property: S34
# timeout_ms: 5000
# expect: error exception
class Meta(type):
    @property
    def __name__(cls):
        raise RuntimeError("name")

    @property
    def __module__(cls):
        raise RuntimeError("module")

    def __instancecheck__(cls, other):
        raise RuntimeError("instance")


class Hostile(Exception, metaclass=Meta):
    def __str__(self):
        raise RuntimeError("str")

    def __repr__(self):
        raise RuntimeError("repr")

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")


raise Hostile()
