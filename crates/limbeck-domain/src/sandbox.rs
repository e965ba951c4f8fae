//! Sandbox tiers and the layers they consist of.
//!
//! A worker verifies from inside which layers hold and reports them before it gets a program; the gateway
//! compares that with the minimum tier. Names of tiers and layers are part of the public
//! interface: `doctor`, results and the journal print them.

use serde::{Deserialize, Serialize};

/// Longest reason why a layer is missing, in bytes.
pub const REASON_BYTES_MAX: usize = 256;

/// Isolation of a worker. A worker never reports a tier that is stronger than what holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// WebAssembly in a process of its own; layers of the operating system are missing.
    Wasm,
    /// [`Tier::Wasm`] and every layer of [`Layer::required`].
    Strict,
}

impl Tier {
    /// Minimum tier without a setting: the strongest tier of this platform.
    pub const MINIMUM_DEFAULT: Self = if cfg!(target_os = "linux") {
        Self::Strict
    } else {
        Self::Wasm
    };

    /// The tier as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Strict => "strict",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! layers {
    ($($(#[$doc:meta])* $layer:ident = $name:literal: $what:literal,)*) => {
        /// One restriction of a worker.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Layer {
            $($(#[$doc])* $layer,)*
        }

        impl Layer {
            /// Every layer, in the order in which they are applied.
            pub const ALL: &'static [Self] = &[$(Self::$layer,)*];

            /// The layer as text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$layer => $name,)*
                }
            }

            /// Description for users: what the worker does not have.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$layer => $what,)*
                }
            }
        }
    };
}

layers! {
    /// Empty environment, one fixed argument.
    Environment = "environment": "no environment variables and no arguments",
    /// A PID namespace of its own, in which it is process 1.
    PidNamespace = "pid_namespace": "no other process is visible",
    /// A network namespace without a route.
    NetworkNamespace = "network_namespace": "no network interface is up",
    /// System V and POSIX message queues of its own.
    IpcNamespace = "ipc_namespace": "no shared memory or message queue of others",
    /// Host name of its own.
    UtsNamespace = "uts_namespace": "no host name",
    /// Cgroup tree of its own.
    CgroupNamespace = "cgroup_namespace": "no view of control groups",
    /// An empty, read-only root in a mount namespace of its own.
    EmptyRoot = "empty_root": "no file exists",
    /// A session of its own without a terminal.
    Session = "session": "no terminal",
    /// Only the descriptors 0, 1, 2 (`/dev/null`) and 3 (the channel).
    Descriptors = "descriptors": "no open file but /dev/null and the channel",
    /// `setrlimit`, hard as soft.
    ResourceLimits = "resource_limits": "no core dumps, files or processes of its own",
    /// A user id that is not root's and can never be again.
    UnprivilegedUser = "unprivileged_user": "no privileged user id",
    /// Every capability set empty and locked.
    Capabilities = "capabilities": "no capabilities",
    /// `PR_SET_NO_NEW_PRIVS`.
    NoNewPrivileges = "no_new_privileges": "no privileges gained by executing",
    /// Landlock with every right handled and no rule.
    Landlock = "landlock": "no file, TCP port, abstract socket or signal by Landlock",
    /// `PR_SET_DUMPABLE` off.
    NotDumpable = "not_dumpable": "no core dump, not traceable by its own user",
    /// `PR_SET_MDWE`.
    NoNewCode = "no_new_code": "no memory becomes executable",
    /// Speculative store bypass and indirect branches.
    Speculation = "speculation": "no speculation across boundaries where the processor can switch it off",
    /// The system call filter, applied last.
    Seccomp = "seccomp": "no system call but those of a running program",
}

impl Layer {
    /// Whether [`Tier::Strict`] requires it. The others depend on the kernel's version or the processor.
    pub fn required(self) -> bool {
        !matches!(self, Self::NoNewCode | Self::Speculation)
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A layer that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingLayer {
    /// The layer.
    pub layer: Layer,
    /// Reason, at most [`REASON_BYTES_MAX`] bytes.
    pub reason: String,
}

/// Layers that a worker verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// [`Tier::Strict`] when every required layer holds.
    pub tier: Tier,
    /// Layers that hold.
    pub held: Vec<Layer>,
    /// Layers that do not hold, with reasons.
    pub missing: Vec<MissingLayer>,
}

impl Sandbox {
    /// Computes the tier. A layer in neither list counts as missing.
    pub fn of(held: Vec<Layer>, missing: Vec<MissingLayer>) -> Self {
        let complete = Layer::ALL
            .iter()
            .all(|layer| !layer.required() || held.contains(layer));
        Self {
            tier: if complete { Tier::Strict } else { Tier::Wasm },
            held,
            missing,
        }
    }

    /// A sandbox of WebAssembly alone, for one `reason`.
    pub fn wasm_only(reason: &str) -> Self {
        let missing = Layer::ALL.iter().map(|layer| MissingLayer {
            layer: *layer,
            reason: reason.to_owned(),
        });
        Self::of(Vec::new(), missing.collect())
    }

    /// Missing layers that [`Tier::Strict`] needs.
    pub fn lacks(&self) -> impl Iterator<Item = &MissingLayer> {
        self.missing
            .iter()
            .filter(|missing| missing.layer.required())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_needs_every_required_layer_and_no_other() {
        let all = Layer::ALL.to_vec();
        assert_eq!(Sandbox::of(all.clone(), Vec::new()).tier, Tier::Strict);
        for layer in Layer::ALL {
            let rest = all.iter().copied().filter(|one| one != layer).collect();
            let expected = if layer.required() {
                Tier::Wasm
            } else {
                Tier::Strict
            };
            assert_eq!(Sandbox::of(rest, Vec::new()).tier, expected, "{layer}");
        }
    }

    #[test]
    fn names_are_what_serde_writes() {
        for layer in Layer::ALL {
            let json = serde_json::to_value(layer).unwrap();
            assert_eq!(json, layer.as_str());
        }
    }
}
