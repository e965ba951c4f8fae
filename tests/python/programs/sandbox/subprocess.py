# No process can be started.
# message: any
import subprocess

done = subprocess.run(["echo", "from a process"], capture_output=True, text=True)
print(done.stdout.strip())
