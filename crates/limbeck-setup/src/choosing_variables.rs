//! Environment variables that choose code: what a program loads or starts, where packages come from, and which settings
//! files are read.
//!
//! An entry with one of them may look harmless by its command. It is not refused, because each has honest uses; a
//! reader of the entry is warned. The lists have variables of interpreters, package managers and tools that servers are
//! started with; no list of this kind is complete.

/// What the value of a variable chooses, and the variables that do.
struct Choice {
    what: &'static str,
    names: &'static [&'static str],
}

const CHOICES: &[Choice] = &[
    Choice {
        what: "code that the server loads",
        names: &[
            "BASH_ENV",
            "BUN_INSPECT_PRELOAD",
            "BUN_OPTIONS",
            "CLASSPATH",
            "CORECLR_PROFILER_PATH",
            "COR_PROFILER_PATH",
            "DOTNET_ADDITIONAL_DEPS",
            "DOTNET_ROOT",
            "DOTNET_SHARED_STORE",
            "DOTNET_STARTUP_HOOKS",
            "ELIXIR_ERL_OPTIONS",
            "ENV",
            "ERL_AFLAGS",
            "ERL_FLAGS",
            "ERL_LIBS",
            "GCONV_PATH",
            "GEM_HOME",
            "GEM_PATH",
            "JAVA_HOME",
            "JAVA_OPTS",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "JULIA_DEPOT_PATH",
            "JULIA_LOAD_PATH",
            "LD_AUDIT",
            "LD_LIBRARY_PATH",
            "LD_PRELOAD",
            "LUA_CPATH",
            "LUA_INIT",
            "LUA_PATH",
            "NODE_OPTIONS",
            "NODE_PATH",
            "NODE_REPL_EXTERNAL_MODULE",
            "OPENSSL_CONF",
            "OPENSSL_ENGINES",
            "OPENSSL_MODULES",
            "PERL5DB",
            "PERL5LIB",
            "PERL5OPT",
            "PERLLIB",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "PSMODULEPATH",
            "PYTHONBREAKPOINT",
            "PYTHONEXECUTABLE",
            "PYTHONHOME",
            "PYTHONPATH",
            "PYTHONPLATLIBDIR",
            "PYTHONPYCACHEPREFIX",
            "PYTHONSTARTUP",
            "PYTHONUSERBASE",
            "PYTHONWARNINGS",
            "RUBYLIB",
            "RUBYOPT",
            "R_LIBS",
            "R_LIBS_USER",
            "R_PROFILE",
            "R_PROFILE_USER",
            "TCLLIBPATH",
            "VIRTUAL_ENV",
            "_JAVA_OPTIONS",
        ],
    },
    Choice {
        what: "programs that the server starts",
        names: &[
            "BROWSER",
            "COMSPEC",
            "EDITOR",
            "GIT_ASKPASS",
            "GIT_EDITOR",
            "GIT_EXEC_PATH",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_PROXY_COMMAND",
            "GIT_SEQUENCE_EDITOR",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "LESSOPEN",
            "PAGER",
            "PATH",
            "PATHEXT",
            "RUSTC_WRAPPER",
            "SHELL",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "UV_PYTHON",
            "VISUAL",
        ],
    },
    Choice {
        what: "where packages come from",
        names: &[
            "BUN_CONFIG_REGISTRY",
            "COREPACK_NPM_REGISTRY",
            "GONOSUMDB",
            "GOFLAGS",
            "GOPROXY",
            "GOSUMDB",
            "JSR_URL",
            "PIP_CONSTRAINT",
            "PIP_EXTRA_INDEX_URL",
            "PIP_FIND_LINKS",
            "PIP_INDEX_URL",
            "PIP_REQUIREMENT",
            "PIP_TRUSTED_HOST",
            "UV_CACHE_DIR",
            "UV_CONSTRAINT",
            "UV_DEFAULT_INDEX",
            "UV_EXTRA_INDEX_URL",
            "UV_FIND_LINKS",
            "UV_INDEX",
            "UV_INDEX_URL",
            "UV_INSECURE_HOST",
            "UV_OVERRIDE",
            "UV_PYPY_INSTALL_MIRROR",
            "UV_PYTHON_INSTALL_MIRROR",
            "UV_TOOL_DIR",
            "YARN_NPM_REGISTRY_SERVER",
            "YARN_REGISTRY",
        ],
    },
    Choice {
        what: "settings files, which may choose code that the server loads",
        names: &[
            "APPDATA",
            "BUNDLE_GEMFILE",
            "CARGO_HOME",
            "COREPACK_HOME",
            "DENO_DIR",
            "GIT_CONFIG",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_PARAMETERS",
            "GIT_CONFIG_SYSTEM",
            "GIT_DIR",
            "GIT_TEMPLATE_DIR",
            "GOENV",
            "GRADLE_USER_HOME",
            "HOME",
            "LOCALAPPDATA",
            "PIPX_HOME",
            "PIP_CONFIG_FILE",
            "RUSTUP_HOME",
            "USERPROFILE",
            "UV_CONFIG_FILE",
            "UV_ENV_FILE",
            "UV_PROJECT",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_DIRS",
            "XDG_CONFIG_HOME",
            "XDG_DATA_DIRS",
            "XDG_DATA_HOME",
            "YARN_RC_FILENAME",
            "ZDOTDIR",
        ],
    },
];

