# argparse and shlex for command lines in messages.
import argparse
import shlex

parser = argparse.ArgumentParser(prog="/deploy", exit_on_error=False)
parser.add_argument("service")
parser.add_argument("--env", choices=["staging", "prod"], default="staging")
parser.add_argument("-n", "--replicas", type=int, default=1)
parser.add_argument("--dry-run", action="store_true")
for command in ("api --env prod -n 3", 'worker --dry-run', "'my service' --replicas=2"):
    args = parser.parse_args(shlex.split(command))
    print(vars(args))
try:
    parser.parse_args(["api", "-n", "three"])
except argparse.ArgumentError as e:
    print("bad argument", "replicas" in str(e))
print(shlex.join(["a b", "c'd", "$x"]), shlex.quote("plain"))
