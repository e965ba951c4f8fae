# Libraries for the network are not installed, and a program may say so.
available = []
for name in ("requests", "httpx", "aiohttp", "numpy", "pandas"):
    try:
        __import__(name)
        available.append(name)
    except ModuleNotFoundError as error:
        print(error.name, "is missing")
available
