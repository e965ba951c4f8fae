# An error without a message.
class Stop(Exception):
    pass

raise Stop
