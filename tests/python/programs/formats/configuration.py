# INI, TOML and dotenv files from a repository.
import configparser
import tomllib

ini = configparser.ConfigParser()
ini.read_string(tools.filesystem.read_file(path="/data/config.ini"))
print(ini.sections(), ini.getint("server", "port"), ini.getboolean("features", "dark_mode"), ini.get("features", "missing", fallback="none"))
project = tomllib.loads(tools.github.get_file_contents(owner="a", repo="b", path="pyproject.toml"))
print(project["project"]["dependencies"], project["tool"]["ruff"]["line-length"])
env = {}
for line in tools.github.get_file_contents(owner="a", repo="b", path=".env.example").splitlines():
    key, sign, value = line.partition("=")
    if sign and not line.startswith("#"):
        env[key] = value
print(env)
try:
    tomllib.loads("a = ")
except tomllib.TOMLDecodeError as e:
    print("TOML", "line 1" in str(e))