/// Beginnings of names, such as `LUA_INIT_5_4`.
const CODE_PREFIXES: &[&str] = &["DYLD_", "LUA_CPATH_", "LUA_INIT_", "LUA_PATH_"];
/// Settings of npm, each also a variable that begins with `npm_config_`, by a part of their names.
const NPM_PREFIX: &str = "NPM_CONFIG_";
const NPM_SETTINGS: &[&str] = &[
    "CACHE", "CONFIG", "GIT", "NODE", "PACKAGE", "PREFIX", "REGISTRY", "SCRIPT", "SHELL",
];

/// What the value of the variable `name` chooses, to follow "chooses"; `None` when no code. Names count in capitals or not:
/// some systems and programs make no difference.
pub(crate) fn choice_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    if let Some(setting) = name.strip_prefix(NPM_PREFIX) {
        let is_choice = NPM_SETTINGS.iter().any(|part| setting.contains(part));
        return is_choice.then_some("where npm takes packages, scripts or programs from");
    }
    if CODE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Some("code that the server loads");
    }
    let choice = CHOICES.iter().find(|choice| choice.names.contains(&&*name));
    choice.map(|choice| choice.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_choose_code_say_what_they_choose() {
        for (name, what) in [
            ("LD_PRELOAD", "code that the server loads"),
            ("Path", "programs that the server starts"),
            ("node_options", "code that the server loads"),
            ("DYLD_INSERT_LIBRARIES", "code that the server loads"),
            ("LUA_INIT_5_4", "code that the server loads"),
            ("_JAVA_OPTIONS", "code that the server loads"),
            ("GIT_SSH", "programs that the server starts"),
            ("UV_INDEX_URL", "where packages come from"),
            ("PIP_INDEX_URL", "where packages come from"),
            (
                "npm_config_registry",
                "where npm takes packages, scripts or programs from",
            ),
            (
                "npm_config_@shop:registry",
                "where npm takes packages, scripts or programs from",
            ),
            (
                "NPM_CONFIG_USERCONFIG",
                "where npm takes packages, scripts or programs from",
            ),
            (
                "npm_config_script_shell",
                "where npm takes packages, scripts or programs from",
            ),
            (
                "HOME",
                "settings files, which may choose code that the server loads",
            ),
            (
                "GIT_CONFIG_COUNT",
                "settings files, which may choose code that the server loads",
            ),
        ] {
            assert_eq!(choice_of(name), Some(what), "{name}");
        }
    }

    #[test]
    fn other_variables_have_no_remark() {
        for name in [
            "PATHS",
            "API_KEY",
            "GITHUB_TOKEN",
            "LANG",
            "LOG_LEVEL",
            "NODE_ENV",
            "PORT",
            "PYTHONUNBUFFERED",
            "npm_config_loglevel",
            "npm_config_yes",
            "HOMEPAGE",
            "",
        ] {
            assert_eq!(choice_of(name), None, "{name}");
        }
    }

    #[test]
    fn each_variable_is_in_one_list() {
        let mut names: Vec<&str> = CHOICES
            .iter()
            .flat_map(|choice| choice.names)
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| *name == name.to_ascii_uppercase()));
    }
}
