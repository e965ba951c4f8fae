# attack: draws from every source of randomness and keeps it in the store, to predict that of the next program
# property: S12
# expect: value "left"
import email.utils
import os
import random
import secrets
import tempfile
import uuid

draws = [
    random.random(), random.Random().random(), random.SystemRandom().random(), random.getrandbits(64), os.urandom(8).hex(),
    secrets.token_hex(8), str(uuid.uuid4()), str(uuid.uuid1()), next(tempfile._get_candidate_names()), email.utils.make_msgid(),
]
store.set("python random", draws)
return "left"
